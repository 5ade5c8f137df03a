package random

import "math"

// A Mask says which elements of a layer's states dropout leaves out: a function
// of seed, layer, step, row and column alone.
type Mask struct {
	key       key
	threshold uint64 // of 2³² equally likely numbers those below it are left out
}

// NewMask returns the mask of a layer that leaves out each element with the
// given probability, from 0 to 1.
func NewMask(seed uint64, layer int, probability float64) Mask {
	return Mask{key: derive(seed, Dropout.At(layer)), threshold: uint64(math.Round(probability * (1 << 32)))}
}

// Row fills dst, the row's elements in a training step, with 0 where an element is
// left out and scale elsewhere.
func Row[F float32 | float64](m Mask, dst []F, scale F, step, row int) {
	for block := uint32(0); len(dst) > 0; block++ {
		a, b, c, d := philox(m.key, block, uint32(row), uint32(step), uint32(step>>32))
		for i, word := range [4]uint32{a, b, c, d} {
			if i == len(dst) {
				return
			}
			dst[i] = scale
			if uint64(word) < m.threshold {
				dst[i] = 0
			}
		}
		dst = dst[min(4, len(dst)):]
	}
}
