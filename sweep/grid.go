package sweep

// Grid is the lazy expansion of a Spec: nothing of it is listed in memory.
type Grid struct{}
