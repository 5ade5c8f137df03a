package layer

import (
	"context"
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// projection is what gates make of the input, U x + b.
type projection[F kernel.Float] struct {
	u, b   *weight.View[F]  // b is nil where it is 0
	zero   []F              // in the place of b
	packed kernel.Packed[F] // U with b
}

func (r *recurrent[F]) declareProjection(arena *weight.Arena[F], u, b string, width int) projection[F] {
	return projection[F]{u: r.declare(arena, u, r.inputs, width), b: r.declare(arena, b, 1, width)}
}

// declareUnbiased declares U alone.
func (r *recurrent[F]) declareUnbiased(arena *weight.Arena[F], u string, width int) projection[F] {
	return projection[F]{u: r.declare(arena, u, r.inputs, width), zero: make([]F, width)}
}

// initProjection sets U to N(0, s²/n_i) and b to 0.
func (r *recurrent[F]) initProjection(p *projection[F], source *random.Source) {
	random.Gaussian(p.u.Value, r.scale/math.Sqrt(float64(r.inputs)), source)
	if p.b != nil {
		clear(p.b.Value)
	}
}

func (p *projection[F]) load(set *kernel.Set[F]) {
	bias := p.zero
	if p.b != nil {
		bias = p.b.Value
	}
	set.PackBias(&p.packed, p.u.Matrix(), bias)
}

// projectionPass is a projection's weights with a pass's gradients.
type projectionPass[F kernel.Float] struct {
	*unrolled[F]
	u, b   *weight.View[F]
	inject kernel.Packed[F] // Uᵀ, packed if an input gradient is asked for
}

func (u *unrolled[F]) projection(of *projection[F]) projectionPass[F] {
	return projectionPass[F]{unrolled: u, u: u.gradient(of.u), b: u.gradient(of.b)}
}

// accumulate adds the gradients of U and b for those of the gates' arguments, and sets that of the
// input, or adds to it.
func (p *projectionPass[F]) accumulate(c chunk[F], deltas kernel.Matrix[F], more bool) {
	p.set.TransposedAdd(p.u.GradientMatrix(), c.x, deltas, &p.scratch)
	if p.b != nil {
		p.set.ColumnSumsAdd(p.b.Gradient, deltas)
	}
	switch {
	case c.dx.Data == nil:
		return
	case c.last == p.in.Steps:
		p.set.PackTransposed(&p.inject, p.u.Matrix())
	}
	if more {
		p.set.MultiplyAdd(c.dx, deltas, &p.inject)
	} else {
		p.set.Multiply(c.dx, deltas, &p.inject)
	}
}

// addProjection adds what the packed weights of a projection take.
func (r *recurrent[F]) addProjection(c *Cost, width int) {
	c.Shared += int64(r.set.PackedSize(r.inputs, width, true))
	c.Inject += int64(r.set.PackedSize(width, r.inputs, false))
}

// gates is the weights of one or several gates, in columns: U x + W h + b.
type gates[F kernel.Float] struct {
	projection[F]
	w        *weight.View[F]   // [n × width]; nil where an operator has the gates' W
	operator *dense[F]         // of [stacked] matrices, or nil
	right    *kernel.Packed[F] // W, for products of states in rows
	left     *kernel.Packed[F] // Wᵀ, for those of deltas
}

// declareGates declares "U", "W" and "b" with a suffix.
func (r *recurrent[F]) declareGates(arena *weight.Arena[F], suffix string, width int) (g gates[F]) {
	g.u = r.declare(arena, "U"+suffix, r.inputs, width)
	g.w = r.declare(arena, "W"+suffix, r.size, width)
	g.b = r.declare(arena, "b"+suffix, 1, width)
	g.right, g.left = &kernel.Packed[F]{}, &kernel.Packed[F]{}
	return g
}

// declareStackedGates declares "U" and "b" of gates each of which has a matrix of its own.
func (r *recurrent[F]) declareStackedGates(arena *weight.Arena[F], matrices stacked[F]) gates[F] {
	operator := newDense(r.set, matrices, nil)
	width, _ := matrices.Shape()
	return gates[F]{projection: r.declareProjection(arena, "U", "b", width), operator: operator,
		right: &operator.right, left: &operator.left}
}

// initGates starts the W of gates, times scale unless that is 0, draws U from N(0, s²/n_i), and sets b to 0.
func (r *recurrent[F]) initGates(ctx context.Context, start weight.Start, scale float64, source *random.Source,
	all ...*gates[F]) error {
	if start == weight.StartKeras {
		if err := startTogether(ctx, r.set, all, source); err != nil {
			return err
		}
	}
	for _, g := range all {
		if start != weight.StartKeras {
			if err := startGates(ctx, r.set, g.w, start, source); err != nil {
				return err
			}
		}
		if scale != 0 && scale != 1 {
			for i := range g.w.Value {
				g.w.Value[i] *= F(scale)
			}
		}
		r.initProjection(&g.projection, source)
	}
	return nil
}

// startTogether sets the W of all gates to the parts of one matrix whose rows are orthonormal.
func startTogether[F kernel.Float](ctx context.Context, set *kernel.Set[F], all []*gates[F],
	source *random.Source) error {
	n, width := all[0].w.Rows, 0
	for _, g := range all {
		width += g.w.Cols
	}
	joint := kernel.NewMatrix[F](n, width)
	if err := weight.SetOrthogonal(ctx, set, joint, source); err != nil {
		return err
	}
	first := 0
	for _, g := range all {
		part := g.w.Matrix()
		for i := range n {
			copy(part.Row(i), joint.Row(i)[first:])
		}
		first += g.w.Cols
	}
	return nil
}

func (g *gates[F]) load(set *kernel.Set[F]) {
	g.projection.load(set)
	if g.operator != nil {
		g.operator.load()
		return
	}
	set.Pack(g.right, g.w.Matrix())
	set.PackTransposed(g.left, g.w.Matrix())
}

// addGates adds what the packed weights of gates whose W is a parameter take.
func (r *recurrent[F]) addGates(c *Cost, width int) {
	r.addProjection(c, width)
	c.Shared += int64(r.set.PackedSize(r.size, width, false) + r.set.PackedSize(width, r.size, false))
}

// gatesPass is the weights of gates with a pass's gradients.
type gatesPass[F kernel.Float] struct {
	projectionPass[F]
	w        *weight.View[F]
	operator operatorPass[F] // or nil
}

func (u *unrolled[F]) gates(of *gates[F]) gatesPass[F] {
	p := gatesPass[F]{projectionPass: u.projection(&of.projection), w: u.gradient(of.w)}
	if of.operator != nil {
		p.operator = of.operator.pass(operatorRows{}, nil)
	}
	return p
}

// accumulate adds the gradients of W, applied to h, U and b, and sets that of the input, or adds
// to it.
func (p *gatesPass[F]) accumulate(c chunk[F], h, deltas kernel.Matrix[F], more bool) {
	if p.operator == nil {
		p.set.TransposedAdd(p.w.GradientMatrix(), h, deltas, &p.scratch)
	} else {
		if c.last == p.in.Steps {
			p.operator.begin()
		}
		p.operator.accumulate(deltas, h, 0, &p.scratch)
	}
	p.projectionPass.accumulate(c, deltas, more)
}

var gatedStarts = []weight.Start{weight.StartGaussian, weight.StartOrthogonal, weight.StartKeras}

// startGates sets each n × n block of w, [n × kn], to the named start.
func startGates[F kernel.Float](ctx context.Context, set *kernel.Set[F], w *weight.View[F], start weight.Start,
	source *random.Source) error {
	n := w.Rows
	switch start {
	case "", weight.StartGaussian:
		return weight.SetGaussian(ctx, w.Value, 1/math.Sqrt(float64(n)), source)
	case weight.StartOrthogonal:
		for first := 0; first < w.Cols; first += n {
			if err := weight.SetOrthogonal(ctx, set, w.Matrix().Columns(first, first+n), source); err != nil {
				return err
			}
		}
	default:
		return &weight.StartError{Start: start, Known: gatedStarts}
	}
	return nil
}
