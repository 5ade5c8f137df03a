package cell

import (
	"fmt"
	"testing"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// shape says what network a test wants.
type shape struct {
	cell           string // rnn, irnn, ornn, spectral-rnn, lstm, gru
	n, inputs      int
	outputs        int
	m1, m2         int
	steps, batch   int
	activation     kernel.Activation
	slope, radius  float64
	fixedStart     bool
	start          weight.Start
	path           Path
	dropout        float64
	evaluationRows int // largest batch beyond the training batch
	history        int // steps kept at once
}

func (s shape) String() string {
	name := fmt.Sprintf("%s/n=%d,ni=%d,T=%d,B=%d,%v", s.cell, s.n, s.inputs, s.steps, s.batch, s.activation)
	if s.m1 > 0 {
		name += fmt.Sprintf(",m=%d+%d", s.m1, s.m2)
	}
	if s.path != "" {
		name += "," + string(s.path)
	}
	return name
}

// network is one recurrent cell and a head.
type network[F kernel.Float] struct {
	shape     shape
	set       *kernel.Set[F]
	arena     *weight.Arena[F]
	matrix    weight.Matrix[F] // nil for gated cells
	recurrent Recurrent[F]
	head      *Head[F]
}

// newNetwork returns a network with random parameters, biases and initial
// states included.
func newNetwork[F kernel.Float](t testing.TB, set *kernel.Set[F], s shape, seed uint64) *network[F] {
	t.Helper()
	n := &network[F]{shape: s, set: set, arena: weight.NewArena[F]()}
	limits := Limits{Steps: s.steps, Batch: max(s.batch, s.evaluationRows), History: s.history}
	var err error
	check := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	switch s.cell {
	case "rnn", "irnn":
		n.matrix, err = weight.NewDense(n.arena, s.n)
	case "ornn":
		n.matrix, err = weight.NewHouseholder(set, n.arena, s.n, s.m1)
	case "spectral-rnn":
		n.matrix, err = weight.NewSVD(set, n.arena, s.n, weight.SVDOptions{Left: s.m1, Right: s.m2, Radius: s.radius, Center: 1})
	case "lstm":
		n.recurrent, err = NewLSTM(set, n.arena, limits, LSTMOptions{Inputs: s.inputs, Size: s.n, FixedStart: s.fixedStart})
	case "gru":
		n.recurrent, err = NewGRU(set, n.arena, limits, GRUOptions{Inputs: s.inputs, Size: s.n, FixedStart: s.fixedStart})
	default:
		t.Fatalf("no cell %q", s.cell)
	}
	check()
	if n.matrix != nil {
		n.recurrent, err = NewElman(set, n.arena, n.matrix, limits, ElmanOptions{
			Inputs: s.inputs, Activation: s.activation, Slope: s.slope, FixedStart: s.fixedStart, Path: s.path,
		})
		check()
	}
	n.head, err = NewHead(set, n.arena, s.n, s.outputs, limits.Batch, HeadOptions{Dropout: s.dropout, Random: weight.NewRandom(seed, 9)})
	check()
	n.arena.Allocate()
	random := weight.NewRandom(seed, 0)
	err = n.recurrent.Start(StartOptions{Weight: s.start, InputScale: 1, ForgetBias: 1}, random)
	check()
	n.head.Start(1, random)
	for _, v := range n.arena.Views() {
		switch v.Name {
		case "b", "b_zr", "b_h", "h0", "c0", "c", "sigma_hat":
			weight.Gaussian(v.Value, .5, random)
		}
	}
	return n
}

// data is one minibatch.
type data[F kernel.Float] struct {
	x       kernel.Matrix[F]
	labels  []int            // nil for the squared error
	targets kernel.Matrix[F] // zero for the cross entropy
}

func newData[F kernel.Float](s shape, seed uint64, squared bool) data[F] {
	random := weight.NewRandom(seed, 1)
	d := data[F]{x: newMatrix[F](s.steps*s.batch, s.inputs)}
	weight.Gaussian(d.x.Data, 1, random)
	if squared {
		d.targets = newMatrix[F](s.batch, s.outputs)
		weight.Gaussian(d.targets.Data, 1, random)
		return d
	}
	for range s.batch {
		d.labels = append(d.labels, random.Below(s.outputs))
	}
	return d
}

// forward returns the loss at the present parameters.
func (n *network[F]) forward(d data[F]) float64 {
	n.recurrent.Load()
	n.head.Load()
	n.head.Forward(n.recurrent.Forward(d.x, n.shape.steps, n.shape.batch))
	return n.loss(d)
}

func (n *network[F]) loss(d data[F]) float64 {
	if d.labels == nil {
		return n.head.SquaredError(d.targets)
	}
	loss, _ := n.head.CrossEntropy(d.labels)
	return loss
}

// gradients sets the arena's gradients and returns the loss.
func (n *network[F]) gradients(d data[F]) float64 {
	n.arena.ZeroGradients()
	loss := n.forward(d)
	n.recurrent.Backward(n.head.Backward(), kernel.Matrix[F]{})
	return loss
}
