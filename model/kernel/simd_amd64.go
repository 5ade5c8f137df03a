package kernel

import "unsafe"

//go:generate sh -c "cd gen && go run . -out .."

// assembly is the table of generated functions of one level. They take pointers
// and strides in bytes and trust their caller; its methods are the loops of a Set.
type assembly struct {
	level Level
	lanes int // float32 in a vector

	product, productNarrow       func(c *float32, cStride int, a *float32, aStride int, b *float32, k, rows, cols int, source *float32, sourceStride int, out *float32, outStride int, epilogue int, slope float32)
	transposed, transposedNarrow func(c *float32, cStride int, a *float32, aStride int, b *float32, bStride int, r, rows, cols int)
	peak                         func(rounds int)
}

var assemblies = [...]*assembly{
	AVX2: {
		level:            AVX2,
		lanes:            8,
		product:          productAVX2,
		productNarrow:    productNarrowAVX2,
		transposed:       transposedAVX2,
		transposedNarrow: transposedNarrowAVX2,
		peak:             peakAVX2,
	},
	AVX512: {
		level:            AVX512,
		lanes:            16,
		product:          productAVX512,
		productNarrow:    productNarrowAVX512,
		transposed:       transposedAVX512,
		transposedNarrow: transposedNarrowAVX512,
		peak:             peakAVX512,
	},
}

// simd is the set at a level above plain.
func simd(l Level) *Set[float32] { return simdSets[l] }

var simdSets = [...]*Set[float32]{
	AVX2:   assemblies[AVX2].set(),
	AVX512: assemblies[AVX512].set(),
}

func (k *assembly) set() *Set[float32] {
	s := *plain32
	s.level = k.level
	s.width, s.narrow = 2*k.lanes, k.lanes
	s.multiply = k.multiply
	s.multiplyBias = k.multiplyBias
	s.multiplyActivate = k.multiplyActivate
	s.multiplyDerivative = k.multiplyDerivative
	s.transposedAdd = k.transposedAdd
	return &s
}

// float is the size of an element: strides go to assembly in bytes.
const float = int(unsafe.Sizeof(float32(0)))

// The stages that follow a product's sums in assembly.
const (
	epilogueNone = iota
	epilogueLeaky
	epilogueLeakyDerivative
	epilogueTanhDerivative
)

func (k *assembly) multiply(c, a Matrix[float32], b *Packed[float32], add bool) {
	if c.empty() {
		return
	}
	if add {
		k.panels(&c, &a, b, c.Data, c.Stride, Matrix[float32]{}, epilogueNone, 0)
	} else {
		k.panels(&c, &a, b, nil, 0, Matrix[float32]{}, epilogueNone, 0)
	}
}

func (k *assembly) multiplyBias(c, a Matrix[float32], b *Packed[float32], bias []float32) {
	if !c.empty() {
		k.panels(&c, &a, b, bias, 0, Matrix[float32]{}, epilogueNone, 0)
	}
}

func (k *assembly) multiplyActivate(c, a Matrix[float32], b *Packed[float32], source Matrix[float32], act Activation, slope float32) {
	if c.empty() {
		return
	}
	epilogue := epilogueNone
	switch act {
	case ReLU:
		epilogue, slope = epilogueLeaky, 0
	case LeakyReLU:
		epilogue = epilogueLeaky
	}
	k.panels(&c, &a, b, source.Data, source.Stride, Matrix[float32]{}, epilogue, slope)
	if act == Tanh {
		for i := range c.Rows {
			row := c.Row(i)
			plainTanh(row, row)
		}
	}
}

func (k *assembly) multiplyDerivative(c, a Matrix[float32], b *Packed[float32], source, out Matrix[float32], act Activation, slope float32) {
	if c.empty() {
		return
	}
	epilogue := epilogueNone
	switch act {
	case ReLU:
		epilogue, slope = epilogueLeakyDerivative, 0
	case LeakyReLU:
		epilogue = epilogueLeakyDerivative
	case Tanh:
		epilogue = epilogueTanhDerivative
	}
	k.panels(&c, &a, b, source.Data, source.Stride, out, epilogue, slope)
}

// panels calls the product for each panel of B. c has elements; source is nil or
// has what c has, from rows sourceStride apart.
func (k *assembly) panels(c, a *Matrix[float32], b *Packed[float32], source []float32, sourceStride int, out Matrix[float32], epilogue int, slope float32) {
	var sourceAt, outAt *float32
	for j := 0; j < c.Cols; j += 2 * k.lanes {
		product, cols := k.product, min(c.Cols-j, 2*k.lanes)
		if cols <= k.lanes {
			product = k.productNarrow
		}
		if source != nil {
			sourceAt = &source[j]
		}
		if out.Data != nil {
			outAt = &out.Data[j]
		}
		product(&c.Data[j], float*c.Stride, unsafe.SliceData(a.Data), float*a.Stride, unsafe.SliceData(b.data[j*b.K:]), b.K, c.Rows, cols,
			sourceAt, float*sourceStride, outAt, float*out.Stride, epilogue, slope)
	}
}

func (k *assembly) transposedAdd(c, a, b Matrix[float32]) {
	if c.empty() {
		return
	}
	for r := 0; r < a.Rows; r += rowBlock {
		rows := min(rowBlock, a.Rows-r)
		for j := 0; j < c.Cols; j += 2 * k.lanes {
			transposed, cols := k.transposed, min(c.Cols-j, 2*k.lanes)
			if cols <= k.lanes {
				transposed = k.transposedNarrow
			}
			transposed(&c.Data[j], float*c.Stride, &a.Data[r*a.Stride], float*a.Stride, &b.Data[r*b.Stride+j], float*b.Stride, rows, c.Rows, cols)
		}
	}
}
