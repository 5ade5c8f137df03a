package layer

import (
	"fmt"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// CellOptions are the choices that all recurrent layers have.
type CellOptions struct {
	Inputs     int     // n_i
	FixedStart bool    // the state before the first step is 0 instead of trained
	Every      bool    // there is an output for every step, not for the last alone
	InputScale float64 // s: the matrix of the input starts from N(0, s²/n_i)
}

// recurrent is what the weights of all recurrent layers have in common.
type recurrent[F kernel.Float] struct {
	set          *kernel.Set[F]
	inputs, size int
	fixed, every bool              // as in CellOptions
	scale        float64           // InputScale
	columns      int               // numbers that are computed a unit and step
	least        int               // time steps that Backward works on together
	initial      []*weight.View[F] // the state before the first step; nil where it is 0
	tensors      []*weight.View[F] // all that have gradients, in one order for all passes
	passes       []*unrolled[F]
}

// newRecurrent checks the sizes. columns numbers are computed a unit and step, and
// so many steps at least are worked on together.
func newRecurrent[F kernel.Float](set *kernel.Set[F], options CellOptions, size, columns, least int) (recurrent[F],
	error) {
	for _, c := range []struct {
		name  string
		value int
	}{{"inputs", options.Inputs}, {"hidden units", size}} {
		if c.value < 1 {
			return recurrent[F]{}, fmt.Errorf("layer: %d %s: want at least 1", c.value, c.name)
		}
	}
	return recurrent[F]{set: set, inputs: options.Inputs, size: size, fixed: options.FixedStart, every: options.Every,
		scale: options.InputScale, columns: columns, least: least}, nil
}

// declare declares a tensor with a gradient.
func (r *recurrent[F]) declare(arena *weight.Arena[F], name string, rows, cols int) *weight.View[F] {
	v := arena.Declare(name, rows, cols)
	r.tensors = append(r.tensors, v)
	return v
}

// declareInitial declares the matrices of the state before the first step, each a trained
// vector or, if it is fixed, 0.
func (r *recurrent[F]) declareInitial(arena *weight.Arena[F], names ...string) {
	for _, name := range names {
		var v *weight.View[F]
		if !r.fixed {
			v = r.declare(arena, name, 1, r.size)
		}
		r.initial = append(r.initial, v)
	}
}

// clearInitial sets the trained initial state to 0.
func (r *recurrent[F]) clearInitial() {
	for _, v := range r.initial {
		if v != nil {
			clear(v.Value)
		}
	}
}

// Outputs returns the number of hidden units.
func (r *recurrent[F]) Outputs() (width int, every bool) { return r.size, r.every }

// Carried returns 1, or 2 for an LSTM.
func (r *recurrent[F]) Carried() int { return len(r.initial) }

// Constrain does nothing: all parameters are free.
func (r *recurrent[F]) Constrain(float64) {}

// Join adds the gradients of the first passes; those of the very first are the arena's own.
func (r *recurrent[F]) Join(used int) {
	for _, p := range r.passes[1:used] {
		for i, v := range r.tensors {
			r.set.Axpy(v.Gradient, 1, p.tensors[i].Gradient)
		}
	}
}

// cost is the cost of a layer with so many gates that retains so many values of a step, and a pass
// without its memory.
func (r *recurrent[F]) cost(limits Limits, gates, values int) (Cost, *unrolled[F]) {
	steps, inputs := float64(limits.Steps), float64(gates)*float64(r.size)*float64(r.inputs)
	retained, segments := limits.Steps, 0
	if limits.History > 0 && limits.History < limits.Steps {
		retained = limits.History
		segments = (limits.Steps + retained - 1) / retained
	}
	u := r.sized(limits)
	pass, fork, before := kernel.ScratchSize(max(r.size, r.inputs), u.chunkRows()), 0, 0
	if all := limits.Steps * limits.Batch; u.retained < all {
		before = (all + u.retained - 1) / u.retained * limits.Batch // about beforeRows, which takes longer
	}
	for range r.initial {
		pass += kernel.PaddedSize(u.retained+3*limits.Batch+before, r.size)
	}
	if r.every && u.retained < limits.Steps*limits.Batch {
		pass += kernel.PaddedSize(limits.Steps*limits.Batch, r.size)
	}
	for _, v := range r.tensors {
		fork += v.Rows * v.Cols
	}
	return Cost{
		Pass: int64(pass), Fork: int64(fork),
		Weights: steps * (float64(gates)*float64(r.size)*float64(r.size) + inputs), Inputs: steps * inputs,
		Values: int64(limits.Batch) * (int64(retained+1)*int64(values) + int64(segments)*int64(len(r.initial)*r.size)),
	}, u
}

// carried is what a step hands to the next one, in the form of history, and
// what each segment of a sequence was handed; no rows if there is only one.
type carried[F kernel.Float] struct{ history, before kernel.Matrix[F] }

// unrolled is what the passes of all recurrent layers have in common.
type unrolled[F kernel.Float] struct {
	*recurrent[F]
	limits Limits
	chunk  int // rows, see cachedRows
	first  bool

	retained int              // rows, steps times sequences, whose history is retained
	history  kernel.Matrix[F] // h before the segment's steps and after each, retained + B rows
	carried  []carried[F]     // history, and what else a step hands to the next
	outputs  kernel.Matrix[F] // h of all steps, where they are asked for and history is of some
	state    State[F]         // after a Forward that keeps nothing, [B × n] each
	dfrom    State[F]         // the gradient of the state before the first step
	to       State[F]         // what Forward returns
	dstate   State[F]         // what Backward returns: in it, the gradient of the state goes back

	tensors []*weight.View[F] // the layer's, or of a further pass their forks

	scratch kernel.Scratch[F]

	watched []float64 // see [Watcher]

	in   Input[F] // of the last Forward with keep; 0 steps before
	from bool     // that was given a state
	body cell[F]
}

// A cell does the work of a recurrent layer's time steps in the memory of one pass.
type cell[F kernel.Float] interface {
	// step goes forward through the steps from first up to, not including, end, which a segment
	// begins with, from the state at the beginning of the history.
	step(first, end int)

	// evaluate goes through all steps without keeping their history, from the state in to,
	// which it leaves there.
	evaluate(in Input[F])

	// back goes back through the steps of a chunk, the last one first.
	back(c chunk[F])

	// accumulate adds to the gradients of weights for the steps of a chunk, and sets those of
	// their inputs.
	accumulate(c chunk[F])
}

// chunk is the time steps that Backward works on together, from first up to, not including, last.
type chunk[F kernel.Float] struct {
	first, last, batch int
	segment            int              // where the segment begins whose history there is
	x, dx              kernel.Matrix[F] // their inputs and, if it is asked for, the gradient's place
	dout               kernel.Matrix[F] // the gradients of the outputs of all steps; none if of the last alone
	watched            []float64        // see [Watcher]
}

// rows are those of its steps in what is retained of a segment.
func (c *chunk[F]) rows() (from, to int) {
	return (c.first - c.segment) * c.batch, (c.last - c.segment) * c.batch
}

// addOutput adds the gradient of the output before a step to that of the state before it, which then
// is whole.
func (c *chunk[F]) addOutput(set *kernel.Set[F], dstate kernel.Matrix[F], t int) {
	if c.dout.Data != nil && t > 0 {
		add(set, dstate, block(c.dout, t-1, c.batch))
	}
	c.watch(set, dstate, t)
}

// watch is given the gradient of the state before a step.
func (c *chunk[F]) watch(set *kernel.Set[F], dstate kernel.Matrix[F], t int) {
	if c.watched == nil {
		return
	}
	sum := 0.0
	for i := range dstate.Rows {
		sum += set.SumSquares(dstate.Row(i))
	}
	c.watched[t] = sum
}

// A Watcher is a [Pass] of a recurrent layer, or of a stack that has one.
type Watcher interface {
	// Watch has every Backward set squares[t], for each time step t from 0, to the sum over the
	// sequences of ‖∂L/∂h(t)‖², h being the state before the step, of the first recurrent layer. nil
	// ends that. squares has a place for every step. No bit of a gradient depends on it.
	Watch(squares []float64)
}

// Watch has Backward set squares.
func (u *unrolled[F]) Watch(squares []float64) { u.watched = squares }

// sized is the common part of a pass without its memory.
func (r *recurrent[F]) sized(limits Limits) *unrolled[F] {
	u := &unrolled[F]{
		recurrent: r, limits: limits, chunk: cachedRows(r.columns * r.size), first: len(r.passes) == 0,
		tensors: r.tensors,
	}
	u.retained = limits.Steps * limits.Batch
	if limits.History > 0 {
		// At least one chunk of a batch of any size.
		u.retained = min(u.retained, max(limits.History*limits.Batch, u.chunk, r.least*limits.Batch))
	}
	return u
}

// newUnrolled makes the common part of a pass.
func (r *recurrent[F]) newUnrolled(limits Limits) *unrolled[F] {
	if limits.Steps < 1 || limits.Batch < 1 {
		panic(fmt.Sprintf("layer: pass for %d steps of %d sequences: want at least 1 of each", limits.Steps,
			limits.Batch))
	}
	u := r.sized(limits)
	n := len(r.initial)
	u.to, u.dstate = make(State[F], n), make(State[F], n)
	for range n {
		u.carried = append(u.carried, carried[F]{kernel.NewPadded[F](u.retained+limits.Batch, r.size),
			kernel.NewPadded[F](u.beforeRows(), r.size)})
		u.state = append(u.state, kernel.NewPadded[F](limits.Batch, r.size))
		u.dfrom = append(u.dfrom, kernel.NewPadded[F](limits.Batch, r.size))
	}
	u.history = u.carried[0].history
	if r.every && u.retained < limits.Steps*limits.Batch {
		u.outputs = kernel.NewPadded[F](limits.Steps*limits.Batch, r.size)
	}
	if !u.first {
		u.tensors = make([]*weight.View[F], len(r.tensors))
		for i, v := range r.tensors {
			u.tensors[i] = v.Fork()
		}
	}
	r.passes = append(r.passes, u)
	return u
}

// gradient returns the view of a tensor of the layer that the pass adds to; nil of
// nil.
func (u *unrolled[F]) gradient(of *weight.View[F]) *weight.View[F] {
	for i, v := range u.recurrent.tensors {
		if v == of {
			return u.tensors[i]
		}
	}
	return nil
}

// beforeRows is the most rows that the states before segments take.
func (u *unrolled[F]) beforeRows() int {
	if u.retained == u.limits.Steps*u.limits.Batch {
		return 0
	}
	rows := 0
	for batch := 1; batch <= u.limits.Batch; batch++ {
		segment := u.segment(u.limits.Steps, batch)
		rows = max(rows, (u.limits.Steps+segment-1)/segment*batch)
	}
	return rows
}

// stride is the number of time steps that Backward works on together.
func (u *unrolled[F]) stride(steps, batch int) int { return min(steps, max(u.least, u.chunk/batch)) }

// chunkRows is the most rows that Backward works on together.
func (u *unrolled[F]) chunkRows() int {
	return min(u.limits.Steps*u.limits.Batch, max(u.chunk, u.least*u.limits.Batch))
}

// segment is the number of time steps of a segment. Segments consist of whole
// strides, so that what is worked on together, and with it every bit, does not
// depend on them.
func (u *unrolled[F]) segment(steps, batch int) int {
	if steps*batch <= u.retained {
		return steps
	}
	stride := u.stride(steps, batch)
	return u.retained / batch / stride * stride
}

// Forward runs the cell.
func (u *unrolled[F]) Forward(in Input[F], from State[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	if keep || u.every {
		return u.forward(in, from)
	}
	u.check(in, from)
	for i := range u.state {
		u.to[i] = u.state[i].Slice(0, in.Batch)
		u.begin(u.to[i], from, i)
	}
	u.body.evaluate(in)
	return u.to[0], u.to
}

// Backward goes back through time, a chunk at a time. The last chunk of the sequence is the odd
// one, so that a whole chunk's last gradient never overwrites the one that it is made from.
func (u *unrolled[F]) Backward(dout kernel.Matrix[F], dto State[F], dx kernel.Matrix[F]) (dfrom State[F]) {
	all := u.beginBackward(dout, dto, dx)
	steps, batch := u.in.Steps, u.in.Batch
	segment := u.segment(steps, batch)
	// The last segment's history is there from Forward.
	c := chunk[F]{batch: batch, segment: (steps - 1) / segment * segment, watched: u.watched}
	if all {
		c.dout = dout
	}
	stride := u.stride(steps, batch)
	c.first = (steps - 1) / stride * stride
	for c.last = steps; c.last > 0; c.first, c.last = c.first-stride, c.first {
		if c.first < c.segment {
			c.segment -= segment
			for _, of := range u.carried {
				block(of.history, 0, batch).Fill(block(of.before, c.segment/segment, batch))
			}
			u.body.step(c.segment, c.segment+segment)
		}
		c.x = u.in.X.Slice(c.first*batch, c.last*batch)
		if dx.Data != nil {
			c.dx = dx.Slice(c.first*batch, c.last*batch)
		}
		u.body.back(c)
		u.body.accumulate(c)
	}
	for i, initial := range u.initial {
		if initial != nil && !u.from { // it was the state before the first step
			u.set.ColumnSumsAdd(u.gradient(initial).Gradient, u.dstate[i])
		}
	}
	return u.dstate
}

// forward runs through the sequence, one segment after the other, and returns what
// Forward does.
func (u *unrolled[F]) forward(in Input[F], from State[F]) (out kernel.Matrix[F], to State[F]) {
	u.check(in, from)
	if in.Steps > u.limits.Steps {
		panic(fmt.Sprintf("layer: %d steps in a pass made for %d", in.Steps, u.limits.Steps))
	}
	u.in, u.from = in, from != nil
	steps, batch := in.Steps, in.Batch
	for i, c := range u.carried {
		u.begin(block(c.history, 0, batch), from, i)
	}
	segment := u.segment(steps, batch)
	last := 0 // the place of the state after the segment
	for first := 0; first < steps; first += segment {
		if segment < steps {
			for _, c := range u.carried {
				if first > 0 {
					block(c.history, 0, batch).Fill(block(c.history, segment, batch))
				}
				block(c.before, first/segment, batch).Fill(block(c.history, 0, batch))
			}
		}
		end := min(first+segment, steps)
		u.body.step(first, end)
		last = end - first
		if u.every && segment < steps {
			u.outputs.Slice(first*batch, end*batch).Fill(u.history.Slice(batch, (last+1)*batch))
		}
	}
	for i, c := range u.carried {
		u.to[i] = block(c.history, last, batch)
	}
	switch {
	case !u.every:
		return u.to[0], u.to
	case segment < steps:
		return u.outputs.Slice(0, steps*batch), u.to
	default:
		return u.history.Slice(batch, (steps+1)*batch), u.to
	}
}

// begin sets the matrix of that number of the state before the first step.
func (u *unrolled[F]) begin(dst kernel.Matrix[F], from State[F], number int) {
	if from != nil {
		dst.Fill(from[number])
		return
	}
	initial := u.initial[number]
	for i := range dst.Rows {
		if initial == nil {
			clear(dst.Row(i))
		} else {
			copy(dst.Row(i), initial.Value)
		}
	}
}

// check panics unless the input and the state fit the pass.
func (u *unrolled[F]) check(in Input[F], from State[F]) {
	if in.Steps < 1 || in.Batch < 1 || in.Batch > u.limits.Batch {
		panic(fmt.Sprintf("layer: %d steps of %d sequences in a pass made for %d sequences", in.Steps, in.Batch,
			u.limits.Batch))
	}
	if in.X.Rows != in.Steps*in.Batch || in.X.Cols != u.inputs {
		panic(fmt.Sprintf("layer: input of %d × %d where %d × %d is due", in.X.Rows, in.X.Cols,
			in.Steps*in.Batch, u.inputs))
	}
	u.checkState(from, in.Batch)
}

func (u *unrolled[F]) checkState(s State[F], batch int) {
	if s != nil && len(s) != len(u.initial) {
		panic(fmt.Sprintf("layer: state of %d matrices where %d are due", len(s), len(u.initial)))
	}
	for _, m := range s {
		if m.Rows != batch || m.Cols != u.size {
			panic(fmt.Sprintf("layer: state of %d × %d where %d × %d is due", m.Rows, m.Cols, batch, u.size))
		}
	}
}

// beginBackward checks that what Backward is given fits the last Forward and
// clears the pass's own gradients. It sets dfrom to the gradient of the state after
// the last step and reports whether dout has gradients of all steps.
func (u *unrolled[F]) beginBackward(dout kernel.Matrix[F], dto State[F], dx kernel.Matrix[F]) (all bool) {
	if u.in.Steps == 0 {
		panic("layer: Backward without Forward")
	}
	rows, batch := u.in.Steps*u.in.Batch, u.in.Batch
	if dout.Cols != u.size || dout.Rows != batch && dout.Rows != rows {
		panic(fmt.Sprintf("layer: gradient of %d × %d for %d steps of %d states of size %d", dout.Rows, dout.Cols,
			u.in.Steps, batch, u.size))
	}
	if dx.Data != nil && (dx.Rows != rows || dx.Cols != u.inputs) {
		panic(fmt.Sprintf("layer: input gradient of %d × %d where %d × %d is due", dx.Rows, dx.Cols, rows, u.inputs))
	}
	u.checkState(dto, batch)
	if !u.first {
		for _, v := range u.tensors {
			clear(v.Gradient)
		}
	}
	for i, m := range u.dfrom {
		u.dstate[i] = m.Slice(0, batch)
		switch {
		case i == 0:
			u.dstate[0].Fill(block(dout, dout.Rows/batch-1, batch))
			if dto != nil {
				add(u.set, u.dstate[0], dto[0])
			}
		case dto != nil:
			u.dstate[i].Fill(dto[i])
		default:
			u.dstate[i].Clear()
		}
	}
	return dout.Rows == rows
}

// cachedRows is the number of rows, time steps times sequences, that are worked on
// together: so few that what was computed for them, cols numbers a row, is
// still in the second-level cache when it is used next.
func cachedRows(cols int) int { return max(1, chunkValues/cols) }
