package kernel

//go:generate sh -c "cd gen && go run . -out .."

// assembly is the table of generated functions of one level. They take pointers
// and strides in bytes and trust their caller; its methods are the loops of a Set.
type assembly struct {
	level Level
	lanes int // float32 in a vector
	tile  int // rows of a product's tile

	loops
	sharing *sharing // nil unless large products are shared, see [Set.Shared]
}

var assemblies = [...]*assembly{
	AVX2:   {level: AVX2, lanes: 8, tile: 6, loops: loopsAVX2},
	AVX512: {level: AVX512, lanes: 16, tile: 12, loops: loopsAVX512},
}
