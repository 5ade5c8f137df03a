package cell

import (
	"math"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// GRU is the gated recurrent unit (Cho et al. 2014), whose reset gate acts on
// the state before its product:
//
//	z    = sigmoid(U_z x(t) + W_z h(t-1) + b_z)
//	r    = sigmoid(U_r x(t) + W_r h(t-1) + b_r)
//	h̃    = tanh(U_h x(t) + W_h (r ∘ h(t-1)) + b_h)
//	h(t) = (1 - z) ∘ h(t-1) + z ∘ h̃
//
// It has 3(n_i + n + 1)n parameters and n more for a trained h(0).
type GRU[F kernel.Float] struct {
	layer[F]
	gate, candidate gruPart[F] // z and r; h̃

	// Of the steps of a segment.
	gates      kernel.Matrix[F] // [kept × 2n]: z, r; after Backward their arguments' gradients
	candidates kernel.Matrix[F] // [kept × n]: h̃; likewise
	resets     kernel.Matrix[F] // [kept × n]: r ∘ h(t-1), made by Backward
	run        func(start, end int)

	// Of one step of Evaluate; stepReset serves Forward, too.
	stepGates, stepCandidate, stepReset kernel.Matrix[F]
}

// gruPart is the weights of one or two gates.
type gruPart[F kernel.Float] struct {
	u, w, b              *weight.View[F]
	project, ahead, back *kernel.Packed[F] // U, W, Wᵀ
	inject               kernel.Packed[F]  // Uᵀ
}

// GRUOptions are the choices of a [GRU] cell.
type GRUOptions struct {
	Inputs     int  // n_i
	Size       int  // n
	FixedStart bool // h(0) is 0 instead of trained
}

// NewGRU declares the tensors "U_zr" [n_i × 2n], "W_zr" [n × 2n] and "b_zr"
// [2n], gates in columns in the order z, r, "U_h" [n_i × n], "W_h" [n × n],
// "b_h" and "h0", and makes the cell's buffers.
func NewGRU[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], limits Limits, options GRUOptions) (*GRU[F], error) {
	n := options.Size
	base, err := newLayer(set, options.Inputs, n, 3, 1, limits)
	if err != nil {
		return nil, err
	}
	g := &GRU[F]{layer: base}
	part := func(name string, width int) gruPart[F] {
		return gruPart[F]{
			u:       g.tensor(arena.Declare("U_"+name, options.Inputs, width)),
			w:       g.tensor(arena.Declare("W_"+name, n, width)),
			b:       g.tensor(arena.Declare("b_"+name, 1, width)),
			project: new(kernel.Packed[F]), ahead: new(kernel.Packed[F]), back: new(kernel.Packed[F]),
		}
	}
	g.gate, g.candidate = part("zr", 2*n), part("h", n)
	if !options.FixedStart {
		g.h0 = g.tensor(arena.Declare("h0", 1, n))
	}
	g.makeBuffers()
	return g, nil
}

func (g *GRU[F]) makeBuffers() {
	n, batch := g.size, g.limits.Batch
	g.gates, g.candidates, g.resets = newMatrix[F](g.kept, 2*n), newMatrix[F](g.kept, n), newMatrix[F](g.kept, n)
	g.run = g.segmentForward
	g.stepGates, g.stepCandidate, g.stepReset = newMatrix[F](batch, 2*n), newMatrix[F](batch, n), newMatrix[F](batch, n)
}

// Fork returns a layer for another part of the minibatch.
func (g *GRU[F]) Fork() Recurrent[F] {
	f := &GRU[F]{layer: g.fork()}
	part := func(p *gruPart[F]) gruPart[F] {
		return gruPart[F]{u: f.tensor(p.u), w: f.tensor(p.w), b: f.tensor(p.b), project: p.project, ahead: p.ahead, back: p.back}
	}
	f.gate, f.candidate = part(&g.gate), part(&g.candidate)
	f.h0 = f.tensor(g.h0)
	f.makeBuffers()
	g.forks = append(g.forks, &f.layer)
	return f
}

// Join adds the gradients of the first forks.
func (g *GRU[F]) Join(used int) { g.join(used) }

// Start draws each gate's W from N(0, 1/n), or makes it orthogonal, and U from
// N(0, s²/n_i), and sets the rest to 0.
func (g *GRU[F]) Start(options StartOptions, random *weight.Random) error {
	for _, p := range []*gruPart[F]{&g.gate, &g.candidate} {
		if err := startGates(p.w, options.Weight, random); err != nil {
			return err
		}
		weight.Gaussian(p.u.Value, options.InputScale/math.Sqrt(float64(g.inputs)), random)
		clear(p.b.Value)
	}
	if g.h0 != nil {
		clear(g.h0.Value)
	}
	return nil
}

// Load packs the weights.
func (g *GRU[F]) Load() {
	g.gate.load(g.set)
	g.candidate.load(g.set)
}

func (p *gruPart[F]) load(set *kernel.Set[F]) {
	set.PackBias(p.project, p.u.Matrix(), p.b.Value)
	set.Pack(p.ahead, p.w.Matrix())
	set.PackTransposed(p.back, p.w.Matrix())
}

// Forward runs the cell and returns h(T).
func (g *GRU[F]) Forward(x kernel.Matrix[F], steps, batch int) kernel.Matrix[F] {
	g.begin(x, steps, batch)
	broadcast(block(g.history, 0, batch), g.h0)
	return block(g.history, g.forward(g.run), batch)
}

// segmentForward goes through the steps of a segment.
func (g *GRU[F]) segmentForward(start, end int) {
	steps, batch := end-start, g.batch
	h, x := g.history, g.x.Slice(start*batch, end*batch)
	reset := g.stepReset.Slice(0, batch)
	for t := range steps {
		g.step(block(g.gates, t, batch), block(g.candidates, t, batch), reset, block(x, t, batch), block(h, t, batch), block(h, t+1, batch),
			following(g.gates, (t+1)*batch, batch), following(g.candidates, (t+1)*batch, batch))
	}
}

// step does one time step. What it is given last is needed in the next one.
func (g *GRU[F]) step(gates, candidate, reset, x, h, next, nextGates, nextCandidate kernel.Matrix[F]) {
	g.set.MultiplySum(gates, kernel.Sum[F]{X: x, M: g.gate.project, A: h, B: g.gate.ahead, Ahead: upcoming(nextGates)})
	g.set.GRUGates(gates, h, reset)
	g.set.MultiplySum(candidate, kernel.Sum[F]{X: x, M: g.candidate.project, A: reset, B: g.candidate.ahead, Ahead: upcoming(nextCandidate)})
	g.set.GRUBlend(gates, candidate, h, next)
}

// Evaluate runs the cell without keeping its history.
func (g *GRU[F]) Evaluate(x kernel.Matrix[F], steps, batch int) kernel.Matrix[F] {
	g.check(x, steps, batch)
	h, reset := g.state.Slice(0, batch), g.stepReset.Slice(0, batch)
	gates, candidate := g.stepGates.Slice(0, batch), g.stepCandidate.Slice(0, batch)
	broadcast(h, g.h0)
	for t := range steps {
		g.step(gates, candidate, reset, block(x, t, batch), h, h, kernel.Matrix[F]{}, kernel.Matrix[F]{})
	}
	return h
}

// Backward goes back through time; see [kernel.Set.GRUBlendBackward] and
// [kernel.Set.GRUGatesBackward] for the gates.
func (g *GRU[F]) Backward(dh, dx kernel.Matrix[F]) {
	all := g.checkBackward(dh, dx)
	steps, batch := g.steps, g.batch
	if dx.Data != nil {
		g.set.PackTransposed(&g.gate.inject, g.gate.u.Matrix())
		g.set.PackTransposed(&g.candidate.inject, g.candidate.u.Matrix())
	}
	dstate := g.startGradient.Slice(0, batch)
	fill(dstate, block(dh, dh.Rows/batch-1, batch))
	stride := g.stride(steps, batch)
	first := (steps - 1) / stride * stride
	segment := g.lastSegment()
	for last := steps; last > 0; first, last = first-stride, first {
		if first < segment {
			segment -= g.segment(steps, batch)
			g.again(segment, g.run)
		}
		for t := last - 1; t >= first; t-- {
			place := t - segment
			gates, candidate, before := block(g.gates, place, batch), block(g.candidates, place, batch), block(g.history, place, batch)
			reset := block(g.resets, place, batch)
			g.set.GRUBlendBackward(gates, candidate, before, dstate)
			g.set.MultiplySum(reset, kernel.Sum[F]{A: candidate, B: g.candidate.back, Ahead: upcoming(preceding(g.candidates, place*batch, batch))})
			g.set.GRUGatesBackward(gates, before, reset, dstate)
			g.set.MultiplySum(dstate, kernel.Sum[F]{A: gates, B: g.gate.back, H: dstate, Ahead: upcoming(preceding(g.gates, place*batch, batch), preceding(g.resets, place*batch, batch))})
			if all && t > 0 {
				add(g.set, dstate, block(dh, t-1, batch))
			}
		}
		x := g.x.Slice(first*batch, last*batch)
		from, to := (first-segment)*batch, (last-segment)*batch
		gates, candidates := g.gates.Slice(from, to), g.candidates.Slice(from, to)
		g.gate.accumulate(g.set, x, g.history.Slice(from, to), gates, &g.scratch)
		g.candidate.accumulate(g.set, x, g.resets.Slice(from, to), candidates, &g.scratch)
		if dx.Data != nil {
			g.set.Multiply(dx.Slice(first*batch, last*batch), gates, &g.gate.inject)
			g.set.MultiplyAdd(dx.Slice(first*batch, last*batch), candidates, &g.candidate.inject)
		}
	}
	if g.h0 != nil {
		g.set.ColumnSumsAdd(g.h0.Gradient, dstate)
	}
}

// accumulate adds the weights' gradients, given those of the gates' arguments.
func (p *gruPart[F]) accumulate(set *kernel.Set[F], x, h, deltas kernel.Matrix[F], scratch *kernel.Scratch[F]) {
	set.TransposedAdd(p.w.GradientMatrix(), h, deltas, scratch)
	set.TransposedAdd(p.u.GradientMatrix(), x, deltas, scratch)
	set.ColumnSumsAdd(p.b.Gradient, deltas)
}

// add is dst += src.
func add[F kernel.Float](set *kernel.Set[F], dst, src kernel.Matrix[F]) {
	for i := range dst.Rows {
		set.Axpy(dst.Row(i), 1, src.Row(i))
	}
}
