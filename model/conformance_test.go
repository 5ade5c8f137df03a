package model

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/network"
	"sweep/model/optim"
	"sweep/model/random"
	"sweep/model/system"
	"sweep/model/task"
	"sweep/model/weight"
	"sweep/sweep"
)

// TestConformance holds every system of the registry to what any of them has to
// keep, through the network as a trial assembles it.
func TestConformance(t *testing.T) {
	for _, s := range system.All {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for _, start := range []string{"trained", "zero"} {
				c := newCandidate(t, s, start)
				t.Run("initial state "+start+"/count", c.count)
				t.Run("initial state "+start+"/gradients", c.gradients)
			}
			c := newCandidate(t, s, "trained")
			t.Run("slices", c.slices)
			if !s.FeedForward {
				t.Run("segments", c.segments)
				t.Run("carried state", c.carried)
				t.Run("watched", c.watched)
				t.Run("unequal lengths", c.with(t, "dropout", int64(0)).uneven)
				every := newCandidate(t, s, "trained")
				every.every = true
				t.Run("output at every step/gradients", every.gradients)
				t.Run("output at every step/slices", every.slices)
				t.Run("output at every step/segments", every.segments)
				t.Run("output at every step/watched", every.watched)
				t.Run("output at every step/evaluation", every.evaluation)
				words := newCandidate(t, s, "trained").reading(t)
				t.Run("words in two layers/count", words.count)
				t.Run("words in two layers/gradients", words.gradients)
				t.Run("words in two layers/slices", words.slices)
				t.Run("words in two layers/levels", words.levels)
			}
			for _, activation := range []string{"linear", "relu", "leaky_relu"} {
				if slices.ContainsFunc(s.Parameters, func(p *sweep.ParameterSchema) bool {
					return p.Name == "activation"
				}) {
					t.Run("activation "+activation+"/gradients", c.with(t, "activation", activation).gradients)
				}
			}
			if slices.ContainsFunc(s.Parameters, func(p *sweep.ParameterSchema) bool { return p.Name == "parseval" }) {
				c := c.with(t, "parseval", 0.05)
				t.Run("parseval/gradients", c.gradients)
				t.Run("parseval/slices", c.slices)
				t.Run("parseval/levels", c.levels)
				t.Run("parseval/property", c.property)
				t.Run("parseval/resumption", c.resumption)
			}
			if s.Name == "rnn" { // the output layer is the same above all others
				wide := newCandidate(t, s, "trained")
				wide.every, wide.outputs = true, network.WideOutputs
				t.Run("wide output layer/gradients", wide.gradients)
			}
			t.Run("start", c.start)
			t.Run("evaluation", c.evaluation)
			t.Run("perturbed inputs", c.perturbed)
			t.Run("levels", c.levels)
			t.Run("property", c.property)
			t.Run("resumption", c.resumption)
			t.Run("averaged weights", c.averaged)
			if !s.FeedForward {
				t.Run("averaged weights of two layers", c.stacked(t).averaged)
			}
			for _, variant := range variants(s) {
				t.Run(variant.name, func(t *testing.T) {
					c := newCandidate(t, s, "trained")
					c.settings = variant.settings(t, c)
					t.Run("count", c.count)
					t.Run("gradients", c.gradients)
					t.Run("levels", c.levels)
					t.Run("property", c.property)
					t.Run("averaged weights", c.averaged)
				})
			}
		})
	}
}

// variant is a value of a parameter of a system that changes what it is built of.
type variant struct {
	name      string
	parameter string
	value     any
}

// variants are the values, other than the default, of the system's parameters that
// have but a few; activations and starts are the layers' own matter.
func variants(s *system.System) []variant {
	var all []variant
	for _, p := range s.Parameters {
		if p.Name == "activation" || p.Name == "start" {
			continue
		}
		for _, value := range p.Enum {
			if value != p.Default {
				all = append(all, variant{fmt.Sprintf("%s %v", p.Name, value), p.Name, value})
			}
		}
	}
	return all
}

func (v variant) settings(t *testing.T, c *candidate) *settings {
	t.Helper()
	parameters := c.settings.parameters.Clone()
	parameters[v.parameter] = v.value
	if v.value == "householder" {
		parameters["m1"] = int64(5)
	}
	s, err := settingsOf(parameters)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// candidate is a system with a small shape.
type candidate struct {
	system       *system.System
	settings     *settings
	steps, batch int
	every        bool // there is an output for every step
	words        int  // that inputs are; 0 where they are numbers
	outputs      int  // 0 for candidateOutputs
}

// reading is the candidate as a language model of two layers, with dropout everywhere.
func (c *candidate) reading(t *testing.T) *candidate {
	t.Helper()
	point := c.settings.parameters.Clone()
	for name := range point {
		if p := schema().Parameter(name); p.AppliesWhen != nil && p.AppliesWhen["task"] != nil || name == "task" {
			delete(point, name)
		}
	}
	point["dataset"], point["layers"], point["embedding"], point["embedding_dropout"] = dataset.GeneratedText, int64(2),
		int64(candidateInputs), 0.2
	settings, err := settingsOf(resolve(t, point))
	if err != nil {
		t.Fatal(err)
	}
	return &candidate{system: c.system, settings: settings, steps: c.steps, batch: c.batch, every: true, words: 7}
}

// stacked is the candidate with two layers.
func (c *candidate) stacked(t *testing.T) *candidate { return c.with(t, "layers", int64(2)) }

// with is the candidate with another value of a parameter.
func (c *candidate) with(t *testing.T, name string, value any) *candidate {
	t.Helper()
	point := c.settings.parameters.Clone()
	point[name] = value
	settings, err := settingsOf(resolve(t, point))
	if err != nil {
		t.Fatal(err)
	}
	return &candidate{system: c.system, settings: settings, steps: c.steps, batch: c.batch}
}

const candidateInputs, candidateOutputs = 3, 4

func newCandidate(t *testing.T, s *system.System, start string) *candidate {
	// tanh has no kinks that differences could meet.
	point := sweep.Parameters{
		"dataset": dataset.GeneratedCBF, "model": s.Name, "hidden": int64(10), "initial_state": start, "dropout": 0.2,
		"input_scale": 1.0, "output_scale": 1.0,
	}
	if s.FeedForward {
		point["layers"] = int64(5)
	}
	for _, p := range s.Parameters {
		switch p.Name {
		case "activation":
			point["activation"] = "tanh"
		case "m1":
			if s.Name != "sgornn" { // whose default map has no reflectors
				point["m1"] = int64(5)
			}
		case "m2":
			point["m2"] = int64(4)
		case "sigma_penalty":
			point["sigma_penalty"] = 0.05
		}
	}
	settings, err := settingsOf(resolve(t, point))
	if err != nil {
		t.Fatal(err)
	}
	steps := 6
	if s.FeedForward {
		steps = 1
	}
	return &candidate{system: s, settings: settings, steps: steps, batch: 5}
}

// assemble makes the candidate's network with parameters that are all random.
func assemble[F kernel.Float](t *testing.T, c *candidate, set *kernel.Set[F], rows int,
	history int64) *network.Network[F] {
	t.Helper()
	return assembleShape(t, c, c.shape(), set, rows, history)
}

// network is an assembled network of another shape, in double precision.
func (c *candidate) network(t *testing.T, shape task.Shape, rows int) *network.Network[float64] {
	t.Helper()
	return assembleShape(t, c, shape, kernel.Float64(), rows, math.MaxInt64)
}

func assembleShape[F kernel.Float](t *testing.T, c *candidate, shape task.Shape, set *kernel.Set[F], rows int,
	history int64) *network.Network[F] {
	t.Helper()
	n, err := network.New(t.Context(), set, c.settings.spec(shape),
		network.Room{Batch: c.batch, History: history, Threads: 2, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	source := random.New(8, 0)
	for _, v := range n.Arena.Views() {
		for i := range v.Value {
			v.Value[i] += F(.1 * source.Normal())
		}
	}
	n.Changed()
	return n
}

// shape is that of the candidate's task.
func (c *candidate) shape() task.Shape {
	if c.words > 0 {
		return task.Shape{Steps: c.steps, Vocabulary: c.words, Outputs: candidateOutputs, Every: true, Classes: true,
			Loss: "cross_entropy"}
	}
	return task.Shape{Steps: c.steps, Inputs: candidateInputs, Outputs: max(c.outputs, candidateOutputs),
		Every: c.every, Classes: true, Loss: "cross_entropy"}
}

// minibatch returns random sequences in the slices of the network.
func minibatch[F kernel.Float](c *candidate, n *network.Network[F]) *task.Batch[F] {
	source := random.New(2, 1)
	b := task.NewBatch[F](c.shape(), c.batch, n.Rows())
	b.Reset(c.steps, c.batch, false)
	_, size := task.Cut(b.Size, n.Rows())
	for sequence := range b.Size {
		first := sequence / size * size
		part := min(size, b.Size-first)
		for step := range b.Steps {
			row := first*b.Steps + step*part + sequence - first
			if c.words > 0 {
				b.Tokens[row] = source.Below(c.words)
			} else {
				random.Gaussian(b.X.Row(row), 1, source)
			}
			if c.every {
				b.Targets.Classes[row] = source.Below(max(c.outputs, candidateOutputs))
			}
		}
		if !c.every {
			b.Targets.Classes[sequence] = source.Below(candidateOutputs)
		}
	}
	return b
}

func (c *candidate) count(t *testing.T) {
	n, err := network.Declare(kernel.Float32(), c.settings.spec(c.shape()))
	if err != nil {
		t.Fatal(err)
	}
	width := c.system.Width(c.settings.network.Options.Hidden)
	want := countOf(t, c.system, c.settings.options(candidateInputs)) + (width+1)*candidateOutputs
	if c.words > 0 {
		want += c.words*candidateInputs + countOf(t, c.system, c.settings.options(width))
	}
	if got := n.Arena.Count(); got != want {
		t.Errorf("%d parameters, by formula %d", got, want)
	}
}

// gradients holds the gradient of every parameter to central differences, of the loss
// and of what a matrix adds to it.
func (c *candidate) gradients(t *testing.T) {
	if testing.Short() {
		t.Skip(
			"left out under -short: one goroutine computes differences; the slices are where the race detector looks")
	}
	n := assemble(t, c, kernel.Float64(), 0, math.MaxInt64)
	b := minibatch(c, n)
	n.Differentiate(b, 3)
	gradients := slices.Clone(n.Arena.Gradients())
	mean := func() float64 {
		n.Changed()
		score, _ := n.Differentiate(b, 3)
		loss := score.Mean()
		for _, m := range n.Matrices {
			if penalised, ok := m.(interface{ Penalty() float64 }); ok {
				loss += penalised.Penalty()
			}
		}
		return loss
	}
	for _, v := range n.Arena.Views() {
		largest, difference := 1e-3, 0.0
		// Of the many rows of a wide output layer a few hundred numbers will do.
		for i := 0; i < len(v.Value); i += 1 + len(v.Value)/2000*20 {
			want := centralDifference(&v.Value[i], mean)
			largest = max(largest, math.Abs(want))
			difference = max(difference, math.Abs(want-gradients[v.Offset+i]))
		}
		if relative := difference / largest; !(relative < 1e-6) {
			t.Errorf("gradient of %s: relative error %.2g", v.Name, relative)
		}
	}
}

func centralDifference(x *float64, f func() float64) float64 {
	const h = 2e-6 // so small that hardly a unit passes a kink of its activation
	old := *x
	*x = old + h
	above := f()
	*x = old - h
	below := f()
	*x = old
	return (above - below) / (2 * h)
}

// start: from where a trial starts, a few steps move every tensor. Where products of
// zeros meet, the gradients are right and nothing is ever learnt.
func (c *candidate) start(t *testing.T) {
	n, err := network.New(t.Context(), kernel.Float32(), c.settings.spec(c.shape()),
		network.Room{Batch: c.batch, History: math.MaxInt64, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	optimizer, err := optim.New(kernel.Float32(), n.Arena, c.settings.optimizer)
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(n.Arena.Values())
	for step := range 5 {
		n.Differentiate(minibatch(c, n), step)
		n.Update(optimizer, .001, 1)
	}
	for _, v := range n.Arena.Views() {
		if v.Name == "beta_hat" && c.system.Name == "sgornn" {
			continue // at β's bound α alone moves, see TestGateBound
		}
		if len(v.Value) == 1 && (strings.HasSuffix(v.Name, "v1") || strings.HasSuffix(v.Name, "u1")) {
			// A reflector of one number turns a sign: it has no gradient, and nowhere to go.
			if x := v.Value[0]; x != 1 && x != -1 || v.Gradient[0] != 0 {
				t.Errorf("%s is %v, its gradient %v, want a sign without one", v.Name, x, v.Gradient[0])
			}
			continue
		}
		if slices.Equal(v.Value, before[v.Offset:v.Offset+len(v.Value)]) {
			t.Errorf("%s is still at its start", v.Name)
		}
	}
}

// slices: a minibatch in parts, dropout included, is the whole.
func (c *candidate) slices(t *testing.T) {
	whole := assemble(t, c, kernel.Float64(), 0, math.MaxInt64)
	want, wantNorm := whole.Differentiate(minibatch(c, whole), 3)
	for _, rows := range []int{1, 2, 4} {
		n := assemble(t, c, kernel.Float64(), rows, math.MaxInt64)
		got, norm := n.Differentiate(minibatch(c, n), 3)
		if !close64(got.Loss, want.Loss) || got.Correct != want.Correct || got.Rows != want.Rows ||
			!close64(norm, wantNorm) {
			t.Errorf("slices of %d: score %v, norm %v; of the whole %v, %v", rows, got, norm, want, wantNorm)
		}
		checkClose(t, fmt.Sprintf("slices of %d: gradient", rows), n.Arena.Gradients(), whole.Arena.Gradients())
	}
}

// uneven: sequences of different lengths in one minibatch, filled up with anything, have the mean loss and gradient of
// each by itself, in a network whose output is that of the last step alone.
func (c *candidate) uneven(t *testing.T) {
	lengths := []int{6, 3, 1, 6, 4}
	for _, of := range []string{"cross_entropy", "sigmoid", "mse"} {
		for _, rows := range []int{0, 2} {
			together, alone := c.shape(), c.shape()
			together.Every, together.Padded, together.Single = true, true, true
			together.Loss, alone.Loss = of, of
			n := c.network(t, together, rows)
			b := task.NewBatch[float64](together, len(lengths), n.Rows())
			b.Reset(c.steps, len(lengths), false)
			source := random.New(9, 1)
			random.Gaussian(b.X.Data, 1, source)
			for i := range b.Targets.Classes {
				b.Targets.Classes[i] = loss.NoTarget
			}
			var total loss.Score
			sum, norms := make([]float64, len(n.Arena.Gradients())), 0.0
			outputs := kernel.NewMatrix[float64](len(lengths), alone.Outputs)
			_, size := task.Cut(b.Size, n.Rows())
			for i, length := range lengths {
				alone.Steps = length
				single := c.network(t, alone, 0)
				copy(single.Arena.Values(), n.Arena.Values())
				own := task.NewBatch[float64](alone, 1, single.Rows())
				own.Reset(length, 1, false)
				class := source.Below(alone.Outputs)
				own.Targets.Classes[0] = class
				first := i / size * size
				part := min(size, b.Size-first)
				for step := range length {
					row := first*b.Steps + step*part + i - first
					copy(own.X.Row(step), b.X.Row(row))
					if step == length-1 {
						b.Targets.Classes[row] = class
					}
				}
				score, norm := single.Differentiate(own, 3)
				total.Add(score)
				norms += norm * norm / float64(b.Size)
				for j, g := range single.Arena.Gradients() {
					sum[j] += g / float64(b.Size)
				}
				single.Classify(own, func(said kernel.Matrix[float64], _ []int) { copy(outputs.Row(i), said.Row(0)) })
			}
			got, norm := n.Differentiate(b, 3)
			if !close64(got.Loss, total.Loss) || got.Correct != total.Correct || got.Rows != b.Size ||
				!close64(norm, math.Sqrt(norms)) {
				t.Errorf("%s, slices of %d: score %v, norm %v; each by itself %v, %v", of, rows, got, norm, total,
					math.Sqrt(norms))
			}
			checkClose(t, of+": gradient", n.Arena.Gradients(), sum)
			if evaluated := n.Evaluate(b); !close64(evaluated.Loss, total.Loss) || evaluated.Correct != total.Correct {
				t.Errorf("%s: evaluated to %v, want %v", of, evaluated, total)
			}
			var said []float64
			n.Classify(b, func(outputs kernel.Matrix[float64], classes []int) {
				if len(classes) != outputs.Rows {
					t.Errorf("%d classes for %d outputs", len(classes), outputs.Rows)
				}
				said = append(said, flat(outputs)...)
			})
			checkClose(t, of+": outputs", said, outputs.Data)
		}
	}
}

// watched: the gradients of the states, of which the first is known, do not depend on slices, and to find
// them changes no bit.
func (c *candidate) watched(t *testing.T) {
	n := assemble(t, c, kernel.Float64(), 0, math.MaxInt64)
	_, first := n.Differentiate(minibatch(c, n), 3)
	want := slices.Clone(n.Arena.Gradients())
	n.Watch()
	n.Changed() // a pass back may use the weights up
	n.Differentiate(minibatch(c, n), 3)
	if !slices.Equal(n.Arena.Gradients(), want) {
		t.Error("watching changes the gradients")
	}
	norms, sliced := make([]float64, c.steps), make([]float64, c.steps)
	if n.Gradients(norms); !close64(norms[0], first) || slices.Contains(norms, 0) {
		t.Errorf("the gradients of the states have the norms %v, that of the first %v", norms, first)
	}
	parts := assemble(t, c, kernel.Float64(), 2, math.MaxInt64)
	parts.Watch()
	parts.Differentiate(minibatch(c, parts), 3)
	parts.Gradients(sliced)
	checkClose(t, "gradients of the states by slices", sliced, norms)
}

// perturbed: each input moves in the direction in which the loss grows, by differences, in slices as in
// the whole, and without dropout; a step of training after it is as if nothing had been.
func (c *candidate) perturbed(t *testing.T) {
	const epsilon = .125
	n, other := assemble(t, c, kernel.Float64(), 2, math.MaxInt64), assemble(t, c, kernel.Float64(), 2, math.MaxInt64)
	b, before := minibatch(c, n), minibatch(c, n)
	n.Perturb(b, epsilon)
	moved := 0
	for i, x := range before.X.Data {
		slope := centralDifference(&before.X.Data[i], func() float64 {
			score := n.Evaluate(before)
			return score.Mean()
		})
		if math.Abs(slope) < 1e-7 { // less than differences can tell from 0
			continue
		}
		if moved++; b.X.Data[i] != x+math.Copysign(epsilon, slope) {
			t.Errorf("input %d goes from %v to %v, where the loss has the slope %v", i, x, b.X.Data[i], slope)
		}
	}
	if moved < len(before.X.Data)/2 {
		t.Errorf("%d of %d inputs have a slope: the test proves little", moved, len(before.X.Data))
	}
	n.Differentiate(before, 3)
	other.Differentiate(before, 3)
	if !slices.Equal(n.Arena.Gradients(), other.Arena.Gradients()) {
		t.Error("a step of training has other gradients after it")
	}
}

// segments: history that is computed again changes no bit.
func (c *candidate) segments(t *testing.T) {
	large := *c.settings
	large.network.Options.Hidden = 64
	// more than is worked on together
	c = &candidate{system: c.system, settings: &large, steps: 60, batch: 30, every: c.every}
	whole, n := assemble(t, c, kernel.Float32(), 0, math.MaxInt64), assemble(t, c, kernel.Float32(), 0, 1)
	if kept := n.Limits(c.batch, 1).History; kept >= c.steps/2 {
		t.Fatalf("%d of %d steps are kept: the test proves nothing", kept, c.steps)
	}
	want, wantNorm := whole.Differentiate(minibatch(c, whole), 3)
	got, norm := n.Differentiate(minibatch(c, n), 3)
	if got != want || norm != wantNorm || !slices.Equal(n.Arena.Gradients(), whole.Arena.Gradients()) {
		t.Errorf("segments give score %v, norm %v; the whole %v, %v", got, norm, want, wantNorm)
	}
}

// carried: a sequence in pieces, with the state handed on, is the whole one.
func (c *candidate) carried(t *testing.T) {
	n := assemble(t, c, kernel.Float64(), 0, math.MaxInt64)
	b := minibatch(c, n)
	n.Form()
	pass := n.Stack.NewPass(layer.Limits{Steps: c.steps, Batch: c.batch})
	in := layer.Input[float64]{Steps: b.Steps, Batch: b.Size, X: b.X}
	out, _ := pass.Forward(in, nil, false)
	want := flat(out)
	for _, keep := range []bool{true, false} {
		var state layer.State[float64]
		for _, piece := range [][2]int{{0, 2}, {2, 3}, {3, c.steps}} {
			in.Steps, in.X = piece[1]-piece[0], b.X.Slice(piece[0]*b.Size, piece[1]*b.Size)
			// The last piece without dropout.
			out, state = pass.Forward(in, state, keep && piece[1] < c.steps)
		}
		if got := flat(out); !slices.Equal(got, want) {
			t.Errorf("in pieces the outputs are %v, in one %v", got, want)
		}
	}
}

// evaluation: without dropout an evaluation is the forward part of a step.
func (c *candidate) evaluation(t *testing.T) {
	plain := *c.settings
	plain.network.Dropout = 0
	n := assemble(t, &candidate{system: c.system, settings: &plain, steps: c.steps, batch: c.batch, every: c.every},
		kernel.Float32(), 2, math.MaxInt64)
	b := minibatch(c, n)
	want, _ := n.Differentiate(b, 0)
	if got := n.Evaluate(b); got != want {
		t.Errorf("evaluation scores %v, a training step %v", got, want)
	}
}

// levels: at every level of the kernels the gradients are those of float64.
func (c *candidate) levels(t *testing.T) {
	exact := assemble(t, c, kernel.Float64(), 0, math.MaxInt64)
	b := minibatch(c, exact)
	want, _ := exact.Differentiate(b, 3)
	for _, level := range kernel.Levels() {
		set, err := kernel.Float32At(level)
		if err != nil {
			t.Fatal(err)
		}
		n := assemble(t, c, set, 2, math.MaxInt64)
		for i, x := range exact.Arena.Values() {
			n.Arena.Values()[i] = float32(x)
		}
		got, _ := n.Differentiate(minibatch(c, n), 3)
		if math.Abs(got.Loss-want.Loss) > 1e-5*want.Loss {
			t.Errorf("level %v: loss %v, in float64 %v", level, got.Loss, want.Loss)
		}
		for i, v := range n.Arena.Views() {
			largest, difference := 1e-3, 0.0
			for j, x := range exact.Arena.Views()[i].Gradient {
				largest, difference = max(largest, math.Abs(x)), max(difference, math.Abs(x-float64(v.Gradient[j])))
			}
			if !(difference < 1e-4*largest) {
				t.Errorf("level %v: gradient of %s is off by %.2g of %.2g", level, v.Name, difference, largest)
			}
		}
	}
}

// property: training lowers the loss, and a hundred steps of it, a thousand where singular
// values are bounded, leave the matrices as checkSpectra wants them.
func (c *candidate) property(t *testing.T) {
	set := kernel.Float32()
	n := assemble(t, c, set, 0, math.MaxInt64)
	optimizer, err := optim.New(kernel.Float32(), n.Arena, c.settings.optimizer)
	if err != nil {
		t.Fatal(err)
	}
	steps := 100
	for _, m := range n.Matrices {
		if _, most := spectralBounds(m); !math.IsInf(most, 1) {
			steps = 1000
		}
	}
	var first, last loss.Score
	for step := range steps {
		if last, _ = n.Differentiate(minibatch(c, n), step); step == 0 {
			first = last
		}
		n.Update(optimizer, .01, 1)
	}
	if last.Loss > first.Loss/2 {
		t.Errorf("the loss goes from %v to %v", first.Loss, last.Loss)
	}
	c.checkSpectra(t, n)
}

// spectralBounds are what the singular values of a matrix lie between: any of a dense one,
// what the spectrum allows, else those of an orthogonal one.
func spectralBounds(m weight.Matrix[float32]) (least, most float64) {
	switch m := m.(type) {
	case *weight.Dense[float32], *weight.Parseval[float32]:
		return 0, math.Inf(1)
	case interface{ SpectralBounds() (least, most float64) }:
		return m.SpectralBounds()
	}
	return 1, 1
}

// checkSpectra: the matrices have the singular values that they claim, and the margin
// that is recorded is that of the transition matrices of all layers.
func (c *candidate) checkSpectra(t *testing.T, n *network.Network[float32]) {
	t.Helper()
	margin := 0.0
	for i, m := range n.Matrices {
		sigma := singularValues(t, m)
		largest, smallest := sigma[0], sigma[len(sigma)-1]
		if least, most := spectralBounds(m); smallest < least-1e-5 || largest > most+1e-5 {
			t.Errorf("matrix %d: singular values reach from %v to %v, out of %v to %v", i, smallest,
				largest, least, most)
		}
		margin = max(margin, math.Abs(largest-1), math.Abs(smallest-1))
	}
	recorded, ok, err := n.SpectralMargin(t.Context())
	if err != nil || ok != (len(n.Matrices) > 0 && !c.system.FeedForward) {
		t.Fatalf("a margin is recorded: %v (%v), of %d matrices", ok, err, len(n.Matrices))
	}
	if ok && math.Abs(recorded-margin) > 1e-5*max(1, margin) {
		t.Errorf("a margin of %v is recorded, the matrices have %v", recorded, margin)
	}
}

// averaged: the mean of the weights of several epochs is brought back to where the
// weights of each are, before it is tested and handed over, and the margin that the
// summary tells is that of the matrices of all layers.
func (c *candidate) averaged(t *testing.T) {
	point := c.settings.parameters.Clone()
	for name, value := range map[string]any{"epochs": int64(20), "refit": 0.9, "average": 0.9, "lr": 0.03,
		"dropout": int64(0)} {
		point[name] = value
	}
	run := newRun(t, resolve(t, point))
	result, err := run.run(t.Context(), newCollector(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if result.Diverged || run.plan.Average < 2 {
		t.Fatalf("diverged %v, the mean of %d epochs", result.Diverged, run.plan.Average)
	}
	reflector := regexp.MustCompile(`(^|\.)[uv]\d+$`)
	for _, v := range run.net.Arena.Views() {
		m := mat.NewDense(v.Rows, v.Cols, nil)
		for i, x := range v.Value {
			m.Set(i/v.Cols, i%v.Cols, float64(x))
		}
		if v.Rule == weight.RuleCayley {
			var gram mat.Dense
			gram.Mul(m.T(), m)
			for i := range v.Cols {
				gram.Set(i, i, gram.At(i, i)-1)
			}
			if far := mat.Norm(&gram, 2); far > 1e-5 {
				t.Errorf("of %s the columns are %v from orthonormal", v.Name, far)
			}
		}
		if length := mat.Norm(m, 2); reflector.MatchString(v.Name) && math.Abs(length-1) > 1e-5 {
			t.Errorf("reflector %s has length %v", v.Name, length)
		}
	}
	c.checkSpectra(t, run.net)
	margin, ok, err := run.net.SpectralMargin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if told, is := result.Summary["spectral_margin"]; is != ok || told != margin {
		t.Errorf("the summary has a margin of %v, the weights %v", told, margin)
	}
}

func singularValues(t *testing.T, m weight.Matrix[float32]) []float64 {
	t.Helper()
	rows, cols := m.Shape()
	w := kernel.Dense(make([]float32, rows*cols), rows, cols)
	m.Value(w)
	dense := mat.NewDense(rows, cols, nil)
	for i, x := range w.Data {
		dense.Set(i/cols, i%cols, float64(x))
	}
	var svd mat.SVD
	if !svd.Factorize(dense, mat.SVDNone) {
		t.Fatal("no decomposition")
	}
	return svd.Values(nil)
}

// resumption: a trial that goes on from a checkpoint within an epoch gives the same
// bits.
func (c *candidate) resumption(t *testing.T) {
	parameters := c.settings.parameters.Clone()
	parameters["epochs"], parameters["batch"], parameters["hidden"] = int64(2), int64(10), int64(8)
	request := sweep.TrainRequest{Trial: sweep.Trial{Parameters: parameters}}
	trainer := newTrainer(t)
	trainer.checkpointInterval = time.Nanosecond
	whole := newCollector()
	want, err := trainer.Train(context.Background(), request, whole)
	if err != nil {
		t.Fatal(err)
	}
	request.Checkpoint = whole.checkpoints[1] // after the second of three steps an epoch
	got, err := trainer.Train(context.Background(), request, newCollector())
	if err != nil {
		t.Fatal(err)
	}
	if got.WeightsDigest != want.WeightsDigest {
		t.Error("a resumed trial ends with other weights")
	}
}

func close64(a, b float64) bool { return math.Abs(a-b) <= 1e-10*max(1, math.Abs(a)) }

func checkClose(t *testing.T, what string, got, want []float64) {
	t.Helper()
	largest := 1e-3
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	for i, x := range want {
		if math.Abs(x-got[i]) > 1e-10*largest {
			t.Fatalf("%s %d is %v, want %v", what, i, got[i], x)
		}
	}
}

func flat[F kernel.Float](m kernel.Matrix[F]) []F {
	var all []F
	for i := range m.Rows {
		all = append(all, m.Row(i)...)
	}
	return all
}
