package cell

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// propertyShapes is one shape for each cell.
func propertyShapes() []shape {
	var shapes []shape
	for _, s := range []shape{
		{cell: "rnn", activation: kernel.Tanh},
		{cell: "ornn", m1: 5, activation: kernel.LeakyReLU, slope: .2},
		{cell: "spectral-rnn", m1: 5, m2: 4, radius: .3, activation: kernel.LeakyReLU, slope: .2},
		{cell: "spectral-rnn", m1: 5, m2: 4, radius: .3, activation: kernel.LeakyReLU, slope: .2, path: PathThin},
		{cell: "ornn", m1: 3, activation: kernel.Tanh, path: PathThin},
		{cell: "lstm"},
		{cell: "gru"},
	} {
		s.n, s.inputs, s.outputs, s.steps, s.batch = 9, 3, 4, 6, 5
		shapes = append(shapes, s)
	}
	return shapes
}

// each runs a test for each cell.
func each(t *testing.T, test func(t *testing.T, s shape)) {
	for _, s := range propertyShapes() {
		t.Run(s.cell+string(s.path), func(t *testing.T) { test(t, s) })
	}
}

// snapshot returns a copy of the gradients by name.
func snapshot[F kernel.Float](n *network[F]) map[string][]F {
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
		n := newNetwork(t, kernel.Float64(), s, 1)
		d := newData[float64](s, 2, false)
		n.gradients(d)
		outputs, gradients := elements(n.head.logits), snapshot(n)

		order := []int{3, 0, 4, 2, 1}
		p := newData[float64](s, 2, false)
		for b, from := range order {
			p.labels[b] = d.labels[from]
			for step := range s.steps {
				copy(p.x.Row(step*s.batch+b), d.x.Row(step*s.batch+from))
			}
		}
		n.gradients(p)
		for b, from := range order {
			if got, want := n.head.logits.Row(b), outputs[from*s.outputs:(from+1)*s.outputs]; !slices.Equal(got, want) {
				t.Errorf("series %d: outputs %v become %v", from, want, got)
			}
		}
		checkSame(t, "permuted series", gradients, snapshot(n))
	})
}

// TestRepeatedBatch checks that the loss is a mean: every series twice gives
// the same loss and gradients.
func TestRepeatedBatch(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		n := newNetwork(t, kernel.Float64(), s, 1)
		d := newData[float64](s, 2, false)
		loss := n.gradients(d)

		twice := s
		twice.batch *= 2
		n2 := newNetwork(t, kernel.Float64(), twice, 1)
		d2 := newData[float64](twice, 2, false)
		for b := range twice.batch {
			d2.labels[b] = d.labels[b%s.batch]
			for step := range s.steps {
				copy(d2.x.Row(step*twice.batch+b), d.x.Row(step*s.batch+b%s.batch))
			}
		}
		if got := n2.gradients(d2); !near([]float64{loss}, []float64{got}) {
			t.Errorf("loss %v becomes %v", loss, got)
		}
		checkSame(t, "repeated series", snapshot(n), snapshot(n2))
	})
}

// TestForks checks that a minibatch trained in parts by a layer and its forks has
// the gradients of the whole, in any number of steps, and however many forks
// take part.
func TestForks(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		whole, n := newNetwork(t, kernel.Float64(), s, 1), newNetwork(t, kernel.Float64(), s, 1)
		layers := []Recurrent[float64]{n.recurrent, n.recurrent.Fork(), n.recurrent.Fork()}
		for seed, sizes := range [][]int{{2, 2, 1}, {3, 2}, {5}, {1, 2, 2}} {
			d := newData[float64](s, uint64(2+seed), false)
			whole.gradients(d)

			n.arena.ZeroGradients()
			n.recurrent.Load()
			n.head.Load()
			states := newMatrix[float64](s.batch, s.n)
			first := 0
			for i, size := range sizes {
				x := newMatrix[float64](s.steps*size, s.inputs)
				for step := range s.steps {
					fill(block(x, step, size), d.x.Slice(step*s.batch+first, step*s.batch+first+size))
				}
				fill(states.Slice(first, first+size), layers[i].Forward(x, s.steps, size))
				first += size
			}
			n.head.Forward(states)
			n.head.CrossEntropy(d.labels)
			dh := n.head.Backward()
			first = 0
			for i, size := range sizes {
				layers[i].Backward(dh.Slice(first, first+size), kernel.Matrix[float64]{})
				first += size
			}
			n.recurrent.Join(len(sizes) - 1)
			checkSame(t, fmt.Sprintf("parts %v", sizes), snapshot(whole), snapshot(n))
		}
	})
}

// TestPaddedInput checks that further inputs change nothing where their weights
// are 0, nor where they are 0 themselves.
func TestPaddedInput(t *testing.T) {
	const padding = 2
	each(t, func(t *testing.T, s shape) {
		n := newNetwork(t, kernel.Float64(), s, 1)
		d := newData[float64](s, 2, false)
		loss := n.gradients(d)
		gradients := snapshot(n)

		wide := s
		wide.inputs += padding
		for _, zero := range []string{"weights", "inputs"} {
			p := newNetwork(t, kernel.Float64(), wide, 3)
			dp := newData[float64](wide, 4, false)
			copy(dp.labels, d.labels)
			inputs := map[string]bool{"M": true, "U": true, "U_zr": true, "U_h": true}
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
// are, taken one at a time from the last to the first, with the state handed on
// by hand; and that the order matters.
func TestReversedInput(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		s.batch = 1
		n := newNetwork(t, kernel.Float64(), s, 1)
		d := newData[float64](s, 2, false)
		reversed := newData[float64](s, 2, false)
		for step := range s.steps {
			copy(reversed.x.Row(s.steps-1-step), d.x.Row(step))
		}
		n.recurrent.Load()
		forwards := elements(n.recurrent.Forward(d.x, s.steps, 1))
		backwards := elements(n.recurrent.Forward(reversed.x, s.steps, 1))
		if near(forwards, backwards) {
			t.Error("the order of inputs does not matter")
		}
		for step := s.steps - 1; step >= 0; step-- {
			h := n.recurrent.Forward(d.x.Slice(step, step+1), 1, 1)
			copy(n.arena.View("h0").Value, h.Row(0))
			if l, ok := n.recurrent.(*LSTM[float64]); ok {
				copy(n.arena.View("c0").Value, l.cells.Row(1))
			}
		}
		if got := n.arena.View("h0").Value; !slices.Equal(got, backwards) {
			t.Errorf("reversed, the last state is %v; step by step it is %v", backwards, got)
		}
	})
}

// TestEvaluate checks that Evaluate is Forward, to the bit, at every level and
// for batches that Forward never saw, and that it leaves what Backward needs.
func TestEvaluate(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		s.steps, s.batch, s.evaluationRows = 40, 7, 19
		for _, level := range kernel.Levels() {
			set, err := kernel.Float32At(level)
			if err != nil {
				t.Fatal(err)
			}
			n := newNetwork(t, set, s, 1)
			d := newData[float32](s, 2, false)
			n.gradients(d)
			states, gradients := elements(n.recurrent.Outputs()), snapshot(n)
			states = states[len(states)-s.batch*s.n:]

			larger := s
			larger.batch = s.evaluationRows
			e := newData[float32](larger, 3, false)
			for step := range s.steps {
				for b := range s.batch {
					copy(e.x.Row(step*larger.batch+b), d.x.Row(step*s.batch+b))
				}
			}
			n.arena.ZeroGradients()
			n.forward(d)
			evaluated := n.recurrent.Evaluate(e.x, s.steps, larger.batch)
			if got := elements(evaluated.Slice(0, s.batch)); !slices.Equal(got, states) {
				t.Errorf("level %v: Evaluate and Forward differ", level)
			}
			n.recurrent.Backward(n.head.Backward(), kernel.Matrix[float32]{})
			for name, g := range snapshot(n) {
				if !slices.Equal(g, gradients[name]) {
					t.Errorf("level %v: Evaluate between Forward and Backward changes the gradient of %s", level, name)
				}
			}
			longer := newMatrix[float32]((s.steps+5)*2, s.inputs)
			n.recurrent.Evaluate(longer, s.steps+5, 2)
		}
	})
}

// TestLimits checks that what a cell is made for does not show in what it
// computes, nor does what it computed before.
func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		d := newData[float64](s, 2, false)
		exact := newNetwork(t, kernel.Float64(), s, 1)
		loss := exact.gradients(d)

		larger := s
		larger.steps, larger.batch = 11, 8
		n := newNetwork(t, kernel.Float64(), larger, 1)
		n.gradients(newData[float64](larger, 5, false))
		n.shape = s
		if got := n.gradients(d); got != loss {
			t.Errorf("loss %v becomes %v", loss, got)
		}
		checkSame(t, "larger limits", snapshot(exact), snapshot(n))
	})
}

// setChunk makes a cell work on few rows at a time.
func setChunk[F kernel.Float](r Recurrent[F], rows int) {
	switch c := r.(type) {
	case *Elman[F]:
		c.chunk = rows
	case *LSTM[F]:
		c.chunk = rows
	case *GRU[F]:
		c.chunk = rows
	}
}

// TestChunks checks that how many steps are worked on together changes
// gradients by rounding only.
func TestChunks(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		for steps := 1; steps <= 9; steps++ {
			s.steps = steps
			d := newData[float64](s, 2, false)
			n := newNetwork(t, kernel.Float64(), s, 1)
			loss := n.gradients(d)
			gradients := snapshot(n)
			for _, chunk := range []int{1, 2 * s.batch, 3*s.batch + 1, 8 * s.batch} {
				setChunk(n.recurrent, chunk)
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
		s.n, s.steps, s.batch = 40, 150, 40
		whole := newNetwork(t, kernel.Float32(), s, 1)
		if got := kept(whole.recurrent); got != s.steps*s.batch {
			t.Fatalf("%d rows kept, want all %d", got, s.steps*s.batch)
		}
		for _, history := range []int{1, 50, 149} {
			s.history = history
			n := newNetwork(t, kernel.Float32(), s, 1)
			if got := kept(n.recurrent); got >= s.steps*s.batch {
				t.Fatalf("history of %d steps: %d rows kept", history, got)
			}
			forks := []Recurrent[float32]{whole.recurrent.Fork(), n.recurrent.Fork()}
			for _, batch := range []int{40, 39, 13, 1} {
				s.batch = batch
				d := newData[float32](s, uint64(batch), false)
				random := weight.NewRandom(3, uint64(batch))
				for _, rows := range []int{batch, batch * s.steps} {
					dh := newMatrix[float32](rows, s.n)
					weight.Gaussian(dh.Data, 1, random)
					want := segmented(whole, whole.recurrent, d, dh)
					for what, got := range map[string]map[string][]float32{
						"segments": segmented(n, n.recurrent, d, dh), "segments once more": segmented(n, n.recurrent, d, dh),
					} {
						for name := range want {
							if !slices.Equal(got[name], want[name]) {
								t.Errorf("%s of history %d, %d series, %d rows of gradients: %s differs", what, history, batch, rows, name)
							}
						}
					}
					if a, b := forks[0].Forward(d.x, s.steps, batch), forks[1].Forward(d.x, s.steps, batch); !slices.Equal(elements(a), elements(b)) {
						t.Errorf("history of %d steps, %d series: the fork's states differ", history, batch)
					}
				}
			}
			s.batch = 40
		}
	})
}

// segmented is what a Forward and a Backward give, by name.
func segmented(n *network[float32], r Recurrent[float32], d data[float32], dh kernel.Matrix[float32]) map[string][]float32 {
	batch := len(d.labels)
	dx := newMatrix[float32](d.x.Rows, d.x.Cols)
	n.arena.ZeroGradients()
	n.recurrent.Load()
	states := slices.Clone(elements(r.Forward(d.x, d.x.Rows/batch, batch)))
	r.Backward(dh, dx)
	r.Join(0)
	all := snapshot(n)
	all["the last states"], all["dx"] = states, elements(dx)
	all["the start's gradient"] = []float32{float32(r.StartGradientNorm())}
	return all
}

// kept is the number of rows whose history a cell keeps.
func kept[F kernel.Float](r Recurrent[F]) int {
	switch c := r.(type) {
	case *Elman[F]:
		return c.kept
	case *LSTM[F]:
		return c.kept
	case *GRU[F]:
		return c.kept
	}
	return 0
}

// TestStack checks the gradients of two layers, of a loss on all steps, and of
// the input.
func TestStack(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		set := kernel.Float64()
		for _, chunk := range []int{1 << 10, 2 * s.batch} {
			below := newNetwork(t, set, s, 1)
			above := s
			above.inputs = s.n
			top := newNetwork(t, set, above, 2)
			setChunk(below.recurrent, chunk)
			setChunk(top.recurrent, chunk)
			d := newData[float64](s, 3, false)
			rows := s.steps * s.batch
			c := newMatrix[float64](rows, s.n)
			weight.Gaussian(c.Data, 1, weight.NewRandom(4, 0))
			loss := func() float64 {
				below.recurrent.Load()
				top.recurrent.Load()
				below.recurrent.Forward(d.x, s.steps, s.batch)
				top.recurrent.Forward(below.recurrent.Outputs(), s.steps, s.batch)
				return dot(elements(top.recurrent.Outputs()), c.Data)
			}
			loss()
			between, dx := newMatrix[float64](rows, s.n), newMatrix[float64](rows, s.inputs)
			top.recurrent.Backward(c, between)
			below.recurrent.Backward(between, dx)
			compare := func(name string, values, gradient []float64) {
				t.Helper()
				largest, difference := 1e-2, 0.0
				for i := range values {
					want := derivative(&values[i], loss)
					largest = max(largest, math.Abs(want))
					difference = max(difference, math.Abs(want-gradient[i]))
				}
				if relative := difference / largest; !(relative < 1e-6) {
					t.Errorf("gradient of %s: relative error %.2g", name, relative)
				}
			}
			compare("x", d.x.Data, dx.Data)
			for layer, n := range map[string]*network[float64]{"below": below, "top": top} {
				for _, v := range n.arena.Views() {
					if v.Name != "Y" && v.Name != "c" {
						compare(v.Name+" "+layer, v.Value, v.Gradient)
					}
				}
			}
		}
	})
}

// TestStartGradientNorm checks the norm against the trained start's gradient,
// which for one series is the same vector, and against larger batches.
func TestStartGradientNorm(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		d := newData[float64](s, 2, false)
		n := newNetwork(t, kernel.Float64(), s, 1)
		n.gradients(d)
		got := n.recurrent.StartGradientNorm()

		one := s
		one.batch = 1
		single := newNetwork(t, kernel.Float64(), one, 1)
		sum := 0.0
		for b := range s.batch {
			db := newData[float64](one, 2, false)
			db.labels[0] = d.labels[b]
			for step := range s.steps {
				copy(db.x.Row(step), d.x.Row(step*s.batch+b))
			}
			single.gradients(db)
			h0 := single.arena.View("h0").Gradient
			norm := single.recurrent.StartGradientNorm()
			if want := math.Sqrt(dot(h0, h0)); !near([]float64{want}, []float64{norm}) {
				t.Errorf("series %d: norm %v, want %v", b, norm, want)
			}
			sum += norm * norm
		}
		// The loss is a mean: each series' gradient is divided by the batch.
		if want := math.Sqrt(sum) / float64(s.batch); !near([]float64{want}, []float64{got}) {
			t.Errorf("norm %v, want %v", got, want)
		}
	})
}

// TestPaths checks that both paths give the same gradients, and which is taken
// unasked.
func TestPaths(t *testing.T) {
	for _, s := range []shape{
		{cell: "ornn", n: 20, m1: 4}, {cell: "ornn", n: 49, m1: 16}, {cell: "ornn", n: 20, m1: 20}, {cell: "ornn", n: 49, m1: 17},
		{cell: "spectral-rnn", n: 48, m1: 4, m2: 3}, {cell: "spectral-rnn", n: 49, m1: 4, m2: 12},
		{cell: "spectral-rnn", n: 20, m1: 20, m2: 20}, {cell: "spectral-rnn", n: 20, m1: 1, m2: 11},
	} {
		s.inputs, s.outputs, s.steps, s.batch, s.radius, s.activation = 2, 3, 12, 4, .2, kernel.Tanh
		d := newData[float64](s, 2, false)
		n := newNetwork(t, kernel.Float64(), s, 1)
		_, taken := n.recurrent.(*Elman[float64]).transition.(*thin[float64])
		if want := 3*16 < s.n && s.m1+s.m2 <= 16; taken != want {
			t.Errorf("%v: the thin path is taken: %v, want %v", s, taken, want)
		}
		s.path = PathFormed
		formed := newNetwork(t, kernel.Float64(), s, 1)
		loss := formed.gradients(d)
		s.path = PathThin
		thin := newNetwork(t, kernel.Float64(), s, 1)
		if got := thin.gradients(d); !near([]float64{loss}, []float64{got}) {
			t.Errorf("%v: loss %v, formed %v", s, got, loss)
		}
		checkSame(t, s.String(), snapshot(formed), snapshot(thin))
	}
}

// TestNotFinite checks that a diverged network is told by its loss.
func TestNotFinite(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		for _, level := range kernel.Levels() {
			set, err := kernel.Float32At(level)
			if err != nil {
				t.Fatal(err)
			}
			for _, squared := range []bool{false, true} {
				n := newNetwork(t, set, s, 1)
				d := newData[float32](s, 2, squared)
				d.x.Data[5] = float32(math.NaN())
				if loss := n.gradients(d); !math.IsNaN(loss) {
					t.Errorf("level %v: loss %v of a NaN input", level, loss)
				}
			}
		}
	})
}

func TestDropout(t *testing.T) {
	s := propertyShapes()[0]
	s.n, s.dropout = 50, .3
	n := newNetwork(t, kernel.Float64(), s, 1)
	d := newData[float64](s, 2, false)
	n.recurrent.Load()
	n.head.Load()
	states := elements(n.recurrent.Forward(d.x, s.steps, s.batch))
	evaluated := elements(n.head.Evaluate(n.recurrent.Evaluate(d.x, s.steps, s.batch)))

	dropped, sum, rounds := 0, make([]float64, s.batch*s.outputs), 4000
	for range rounds {
		outputs := elements(n.head.Forward(n.recurrent.Forward(d.x, s.steps, s.batch)))
		accumulate(sum, outputs)
		for i, h := range elements(n.head.hidden) {
			switch {
			case h == 0:
				dropped++
			case math.Abs(h-states[i]/.7) > 1e-15:
				t.Fatalf("state %v becomes %v", states[i], h)
			}
		}
	}
	if share := float64(dropped) / float64(rounds*s.batch*s.n); math.Abs(share-.3) > .005 {
		t.Errorf("a share of %v is dropped", share)
	}
	for i, total := range sum {
		if mean := total / float64(rounds); math.Abs(mean-evaluated[i]) > .08 {
			t.Errorf("output %d: mean %v with dropout, %v without", i, mean, evaluated[i])
		}
	}

	// The gradients, with what is dropped the same at every call.
	state, err := n.head.random.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again := func() {
		if err := n.head.random.UnmarshalBinary(state); err != nil {
			t.Fatal(err)
		}
	}
	again()
	n.gradients(d)
	compareGradients(t, n.arena, func() float64 {
		again()
		return n.forward(d)
	})
}

// TestParameterCounts holds counts to table 4 of the paper, CBF and Adiac.
func TestParameterCounts(t *testing.T) {
	for _, c := range []struct {
		cell            string
		inputs, outputs int
		want            int
	}{
		{"rnn", 8, 4, 1476}, {"lstm", 8, 4, 5444}, {"ornn", 8, 4, 844}, {"spectral-rnn", 8, 4, 1268},
		{"rnn", 11, 38, 2694}, {"lstm", 11, 38, 6950}, {"ornn", 11, 38, 2062}, {"spectral-rnn", 11, 38, 2486},
		// 3(n_i+n+1)n + n for the cell.
		{"gru", 8, 4, 3*(8+32+1)*32 + 32 + 4*32 + 4},
	} {
		n := newNetwork(t, kernel.Float32(), shape{
			cell: c.cell, n: 32, inputs: c.inputs, outputs: c.outputs, m1: 16, m2: 16, steps: 1, batch: 1,
		}, 1)
		if got := n.arena.Count(); got != c.want {
			t.Errorf("%s with %d inputs and %d outputs has %d parameters, want %d", c.cell, c.inputs, c.outputs, got, c.want)
		}
	}
}

func TestStart(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		s.inputs, s.n = 400, 40
		if s.m1 > 0 {
			s.m1 = 30
		}
		n := newNetwork(t, kernel.Float64(), s, 1)
		if err := n.recurrent.Start(StartOptions{InputScale: .25, ForgetBias: 1}, weight.NewRandom(1, 0)); err != nil {
			t.Fatal(err)
		}
		n.head.Start(.05, weight.NewRandom(1, 1))
		for _, v := range n.arena.Views() {
			variance := dot(v.Value, v.Value) / float64(len(v.Value))
			switch {
			case slices.Contains([]string{"M", "U", "U_zr", "U_h"}, v.Name):
				if ratio := variance / (.25 * .25 / 400); math.Abs(ratio-1) > .1 {
					t.Errorf("variance of %s is %v of what is due", v.Name, ratio)
				}
			case v.Name == "Y":
				if ratio := variance / (.05 * .05 / 40); math.Abs(ratio-1) > .4 {
					t.Errorf("variance of Y is %v of what is due", ratio)
				}
			case v.Name == "b" && s.cell == "lstm":
				for i, b := range v.Value {
					if forget := i/s.n == 1; forget && b != 1 || !forget && b != 0 {
						t.Errorf("bias %d starts at %v", i, b)
					}
				}
			case slices.Contains([]string{"b", "b_zr", "b_h", "h0", "c0", "c", "sigma_hat"}, v.Name):
				if variance != 0 {
					t.Errorf("%s does not start at 0", v.Name)
				}
			}
		}
		if err := n.recurrent.Start(StartOptions{Weight: "nearly"}, weight.NewRandom(1, 0)); err == nil {
			t.Error("an unknown start is taken")
		}
	})
}

// TestOrthogonalGates checks that every gate of a gated cell can start
// orthogonal.
func TestOrthogonalGates(t *testing.T) {
	for _, cell := range []string{"lstm", "gru"} {
		n := newNetwork(t, kernel.Float64(), shape{cell: cell, n: 7, inputs: 1, outputs: 1, steps: 1, batch: 1, start: weight.StartOrthogonal}, 1)
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
	good := Limits{Steps: 2, Batch: 2}
	for name, try := range map[string]func(a *weight.Arena[float32], m weight.Matrix[float32]) error{
		"slope": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, good, ElmanOptions{Inputs: 1, Slope: -1})
			return err
		},
		"activation": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, good, ElmanOptions{Inputs: 1, Activation: 99})
			return err
		},
		"path thin": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, good, ElmanOptions{Inputs: 1, Path: PathThin})
			return err
		},
		"path \"thick\"": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, good, ElmanOptions{Inputs: 1, Path: "thick"})
			return err
		},
		"inputs": func(a *weight.Arena[float32], m weight.Matrix[float32]) error {
			_, err := NewElman(set, a, m, good, ElmanOptions{})
			return err
		},
		"hidden units": func(a *weight.Arena[float32], _ weight.Matrix[float32]) error {
			_, err := NewLSTM(set, a, good, LSTMOptions{Inputs: 1})
			return err
		},
		"steps": func(a *weight.Arena[float32], _ weight.Matrix[float32]) error {
			_, err := NewGRU(set, a, Limits{Batch: 1}, GRUOptions{Inputs: 1, Size: 1})
			return err
		},
		"series": func(a *weight.Arena[float32], _ weight.Matrix[float32]) error {
			_, err := NewGRU(set, a, Limits{Steps: 1}, GRUOptions{Inputs: 1, Size: 1})
			return err
		},
		"outputs": func(a *weight.Arena[float32], _ weight.Matrix[float32]) error {
			_, err := NewHead(set, a, 3, 0, 1, HeadOptions{})
			return err
		},
		"dropout 1": func(a *weight.Arena[float32], _ weight.Matrix[float32]) error {
			_, err := NewHead(set, a, 3, 1, 1, HeadOptions{Dropout: 1, Random: weight.NewRandom(1, 1)})
			return err
		},
		"random numbers": func(a *weight.Arena[float32], _ weight.Matrix[float32]) error {
			_, err := NewHead(set, a, 3, 1, 1, HeadOptions{Dropout: .5})
			return err
		},
	} {
		arena := weight.NewArena[float32]()
		matrix, err := weight.NewDense(arena, 3)
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
		ok := newMatrix[float32](s.steps*s.batch, s.inputs)
		for name, misuse := range map[string]func(n *network[float32]){
			"Backward without Forward":     func(n *network[float32]) { n.recurrent.Backward(newMatrix[float32](s.batch, s.n), none) },
			"7 steps in a layer made for":  func(n *network[float32]) { n.recurrent.Forward(newMatrix[float32](7*s.batch, s.inputs), 7, s.batch) },
			"input of 30 × 2 where 30 × 3": func(n *network[float32]) { n.recurrent.Forward(newMatrix[float32](30, 2), s.steps, s.batch) },
			"made for 5 series":            func(n *network[float32]) { n.recurrent.Evaluate(newMatrix[float32](6, s.inputs), 1, 6) },
			"gradient of 4 × 9": func(n *network[float32]) {
				n.recurrent.Load()
				n.recurrent.Forward(ok, s.steps, s.batch)
				n.recurrent.Backward(newMatrix[float32](4, s.n), none)
			},
			"input gradient of 30 × 2": func(n *network[float32]) {
				n.recurrent.Load()
				n.recurrent.Forward(ok, s.steps, s.batch)
				n.recurrent.Backward(newMatrix[float32](s.batch, s.n), newMatrix[float32](30, 2))
			},
			"states of 5 × 8": func(n *network[float32]) { n.head.Load(); n.head.Forward(newMatrix[float32](s.batch, 8)) },
			"targets of 5 × 3": func(n *network[float32]) {
				n.head.Load()
				n.head.Forward(newMatrix[float32](s.batch, s.n))
				n.head.SquaredError(newMatrix[float32](s.batch, 3))
			},
			"head without Forward": func(n *network[float32]) {
				n.head.Load()
				n.head.Evaluate(newMatrix[float32](s.batch, s.n))
				n.head.Backward()
			},
		} {
			func() {
				defer func() {
					if message := fmt.Sprint(recover()); !strings.Contains(message, name) {
						t.Errorf("%s: panic %q", name, message)
					}
				}()
				misuse(newNetwork(t, kernel.Float32(), s, 1))
			}()
		}
	})
}
