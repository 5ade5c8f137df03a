package layer

import (
	"context"
	"fmt"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// OperatorKind says how the matrix of an [Elman] cell or of an [Affine] layer is applied. Kinds
// differ in speed, and in rounding.
type OperatorKind string

// The kinds of operators.
const (
	// OperatorAuto, also "", chooses OperatorCompactWY for a [weight.LowRank] of less than a
	// third of its size (n > 6m for two times m reflectors), and OperatorDense for all else.
	OperatorAuto OperatorKind = "auto"
	// OperatorDense forms W once a minibatch.
	OperatorDense OperatorKind = "dense"
	// OperatorCompactWY applies the factors of a [weight.LowRank] and never forms W.
	OperatorCompactWY OperatorKind = "compact-wy"
	// OperatorFactors applies the factors of a [weight.Unitary], of a power of two, and never forms W. It
	// is what OperatorAuto chooses from 64 complex units on.
	OperatorFactors OperatorKind = "factors"
)

// form is a matrix W in the form in which it is applied, as it is loaded, for all passes.
type form[F kernel.Float] interface {
	// load takes W from the present parameters.
	load()

	// join ends the Backward of the first so many passes: it adds the gradients of the parameters.
	join(used int)

	// cost is that of passes of such sizes, its Weights those of one row.
	cost(rows operatorRows) Cost

	// margin returns max |σ_i - 1| over the singular values of W as it was loaded last.
	margin(ctx context.Context) (float64, error)
}

// An operator applies a layer's matrix W to states in rows: [dense] is W itself, [factored] its factors.
type operator[F kernel.Float] interface {
	form[F]

	// pass returns the operator of a further pass. The workspace is of a layer that sees rows on
	// their own; a recurrent one has none.
	pass(rows operatorRows, w *workspace[F]) operatorPass[F]
}

// operatorRows are the most rows of a pass: of a time step, of those retained for Backward, and of
// those that Backward works on together.
type operatorRows struct{ step, retained, chunk int }

// An operatorPass applies W forward and back. It keeps what it needs between them, and the
// gradient of W in whatever form it has W.
type operatorPass[F kernel.Float] interface {
	// apply is out = φ(W x + b + plus) for rows on their own, plus being left out if it has its
	// zero value.
	apply(out, x, plus kernel.Matrix[F], phi phi[F], keep bool)

	// applySteps goes through time steps: h holds blocks of batch rows, a state and then those of
	// the steps, whose inputs are x and the input's matrix m, with a bias: next = φ(x M + b + W h).
	applySteps(h, x kernel.Matrix[F], m *kernel.Packed[F], batch int, phi phi[F], keep bool)

	// begin begins a Backward.
	begin()

	// project is due once for each block of deltas as soon as they are known. slot is the block's
	// number among those that are accumulated together.
	project(deltas kernel.Matrix[F], slot int)

	// transpose is dst = Wᵀ delta with the epilogue, where slot is delta's.
	transpose(dst, delta kernel.Matrix[F], slot int, end epilogue[F])

	// transposeSteps is delta(t) = (Wᵀ delta(t+1)) ∘ φ', and project, for the steps before the last
	// one: deltas holds blocks of batch rows, of which the last is known and projected, outs those
	// of φ of the others, before the output that is needed next.
	transposeSteps(deltas, outs, before kernel.Matrix[F], batch int, phi phi[F])

	// accumulate adds to the gradient of W, given deltas and what W was applied to, whose first row
	// is the one of that number among those retained.
	accumulate(deltas, h kernel.Matrix[F], row int, scratch *kernel.Scratch[F])

	// needs is the part of W that apply begins with, or the backward pass.
	needs(back bool) []F
}

// newOperator returns the operator of a matrix, which adds a bias if that is not nil.
func newOperator[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F], bias *weight.View[F],
	kind OperatorKind) (operator[F], error) {
	low, ok := matrix.(weight.LowRank[F])
	rows, cols := matrix.Shape()
	ok = ok && rows == cols
	switch kind {
	case "", OperatorAuto:
		ok = ok && rows > appliedRanks*((low.Rank()+rankStep-1)/rankStep*rankStep)
	case OperatorDense:
		ok = false
	case OperatorCompactWY:
		if !ok {
			return nil, fmt.Errorf("layer: operator %s: a weight without factors has to be formed", kind)
		}
	default:
		return nil, errUnknownOperator(kind, OperatorAuto, OperatorDense, OperatorCompactWY)
	}
	if ok {
		return newFactored(set, low, bias), nil
	}
	return newDense(set, matrix, bias), nil
}

func errUnknownOperator(kind OperatorKind, known ...OperatorKind) error {
	return fmt.Errorf("layer: unknown operator %q: want one of %v", string(kind), known)
}
