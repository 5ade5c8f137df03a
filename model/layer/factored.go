package layer

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// factored is the operator of the factors of W = diag(d) + L Rᵀ. Applied one after the other, to
// states in rows, they never form W:
//
//	P = H R                  W H → d ∘ H + P Lᵀ
//	Q = Δ L                  Wᵀ Δ → d ∘ Δ + Q Rᵀ
//	dL = Σ Δᵀ P              dR = Σ Hᵀ Q              dd = Σ Δ ∘ H
type factored[F kernel.Float] struct {
	factors[F]
	set    *kernel.Set[F]
	matrix weight.LowRank[F]
	bias   *weight.View[F] // what is added to W x for rows on their own; nil of a recurrent layer
	passes []*factoredPass[F]

	intoP, outOfP kernel.Packed[F] // R, and Lᵀ with the bias
	intoQ, outOfQ kernel.Packed[F] // L and Rᵀ
}

// factoredPass has P of the rows that are retained, or of a step of others, Q of those that are
// accumulated together, and the gradients.
type factoredPass[F kernel.Float] struct {
	*factored[F]
	workspace  *workspace[F] // nil of a recurrent layer
	p, step, q kernel.Matrix[F]
	gradient   factors[F]
	unset      bool // the gradients count as 0, whatever they hold
}

// factors are d, L and R, or their gradients.
type factors[F kernel.Float] struct {
	d           []F
	left, right kernel.Matrix[F]
}

func newFactors[F kernel.Float](matrix weight.LowRank[F]) factors[F] {
	n, _ := matrix.Shape()
	k := matrix.Rank()
	return factors[F]{make([]F, n), kernel.NewPadded[F](n, k), kernel.NewPadded[F](n, k)}
}

// factorsSize is the values of factors.
func factorsSize(n, k int) int { return n + 2*kernel.PaddedSize(n, k) }

func newFactored[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F], bias *weight.View[F]) *factored[F] {
	return &factored[F]{factors: newFactors(matrix), set: set, matrix: matrix, bias: bias}
}

func (f *factored[F]) load() {
	f.matrix.Factors(f.d, f.left, f.right)
	f.set.Pack(&f.intoP, f.right)
	f.set.Pack(&f.intoQ, f.left)
	f.set.PackTransposed(&f.outOfQ, f.right)
	if f.bias != nil {
		f.set.PackTransposedBias(&f.outOfP, f.left, f.bias.Value)
	} else {
		f.set.PackTransposed(&f.outOfP, f.left)
	}
}

func (f *factored[F]) margin(ctx context.Context) (float64, error) {
	return weight.FactorsMargin(ctx, f.set, f.d, f.left, f.right)
}

func (f *factored[F]) pass(rows operatorRows, w *workspace[F]) operatorPass[F] {
	k := f.matrix.Rank()
	p := &factoredPass[F]{factored: f, workspace: w, gradient: newFactors(f.matrix),
		p: kernel.NewPadded[F](rows.retained, k), step: kernel.NewPadded[F](rows.step, k),
		q: kernel.NewPadded[F](rows.chunk, k)}
	f.passes = append(f.passes, p)
	return p
}

func (p *factoredPass[F]) apply(out, x, plus kernel.Matrix[F], phi phi[F], _ bool) {
	inner := p.p.Slice(0, x.Rows)
	p.set.Multiply(inner, x, &p.intoP)
	sum := kernel.Sum[F]{X: inner, M: &p.outOfP, H: x, D: p.d, Prefetch: p.workspace.next}
	if plus.Data != nil {
		out.Fill(plus)
		p.set.ScaleColumnsAdd(out, p.d, x)
		sum.H, sum.D = out, nil
	}
	p.set.MultiplyActivate(out, sum, phi.activation, phi.slope)
}

func (p *factoredPass[F]) applySteps(h, x kernel.Matrix[F], m *kernel.Packed[F], batch int, phi phi[F], keep bool) {
	for i := range h.Rows/batch - 1 {
		inner := p.step.Slice(0, batch)
		var after kernel.Matrix[F] // P of the next step
		if keep {
			inner, after = block(p.p, i, batch), following(p.p, (i+1)*batch, batch)
		}
		state := block(h, i, batch)
		p.set.MultiplySum(inner, kernel.Sum[F]{A: state, B: &p.intoP, Prefetch: memories(after)})
		sum := kernel.Sum[F]{X: block(x, i, batch), M: m, A: inner, B: &p.outOfP, H: state, D: p.d,
			Prefetch: memories(following(h, (i+2)*batch, batch))}
		p.set.MultiplyActivate(block(h, i+1, batch), sum, phi.activation, phi.slope)
	}
}

func (p *factoredPass[F]) begin() { p.unset = true }

func (p *factoredPass[F]) project(deltas kernel.Matrix[F], slot int) {
	p.set.Multiply(block(p.q, slot, deltas.Rows), deltas, &p.intoQ)
}

func (p *factoredPass[F]) transpose(dst, delta kernel.Matrix[F], slot int, end epilogue[F]) {
	sum := kernel.Sum[F]{A: block(p.q, slot, delta.Rows), B: &p.outOfQ, H: delta, D: p.d, Prefetch: end.prefetch}
	if end.add {
		p.set.ScaleColumnsAdd(dst, p.d, delta)
		sum.H, sum.D = dst, nil
	}
	if end.plus.Data != nil {
		p.set.MultiplySum(dst, sum)
		end.apply(p.set, dst)
	} else {
		end.multiply(p.set, dst, sum)
	}
}

func (p *factoredPass[F]) transposeSteps(deltas, outs, before kernel.Matrix[F], batch int, phi phi[F]) {
	for i := deltas.Rows/batch - 2; i >= 0; i-- {
		delta := block(deltas, i, batch)
		if i > 0 {
			before = block(outs, i-1, batch)
		}
		p.transpose(delta, block(deltas, i+1, batch), i+1,
			epilogue[F]{phi: phi, out: block(outs, i, batch), prefetch: memories(before)})
		p.project(delta, i)
	}
}

func (p *factoredPass[F]) accumulate(deltas, h kernel.Matrix[F], row int, scratch *kernel.Scratch[F]) {
	if p.unset {
		clear(p.gradient.d)
	}
	addTransposed(p.set, p.gradient.left, deltas, p.p.Slice(row, row+h.Rows), scratch, p.unset)
	addTransposed(p.set, p.gradient.right, h, p.q.Slice(0, h.Rows), scratch, p.unset)
	p.set.ColumnProductSumsAdd(p.gradient.d, deltas, h)
	p.unset = false
}

func (p *factoredPass[F]) needs(back bool) []F {
	if back {
		return p.outOfQ.Memory()
	}
	return p.outOfP.Memory()
}

func (f *factored[F]) join(used int) {
	sum := &f.passes[0].gradient
	for _, p := range f.passes[1:used] {
		f.set.Axpy(sum.d, 1, p.gradient.d)
		add(f.set, sum.left, p.gradient.left)
		add(f.set, sum.right, p.gradient.right)
	}
	f.matrix.PullbackFactors(sum.d, sum.left, sum.right)
}

func (f *factored[F]) cost(rows operatorRows) Cost {
	n, k := len(f.d), f.matrix.Rank()
	packed := 2*f.set.PackedSize(n, k, false) + f.set.PackedSize(k, n, false) + f.set.PackedSize(k, n, f.bias != nil)
	return Cost{
		Weights: float64(2 * n * k),
		Shared:  int64(factorsSize(n, k) + packed + f.matrix.FactorsFootprint()),
		Pass:    int64(factorsSize(n, k) + kernel.PaddedSize(rows.step+rows.retained+rows.chunk, k)),
	}
}

// formed is a matrix whose value is formed from its factors, and whose gradient is taken apart:
//
//	dL = dW R   dR = dWᵀ L   dd = diag(dW)
type formed[F kernel.Float] struct {
	weight.LowRank[F]
	set             *kernel.Set[F]
	value, gradient factors[F] // made by the first Value: an estimate has no use for them
	packed          kernel.Packed[F]
}

// formable is the matrix, or where that is faster one that forms it from its factors.
func formable[F kernel.Float](set *kernel.Set[F], matrix weight.Matrix[F]) weight.Matrix[F] {
	rows, cols := matrix.Shape()
	if low, ok := matrix.(weight.LowRank[F]); ok && rows == cols && rows >= max(formedSize, formedRanks*low.Rank()) {
		return newFormed(set, low)
	}
	return matrix
}

func newFormed[F kernel.Float](set *kernel.Set[F], matrix weight.LowRank[F]) *formed[F] {
	return &formed[F]{LowRank: matrix, set: set}
}

// Value writes W.
func (f *formed[F]) Value(w kernel.Matrix[F]) {
	v := &f.value
	if v.d == nil {
		f.value, f.gradient = newFactors(f.LowRank), newFactors(f.LowRank)
	}
	f.Factors(v.d, v.left, v.right)
	f.set.PackTransposed(&f.packed, v.right)
	f.set.Multiply(w, v.left, &f.packed)
	for i, d := range v.d {
		w.Data[i*w.Stride+i] += d
	}
}

// Pullback adds the gradients of the parameters.
func (f *formed[F]) Pullback(dw kernel.Matrix[F]) {
	g := &f.gradient
	f.set.Pack(&f.packed, f.value.right)
	f.set.Multiply(g.left, dw, &f.packed)
	f.set.Transposed(g.right, dw, f.value.left, nil)
	for i := range g.d {
		g.d[i] = dw.Data[i*dw.Stride+i]
	}
	f.PullbackFactors(g.d, g.left, g.right)
}

// Footprint counts the factors, their gradients and one of them packed.
func (f *formed[F]) Footprint() int {
	n, _ := f.Shape()
	k := f.Rank()
	packed := max(f.set.PackedSize(k, n, false), f.set.PackedSize(n, k, false))
	return 2*factorsSize(n, k) + packed + f.FactorsFootprint()
}
