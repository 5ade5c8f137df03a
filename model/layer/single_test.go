package layer

import (
	"context"
	"fmt"
	"math"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// shape says what layer a test wants, and for what.
type shape struct {
	cell           string // as in declareSingle
	n, inputs      int
	m1, m2         int
	steps, batch   int
	activation     kernel.Activation
	slope, radius  float64
	fixedStart     bool
	start          weight.Start
	operator       OperatorKind
	evaluationRows int    // largest batch beyond the training batch
	history        int    // steps retained at once
	every          bool   // outputs at every step
	prefix         string // of the names of tensors
}

func (s shape) String() string {
	name := fmt.Sprintf("%s/n=%d,ni=%d,T=%d,B=%d,%v", s.cell, s.n, s.inputs, s.steps, s.batch, s.activation)
	if s.m1 > 0 {
		name += fmt.Sprintf(",m=%d+%d", s.m1, s.m2)
	}
	if s.operator != "" {
		name += "," + string(s.operator)
	}
	return name
}

// svd is the matrices of a spectral cell.
func (s shape) svd() weight.SVDOptions {
	return weight.SVDOptions{Left: s.m1, Right: s.m2, Radius: s.radius, Center: 1}
}

// single is one recurrent layer on its own, with a pass. Networks are assembled by the
// systems, and held to their properties by the conformance test above them.
type single[F kernel.Float] struct {
	shape   shape
	set     *kernel.Set[F]
	arena   *weight.Arena[F]
	layer   Layer[F]
	pass    Pass[F]
	outputs kernel.Matrix[F] // of the last forward
	norm    float64          // of the start's gradient after gradients
}

// declareSingle declares a layer of that shape.
func declareSingle[F kernel.Float](t testing.TB, set *kernel.Set[F], arena *weight.Arena[F], s shape) (l Layer[F]) {
	t.Helper()
	arena.SetPrefix(s.prefix)
	var matrix weight.Matrix[F]
	var err error
	switch s.cell {
	case "rnn", "irnn", "fastrnn", "modrelu":
		matrix, err = weight.NewDense(set, arena, "W", s.n, s.n)
	case "urnn":
		matrix, err = weight.NewUnitary(set, arena, s.n/2, 5)
	case "ornn", "sgornn":
		matrix, err = weight.NewHouseholder(set, arena, s.n, s.n, s.m1)
	case "spectral-rnn", "gated-spectral-rnn":
		matrix, err = weight.Declare(set, arena, s.svd(), s.n, s.n)
	}
	if err != nil {
		t.Fatal(err)
	}
	cell := CellOptions{Inputs: s.inputs, FixedStart: s.fixedStart, Every: s.every, InputScale: 1}
	switch s.cell {
	case "lstm":
		l, err = NewLSTM(set, arena, LSTMOptions{CellOptions: cell, Size: s.n, Start: s.start, ForgetBias: 1})
	case "spectral-lstm":
		var layers []Layer[F]
		layers, _, err = Declare(set, arena, []Spec{{
			Prefix: s.prefix, Matrix: s.svd(), Rows: s.n, Cols: s.n,
			Options: LSTMOptions{CellOptions: cell, Size: s.n, Start: s.start, ForgetBias: 1},
		}})
		l = layers[0]
	case "gru":
		l, err = NewGRU(set, arena, GRUOptions{CellOptions: cell, Size: s.n, Start: s.start})
	case "modrelu", "urnn":
		l, err = NewModReLU(set, arena, matrix, ModReLUOptions{CellOptions: cell, Operator: s.operator, Start: s.start})
	case "gated-spectral-rnn":
		l, err = NewGatedSpectral(set, arena, matrix, GatedSpectralOptions{
			CellOptions: cell, Activation: s.activation, Slope: s.slope, Start: s.start, GateBias: 1,
		})
	case "fastrnn", "sgornn":
		l, err = NewScalarGated(set, arena, matrix, ScalarGatedOptions{
			CellOptions: cell, Activation: s.activation, Slope: s.slope, Start: s.start,
			Bound: s.cell == "sgornn", Alpha: -1, Beta: .5,
		})
	default:
		l, err = NewElman(set, arena, matrix, ElmanOptions{
			CellOptions: cell, Activation: s.activation, Slope: s.slope, Operator: s.operator, Start: s.start,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newSingle returns a layer with random parameters, biases and initial states
// included.
func newSingle[F kernel.Float](t testing.TB, set *kernel.Set[F], s shape, seed uint64) *single[F] {
	t.Helper()
	n := &single[F]{shape: s, set: set, arena: weight.NewArena[F]()}
	n.layer = declareSingle(t, set, n.arena, s)
	n.arena.Allocate()
	n.pass = n.layer.NewPass(Limits{Steps: s.steps, Batch: max(s.batch, s.evaluationRows), History: s.history})
	randomise(t, n.layer, n.arena, seed)
	return n
}

// randomise starts a layer, and sets to random values what starts from constants.
func randomise[F kernel.Float](t testing.TB, l Layer[F], arena *weight.Arena[F], seed uint64) {
	t.Helper()
	source := random.New(seed, 0)
	if err := l.Init(context.Background(), source); err != nil {
		t.Fatal(err)
	}
	for _, v := range arena.Views() {
		switch v.Name {
		case "b", "b_zr", "b_h", "b_g", "h0", "c0", "sigma_hat", "i.sigma_hat", "f.sigma_hat", "g.sigma_hat",
			"o.sigma_hat":
			random.Gaussian(v.Value, .5, source)
		}
	}
}

// data is one minibatch, and the weights of the outputs in a sum that stands for the
// loss.
type data[F kernel.Float] struct{ x, weights kernel.Matrix[F] }

func newData[F kernel.Float](s shape, seed uint64) data[F] {
	source := random.New(seed, 1)
	rows := s.batch
	if s.every {
		rows *= s.steps
	}
	d := data[F]{x: kernel.NewPadded[F](s.steps*s.batch, s.inputs), weights: kernel.NewPadded[F](rows, s.n)}
	random.Gaussian(d.x.Data, 1, source)
	random.Gaussian(d.weights.Data, 1, source)
	return d
}

// input is x as the shape has it.
func (n *single[F]) input(x kernel.Matrix[F]) Input[F] {
	return Input[F]{Steps: n.shape.steps, Batch: x.Rows / n.shape.steps, X: x}
}

// run returns the outputs, and the state after them.
func (n *single[F]) run(x kernel.Matrix[F], keep bool) (out kernel.Matrix[F], to State[F]) {
	return n.pass.Forward(n.input(x), nil, keep)
}

// loss is the weighted sum of outputs.
func (d data[F]) loss(outputs kernel.Matrix[F]) (sum float64) {
	for i := range outputs.Rows {
		for j, x := range outputs.Row(i) {
			sum += float64(x) * float64(d.weights.Row(i)[j])
		}
	}
	return sum
}

// forward returns the loss at the present parameters.
func (n *single[F]) forward(d data[F]) float64 {
	n.layer.Load()
	out, _ := n.run(d.x, true)
	return d.loss(out)
}

// gradients sets the arena's gradients and returns the loss.
func (n *single[F]) gradients(d data[F]) float64 {
	n.arena.ZeroGradients()
	n.layer.Load()
	out, _ := n.run(d.x, true)
	if n.outputs.Rows != out.Rows {
		n.outputs = kernel.NewPadded[F](out.Rows, out.Cols)
	}
	n.outputs.Fill(out)
	dfrom := n.pass.Backward(d.weights, nil, kernel.Matrix[F]{})
	n.layer.Join(1)
	n.norm = 0
	for i := range dfrom[0].Rows {
		n.norm += n.set.SumSquares(dfrom[0].Row(i))
	}
	n.norm = math.Sqrt(n.norm)
	return d.loss(n.outputs)
}
