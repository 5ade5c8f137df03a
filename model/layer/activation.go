package layer

import (
	"fmt"

	"sweep/model/kernel"
)

// phi is an activation φ and its slope.
type phi[F kernel.Float] struct {
	activation kernel.Activation
	slope      F
}

// checkActivation returns an error unless there is such an activation.
func checkActivation(activation kernel.Activation, slope float64) error {
	if !(slope >= 0 && slope <= 1) {
		return fmt.Errorf("layer: slope %v of a leaky ReLU: want a number from 0 to 1", slope)
	}
	if activation > kernel.Tanh {
		return fmt.Errorf("layer: unknown activation %v", activation)
	}
	return nil
}

// derivative is delta = gradient ∘ φ', where out = φ(·).
func (p phi[F]) derivative(set *kernel.Set[F], delta, gradient, out kernel.Matrix[F]) {
	if n := delta.Cols; delta.Stride == n && gradient.Stride == n && out.Stride == n {
		n *= delta.Rows
		set.Derivative(delta.Data[:n], gradient.Data[:n], out.Data[:n], p.activation, p.slope)
		return
	}
	for i := range delta.Rows {
		set.Derivative(delta.Row(i), gradient.Row(i), out.Row(i), p.activation, p.slope)
	}
}

// epilogue is what becomes of a gradient: (gradient + plus) ∘ φ', where out is the output of φ.
// What has its zero value is left out.
type epilogue[F kernel.Float] struct {
	plus     kernel.Matrix[F]
	add      bool // to what is in the gradient's place, instead of plus
	phi      phi[F]
	out      kernel.Matrix[F]
	prefetch [2][]F // memory that is needed next
}

// epilogue is the one that ends in φ'.
func (p phi[F]) epilogue(out kernel.Matrix[F]) epilogue[F] {
	if p.activation == kernel.Linear {
		return epilogue[F]{}
	}
	return epilogue[F]{phi: p, out: out}
}

// multiply is dst = sum ∘ φ'.
func (e *epilogue[F]) multiply(set *kernel.Set[F], dst kernel.Matrix[F], sum kernel.Sum[F]) {
	if e.out.Data == nil {
		set.MultiplySum(dst, sum)
	} else {
		set.MultiplyDerivative(dst, sum, e.out, e.phi.activation, e.phi.slope)
	}
}

// apply is dst = (dst + plus) ∘ φ'.
func (e *epilogue[F]) apply(set *kernel.Set[F], dst kernel.Matrix[F]) {
	if e.plus.Data != nil {
		add(set, dst, e.plus)
	}
	if e.out.Data != nil {
		e.phi.derivative(set, dst, dst, e.out)
	}
}
