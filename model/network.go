package model

import (
	"fmt"
	"math"

	"sweep/model/cell"
	"sweep/model/kernel"
	"sweep/model/optim"
	"sweep/model/weight"
	"sweep/sweep"
)

// Streams of a trial's seed: each use of randomness has its own, so that one
// does not disturb another.
const (
	streamCell = iota
	streamHead
	streamDropout
	// streamShuffle + e orders the minibatches of epoch e.
	streamShuffle = 1 << 32
)

// network is a recurrent layer with an output layer on its last state.
type network struct {
	set       *kernel.Set[float32]
	arena     *weight.Arena[float32]
	recurrent cell.Recurrent[float32]
	slices    *sliced // of recurrent and its forks
	head      *cell.Head[float32]
	// matrix is the transition matrix of an Elman cell, nil for gated cells.
	matrix  weight.Matrix[float32]
	dropout *weight.Random
	targets kernel.Matrix[float32] // one-hot rows for the squared error
	loaded  bool                   // the weights are formed from the present parameters
}

// newNetwork makes the network of the settings with buffers for limits. It
// trains with so many threads, where the minibatch is large enough, until it is
// closed.
func newNetwork(set *kernel.Set[float32], s *settings, inputs, outputs int, limits cell.Limits, threads int) (*network, error) {
	batch := limits.Batch
	limits.Batch = min(batch, sliceRows(s.hidden))
	n := &network{set: set, arena: weight.NewArena[float32](), dropout: weight.NewRandom(s.seed, streamDropout)}
	fixed := s.initialState == "zero"
	var err error
	switch s.model {
	case "rnn", "irnn":
		n.matrix, err = weight.NewDense[float32](n.arena, s.hidden)
	case "ornn":
		n.matrix, err = weight.NewHouseholder(set, n.arena, s.hidden, s.m1)
	case "spectral-rnn":
		n.matrix, err = weight.NewSVD(set, n.arena, s.hidden,
			weight.SVDOptions{Left: s.m1, Right: s.m2, Radius: s.radius, Center: s.center})
	case "lstm":
		n.recurrent, err = cell.NewLSTM(set, n.arena, limits, cell.LSTMOptions{Inputs: inputs, Size: s.hidden, FixedStart: fixed})
	case "gru":
		n.recurrent, err = cell.NewGRU(set, n.arena, limits, cell.GRUOptions{Inputs: inputs, Size: s.hidden, FixedStart: fixed})
	default:
		err = &sweep.ParameterError{Parameter: "model", Value: s.model, Problem: "is no model of this trainer"}
	}
	if err != nil {
		return nil, err
	}
	if n.matrix != nil {
		n.recurrent, err = cell.NewElman(set, n.arena, n.matrix, limits,
			cell.ElmanOptions{Inputs: inputs, Activation: s.activation, Slope: s.slope, FixedStart: fixed, Path: s.path})
		if err != nil {
			return nil, err
		}
	}
	n.head, err = cell.NewHead(set, n.arena, s.hidden, outputs, batch, cell.HeadOptions{Dropout: s.dropout, Random: n.dropout})
	if err != nil {
		return nil, err
	}
	if s.loss == "mse" {
		n.targets = kernel.Dense(make([]float32, batch*outputs), batch, outputs)
	}
	n.arena.Allocate()
	n.slices = newSliced(n.recurrent, batch, threads)
	return n, nil
}

// close ends the network's threads.
func (n *network) close() { n.slices.Close() }

// start sets all parameters for the beginning of the trial.
func (n *network) start(s *settings) error {
	options := cell.StartOptions{Weight: weight.Start(s.start), InputScale: s.inputScale, ForgetBias: s.forgetBias}
	if n.matrix == nil || s.start == "random" {
		options.Weight = "" // each matrix's own random start
	}
	if err := n.recurrent.Start(options, weight.NewRandom(s.seed, streamCell)); err != nil {
		return &sweep.ParameterError{Parameter: "start", Value: s.start, Problem: err.Error()}
	}
	n.head.Start(s.outputScale, weight.NewRandom(s.seed, streamHead))
	return nil
}

// newOptimizer makes the optimiser of the settings over all parameters.
func (n *network) newOptimizer(s *settings) (optim.Optimizer[float32], error) {
	values, gradients := n.arena.Values(), n.arena.Gradients()
	switch s.optimizer {
	case "adam":
		return optim.NewAdam(n.set, values, gradients, optim.AdamOptions{Beta1: s.beta1, Beta2: s.beta2, Epsilon: s.epsilon})
	case "rmsprop":
		return optim.NewRMSprop(n.set, values, gradients, optim.RMSpropOptions{Decay: s.beta2, Epsilon: s.epsilon})
	case "sgd":
		return optim.NewMomentum(n.set, values, gradients, s.momentum)
	default:
		return nil, fmt.Errorf("unknown optimiser %q", s.optimizer)
	}
}

// load forms the weights from the present parameters, unless they are.
func (n *network) load() {
	if !n.loaded {
		n.recurrent.Load()
		n.head.Load()
		n.loaded = true
	}
}

// differentiate returns the mean loss of a minibatch, x [batch·steps × inputs]
// slice after slice, and the root mean square over its series of ‖∂L/∂h(0)‖, and sets the
// gradients. The weights are loaded.
func (n *network) differentiate(x kernel.Matrix[float32], steps int, labels []int, kind string) (mean, gradient float64) {
	n.arena.ZeroGradients()
	logits := n.head.Forward(n.slices.Forward(x, steps, len(labels)))
	mean, _ = n.loss(logits, labels, kind)
	n.slices.Backward(n.head.Backward())
	return mean, n.slices.StartGradientNorm() * math.Sqrt(float64(len(labels)))
}

// update clips the gradients and moves the parameters along them.
func (n *network) update(optimizer optim.Optimizer[float32], rate, clip float64) {
	if clip > 0 {
		optim.Clip(n.set, n.arena.Gradients(), clip)
	}
	optimizer.Step(rate)
	if n.matrix != nil {
		n.matrix.Project()
	}
	n.loaded = false
}

// evaluate returns the mean loss of a batch and the number of series that are
// classified correctly. The weights are loaded.
func (n *network) evaluate(x kernel.Matrix[float32], steps int, labels []int, kind string) (mean float64, correct int) {
	return n.loss(n.head.Evaluate(n.slices.Evaluate(x, steps, len(labels))), labels, kind)
}

// loss is the loss of the head's last outputs, and the number of rows that are
// correct.
func (n *network) loss(logits kernel.Matrix[float32], labels []int, kind string) (mean float64, correct int) {
	if kind == "mse" {
		return n.head.SquaredError(n.oneHot(labels)), correctRows(logits, labels)
	}
	return n.head.CrossEntropy(labels)
}

// oneHot returns the labels as rows of 0 and 1.
func (n *network) oneHot(labels []int) kernel.Matrix[float32] {
	m := n.targets.Slice(0, len(labels))
	clear(m.Data[:len(labels)*m.Stride])
	for i, class := range labels {
		m.Data[i*m.Stride+class] = 1
	}
	return m
}

// correctRows counts the rows whose largest output is the label's.
func correctRows(logits kernel.Matrix[float32], labels []int) int {
	correct := 0
	for i, class := range labels {
		row := logits.Data[i*logits.Stride:][:logits.Cols]
		largest := 0
		for j, v := range row {
			if v > row[largest] {
				largest = j
			}
		}
		if largest == class {
			correct++
		}
	}
	return correct
}

// spectralMargin returns max |σ_i − 1| of the transition matrix; ok is false
// for gated cells, which have none.
func (n *network) spectralMargin(scratch []float64) (margin float64, ok bool) {
	if n.matrix == nil {
		return 0, false
	}
	return weight.SpectralMargin(n.matrix.SingularValues(scratch[:0])), true
}

// parameterCount counts the trained parameters of the settings' network.
func parameterCount(set *kernel.Set[float32], s *settings, inputs, outputs int) (int64, error) {
	n, err := newNetwork(set, s, inputs, outputs, cell.Limits{Steps: 1, Batch: 1}, 1)
	if err != nil {
		return 0, err
	}
	defer n.close()
	return int64(n.arena.Count()), nil
}
