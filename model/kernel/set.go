package kernel

import "unsafe"

// Set is the table of loops for one element type at one level. Its methods check
// the shapes of what they are given and then call the level's loops.
type Set[F Float] struct {
	level  Level
	width  int // columns in a panel of Packed
	narrow int // columns in a last panel that holds no more

	// loops are the generated functions, nil for the plain loops. A method that is one
	// call of either chooses itself; what is more than a call has an entry below.
	loops *loops

	// transpose is dst = srcᵀ.
	transpose func(dst, src Matrix[F])
	// multiply is C = the sum after its stage.
	multiply              func(c Matrix[F], sum Sum[F], to stage[F])
	multiplyActivateSteps func(c Matrix[F], rows int, b *Packed[F], x Matrix[F], m *Packed[F],
		act Activation, slope F)
	multiplyDerivativeSteps func(c Matrix[F], rows int, b *Packed[F], out Matrix[F], act Activation, slope F,
		prefetch []F)
	// transposed is C = AᵀB, or C += AᵀB.
	transposed       func(c, a, b Matrix[F], scratch *Scratch[F], add bool)
	transposedPacked func(c, a Matrix[F], b *Packed[F], scratch *Scratch[F])

	lstmForward  func(gates, cells, states Matrix[F], rows int, w *Packed[F], x Matrix[F], m *Packed[F])
	lstmBackward func(deltas, gates, cells, states Matrix[F], rows int, w *Packed[F], dh, dc Matrix[F],
		prefetch, then []F)
	softmax           func(dlogits, logits Matrix[F], labels []int, scale F) (float64, int)
	reflectLeft       func(q Matrix[F], u []F)
	reflectorBackward func(q, g Matrix[F], u, du []F)
	// Those of many reflectors save a call through the table for each.
	reflectLeftAll         func(q Matrix[F], us [][]F)
	reflectLeftAllBackward func(q, g Matrix[F], us, dus [][]F)
	normalizeAll           func(us [][]F)
}

// float is the size of an element: strides go to assembly in bytes.
const float = int(unsafe.Sizeof(float32(0)))

// single is where the elements of x begin, which are float32 in a set that has loops.
func single[F Float](x []F) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }

// Level is the level of the loops.
func (s *Set[F]) Level() Level { return s.level }

var (
	plain32 = plainSet[float32]()
	plain64 = plainSet[float64]()
	chosen  = mustAt(selected)
)

// Float32 is the set for training, at the level found when the process started.
func Float32() *Set[float32] { return chosen }

// Float32At is the set at a given level. The error is a [*LevelError].
func Float32At(l Level) (*Set[float32], error) {
	switch {
	case l > detected:
		return nil, &LevelError{Level: l, Best: detected}
	case l == Plain:
		return plain32, nil
	}
	return simd(l), nil
}

// Float64 is the plain set for float64, the reference for gradient checks.
func Float64() *Set[float64] { return plain64 }

// mustAt is the set at a level that choose has allowed.
func mustAt(l Level) *Set[float32] {
	s, err := Float32At(l)
	if err != nil {
		panic(err)
	}
	return s
}

func plainSet[F Float]() *Set[F] {
	return &Set[F]{
		level:                   Plain,
		width:                   plainWidth,
		narrow:                  plainWidth,
		transpose:               plainTranspose[F],
		multiply:                plainMultiply[F],
		multiplyActivateSteps:   plainMultiplyActivateSteps[F],
		multiplyDerivativeSteps: plainMultiplyDerivativeSteps[F],
		transposed:              plainTransposed[F],
		transposedPacked:        plainTransposedPacked[F],
		lstmForward:             plainLSTMForward[F],
		lstmBackward:            plainLSTMBackward[F],
		softmax:                 plainSoftmaxCrossEntropy[F],
		reflectLeft:             plainReflectLeft[F],
		reflectorBackward:       plainReflectorBackward[F],
		reflectLeftAll:          plainReflectLeftAll[F],
		reflectLeftAllBackward:  plainReflectLeftAllBackward[F],
		normalizeAll:            plainNormalizeAll[F],
	}
}
