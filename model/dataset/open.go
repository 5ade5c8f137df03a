package dataset

const (
	// MNIST is the name of the MNIST digits as sequences of pixels.
	MNIST = "mnist"
	// PermutedMNIST is the name of MNIST with one fixed random permutation of the pixels.
	PermutedMNIST = "permuted-mnist"
	// GeneratedCBF is the name of the generated cylinder-bell-funnel set.
	GeneratedCBF = "generated-cbf"
)
