package model

import (
	"errors"
	"math"
	"testing"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/network"
	"sweep/model/optim"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/sweep"
)

// The counts of the SGORNN paper's tables, by the networks themselves: of addition
// (two inputs, one output) and HAR-2 (nine inputs, one output) with 128 units, LSTM's of
// HAR-2 with 64, of the cell alone with 256 units and embeddings as wide. h(0), and LSTM's
// c(0), is 0 and no parameter: of LSTM that has to be asked for.
func TestPublishedCounts(t *testing.T) {
	for name, want := range map[string][3]int{
		"vprnn": {1409, 2305, 67840}, "fastrnn": {16899, 17795, 131330}, "sgornn": {1411, 2307, 67842},
		"lstm": {67201, 19009, 525312},
	} {
		for i, shape := range []struct{ hidden, inputs, outputs int }{{128, 2, 1}, {128, 9, 1}, {256, 256, 0}} {
			point := sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": name}
			if name == "lstm" {
				point["initial_state"] = "zero"
				if shape.inputs == 9 {
					shape.hidden = 64
				}
			}
			point["hidden"] = int64(shape.hidden)
			s, err := settingsOf(resolve(t, point))
			if err != nil {
				t.Fatal(err)
			}
			n, err := network.Declare(kernel.Float32(),
				s.spec(task.Shape{Steps: 10, Inputs: shape.inputs, Outputs: max(shape.outputs, 1), Loss: "mse"}))
			if err != nil {
				t.Fatal(err)
			}
			got := n.Arena.Count()
			if shape.outputs == 0 { // without the head
				got -= shape.hidden + 1
			}
			if got != want[i] {
				t.Errorf("%s, %d units and %d inputs: %d parameters, published are %d", name, shape.hidden,
					shape.inputs, got, want[i])
			}
			if n.Arena.View("h0") != nil || n.Arena.View("c0") != nil {
				t.Errorf("%s: h(0) or c(0) is a parameter", name)
			}
		}
	}
}

// TestTable4Counts holds networks to the counts of table 4 of Zhang, Lei and Dhillon
// 2018, CBF and Adiac, and to the formulas of what is not in it.
func TestTable4Counts(t *testing.T) {
	for _, c := range []struct {
		model           string
		inputs, outputs int
		want            int
	}{
		{"rnn", 8, 4, 1476}, {"lstm", 8, 4, 5444}, {"ornn", 8, 4, 844}, {"spectral-rnn", 8, 4, 1268},
		{"rnn", 11, 38, 2694}, {"lstm", 11, 38, 6950}, {"ornn", 11, 38, 2062}, {"spectral-rnn", 11, 38, 2486},
		// 3(n_i+n+1)n + n for the cell; two matrices and σ̂ in the place of one.
		{"gru", 8, 4, 3*(8+32+1)*32 + 32 + 4*32 + 4}, {"factorized-rnn", 8, 4, 1476 + 32*32 + 32},
	} {
		s, err := settingsOf(resolve(t, sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": c.model}))
		if err != nil {
			t.Fatal(err)
		}
		n, err := network.Declare(kernel.Float32(),
			s.spec(task.Shape{Steps: 10, Inputs: c.inputs, Outputs: c.outputs, Loss: "mse"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Arena.Count(); got != c.want {
			t.Errorf("%s with %d inputs and %d outputs has %d parameters, want %d", c.model, c.inputs,
				c.outputs, got, c.want)
		}
	}
}

// TestUnitaryCounts: table 2 of Zhang, Lei and Dhillon 2018 has about 16k of uRNN, 512 units, and of FC
// uRNN, 116 units whose matrix has 116² degrees of freedom.
func TestUnitaryCounts(t *testing.T) {
	for model, c := range map[string]struct{ hidden, want int }{
		"urnn": {512, 16394}, "fc-urnn": {116, 16366},
	} {
		s, err := settingsOf(resolve(t, sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": model,
			"hidden": int64(c.hidden)}))
		if err != nil {
			t.Fatal(err)
		}
		n, err := network.Declare(kernel.Float32(),
			s.spec(task.Shape{Steps: 784, Inputs: 1, Outputs: 10, Classes: true, Loss: "cross_entropy"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Arena.Count(); got != c.want {
			t.Errorf("%s of %d units has %d parameters, want %d", model, c.hidden, got, c.want)
		}
	}
}

// TestNoAllocation: neither a training step nor an evaluation allocates.
func TestNoAllocation(t *testing.T) {
	for _, s := range system.All {
		c := newCandidate(t, s, "trained")
		n := assemble(t, c, kernel.Float32(), 2, math.MaxInt64)
		optimizer, err := optim.New(kernel.Float32(), n.Arena, c.settings.optimizer)
		if err != nil {
			t.Fatal(err)
		}
		b := minibatch(c, n)
		step := func() {
			n.Differentiate(b, 0)
			n.Update(optimizer, .001, 1)
			n.Evaluate(b)
		}
		step()
		if allocations := testing.AllocsPerRun(10, step); allocations != 0 {
			t.Errorf("%s: a step allocates %v times", s.Name, allocations)
		}
	}
}

// TestDivergence: the loss of an input that is no number is none, at every level.
func TestDivergence(t *testing.T) {
	for _, s := range system.All {
		c := newCandidate(t, s, "trained")
		for _, level := range kernel.Levels() {
			set, err := kernel.Float32At(level)
			if err != nil {
				t.Fatal(err)
			}
			n := assemble(t, c, set, 0, math.MaxInt64)
			b := minibatch(c, n)
			b.X.Data[5] = float32(math.NaN())
			if score, _ := n.Differentiate(b, 0); !math.IsNaN(score.Mean()) {
				t.Errorf("%s, level %v: loss %v of a NaN input", s.Name, level, score.Mean())
			}
		}
	}
}

// An α of ½ and above leaves no β: no trial starts there.
func TestGateStart(t *testing.T) {
	for start, accepted := range map[float64]bool{-20: true, -3: true, -1e-9: true, 0: false, 1: false, 20: false} {
		point := sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": "sgornn", "alpha_start": start}
		_, err := settingsOf(resolve(t, point))
		var refused *sweep.ParameterError
		if accepted != (err == nil) || err != nil && (!errors.As(err, &refused) || refused.Parameter != "alpha_start") {
			t.Errorf("alpha_start %v: %v", start, err)
		}
		point["model"] = "fastrnn" // whose β has no bound
		if _, err := settingsOf(resolve(t, point)); err != nil {
			t.Errorf("fastrnn, alpha_start %v: %v", start, err)
		}
	}
}

// SGORNN's β starts on its bound by default, and free where its authors start α.
func TestGateStartBound(t *testing.T) {
	for start, want := range map[float64]bool{-3: true, -3.75: false} {
		point := sweep.Parameters{"dataset": dataset.GeneratedCBF, "model": "sgornn", "alpha_start": start}
		s, err := settingsOf(resolve(t, point))
		if err != nil {
			t.Fatal(err)
		}
		shape := task.Shape{Steps: 2, Inputs: 1, Outputs: 1, Loss: "mse"}
		n, err := network.New(t.Context(), kernel.Float32(), s.spec(shape),
			network.Room{Batch: 1, History: 1 << 20, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		if _, _, bounded := n.Stack.Layers()[0].(*layer.ScalarGated[float32]).Gates(); bounded != want {
			t.Errorf("alpha_start %v: on the bound %v", start, bounded)
		}
	}
}

// TestGateBound: β = min(sigmoid β̂, 1 - 2α), and 0 where that is negative, in every
// forward pass, and differentiated so. Where a bound holds β̂ has no gradient and never
// moves, as no parameter is projected; where none does, it has one.
func TestGateBound(t *testing.T) {
	for _, c := range []struct {
		model, name string
		alpha, beta float64
		bound       bool
	}{
		{"sgornn", "free", -3, 0, false}, {"sgornn", "at the bound", -1, 3, true}, {"sgornn", "at zero", 1, 3, true},
		{"fastrnn", "free", -3, 0, false}, {"fastrnn", "at the bound", -1, 3, true},
	} {
		t.Run(c.model+" "+c.name, func(t *testing.T) {
			candidate := newCandidate(t, system.Find(c.model), "zero")
			parameters := candidate.settings.parameters.Clone()
			parameters["beta_start"] = c.beta
			if c.model == "fastrnn" {
				parameters["gate_bound"] = true
			}
			settings, err := settingsOf(parameters)
			if err != nil {
				t.Fatal(err)
			}
			settings.parameters["alpha_start"] = c.alpha // trials may get to where none may start
			candidate.settings = settings
			candidate.gradients(t) // by central differences through the network

			n := assemble(t, candidate, kernel.Float32(), 0, math.MaxInt64)
			cell := n.Stack.Layers()[0].(*layer.ScalarGated[float32])
			alphaHat, betaHat := n.Arena.View("alpha_hat"), n.Arena.View("beta_hat")
			before := betaHat.Value[0]
			optimizer, err := optim.New(kernel.Float32(), n.Arena, settings.optimizer)
			if err != nil {
				t.Fatal(err)
			}
			logistic := func(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }
			for step := range 100 {
				n.Differentiate(minibatch(candidate, n), step)
				alpha, beta, bounded := cell.Gates()
				want := max(min(logistic(betaHat.Value[0]), 1-2*logistic(alphaHat.Value[0])), 0)
				if math.Abs(beta-want) > 1e-12 || math.Abs(alpha-logistic(alphaHat.Value[0])) > 1e-12 {
					t.Fatalf("step %d: α %v and β %v, want β %v", step, alpha, beta, want)
				}
				if bounded != (betaHat.Gradient[0] == 0) || alphaHat.Gradient[0] == 0 {
					t.Fatalf("step %d: at the bound %v, the gradients of α̂ and β̂ are %v and %v", step, bounded,
						alphaHat.Gradient[0], betaHat.Gradient[0])
				}
				if step == 0 && bounded != c.bound {
					t.Fatalf("the start is at the bound: %v, want %v", bounded, c.bound)
				}
				n.Update(optimizer, .001, 1)
			}
			if moved := betaHat.Value[0] != before; moved == c.bound {
				t.Errorf("β̂ moved: %v, from %v to %v", moved, before, betaHat.Value[0])
			}
		})
	}
}
