package model

import (
	"fmt"

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
	head      *cell.Head[float32]
	// matrix is the transition matrix of an Elman cell, nil for gated cells.
	matrix  weight.Matrix[float32]
	dropout *weight.Random
}

// newNetwork makes the network of the settings with buffers for limits.
func newNetwork(set *kernel.Set[float32], s *settings, inputs, outputs int, limits cell.Limits) (*network, error) {
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
			cell.ElmanOptions{Inputs: inputs, Activation: s.activation, Slope: s.slope, FixedStart: fixed})
		if err != nil {
			return nil, err
		}
	}
	n.head, err = cell.NewHead(set, n.arena, s.hidden, outputs, limits.Batch, cell.HeadOptions{Dropout: s.dropout, Random: n.dropout})
	if err != nil {
		return nil, err
	}
	n.arena.Allocate()
	return n, nil
}

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

// load forms the weights from the present parameters.
func (n *network) load() {
	n.recurrent.Load()
	n.head.Load()
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
	n, err := newNetwork(set, s, inputs, outputs, cell.Limits{Steps: 1, Batch: 1})
	if err != nil {
		return 0, err
	}
	return int64(n.arena.Count()), nil
}
