package layer

import (
	"context"
	"sweep/model/kernel"
	"sweep/model/random"
)

// Stack is layers of which each reads the outputs of the one before. After one that
// has an output for the last step alone the others see sequences of one step.
type Stack[F kernel.Float] struct{ layers []Layer[F] }

// NewStack returns the stack of at least one layer, the one that reads the input
// first.
func NewStack[F kernel.Float](layers ...Layer[F]) *Stack[F] { return &Stack[F]{layers: layers} }

// Layers returns the layers. The slice is the stack's own.
func (s *Stack[F]) Layers() []Layer[F] { return s.layers }

// Outputs returns the last layer's width, and whether all layers have outputs for
// every step.
func (s *Stack[F]) Outputs() (width int, every bool) {
	every = true
	for _, l := range s.layers {
		var each bool
		width, each = l.Outputs()
		every = every && each
	}
	return width, every
}

// Carried returns the sum over the layers.
func (s *Stack[F]) Carried() int {
	sum := 0
	for _, l := range s.layers {
		sum += l.Carried()
	}
	return sum
}

// StateWidths returns the columns of each matrix that a step hands to the next.
func (s *Stack[F]) StateWidths() (widths []int) {
	for _, l := range s.layers {
		width, _ := l.Outputs()
		for range l.Carried() {
			widths = append(widths, width)
		}
	}
	return widths
}

// Init sets all parameters, layer after layer.
func (s *Stack[F]) Init(ctx context.Context, source *random.Source) error {
	for _, l := range s.layers {
		if err := l.Init(ctx, source); err != nil {
			return err
		}
	}
	return nil
}

// Load loads all layers.
func (s *Stack[F]) Load() {
	for _, l := range s.layers {
		l.Load()
	}
}

// Join joins all layers.
func (s *Stack[F]) Join(used int) {
	for _, l := range s.layers {
		l.Join(used)
	}
}

// Constrain constrains all layers.
func (s *Stack[F]) Constrain(rate float64) {
	for _, l := range s.layers {
		l.Constrain(rate)
	}
}

// Cost returns the sum over the layers, its Inputs those of the first.
func (s *Stack[F]) Cost(limits Limits) Cost {
	var sum Cost
	width := 0
	var gradients [2]int // see workspace
	for i, l := range s.layers {
		c := l.Cost(limits)
		if i > 0 {
			gradients[i%2] = max(gradients[i%2], kernel.PaddedSize(limits.Steps*limits.Batch, width))
			sum.Pass += c.Inject
		} else {
			sum.Inputs, sum.Inject = c.Inputs, c.Inject
		}
		sum.Add(&c)
		width, _ = l.Outputs()
		limits = after(l, limits)
	}
	sum.Lent += int64(gradients[0] + gradients[1])
	return sum
}

// after is the limits of the layer that reads the outputs of one of such limits.
func after[F kernel.Float](l Layer[F], limits Limits) Limits {
	if _, every := l.Outputs(); !every {
		limits.Steps, limits.History = 1, 0
	}
	return limits
}

// stackPass is a [Pass] of a [Stack].
type stackPass[F kernel.Float] struct {
	passes    []Pass[F]
	rowwise   []rowwise[F] // of those passes that are; nil of others
	states    []int        // where each one's states begin, and their number
	inputs    []kernel.Matrix[F]
	workspace *workspace[F]
	to        State[F]
	dfrom     State[F]
}

// NewPass returns a pass for parts of minibatches.
func (s *Stack[F]) NewPass(limits Limits) Pass[F] { return s.newPassIn(limits, newWorkspace[F]()) }

func (s *Stack[F]) newPassIn(limits Limits, w *workspace[F]) Pass[F] {
	p := &stackPass[F]{inputs: make([]kernel.Matrix[F], len(s.layers)), states: []int{0}, workspace: w}
	width := 0
	for i, l := range s.layers {
		if i > 0 {
			w.reserve(i, limits.Steps*limits.Batch, width)
		}
		pass := newPassIn(l, limits, w)
		joint, _ := pass.(rowwise[F])
		p.passes, p.rowwise, p.states = append(p.passes, pass), append(p.rowwise, joint),
			append(p.states, p.states[i]+l.Carried())
		width, _ = l.Outputs()
		limits = after(l, limits)
	}
	p.to, p.dfrom = make(State[F], s.Carried()), make(State[F], s.Carried())
	return p
}

// Forward runs one layer after the other.
func (p *stackPass[F]) Forward(in Input[F], from State[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	return p.forward(in, from, keep, len(p.passes))
}

// Watch watches the first recurrent layer.
func (p *stackPass[F]) Watch(squares []float64) {
	for i, pass := range p.passes {
		if w, ok := pass.(Watcher); ok && p.states[i] < p.states[i+1] {
			w.Watch(squares)
			return
		}
	}
}

// forward runs so many layers. The one after them finds its input in what is returned.
func (p *stackPass[F]) forward(in Input[F], from State[F], keep bool, count int) (out kernel.Matrix[F], to State[F]) {
	next := p.workspace.next // after the last
	for i, pass := range p.passes[:count] {
		p.inputs[i] = in.X
		p.workspace.next = next
		if i+1 < len(p.passes) {
			p.workspace.next = p.needs(i+1, false)
		}
		out, to = pass.Forward(in, p.of(from, i), keep)
		copy(p.of(p.to, i), to)
		in.X, in.Tokens, in.Steps = out, nil, out.Rows/in.Batch
	}
	p.workspace.next = next
	return out, p.to
}

// needs is memory that the pass of that number begins with, as far as it says so.
func (p *stackPass[F]) needs(number int, back bool) (memory [2][]F) {
	if pass := p.rowwise[number]; pass != nil {
		memory = pass.needs(back)
	}
	return memory
}

// Backward goes back through one layer after the other.
func (p *stackPass[F]) Backward(dout kernel.Matrix[F], dto State[F], dx kernel.Matrix[F]) (dfrom State[F]) {
	p.backward(dout, dto, false, dx, epilogue[F]{})
	return p.dfrom
}

// backward is Backward for a dout that is derived, if it is, and a dx that ends by the epilogue;
// see [rowwise].
func (p *stackPass[F]) backward(dout kernel.Matrix[F], dto State[F], derived bool, dx kernel.Matrix[F],
	end epilogue[F]) {
	next := p.workspace.next // before the first
	for i := len(p.passes) - 1; i >= 0; i-- {
		din, last, derives := dx, end, false
		p.workspace.next = next
		if i > 0 {
			din, last = p.workspace.gradient(i, p.inputs[i].Rows, p.inputs[i].Cols), epilogue[F]{}
			if derives = p.rowwise[i] != nil && p.rowwise[i-1] != nil; derives {
				last = p.rowwise[i-1].activated()
			}
			p.workspace.next = p.needs(i-1, true)
		}
		if pass := p.rowwise[i]; pass != nil {
			pass.backward(dout, derived, din, last)
		} else {
			copy(p.of(p.dfrom, i), p.passes[i].Backward(dout, p.of(dto, i), din))
		}
		dout, derived = din, derives
	}
	p.workspace.next = next
}

// of is the part of a state that is the layer's of that number; nil of nil.
func (p *stackPass[F]) of(s State[F], number int) State[F] {
	if s == nil {
		return nil
	}
	return s[p.states[number]:p.states[number+1]]
}
