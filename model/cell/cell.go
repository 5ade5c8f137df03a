// Package cell holds recurrent cells that work on whole sequences, forward and
// backward, and the output head with its losses.
//
// # Layout
//
// A minibatch of B series over T steps is a matrix whose row t·B+b is step t
// of series b: [T·B × n_i] going in, [T·B × n] coming out. W, M, Y and the
// biases are tensors of a [weight.Arena]. States are rows, so a product with a
// weight that is written W h in the papers is h Wᵀ here.
//
// # Use
//
//	set := kernel.Float32()
//	arena := weight.NewArena[float32]()
//	matrix, err := weight.NewSVD(set, arena, n, weight.SVDOptions{Left: 16, Right: 16, Radius: .1, Center: 1})
//	limits := cell.Limits{Steps: T, Batch: B}
//	recurrent, err := cell.NewElman(set, arena, matrix, limits, cell.ElmanOptions{Inputs: n_i, Activation: kernel.LeakyReLU, Slope: .2})
//	head, err := cell.NewHead(set, arena, n, n_y, B, cell.HeadOptions{})
//	arena.Allocate() // the end of declarations
//	err = recurrent.Start(cell.StartOptions{InputScale: .25}, weight.NewRandom(seed, 0))
//	head.Start(.05, weight.NewRandom(seed, 1))
//
// A training step, which allocates nothing:
//
//	arena.ZeroGradients()
//	recurrent.Load() // form and pack the weights for the present parameters
//	head.Load()
//	head.Forward(recurrent.Forward(x, T, B))
//	loss, correct := head.CrossEntropy(labels)
//	recurrent.Backward(head.Backward(), kernel.Matrix[float32]{})
//	optimizer.Step(rate)
//	matrix.Project()
//
// Evaluation: Load once, then for each batch
//
//	head.Evaluate(recurrent.Evaluate(x, T, B))
//	loss, correct := head.CrossEntropy(labels)
//
// Layers stack: hand the Outputs of one as x to the next, and the dx that the
// next one's Backward fills as dh to the first.
//
// A wrong shape is a mistake of the calling program and panics; a wrong option
// is an error. A cell is not safe for use by several goroutines at once.
package cell

import (
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// Recurrent is a layer that reads a sequence.
type Recurrent[F kernel.Float] interface {
	// Size returns n, the number of hidden units.
	Size() int

	// Start sets all parameters for the beginning of a training.
	Start(options StartOptions, random *weight.Random) error

	// Load forms and packs the weights from the present parameters. It is due
	// before the first Forward or Evaluate after any change of them, and before
	// every Forward that a Backward follows.
	Load()

	// Forward runs steps time steps over batch series, x [steps·batch ×
	// inputs], and returns the last hidden states, [batch × n], valid until the
	// next Forward. It keeps what Backward needs, x included, which must not
	// change until then.
	Forward(x kernel.Matrix[F], steps, batch int) kernel.Matrix[F]

	// Outputs returns all hidden states of the last Forward, [steps·batch × n].
	// All its history must have been kept.
	Outputs() kernel.Matrix[F]

	// Backward adds the gradients of all parameters, given dh, the gradient of
	// the last hidden states, [batch × n], or of all, [steps·batch × n]. If dx
	// is not the zero Matrix it is set to the gradient of x. At most one
	// Backward may follow a Forward.
	Backward(dh, dx kernel.Matrix[F])

	// Evaluate is Forward for a longer sequence or without a Backward: it keeps
	// no history, so steps is not limited. The result is valid until the next
	// Evaluate; what Forward kept stays as it is.
	Evaluate(x kernel.Matrix[F], steps, batch int) kernel.Matrix[F]

	// StartGradientNorm returns ‖∂L/∂h(0)‖ after a Backward: the Frobenius norm
	// over all series of the batch, before they are summed into the gradient of
	// the trained start. For a loss that is a mean over B series, √B times this
	// is the root mean square of the norms of the single series.
	StartGradientNorm() float64

	// Fork returns a layer that has this one's weights, as they are loaded, and
	// a history and gradients of its own, for another part of the minibatch. The
	// arena is allocated. Forward, Evaluate and Backward of a layer and of its
	// forks may run at once; Load is the original's alone.
	Fork() Recurrent[F]

	// Join ends the Backward of a layer that has forks, and of those: it adds
	// their gradients, in the order in which they were made. used is the number
	// of forks that took part, the first ones. Without forks Backward is enough.
	Join(used int)
}

// Limits are the largest sizes that a cell is asked for.
type Limits struct {
	Steps int // time steps in a Forward
	Batch int // series in a Forward or an Evaluate
	// History is the number of time steps, or a few more, whose history is kept
	// at once; all if 0. If they are fewer than Steps a sequence is cut into
	// segments: Forward keeps the state before each of them, and Backward runs
	// forward again through one after the other, the last first. That costs
	// about a third more time and changes no bit.
	History int
}

// StartOptions are the choices for parameters before training. Biases and
// initial states start at 0 unless said otherwise.
type StartOptions struct {
	// Weight is the start of the recurrent matrix; "" means its usual one.
	Weight weight.Start

	// InputScale s makes input matrices N(0, s²/n_i).
	InputScale float64

	// ForgetBias is the start of the LSTM's forget bias, usually 1.
	ForgetBias float64
}

// carried is what a step hands to the next one, in the form of history, and
// what each segment of a sequence was handed; no rows if there is only one.
type carried[F kernel.Float] struct{ history, starts kernel.Matrix[F] }

// layer is what all cells have in common.
type layer[F kernel.Float] struct {
	set          *kernel.Set[F]
	inputs, size int
	limits       Limits
	chunk        int // rows, see cachedRows
	least        int // time steps that Backward works on together

	h0 *weight.View[F] // trained h(0); nil if it is fixed at 0

	kept          int              // rows, steps times series, whose history is kept
	history       kernel.Matrix[F] // h before the segment's steps and after each, kept + B rows
	carried       []carried[F]     // history, and what else a step hands to the next
	state         kernel.Matrix[F] // h of Evaluate, [B × n]
	startGradient kernel.Matrix[F] // ∂L/∂h(0), [B × n]

	tensors []*weight.View[F] // all that have gradients, in one order for a layer and its forks
	forks   []*layer[F]
	forked  bool // it is a fork itself

	scratch kernel.Scratch[F]

	x            kernel.Matrix[F] // of the last Forward
	steps, batch int              // of the last Forward; 0 before
}

// newLayer returns the common part of a layer that computes columns numbers a
// unit and step and works on so many steps at least together.
func newLayer[F kernel.Float](set *kernel.Set[F], inputs, size, columns, least int, limits Limits) (layer[F], error) {
	for _, c := range []struct {
		name  string
		value int
	}{{"inputs", inputs}, {"hidden units", size}, {"steps", limits.Steps}, {"series in a batch", limits.Batch}} {
		if c.value < 1 {
			return layer[F]{}, fmt.Errorf("cell: %d %s: want at least 1", c.value, c.name)
		}
	}
	l := layer[F]{set: set, inputs: inputs, size: size, limits: limits, chunk: cachedRows(columns * size), least: least}
	l.kept = limits.Steps * limits.Batch
	if limits.History > 0 {
		// At least one chunk of a batch of any size.
		l.kept = min(l.kept, max(limits.History*limits.Batch, l.chunk, least*limits.Batch))
	}
	l.makeLayerBuffers()
	return l, nil
}

func (l *layer[F]) makeLayerBuffers() {
	batch, n := l.limits.Batch, l.size
	l.history = l.carry()
	l.state = newMatrix[F](batch, n)
	l.startGradient = newMatrix[F](batch, n)
}

// carry makes the history of what a step hands to the next.
func (l *layer[F]) carry() kernel.Matrix[F] {
	c := carried[F]{newMatrix[F](l.kept+l.limits.Batch, l.size), newMatrix[F](l.startRows(), l.size)}
	l.carried = append(l.carried, c)
	return c.history
}

// startRows is the most rows that the states before segments take.
func (l *layer[F]) startRows() int {
	if l.kept == l.limits.Steps*l.limits.Batch {
		return 0
	}
	rows := 0
	for batch := 1; batch <= l.limits.Batch; batch++ {
		segment := l.segment(l.limits.Steps, batch)
		rows = max(rows, (l.limits.Steps+segment-1)/segment*batch)
	}
	return rows
}

// stride is the number of time steps that Backward works on together.
func (l *layer[F]) stride(steps, batch int) int { return min(steps, max(l.least, l.chunk/batch)) }

// chunkRows is the most rows that Backward works on together.
func (l *layer[F]) chunkRows() int {
	return min(l.limits.Steps*l.limits.Batch, max(l.chunk, l.least*l.limits.Batch))
}

// segment is the number of time steps of a segment. Segments consist of whole
// strides, so that what is worked on together, and with it every bit, does not
// depend on them.
func (l *layer[F]) segment(steps, batch int) int {
	if steps*batch <= l.kept {
		return steps
	}
	stride := l.stride(steps, batch)
	return l.kept / batch / stride * stride
}

// forward runs through the sequence that was begun, one segment after the other.
// What the first step is handed is there; what the last hands on is at the
// returned place of each history.
func (l *layer[F]) forward(run func(start, end int)) (place int) {
	segment := l.segment(l.steps, l.batch)
	for start := 0; ; start += segment {
		if segment < l.steps {
			for _, c := range l.carried {
				if start > 0 {
					fill(block(c.history, 0, l.batch), block(c.history, segment, l.batch))
				}
				fill(block(c.starts, start/segment, l.batch), block(c.history, 0, l.batch))
			}
		}
		end := min(start+segment, l.steps)
		run(start, end)
		if end == l.steps {
			return end - start
		}
	}
}

// again runs once more through the segment that begins at start.
func (l *layer[F]) again(start int, run func(start, end int)) {
	segment := l.segment(l.steps, l.batch)
	for _, c := range l.carried {
		fill(block(c.history, 0, l.batch), block(c.starts, start/segment, l.batch))
	}
	run(start, start+segment)
}

// lastSegment is the first step of the segment whose history Forward leaves.
func (l *layer[F]) lastSegment() int {
	segment := l.segment(l.steps, l.batch)
	return (l.steps - 1) / segment * segment
}

// fork returns the common part of a fork, without tensors.
func (l *layer[F]) fork() layer[F] {
	f := layer[F]{
		set: l.set, inputs: l.inputs, size: l.size, limits: l.limits, chunk: l.chunk, least: l.least, kept: l.kept, forked: true,
	}
	f.makeLayerBuffers()
	return f
}

// tensor notes a view with a gradient, or its fork's. A nil one is left out.
func (l *layer[F]) tensor(v *weight.View[F]) *weight.View[F] {
	if v == nil {
		return nil
	}
	if l.forked {
		v = v.Fork()
	}
	l.tensors = append(l.tensors, v)
	return v
}

// single reports whether Backward has to finish what Join does otherwise.
func (l *layer[F]) single() bool { return !l.forked && len(l.forks) == 0 }

// join adds the gradients of the first forks.
func (l *layer[F]) join(used int) {
	for _, f := range l.forks[:used] {
		for i, v := range l.tensors {
			l.set.Axpy(v.Gradient, 1, f.tensors[i].Gradient)
		}
	}
}

// cachedRows is the number of rows, time steps times series, that are worked on
// together: so few that what was computed for them, cols numbers a row, is
// still in the second-level cache when it is used next.
func cachedRows(cols int) int { return max(1, 1<<16/cols) }

// Size returns the number of hidden units.
func (l *layer[F]) Size() int { return l.size }

// Outputs returns all hidden states of the last Forward.
func (l *layer[F]) Outputs() kernel.Matrix[F] {
	if l.segment(l.steps, l.batch) < l.steps {
		panic(fmt.Sprintf("cell: outputs of %d steps of %d series where the history of %d is kept", l.steps, l.batch, l.kept))
	}
	return l.history.Slice(l.batch, (l.steps+1)*l.batch)
}

// StartGradientNorm returns ‖∂L/∂h(0)‖ over the batch.
func (l *layer[F]) StartGradientNorm() float64 {
	gradient := l.startGradient.Slice(0, l.batch)
	if gradient.Stride == gradient.Cols {
		return math.Sqrt(l.set.SumSquares(gradient.Data[:gradient.Rows*gradient.Cols]))
	}
	sum := 0.0
	for i := range gradient.Rows {
		sum += l.set.SumSquares(gradient.Row(i))
	}
	return math.Sqrt(sum)
}

// begin checks the shape of a Forward's input and notes it.
func (l *layer[F]) begin(x kernel.Matrix[F], steps, batch int) {
	l.check(x, steps, batch)
	if steps > l.limits.Steps {
		panic(fmt.Sprintf("cell: %d steps in a layer made for %d", steps, l.limits.Steps))
	}
	l.x, l.steps, l.batch = x, steps, batch
}

// check panics unless x is a batch of sequences for this layer.
func (l *layer[F]) check(x kernel.Matrix[F], steps, batch int) {
	if steps < 1 || batch < 1 || batch > l.limits.Batch {
		panic(fmt.Sprintf("cell: %d steps of %d series in a layer made for %d series", steps, batch, l.limits.Batch))
	}
	if x.Rows != steps*batch || x.Cols != l.inputs {
		panic(fmt.Sprintf("cell: input of %d × %d where %d × %d is due", x.Rows, x.Cols, steps*batch, l.inputs))
	}
}

// checkBackward panics unless dh and dx fit the last Forward. It reports
// whether dh has the gradients of all steps.
func (l *layer[F]) checkBackward(dh, dx kernel.Matrix[F]) (all bool) {
	if l.steps == 0 {
		panic("cell: Backward without Forward")
	}
	rows := l.steps * l.batch
	if dh.Cols != l.size || dh.Rows != l.batch && dh.Rows != rows {
		panic(fmt.Sprintf("cell: gradient of %d × %d for %d steps of %d states of size %d", dh.Rows, dh.Cols, l.steps, l.batch, l.size))
	}
	if dx.Data != nil && (dx.Rows != rows || dx.Cols != l.inputs) {
		panic(fmt.Sprintf("cell: input gradient of %d × %d where %d × %d is due", dx.Rows, dx.Cols, rows, l.inputs))
	}
	if l.forked {
		for _, v := range l.tensors {
			clear(v.Gradient)
		}
	}
	return dh.Rows == rows
}

// block returns the rows of step t.
func block[F kernel.Float](m kernel.Matrix[F], t, batch int) kernel.Matrix[F] {
	return m.Slice(t*batch, (t+1)*batch)
}

// following returns so many rows from the given one on, as far as there are any.
func following[F kernel.Float](m kernel.Matrix[F], from, rows int) kernel.Matrix[F] {
	return m.Slice(min(from, m.Rows), min(from+rows, m.Rows))
}

// preceding returns so many rows before the given one, as far as there are any.
func preceding[F kernel.Float](m kernel.Matrix[F], before, rows int) kernel.Matrix[F] {
	return m.Slice(max(before-rows, 0), before)
}

// memory is what the rows of m lie in.
func memory[F kernel.Float](m kernel.Matrix[F]) []F {
	return m.Data[:min(m.Rows*m.Stride, len(m.Data))]
}

// upcoming is the memory of one or two matrices that are needed soon, for
// [kernel.Sum].
func upcoming[F kernel.Float](m ...kernel.Matrix[F]) (ahead [2][]F) {
	for i := range m {
		ahead[i] = memory(m[i])
	}
	return ahead
}

// broadcast sets every row of m to the trained vector v, or to 0 without one.
func broadcast[F kernel.Float](m kernel.Matrix[F], v *weight.View[F]) {
	for i := range m.Rows {
		if v == nil {
			clear(m.Row(i))
		} else {
			copy(m.Row(i), v.Value)
		}
	}
}

// fill copies src into dst, row by row.
func fill[F kernel.Float](dst, src kernel.Matrix[F]) {
	if dst.Stride == dst.Cols && src.Stride == src.Cols {
		copy(dst.Data, src.Data[:src.Rows*src.Cols])
		return
	}
	for i := range dst.Rows {
		copy(dst.Row(i), src.Row(i))
	}
}

// paddedColumns is the length from which on rows are padded.
const paddedColumns = 512

// newMatrix returns a matrix of zeros. Rows that are long are padded, so that
// those of one column do not compete for the same few places of the cache.
func newMatrix[F kernel.Float](rows, cols int) kernel.Matrix[F] {
	stride := cols
	if cols >= paddedColumns {
		stride += 16
	}
	return kernel.Matrix[F]{Data: kernel.Make[F](rows * stride), Rows: rows, Cols: cols, Stride: stride}
}
