package layer

import (
	"context"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// LSTM is the long short-term memory cell (Hochreiter and Schmidhuber 1997,
// with the forget gate of Gers et al. 2000) without peepholes:
//
//	i, f, o = sigmoid(U x(t) + W h(t-1) + b)    each with its own U, W, b
//	g       = tanh(U x(t) + W h(t-1) + b)       likewise
//	c(t)    = f ∘ c(t-1) + i ∘ g
//	h(t)    = o ∘ tanh(c(t))
//
// It has 4(n_i + n + 1)n parameters and 2n more for trained h(0) and c(0).
type LSTM[F kernel.Float] struct {
	recurrent[F]
	options LSTMOptions
	gates   gates[F] // in the order i, f, g, o
}

// LSTMOptions are the choices of an [LSTM] cell.
type LSTMOptions struct {
	CellOptions
	Size       int          // n
	Start      weight.Start // of the gates' W; "" is Gaussian, of a [MatrixLSTM] the matrices' usual one
	Scale      float64      // of that start; 0 is 1. A [MatrixLSTM] has none.
	ForgetBias float64      // the start of the forget bias, usually 1
}

// NewLSTM declares the tensors "U" [n_i × 4n], "W" [n × 4n] and "b" [4n], gates
// in columns in the order i, f, g, o, and "h0" and "c0".
func NewLSTM[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], options LSTMOptions) (*LSTM[F], error) {
	n := options.Size
	base, err := newRecurrent(set, options.CellOptions, n, 4, 1)
	if err != nil {
		return nil, err
	}
	l := &LSTM[F]{recurrent: base, options: options}
	l.gates = l.declareGates(arena, "", 4*n)
	l.declareInitial(arena, "h0", "c0")
	return l, nil
}

// Init draws each gate's W from N(0, 1/n), or makes it orthogonal, or all of them
// together, and U from N(0, s²/n_i), sets the forget bias and the rest to 0.
func (l *LSTM[F]) Init(ctx context.Context, source *random.Source) error {
	if err := l.initGates(ctx, l.options.Start, l.options.Scale, source, &l.gates); err != nil {
		return err
	}
	l.startForget()
	l.clearInitial()
	return nil
}

func (l *LSTM[F]) startForget() {
	forget := l.gates.b.Value[l.size : 2*l.size]
	for i := range forget {
		forget[i] = F(l.options.ForgetBias)
	}
}

// Load packs U and W.
func (l *LSTM[F]) Load() { l.gates.load(l.set) }

// Cost counts four gates.
func (l *LSTM[F]) Cost(limits Limits) Cost {
	c := l.cost(limits)
	l.addGates(&c, 4*l.size)
	return c
}

// cost is that of the four gates but for their packed weights.
func (l *LSTM[F]) cost(limits Limits) Cost {
	c, u := l.recurrent.cost(limits, 4, 6*l.size)
	c.Pass += int64(kernel.PaddedSize(u.retained+u.chunkRows()+limits.Batch, 4*l.size))
	return c
}

// lstmPass is a [Pass] of an [LSTM] cell.
type lstmPass[F kernel.Float] struct {
	*unrolled[F]
	cell    *LSTM[F]
	weights gatesPass[F]

	// Of the steps of a segment.
	gates kernel.Matrix[F] // [retained × 4n]: i, f, g, o
	cells kernel.Matrix[F] // c before the steps and after each

	deltas    kernel.Matrix[F] // the gradients of the gates' arguments in the steps of one chunk
	stepGates kernel.Matrix[F] // the gates of a step whose history is not retained
}

// NewPass returns a pass for parts of minibatches.
func (l *LSTM[F]) NewPass(limits Limits) Pass[F] {
	p := &lstmPass[F]{unrolled: l.newUnrolled(limits), cell: l}
	n := l.size
	p.body, p.weights = p, p.unrolled.gates(&l.gates)
	p.gates, p.cells = kernel.NewPadded[F](p.retained, 4*n), p.carried[1].history
	p.deltas, p.stepGates = kernel.NewPadded[F](p.chunkRows(), 4*n), kernel.NewPadded[F](limits.Batch, 4*n)
	return p
}

func (p *lstmPass[F]) evaluate(in Input[F]) {
	p.set.LSTMForward(p.stepGates.Slice(0, in.Batch), p.to[1], p.to[0], in.Batch, p.cell.gates.right, in.X,
		&p.cell.gates.packed)
}

func (p *lstmPass[F]) step(first, end int) {
	batch := p.in.Batch
	rows := (end - first) * batch
	p.set.LSTMForward(p.gates.Slice(0, rows), p.cells.Slice(0, rows+batch), p.history.Slice(0, rows+batch), batch,
		p.cell.gates.right, p.in.X.Slice(first*batch, end*batch), &p.cell.gates.packed)
}

// See [kernel.Set.LSTMBackward] for the gates. Their gradients δ, [4n], go on as
//
//	∂L/∂h(t-1) = Wᵀ δ(t) + g(t-1)
//	∂L/∂W = Σ δ(t) h(t-1)ᵀ   ∂L/∂U = Σ δ(t) x(t)ᵀ   ∂L/∂b = Σ δ(t)
//
// where g(t) is the part of ∂L/∂h(t) that dout holds and the sums run over steps and series.
func (p *lstmPass[F]) back(c chunk[F]) {
	batch, dstate, dcell := c.batch, p.dstate[0], p.dstate[1]
	for begin, end := c.first, c.last; end > c.first; end = begin {
		if c.dout.Data != nil || c.watched != nil { // a step at a time
			begin = end - 1
		}
		from, to := (begin-c.segment)*batch, (end-c.segment)*batch
		p.set.LSTMBackward(p.deltas.Slice((begin-c.first)*batch, (end-c.first)*batch), p.gates.Slice(from, to),
			p.cells.Slice(from, to+batch), p.history.Slice(from, to+batch), batch, p.cell.gates.left, dstate, dcell,
			memory(preceding(p.gates, from, batch)), memory(p.history.Slice(from, from+batch)))
		c.addOutput(p.set, dstate, begin)
	}
}

func (p *lstmPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	p.weights.accumulate(c, p.history.Slice(from, to), p.deltas.Slice(0, to-from), false)
}
