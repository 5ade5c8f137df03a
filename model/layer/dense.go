package layer

import (
	"context"
	"sync"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// dense is the operator of W itself, formed once a minibatch. That of a recurrent layer packs it
// then, for all time steps and passes. Of a layer that sees rows on their own each pass packs it
// where it uses it, in its workspace.
type dense[F kernel.Float] struct {
	set    *kernel.Set[F]
	matrix weight.Matrix[F]
	bias   *weight.View[F]  // what is added to W x for rows on their own; nil of a recurrent layer
	direct *weight.View[F]  // W if it is a parameter itself
	w      kernel.Matrix[F] // W; made by the first load: an estimate has no use for it
	passes []*densePass[F]

	right kernel.Packed[F] // Wᵀ, for products of states in rows
	left  kernel.Packed[F] // W, for those of deltas

	// Many evaluations follow one load of rows on their own: the first of them packs right.
	evaluation sync.Mutex
	evaluated  bool
}

// densePass has ∂L/∂W, which of the first pass is the parameter's own gradient where W is a
// parameter.
type densePass[F kernel.Float] struct {
	*dense[F]
	workspace *workspace[F]   // nil of a recurrent layer
	parameter *weight.View[F] // W if its gradient is the one of this pass
	dw        kernel.Matrix[F]
	unset     bool // dw counts as 0, whatever it holds
}

func newDense[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F], bias *weight.View[F]) *dense[F] {
	_, cols := matrix.Shape()
	d := &dense[F]{set: set, matrix: formable(set, matrix), bias: bias}
	if parameter, ok := matrix.(*weight.Dense[F]); ok && cols%kernel.PaddedColumns != 0 {
		d.direct = parameter.View()
		d.direct.Deferred = true
	}
	return d
}

func (d *dense[F]) load() {
	if d.direct != nil {
		d.w = d.direct.Matrix()
	} else {
		if d.w.Data == nil {
			d.w = kernel.NewPadded[F](d.matrix.Shape())
		}
		d.matrix.Value(d.w)
	}
	if d.evaluated = false; d.bias == nil {
		d.set.PackTransposed(&d.right, d.w)
		d.set.Pack(&d.left, d.w)
	}
}

func (d *dense[F]) margin(ctx context.Context) (float64, error) {
	return weight.Margin(ctx, d.set, d.w)
}

func (d *dense[F]) pass(_ operatorRows, w *workspace[F]) operatorPass[F] {
	p := &densePass[F]{dense: d, workspace: w}
	if d.direct != nil && len(d.passes) == 0 {
		p.parameter = d.direct
	} else {
		p.dw = kernel.NewPadded[F](d.matrix.Shape())
	}
	d.passes = append(d.passes, p)
	return p
}

// forEvaluation returns Wᵀ, packed.
func (d *dense[F]) forEvaluation() *kernel.Packed[F] {
	d.evaluation.Lock()
	defer d.evaluation.Unlock()
	if !d.evaluated {
		d.set.PackTransposedBias(&d.right, d.w, d.bias.Value)
		d.evaluated = true
	}
	return &d.right
}

func (p *densePass[F]) apply(out, x, plus kernel.Matrix[F], phi phi[F], keep bool) {
	sum := kernel.Sum[F]{X: x, M: &p.workspace.packed, H: plus, Prefetch: p.workspace.next}
	if keep {
		p.set.PackTransposedBias(sum.M, p.w, p.bias.Value)
	} else {
		sum.M = p.forEvaluation()
	}
	p.set.MultiplyActivate(out, sum, phi.activation, phi.slope)
}

func (p *densePass[F]) applySteps(h, x kernel.Matrix[F], m *kernel.Packed[F], batch int, phi phi[F], _ bool) {
	p.set.MultiplyActivateSteps(h, batch, &p.right, x, m, phi.activation, phi.slope)
}

func (p *densePass[F]) begin() {
	p.unset = true
	if p.parameter != nil {
		p.dw, p.unset = p.parameter.GradientMatrix(), p.parameter.Unset()
	}
}

func (p *densePass[F]) project(kernel.Matrix[F], int) {}

func (p *densePass[F]) transpose(dst, delta kernel.Matrix[F], _ int, end epilogue[F]) {
	sum := kernel.Sum[F]{A: delta, B: &p.left, H: end.plus, Prefetch: end.prefetch}
	if p.workspace != nil {
		sum.B = &p.workspace.packed
		p.set.Pack(sum.B, p.w)
	}
	if end.add {
		sum.H = dst
	}
	end.multiply(p.set, dst, sum)
}

func (p *densePass[F]) transposeSteps(deltas, outs, before kernel.Matrix[F], batch int, phi phi[F]) {
	p.set.MultiplyDerivativeSteps(deltas, batch, &p.left, outs, phi.activation, phi.slope, memory(before))
}

func (p *densePass[F]) accumulate(deltas, h kernel.Matrix[F], _ int, scratch *kernel.Scratch[F]) {
	addTransposed(p.set, p.dw, deltas, h, scratch, p.unset)
	p.unset = false
}

func (p *densePass[F]) needs(bool) []F { return memory(p.w) }

func (d *dense[F]) join(used int) {
	dw := d.passes[0].dw
	if d.direct != nil && d.direct.Unset() {
		clear(d.direct.Gradient)
	}
	for _, p := range d.passes[1:used] {
		add(d.set, dw, p.dw)
	}
	if d.direct == nil {
		d.matrix.Pullback(dw)
	}
}

func (d *dense[F]) cost(operatorRows) Cost {
	rows, cols := d.matrix.Shape()
	own := int64(kernel.PaddedSize(rows, cols))
	c := Cost{Weights: float64(rows) * float64(cols), Fork: own}
	if d.direct == nil {
		c.Shared, c.Pass, c.Fork = own+int64(d.matrix.Footprint()), own, 0
	}
	right, left := int64(d.set.PackedSize(cols, rows, d.bias != nil)), int64(d.set.PackedSize(rows, cols, false))
	if c.Shared += right; d.bias == nil {
		c.Shared += left
	} else {
		c.Lent = max(right, left)
	}
	return c
}
