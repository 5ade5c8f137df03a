package kernel

import "unsafe"

// Set is the loops for one element type at one level. Its methods check the shapes of
// what they are given and then call the level's loops.
type Set[F Float] struct {
	level   Level
	width   int // columns in a panel of Packed
	narrow  int // columns in a last panel that holds no more
	backend backend[F]

	// loops are the generated functions, nil for the plain loops. A method that is one
	// call of either chooses itself; what is more than a call is the backend's.
	loops *loops
}

// backend is what takes more than one call of a generated function. Shapes are checked,
// and no matrix is empty.
type backend[F Float] interface {
	// transposeMatrix is dst = srcᵀ, where either may be empty.
	transposeMatrix(dst, src Matrix[F])
	// multiply is C = the sum after its stage.
	multiply(c Matrix[F], sum Sum[F], to stage[F])
	multiplyActivateSteps(c Matrix[F], rows int, b *Packed[F], x Matrix[F], m *Packed[F], act Activation, slope F)
	multiplyDerivativeSteps(c Matrix[F], rows int, b *Packed[F], out Matrix[F], act Activation, slope F, prefetch []F)
	// multiplyTransposed is C = AᵀB, or C += AᵀB.
	multiplyTransposed(c, a, b Matrix[F], scratch *Scratch[F], add bool)
	multiplyTransposedPacked(c, a Matrix[F], b *Packed[F], scratch *Scratch[F])
	lstmForward(gates, cells, states Matrix[F], rows int, w *Packed[F], x Matrix[F], m *Packed[F])
	lstmBackward(deltas, gates, cells, states Matrix[F], rows int, w *Packed[F], dh, dc Matrix[F], prefetch, then []F)
	softmaxCrossEntropy(dlogits, logits Matrix[F], labels []int, scale F) (loss float64, correct int)
	reflectLeftAll(q Matrix[F], us [][]F)
	reflectLeftAllBackward(q, g Matrix[F], us, dus [][]F)
	normalizeAll(us [][]F)
	// shared is the backend whose large products are computed in parts, if it has them.
	shared(threads int, run Runner) backend[F]
}

// float is the size of an element: strides go to assembly in bytes.
const float = int(unsafe.Sizeof(float32(0)))

// single is where the elements of x begin, which are float32 in a set that has loops.
func single[F Float](x []F) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }

// Level is the level of the loops.
func (s *Set[F]) Level() Level { return s.level }

var (
	plain32 = &Set[float32]{level: Plain, width: plainWidth, narrow: plainWidth, backend: plain[float32]{}}
	plain64 = &Set[float64]{level: Plain, width: plainWidth, narrow: plainWidth, backend: plain[float64]{}}
	chosen  = at(selected)
)

// plain is the backend in plain Go.
type plain[F Float] struct{}

// Float32 is the set for training, at the level found when the process started.
func Float32() *Set[float32] { return chosen }

// Float32At is the set at a given level, if this machine can run it.
func Float32At(l Level) (*Set[float32], error) {
	if err := checkLevel(l, detected); err != nil {
		return nil, err
	}
	return at(l), nil
}

// Float64 is the plain set for float64, the reference for gradient checks.
func Float64() *Set[float64] { return plain64 }

// at is the set at a level that this machine can run.
func at(l Level) *Set[float32] {
	if l == Plain {
		return plain32
	}
	return simd(l)
}
