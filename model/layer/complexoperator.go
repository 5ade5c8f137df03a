package layer

import (
	"fmt"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// complexOperator applies the matrix of a [ModReLU] cell: [dense] is W itself, [unitary] its factors.
type complexOperator[F kernel.Float] interface {
	form[F]

	// complexPass returns the operator of a further pass.
	complexPass() complexPass[F]
}

// A complexPass applies W forward and back, and keeps its gradient in whatever form it has W.
type complexPass[F kernel.Float] interface {
	// sum is z = W h + M x.
	sum(z, h, x kernel.Matrix[F], m *kernel.Packed[F])

	// begin begins a Backward.
	begin()

	// back is dst = Wᵀ delta for the delta of a step whose state before was h. It may add to the
	// gradient of W.
	back(dst, delta, h kernel.Matrix[F])

	// accumulate adds to the gradient of W, if back does not, given those of several steps.
	accumulate(deltas, h kernel.Matrix[F], row int, scratch *kernel.Scratch[F])
}

// newComplexOperator returns the operator of a matrix.
func newComplexOperator[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F], kind OperatorKind) (
	complexOperator[F], error) {
	u, ok := matrix.(*weight.Unitary[F])
	var fourier *kernel.Fourier[F]
	if ok {
		rows, _ := u.Shape()
		var err error
		fourier, err = kernel.NewFourier[F](rows / 2)
		ok = err == nil
	}
	switch kind {
	case "", OperatorAuto:
		ok = ok && fourier.Len() >= appliedFourier
	case OperatorDense:
		ok = false
	case OperatorFactors:
		if !ok {
			return nil, fmt.Errorf("layer: operator %s: only the matrix of a urnn whose number of units is a power of "+
				"two, 4 or more, has such factors", kind)
		}
	default:
		return nil, errUnknownOperator(kind, OperatorAuto, OperatorDense, OperatorFactors)
	}
	if ok {
		return newUnitary(set, u, fourier), nil
	}
	return newDense(set, matrix, nil), nil
}

// complexPass returns the operator of a further pass.
func (d *dense[F]) complexPass() complexPass[F] {
	return denseComplexPass[F]{d.pass(operatorRows{}, nil).(*densePass[F])}
}

type denseComplexPass[F kernel.Float] struct{ *densePass[F] }

func (p denseComplexPass[F]) sum(z, h, x kernel.Matrix[F], m *kernel.Packed[F]) {
	p.set.MultiplySum(z, kernel.Sum[F]{X: x, M: m, A: h, B: &p.right})
}

func (p denseComplexPass[F]) back(dst, delta, _ kernel.Matrix[F]) {
	p.set.MultiplySum(dst, kernel.Sum[F]{A: delta, B: &p.left})
}
