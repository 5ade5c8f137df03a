package layer

import (
	"errors"
	"fmt"

	"sweep/model/kernel"
)

// Residual adds its input to the outputs of layers, which are as wide and see every
// row on its own (He et al. 2016):
//
//	y = φ(x + f(x))
type Residual[F kernel.Float] struct {
	*Stack[F]
	set   *kernel.Set[F]
	phi   phi[F]
	width int
}

// NewResidual returns the residual block round layers, of which the last is an [Affine]
// one without φ.
func NewResidual[F kernel.Float](set *kernel.Set[F], inner *Stack[F], width int, activation kernel.Activation,
	slope float64) (*Residual[F], error) {
	if err := checkActivation(activation, slope); err != nil {
		return nil, err
	}
	if out, every := inner.Outputs(); out != width || !every || inner.Carried() > 0 {
		return nil, fmt.Errorf("layer: residual block of width %d round layers with outputs of %d: want the same, "+
			"for every step", width, out)
	}
	if last, ok := inner.layers[len(inner.layers)-1].(*Affine[F]); !ok || last.phi.activation != kernel.Linear {
		return nil, errors.New("layer: residual block round layers that do not end in an affine one without activation")
	}
	return &Residual[F]{Stack: inner, set: set, phi: phi[F]{activation, F(slope)}, width: width}, nil
}

// residualPass is a [Pass] of a [Residual] block.
type residualPass[F kernel.Float] struct {
	*Residual[F]
	inner   *stackPass[F]
	last    *affinePass[F]   // of inner
	outputs kernel.Matrix[F] // in the place of last's
	deltas  kernel.Matrix[F] // the gradient of φ's argument; made when the pass has to find it itself
}

// NewPass returns a pass for parts of minibatches.
func (r *Residual[F]) NewPass(limits Limits) Pass[F] { return r.newPassIn(limits, newWorkspace[F]()) }

func (r *Residual[F]) newPassIn(limits Limits, w *workspace[F]) Pass[F] {
	p := &residualPass[F]{Residual: r, inner: r.Stack.newPassIn(limits, w.nested()).(*stackPass[F])}
	p.last = p.inner.passes[len(p.inner.passes)-1].(*affinePass[F])
	p.outputs = p.last.outputs
	return p
}

// Forward computes the outputs of all rows.
func (p *residualPass[F]) Forward(in Input[F], _ State[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	x, count := in.X, len(p.inner.passes)-1
	if count > 0 {
		x, _ = p.inner.forward(in, nil, keep, count)
	}
	p.inner.inputs[count] = x
	p.last.check(x)
	out = p.outputs.Slice(0, x.Rows)
	p.last.forward(out, x, in.X, p.phi, keep)
	return out, nil
}

// activated returns the epilogue by φ.
func (p *residualPass[F]) activated() epilogue[F] {
	return p.phi.epilogue(p.outputs.Slice(0, p.last.x.Rows))
}

// needs is that of f's first layer or, in the backward pass, of its last.
func (p *residualPass[F]) needs(back bool) [2][]F {
	if back {
		return p.last.needs(true)
	}
	return p.inner.needs(0, false)
}

// Backward goes back over the rows: with δ the gradient of φ's argument ∂L/∂x is δ and
// what f hands on of it.
func (p *residualPass[F]) Backward(dout kernel.Matrix[F], _ State[F], dx kernel.Matrix[F]) (dfrom State[F]) {
	p.backward(dout, false, dx, epilogue[F]{})
	return nil
}

func (p *residualPass[F]) backward(dout kernel.Matrix[F], derived bool, dx kernel.Matrix[F], end epilogue[F]) {
	deltas := dout
	if !derived {
		if p.deltas.Data == nil {
			p.deltas = kernel.NewPadded[F](p.outputs.Rows, p.width)
		}
		deltas = p.deltas.Slice(0, dout.Rows)
		p.phi.derivative(p.set, deltas, dout, p.outputs.Slice(0, dout.Rows))
	}
	if p.inner.rowwise[0] != nil && end.plus.Data == nil {
		end.plus = deltas
		p.inner.backward(deltas, nil, true, dx, end)
		return
	}
	p.inner.backward(deltas, nil, true, dx, epilogue[F]{})
	if dx.Data != nil {
		add(p.set, dx, deltas)
		end.apply(p.set, dx)
	}
}
