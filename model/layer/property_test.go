package layer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// propertyShapes is one shape for each cell.
func propertyShapes() []shape {
	var shapes []shape
	for _, s := range []shape{
		{cell: "rnn", activation: kernel.Tanh},
		{cell: "ornn", m1: 5, activation: kernel.LeakyReLU, slope: .2},
		{cell: "spectral-rnn", m1: 5, m2: 4, radius: .3, activation: kernel.LeakyReLU, slope: .2},
		{cell: "spectral-rnn", m1: 5, m2: 4, radius: .3, activation: kernel.LeakyReLU, slope: .2, operator: OperatorCompactWY},
		{cell: "ornn", m1: 3, activation: kernel.Tanh, operator: OperatorCompactWY},
		{cell: "gated-spectral-rnn", m1: 5, m2: 4, radius: .3, activation: kernel.LeakyReLU, slope: .2},
		{cell: "modrelu"},
		{cell: "urnn", operator: OperatorFactors},
		{cell: "lstm"},
		{cell: "spectral-lstm", m1: 5, m2: 4, radius: .3},
		{cell: "gru"},
		{cell: "fastrnn", activation: kernel.Tanh},
		{cell: "sgornn", m1: 4, activation: kernel.LeakyReLU, slope: .2},
	} {
		s.n, s.inputs, s.steps, s.batch = 9, 3, 6, 5
		if s.cell == "modrelu" {
			s.n++ // real and imaginary parts
		}
		if s.cell == "urnn" {
			s.n = 16
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// each runs a test for each cell.
func each(t *testing.T, test func(t *testing.T, s shape)) {
	for _, s := range propertyShapes() {
		t.Run(s.cell+string(s.operator), func(t *testing.T) { test(t, s) })
	}
}

// snapshot returns a copy of the gradients by name.
func snapshot[F kernel.Float](n *single[F]) map[string][]F {
	gradients := map[string][]F{}
	for _, v := range n.arena.Views() {
		gradients[v.Name] = slices.Clone(v.Gradient)
	}
	return gradients
}

// near reports whether two slices agree but for rounding.
func near(a, b []float64) bool {
	largest := 1e-3
	for _, x := range a {
		largest = max(largest, math.Abs(x))
	}
	for i, x := range a {
		if !(math.Abs(x-b[i]) <= 1e-11*largest) {
			return false
		}
	}
	return len(a) == len(b)
}

func checkSame(t *testing.T, what string, want, got map[string][]float64) {
	t.Helper()
	for name := range want {
		if !near(want[name], got[name]) {
			t.Errorf("%s: the gradient of %s changes", what, name)
		}
	}
}

// elements returns the elements of a matrix, row by row.
func elements[F kernel.Float](m kernel.Matrix[F]) []F {
	var all []F
	for i := range m.Rows {
		all = append(all, m.Row(i)...)
	}
	return all
}

// TestPermutedBatch checks that the order of series changes the order of
// outputs, to the bit, and no gradient.
func TestPermutedBatch(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		n := newSingle(t, kernel.Float64(), s, 1)
		d := newData[float64](s, 2)
		n.gradients(d)
		outputs, gradients := elements(n.outputs), snapshot(n)

		order := []int{3, 0, 4, 2, 1}
		p := newData[float64](s, 2)
		for b, from := range order {
			copy(p.weights.Row(b), d.weights.Row(from))
			for step := range s.steps {
				copy(p.x.Row(step*s.batch+b), d.x.Row(step*s.batch+from))
			}
		}
		n.gradients(p)
		for b, from := range order {
			if got, want := n.outputs.Row(b), outputs[from*s.n:(from+1)*s.n]; !slices.Equal(got, want) {
				t.Errorf("series %d: outputs %v become %v", from, want, got)
			}
		}
		checkSame(t, "permuted series", gradients, snapshot(n))
	})
}

// TestPasses checks that a minibatch trained in parts by several passes has the
// gradients of the whole, in any number of steps, and however many passes take part.
func TestPasses(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		for _, s.every = range []bool{false, true} {
			whole, n := newSingle(t, kernel.Float64(), s, 1), newSingle(t, kernel.Float64(), s, 1)
			limits := Limits{Steps: s.steps, Batch: s.batch}
			passes := []Pass[float64]{n.pass, n.layer.NewPass(limits), n.layer.NewPass(limits)}
			for seed, sizes := range [][]int{{2, 2, 1}, {3, 2}, {5}, {1, 2, 2}} {
				d := newData[float64](s, uint64(2+seed))
				loss := whole.gradients(d)

				n.arena.ZeroGradients()
				n.layer.Load()
				first, sum := 0, 0.0
				for i, size := range sizes {
					// The part's sequences of each step.
					of := func(m kernel.Matrix[float64]) kernel.Matrix[float64] {
						part := kernel.NewPadded[float64](m.Rows/s.batch*size, m.Cols)
						for step := range m.Rows / s.batch {
							block(part, step, size).Fill(m.Slice(step*s.batch+first, step*s.batch+first+size))
						}
						return part
					}
					part := data[float64]{of(d.x), of(d.weights)}
					out, _ := passes[i].Forward(Input[float64]{Steps: s.steps, Batch: size, X: part.x}, nil, true)
					sum += part.loss(out)
					passes[i].Backward(part.weights, nil, kernel.Matrix[float64]{})
					first += size
				}
				n.layer.Join(len(sizes))
				if !near([]float64{loss}, []float64{sum}) {
					t.Errorf("parts %v: loss %v, of the whole %v", sizes, sum, loss)
				}
				checkSame(t, fmt.Sprintf("parts %v", sizes), snapshot(whole), snapshot(n))
			}
		}
	})
}

// TestCarriedState checks that a sequence in pieces, with the state handed on and
// its gradient handed back, is the whole one: outputs to the bit, gradients but for
// rounding. A state that is given takes no gradient to the trained start.
func TestCarriedState(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		s.steps = 11
		for _, s.every = range []bool{false, true} {
			whole, n := newSingle(t, kernel.Float64(), s, 1), newSingle(t, kernel.Float64(), s, 1)
			d := newData[float64](s, 2)
			source := random.New(3, 0)
			dout, dx := kernel.NewPadded[float64](s.batch, s.n), kernel.NewPadded[float64](d.x.Rows, s.inputs)
			if s.every {
				dout = kernel.NewPadded[float64](s.steps*s.batch, s.n)
			}
			random.Gaussian(dout.Data, 1, source)
			dto := make(State[float64], whole.layer.Carried())
			for i := range dto {
				dto[i] = kernel.NewPadded[float64](s.batch, s.n)
				random.Gaussian(dto[i].Data, 1, source)
			}
			whole.layer.Load()
			out, to := whole.pass.Forward(whole.input(d.x), nil, true)
			want, wantTo := elements(out), copied(to)
			whole.pass.Backward(dout, dto, dx)
			whole.layer.Join(1)

			// The first piece is run by one pass, the second by another.
			cut := 4
			n.layer.Load()
			second := n.layer.NewPass(Limits{Steps: s.steps, Batch: s.batch})
			piece := func(from, to int) Input[float64] {
				return Input[float64]{Steps: to - from, Batch: s.batch, X: d.x.Slice(from*s.batch, to*s.batch)}
			}
			out, between := n.pass.Forward(piece(0, cut), nil, true)
			got := slices.Clone(elements(out))
			out, to = second.Forward(piece(cut, s.steps), between, true)
			if s.every {
				got = append(got, elements(out)...)
			} else {
				got = elements(out)
			}
			if !slices.Equal(got, want) {
				t.Error("outputs in pieces differ from those of the whole")
			}
			for i := range to {
				if !slices.Equal(elements(to[i]), elements(wantTo[i])) {
					t.Errorf("matrix %d of the last state differs", i)
				}
			}
			laterOut, earlierOut := dout, kernel.NewPadded[float64](s.batch, s.n)
			if s.every {
				earlierOut, laterOut = dout.Slice(0, cut*s.batch), dout.Slice(cut*s.batch, s.steps*s.batch)
			}
			din := kernel.NewPadded[float64](d.x.Rows, s.inputs)
			dbetween := second.Backward(laterOut, dto, din.Slice(cut*s.batch, s.steps*s.batch))
			n.pass.Backward(earlierOut, dbetween, din.Slice(0, cut*s.batch))
			n.layer.Join(2)
			checkSame(t, "pieces", snapshot(whole), snapshot(n))
			if !near(elements(dx), elements(din)) {
				t.Error("the gradient of the input differs")
			}

			n.arena.ZeroGradients()
			n.pass.Forward(piece(0, cut), copied(between), true)
			n.pass.Backward(earlierOut, dbetween, kernel.Matrix[float64]{})
			n.layer.Join(1)
			if h0 := n.arena.View("h0").Gradient; dot(h0, h0) != 0 {
				t.Error("the start has a gradient though it was not the state before")
			}
		}
	})
}

func copied(s State[float64]) State[float64] {
	c := make(State[float64], len(s))
	for i, m := range s {
		c[i] = kernel.NewPadded[float64](m.Rows, m.Cols)
		c[i].Fill(m)
	}
	return c
}

// TestPaddedInput checks that further inputs change nothing where their weights
// are 0, nor where they are 0 themselves.
func TestPaddedInput(t *testing.T) {
	const padding = 2
	each(t, func(t *testing.T, s shape) {
		n := newSingle(t, kernel.Float64(), s, 1)
		d := newData[float64](s, 2)
		loss := n.gradients(d)
		gradients := snapshot(n)

		wide := s
		wide.inputs += padding
		for _, zero := range []string{"weights", "inputs"} {
			p := newSingle(t, kernel.Float64(), wide, 3)
			dp := newData[float64](wide, 4)
			dp.weights.Fill(d.weights)
			inputs := map[string]bool{"M": true, "U": true, "U_zr": true, "U_h": true, "U_g": true}
			for _, v := range p.arena.Views() {
				// Rows of an input matrix are inputs: what is new is at the end.
				from := n.arena.View(v.Name)
				copy(v.Value, from.Value)
				if inputs[v.Name] && zero == "weights" {
					clear(v.Value[len(from.Value):])
				}
			}
			for row := range dp.x.Rows {
				copy(dp.x.Row(row), d.x.Row(row))
				if zero == "inputs" {
					clear(dp.x.Row(row)[s.inputs:])
				}
			}
			if got := p.gradients(dp); !near([]float64{loss}, []float64{got}) {
				t.Errorf("%s 0: loss %v becomes %v", zero, loss, got)
			}
			got := snapshot(p)
			for name := range inputs {
				if g, ok := got[name]; ok {
					got[name] = g[:len(gradients[name])]
				}
			}
			checkSame(t, zero+" 0", gradients, got)
		}
	})
}

// TestReversedInput checks that a sequence given backwards is what its steps
// are, taken one at a time from the last to the first, with the state handed on;
// and that the order matters.
func TestReversedInput(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		s.batch = 1
		n := newSingle(t, kernel.Float64(), s, 1)
		d := newData[float64](s, 2)
		reversed := newData[float64](s, 2)
		for step := range s.steps {
			copy(reversed.x.Row(s.steps-1-step), d.x.Row(step))
		}
		n.layer.Load()
		out, _ := n.run(d.x, true)
		forwards := elements(out)
		out, _ = n.run(reversed.x, true)
		backwards := elements(out)
		if near(forwards, backwards) {
			t.Error("the order of inputs does not matter")
		}
		for _, keep := range []bool{true, false} {
			var state State[float64]
			for step := s.steps - 1; step >= 0; step-- {
				out, state = n.pass.Forward(Input[float64]{Steps: 1, Batch: 1, X: d.x.Slice(step, step+1)}, state, keep)
			}
			if got := elements(out); !slices.Equal(got, backwards) {
				t.Errorf("reversed, the last state is %v; step by step it is %v", backwards, got)
			}
		}
	})
}

// TestEvaluate checks that a Forward that keeps nothing is one that does, to the
// bit, at every level, for batches that training never saw and longer sequences.
func TestEvaluate(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		s.steps, s.batch, s.evaluationRows = 40, 7, 19
		for _, level := range kernel.Levels() {
			set, err := kernel.Float32At(level)
			if err != nil {
				t.Fatal(err)
			}
			n := newSingle(t, set, s, 1)
			d := newData[float32](s, 2)
			n.layer.Load()
			out, _ := n.run(d.x, true)
			states := elements(out)

			larger := s
			larger.batch = s.evaluationRows
			e := newData[float32](larger, 3)
			for step := range s.steps {
				for b := range s.batch {
					copy(e.x.Row(step*larger.batch+b), d.x.Row(step*s.batch+b))
				}
			}
			evaluated, _ := n.run(e.x, false)
			if got := elements(evaluated.Slice(0, s.batch)); !slices.Equal(got, states) {
				t.Errorf("level %v: states differ with and without history", level)
			}
			longer := Input[float32]{Steps: s.steps + 5, Batch: 2,
				X: kernel.NewPadded[float32]((s.steps+5)*2, s.inputs)}
			n.pass.Forward(longer, nil, false)
		}
	})
}

// TestLimits checks that what a cell is made for does not show in what it
// computes, nor does what it computed before.
func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		d := newData[float64](s, 2)
		exact := newSingle(t, kernel.Float64(), s, 1)
		loss := exact.gradients(d)

		larger := s
		larger.steps, larger.batch = 11, 8
		n := newSingle(t, kernel.Float64(), larger, 1)
		n.gradients(newData[float64](larger, 5))
		n.shape = s
		if got := n.gradients(d); got != loss {
			t.Errorf("loss %v becomes %v", loss, got)
		}
		checkSame(t, "larger limits", snapshot(exact), snapshot(n))
	})
}

// unrolledOf is the common part of a recurrent pass.
func unrolledOf[F kernel.Float](p Pass[F]) *unrolled[F] {
	switch c := p.(type) {
	case *elmanPass[F]:
		return c.unrolled
	case *lstmPass[F]:
		return c.unrolled
	case *gruPass[F]:
		return c.unrolled
	case *scalarGatedPass[F]:
		return c.unrolled
	case *gatedSpectralPass[F]:
		return c.unrolled
	case *modReLUPass[F]:
		return c.unrolled
	}
	return nil
}

// setChunk makes a pass work on few rows at a time.
func setChunk[F kernel.Float](p Pass[F], rows int) { unrolledOf(p).chunk = rows }

// TestChunks checks that how many steps are worked on together changes
// gradients by rounding only.
func TestChunks(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		for steps := 1; steps <= 9; steps++ {
			s.steps = steps
			d := newData[float64](s, 2)
			n := newSingle(t, kernel.Float64(), s, 1)
			loss := n.gradients(d)
			gradients := snapshot(n)
			for _, chunk := range []int{1, 2 * s.batch, 3*s.batch + 1, 8 * s.batch} {
				setChunk(n.pass, chunk)
				if got := n.gradients(d); got != loss {
					t.Errorf("%d steps in chunks of %d rows: loss %v becomes %v", steps, chunk, loss, got)
				}
				checkSame(t, fmt.Sprintf("%d steps in chunks of %d rows", steps, chunk), gradients, snapshot(n))
			}
		}
	})
}

// TestHistory checks that running forward again in Backward, instead of keeping
// all history, takes less memory and changes no bit, whatever the batch.
func TestHistory(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		if s.n, s.steps, s.batch = 40, 150, 40; s.cell == "urnn" {
			s.n = 64
		}
		for _, s.every = range []bool{false, true} {
			s.history = 0
			whole := newSingle(t, kernel.Float32(), s, 1)
			if got := unrolledOf(whole.pass).retained; got != s.steps*s.batch {
				t.Fatalf("%d rows retained, want all %d", got, s.steps*s.batch)
			}
			histories := []int{1, 50, 149}
			var cut []*single[float32]
			for _, s.history = range histories {
				n := newSingle(t, kernel.Float32(), s, 1)
				if got := unrolledOf(n.pass).retained; got >= s.steps*s.batch {
					t.Fatalf("history of %d steps: %d rows retained", s.history, got)
				}
				cut = append(cut, n)
			}
			for _, s.batch = range []int{40, 40, 39, 13, 1} { // one of them once more
				d := newData[float32](s, uint64(s.batch))
				source := random.New(3, random.Stream(s.batch))
				rows := s.batch
				if s.every {
					rows *= s.steps
				}
				dout := kernel.NewPadded[float32](rows, s.n)
				random.Gaussian(dout.Data, 1, source)
				want := segmented(whole, d, dout)
				for i, n := range cut {
					got := segmented(n, d, dout)
					for name := range want {
						if !slices.Equal(got[name], want[name]) {
							t.Errorf("history %d, %d sequences, %d rows of gradients: %s differs", histories[i], s.batch,
								rows, name)
						}
					}
				}
			}
			s.batch = 40
		}
	})
}

// segmented is what a Forward and a Backward give, by name.
func segmented(n *single[float32], d data[float32], dout kernel.Matrix[float32]) map[string][]float32 {
	dx := kernel.NewPadded[float32](d.x.Rows, d.x.Cols)
	n.arena.ZeroGradients()
	n.layer.Load()
	out, to := n.run(d.x, true)
	outputs, last := elements(out), elements(to[0])
	dfrom := n.pass.Backward(dout, nil, dx)
	n.layer.Join(1)
	all := snapshot(n)
	all["the outputs"], all["the last state"], all["dx"], all["the start's gradient"] = outputs, last, elements(dx),
		elements(dfrom[0])
	return all
}

// TestStack checks the gradients of two layers with dropout between, of a loss on
// all steps or the last, of the input and of the state, in one piece and in
// segments.
func TestStack(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		set := kernel.Float64()
		s.every = true
		for _, c := range []struct {
			every          bool
			chunk, history int
		}{{true, 1 << 10, 0}, {true, 2 * s.batch, 0}, {false, 1 << 10, 0}, {true, 2 * s.batch, 2},
			{false, 2 * s.batch, 2}} {
			arena, above := weight.NewArena[float64](), s
			above.inputs, above.every, above.prefix = s.n, c.every, "above."
			below := declareSingle(t, set, arena, s)
			top := declareSingle(t, set, arena, above)
			dropout, err := NewDropout[float64](s.n, .3, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			stack := NewStack(below, dropout, top)
			arena.Allocate()
			randomise(t, stack, arena, 1)
			pass := stack.NewPass(Limits{Steps: s.steps, Batch: s.batch, History: c.history}).(*stackPass[float64])
			setChunk(pass.passes[0], c.chunk)
			setChunk(pass.passes[2], c.chunk)
			d := newData[float64](s, 3)
			rows := s.batch
			if c.every {
				rows *= s.steps
			}
			source := random.New(4, 0)
			weights, from, dto := kernel.NewPadded[float64](rows, s.n), make(State[float64], stack.Carried()),
				make(State[float64], stack.Carried())
			random.Gaussian(weights.Data, 1, source)
			for i := range from {
				from[i], dto[i] = kernel.NewPadded[float64](s.batch, s.n), kernel.NewPadded[float64](s.batch, s.n)
				random.Gaussian(from[i].Data, 1, source)
				random.Gaussian(dto[i].Data, 1, source)
			}
			loss := func() float64 {
				stack.Load()
				out, to := pass.Forward(Input[float64]{Steps: s.steps, Batch: s.batch, X: d.x}, from, true)
				sum := dot(elements(out), weights.Data)
				for i, m := range to {
					sum += dot(elements(m), dto[i].Data)
				}
				return sum
			}
			loss()
			dx := kernel.NewPadded[float64](d.x.Rows, s.inputs)
			dfrom := copied(pass.Backward(weights, dto, dx))
			stack.Join(1)
			compare := func(name string, values, gradient []float64) {
				t.Helper()
				largest, difference := 1e-2, 0.0
				for i := range values {
					want := derivative(&values[i], loss)
					largest = max(largest, math.Abs(want))
					difference = max(difference, math.Abs(want-gradient[i]))
				}
				if relative := difference / largest; !(relative < 1e-6) {
					t.Errorf("every %v, history %d: gradient of %s: relative error %.2g", c.every, c.history,
						name, relative)
				}
			}
			compare("x", d.x.Data, dx.Data)
			for i := range from {
				compare(fmt.Sprintf("state %d", i), from[i].Data, dfrom[i].Data)
			}
			for _, v := range arena.Views() {
				compare(v.Name, v.Value, v.Gradient)
			}
		}
	})
}

// TestStartGradientNorm checks the norm against the trained start's gradient,
// which for one series is the same vector, and against larger batches.
func TestStartGradientNorm(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		d := newData[float64](s, 2)
		n := newSingle(t, kernel.Float64(), s, 1)
		n.gradients(d)
		got := n.norm

		one := s
		one.batch = 1
		single := newSingle(t, kernel.Float64(), one, 1)
		sum := 0.0
		for b := range s.batch {
			db := newData[float64](one, 2)
			copy(db.weights.Row(0), d.weights.Row(b))
			for step := range s.steps {
				copy(db.x.Row(step), d.x.Row(step*s.batch+b))
			}
			single.gradients(db)
			h0 := single.arena.View("h0").Gradient
			norm := single.norm
			if want := math.Sqrt(dot(h0, h0)); !near([]float64{want}, []float64{norm}) {
				t.Errorf("series %d: norm %v, want %v", b, norm, want)
			}
			sum += norm * norm
		}
		if want := math.Sqrt(sum); !near([]float64{want}, []float64{got}) {
			t.Errorf("norm %v, want %v", got, want)
		}
	})
}

// TestOperators checks that both kinds give the same gradients, and which is taken
// unasked.
func TestOperators(t *testing.T) {
	for _, s := range []shape{
		{cell: "ornn", n: 20, m1: 4}, {cell: "ornn", n: 49, m1: 16}, {cell: "ornn", n: 20, m1: 20},
		{cell: "ornn", n: 49, m1: 17},
		{cell: "spectral-rnn", n: 48, m1: 4, m2: 3}, {cell: "spectral-rnn", n: 49, m1: 4, m2: 12},
		{cell: "spectral-rnn", n: 20, m1: 20, m2: 20}, {cell: "spectral-rnn", n: 20, m1: 1, m2: 11},
	} {
		s.inputs, s.steps, s.batch, s.radius, s.activation = 2, 12, 4, .2, kernel.Tanh
		d := newData[float64](s, 2)
		n := newSingle(t, kernel.Float64(), s, 1)
		_, taken := n.layer.(*Elman[float64]).operator.(*factored[float64])
		if want := 3*16 < s.n && s.m1+s.m2 <= 16; taken != want {
			t.Errorf("%v: compact WY is taken: %v, want %v", s, taken, want)
		}
		s.operator = OperatorDense
		dense := newSingle(t, kernel.Float64(), s, 1)
		loss := dense.gradients(d)
		s.operator = OperatorCompactWY
		compact := newSingle(t, kernel.Float64(), s, 1)
		if got := compact.gradients(d); !near([]float64{loss}, []float64{got}) {
			t.Errorf("%v: loss %v, dense %v", s, got, loss)
		}
		checkSame(t, s.String(), snapshot(dense), snapshot(compact))
	}
}

// TestUnitaryOperators checks which operator a uRNN takes, and that its outputs and gradients are those of
// the matrix that is formed.
func TestUnitaryOperators(t *testing.T) {
	for _, n := range []int{64, 128, 200, 256} {
		s := shape{cell: "urnn", n: n, inputs: 2, steps: 5, batch: 6}
		d := newData[float64](s, 2)
		n := newSingle(t, kernel.Float64(), s, 1)
		_, taken := n.layer.(*ModReLU[float64]).w.(*unitary[float64])
		if want := s.n == 128 || s.n == 256; taken != want {
			t.Errorf("%v: factors are taken: %v, want %v", s, taken, want)
		}
		if !taken {
			continue
		}
		s.operator = OperatorDense
		dense := newSingle(t, kernel.Float64(), s, 1)
		want, got := dense.gradients(d), n.gradients(d)
		if math.Abs(want-got) > 1e-12*math.Abs(want) {
			t.Errorf("%v: loss %v by factors, %v by the matrix", s, got, want)
		}
		checkSame(t, s.String(), snapshot(dense), snapshot(n))
		margins := [2]float64{}
		for i, n := range []*single[float64]{dense, n} {
			var err error
			if margins[i], err = n.layer.(*ModReLU[float64]).SpectralMargin(t.Context()); err != nil || margins[i] > 1e-6 {
				t.Errorf("%v: margin %v, %v", s, margins[i], err)
			}
		}
	}
	set, arena := kernel.Float64(), weight.NewArena[float64]()
	matrix, err := weight.NewUnitary(set, arena, 12, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []OperatorKind{OperatorFactors, OperatorCompactWY, "sparse"} {
		if _, err := newComplexOperator(set, matrix, kind); err == nil {
			t.Errorf("operator %s of 12 complex units: no error", kind)
		}
	}
}

func TestStart(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		if s.inputs, s.n = 400, 40; s.cell == "urnn" {
			s.n = 64
		}
		if s.m1 > 0 {
			s.m1 = 30
		}
		n := newSingle(t, kernel.Float64(), s, 1)
		if err := n.layer.Init(context.Background(), random.New(1, 0)); err != nil {
			t.Fatal(err)
		}
		for _, v := range n.arena.Views() {
			variance := dot(v.Value, v.Value) / float64(len(v.Value))
			switch {
			case slices.Contains([]string{"M", "U", "U_zr", "U_h", "U_g"}, v.Name):
				if ratio := variance / (1. / 400); math.Abs(ratio-1) > .1 {
					t.Errorf("variance of %s is %v of what is due", v.Name, ratio)
				}
			case v.Name == "b" && strings.HasSuffix(s.cell, "lstm"):
				for i, b := range v.Value {
					if forget := i/s.n == 1; forget && b != 1 || !forget && b != 0 {
						t.Errorf("bias %d starts at %v", i, b)
					}
				}
			case slices.Contains([]string{"b", "b_zr", "b_h", "h0", "c0", "sigma_hat"}, v.Name):
				if variance != 0 {
					t.Errorf("%s does not start at 0", v.Name)
				}
			}
		}
		switch c := n.layer.(type) {
		case *Elman[float64]:
			c.start = "nearly"
		case *LSTM[float64]:
			c.options.Start = "nearly"
		case *MatrixLSTM[float64]:
			c.options.Start = "nearly"
		case *GRU[float64]:
			c.options.Start = "nearly"
		case *ScalarGated[float64]:
			c.start = "nearly"
		case *GatedSpectral[float64]:
			c.options.Start = "nearly"
		case *ModReLU[float64]:
			c.start = "nearly"
		}
		if err := n.layer.Init(context.Background(), random.New(1, 0)); err == nil {
			t.Error("an unknown start is taken")
		}
	})
}

// TestOrthogonalGates checks that every gate of a gated cell can start
// orthogonal.
func TestOrthogonalGates(t *testing.T) {
	for _, cell := range []string{"lstm", "gru"} {
		n := newSingle(t, kernel.Float64(), shape{cell: cell, n: 7, inputs: 1, steps: 1, batch: 1,
			start: weight.StartOrthogonal}, 1)
		for _, v := range n.arena.Views() {
			if !strings.HasPrefix(v.Name, "W") {
				continue
			}
			for first := 0; first < v.Cols; first += 7 {
				for i := range 7 {
					for j := range 7 {
						want := 0.0
						if i == j {
							want = 1
						}
						a, b := v.Value[i*v.Cols+first:][:7], v.Value[j*v.Cols+first:][:7]
						if math.Abs(dot(a, b)-want) > 1e-13 {
							t.Fatalf("%s of %s: rows %d and %d of the gate at column %d", v.Name, cell, i, j, first)
						}
					}
				}
			}
		}
	}
}

func TestBadOptions(t *testing.T) {
	set := kernel.Float32()
	for name, try := range map[string]func(a *weight.Arena[float32], m weight.Matrix[float32]) error{
		"slope": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, ElmanOptions{CellOptions: CellOptions{Inputs: 1}, Slope: -1})
			return err
		},
		"activation": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, ElmanOptions{CellOptions: CellOptions{Inputs: 1}, Activation: 99})
			return err
		},
		"operator compact-wy": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, ElmanOptions{CellOptions: CellOptions{Inputs: 1}, Operator: OperatorCompactWY})
			return err
		},
		"operator \"thick\"": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, ElmanOptions{CellOptions: CellOptions{Inputs: 1}, Operator: "thick"})
			return err
		},
		"inputs": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, ElmanOptions{})
			return err
		},
		"hidden units": func(a *weight.Arena[float32], _ weight.Matrix[float32]) error {
			_, err := NewLSTM(set, a, LSTMOptions{CellOptions: CellOptions{Inputs: 1}})
			return err
		},
		"inputs of a gate": func(a *weight.Arena[float32], _ weight.Matrix[float32]) error {
			_, err := NewGRU(set, a, GRUOptions{Size: 1})
			if err != nil {
				err = fmt.Errorf("inputs of a gate: %w", err)
			}
			return err
		},
		"activation of": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewAffine(set, a, m, AffineOptions{Bias: "b", Activation: 99})
			if err != nil {
				err = fmt.Errorf("activation of: %w", err)
			}
			return err
		},
		"dropout 1": func(*weight.Arena[float32], weight.Matrix[float32]) error {
			_, err := NewDropout[float32](3, 1, 1, 0)
			return err
		},
	} {
		arena := weight.NewArena[float32]()
		matrix, err := weight.NewDense(set, arena, "W", 3, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := try(arena, matrix); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
		if len(arena.Views()) != 1 {
			t.Errorf("%s: a refused layer left tensors in the arena", name)
		}
	}
}

// TestMisuse checks that shapes which do not fit panic before anything is
// computed.
func TestMisuse(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		none := kernel.Matrix[float32]{}
		input := func(steps, batch, rows, cols int) Input[float32] {
			return Input[float32]{Steps: steps, Batch: batch, X: kernel.NewPadded[float32](rows, cols)}
		}
		good := input(s.steps, s.batch, s.steps*s.batch, s.inputs)
		gradient := kernel.NewPadded[float32](s.batch, s.n)
		for name, misuse := range map[string]func(n *single[float32]){
			"Backward without Forward": func(n *single[float32]) { n.pass.Backward(gradient, nil, none) },
			"7 steps in a pass made for": func(n *single[float32]) {
				n.pass.Forward(input(7, s.batch, 7*s.batch, s.inputs), nil, true)
			},
			"input of 30 × 2 where 30 × 3": func(n *single[float32]) {
				n.pass.Forward(input(s.steps, s.batch, 30, 2), nil, true)
			},
			"made for 5 sequences": func(n *single[float32]) {
				n.pass.Forward(input(1, 6, 6, s.inputs), nil, false)
			},
			"matrices where": func(n *single[float32]) {
				n.pass.Forward(good, make(State[float32], 3), true)
			},
			"state of 5 × 8": func(n *single[float32]) {
				state := make(State[float32], n.layer.Carried())
				for i := range state {
					state[i] = kernel.NewPadded[float32](5, 8)
				}
				n.pass.Forward(good, state, true)
			},
			"gradient of 4 × ": func(n *single[float32]) {
				n.pass.Forward(good, nil, true)
				n.pass.Backward(kernel.NewPadded[float32](4, s.n), nil, none)
			},
			"input gradient of 30 × 2": func(n *single[float32]) {
				n.pass.Forward(good, nil, true)
				n.pass.Backward(gradient, nil, kernel.NewPadded[float32](30, 2))
			},
			"pass for 0 steps": func(n *single[float32]) { n.layer.NewPass(Limits{Batch: 1}) },
		} {
			func() {
				defer func() {
					if message := fmt.Sprint(recover()); !strings.Contains(message, name) {
						t.Errorf("%s: panic %q", name, message)
					}
				}()
				n := newSingle(t, kernel.Float32(), s, 1)
				n.layer.Load()
				misuse(n)
			}()
		}
	})
}
