package layer

import (
	"context"
	"math"

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

	input projection[F]   // U [n_i × 4n], gates in columns in the order i, f, g, o, and b
	w     *weight.View[F] // [n × 4n]

	right kernel.Packed[F] // W, for products of states in rows
	left  kernel.Packed[F] // Wᵀ, for those of deltas
}

// LSTMOptions are the choices of an [LSTM] cell.
type LSTMOptions struct {
	Inputs     int  // n_i
	Size       int  // n
	FixedStart bool // h(0) and c(0) are 0 instead of trained
	Every      bool // there is an output for every step, not for the last alone

	Start      weight.Start // of each gate's W; "" is Gaussian
	InputScale float64      // s: U starts from N(0, s²/n_i)
	ForgetBias float64      // the start of the forget bias, usually 1
}

// NewLSTM declares the tensors "U" [n_i × 4n], "W" [n × 4n] and "b" [4n], gates
// in columns in the order i, f, g, o, and "h0" and "c0".
func NewLSTM[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], options LSTMOptions) (*LSTM[F], error) {
	n := options.Size
	base, err := newRecurrent(set, options.Inputs, n, 4, 1, options.Every)
	if err != nil {
		return nil, err
	}
	l := &LSTM[F]{recurrent: base, options: options}
	l.input.u = l.declare(arena, "U", options.Inputs, 4*n)
	l.w = l.declare(arena, "W", n, 4*n)
	l.input.b = l.declare(arena, "b", 1, 4*n)
	l.declareInitial(arena, "h0", options.FixedStart)
	l.declareInitial(arena, "c0", options.FixedStart)
	return l, nil
}

var gatedStarts = []weight.Start{weight.StartGaussian, weight.StartOrthogonal}

// Init draws each gate's W from N(0, 1/n), or makes it orthogonal, and U from
// N(0, s²/n_i), sets the forget bias and the rest to 0.
func (l *LSTM[F]) Init(ctx context.Context, source *random.Source) error {
	if err := startGates(ctx, l.set, l.w, l.options.Start, source); err != nil {
		return err
	}
	random.Gaussian(l.input.u.Value, l.options.InputScale/math.Sqrt(float64(l.inputs)), source)
	clear(l.input.b.Value)
	forget := l.input.b.Value[l.size : 2*l.size]
	for i := range forget {
		forget[i] = F(l.options.ForgetBias)
	}
	l.clearInitial()
	return nil
}

// Load packs U and W.
func (l *LSTM[F]) Load() {
	l.input.load(l.set)
	l.set.Pack(&l.right, l.w.Matrix())
	l.set.PackTransposed(&l.left, l.w.Matrix())
}

// Join adds the gradients of the first passes.
func (l *LSTM[F]) Join(used int) { l.join(used) }

// Constrain does nothing: all parameters are free.
func (l *LSTM[F]) Constrain(float64) {}

// Cost counts four gates.
func (l *LSTM[F]) Cost(limits Limits) Cost {
	c := l.cost(limits, 4, 6*l.size)
	u, n := l.sized(limits), l.size
	c.Shared = int64(l.set.PackedSize(l.inputs, 4*n, true) + l.set.PackedSize(n, 4*n, false) +
		l.set.PackedSize(4*n, n, false))
	c.Pass += int64(kernel.PaddedSize(u.kept+u.chunkRows()+limits.Batch, 4*n) +
		kernel.ScratchSize(max(n, l.inputs), u.chunkRows()))
	c.Inject = int64(l.set.PackedSize(4*n, l.inputs, false))
	return c
}

// lstmPass is a [Pass] of an [LSTM] cell.
type lstmPass[F kernel.Float] struct {
	*unrolled[F]
	cell  *LSTM[F]
	input projectionPass[F]
	w     *weight.View[F] // with the pass's gradient

	// Of the steps of a segment.
	gates kernel.Matrix[F] // [kept × 4n]: i, f, g, o
	cells kernel.Matrix[F] // c before the steps and after each

	deltas    kernel.Matrix[F] // the gradients of the gates' arguments in the steps of one chunk
	stepGates kernel.Matrix[F] // the gates of a step whose history is not kept
}

// NewPass returns a pass for parts of minibatches.
func (l *LSTM[F]) NewPass(limits Limits) Pass[F] {
	p := &lstmPass[F]{unrolled: l.newUnrolled(limits), cell: l}
	n := l.size
	p.body, p.input, p.w = p, p.projection(&l.input), p.gradient(l.w)
	p.gates, p.cells = kernel.NewPadded[F](p.kept, 4*n), p.carried[1].history
	p.deltas, p.stepGates = kernel.NewPadded[F](p.chunkRows(), 4*n), kernel.NewPadded[F](limits.Batch, 4*n)
	return p
}

func (p *lstmPass[F]) evaluate(in Input[F]) {
	p.set.LSTMForward(p.stepGates.Slice(0, in.Batch), p.to[1], p.to[0], in.Batch, &p.cell.right, in.X,
		&p.cell.input.packed)
}

func (p *lstmPass[F]) step(first, end int) {
	batch := p.in.Batch
	rows := (end - first) * batch
	p.set.LSTMForward(p.gates.Slice(0, rows), p.cells.Slice(0, rows+batch), p.history.Slice(0, rows+batch), batch,
		&p.cell.right, p.in.X.Slice(first*batch, end*batch), &p.cell.input.packed)
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
		if c.dout.Data != nil { // a step at a time
			begin = end - 1
		}
		from, to := (begin-c.segment)*batch, (end-c.segment)*batch
		p.set.LSTMBackward(p.deltas.Slice((begin-c.first)*batch, (end-c.first)*batch), p.gates.Slice(from, to),
			p.cells.Slice(from, to+batch), p.history.Slice(from, to+batch), batch, &p.cell.left, dstate, dcell,
			memory(preceding(p.gates, from, batch)), memory(p.history.Slice(from, from+batch)))
		c.addOutput(p.set, dstate, begin)
	}
}

func (p *lstmPass[F]) accumulate(c chunk[F]) {
	from, to := c.rows()
	deltas := p.deltas.Slice(0, to-from)
	p.set.TransposedAdd(p.w.GradientMatrix(), p.history.Slice(from, to), deltas, &p.scratch)
	p.input.accumulate(c, deltas, false)
}

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
