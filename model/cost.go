package model

import (
	"sweep/model/cell"
	"sweep/model/dataset"
)

// gatesOf is the number of n × n products a step of the model takes.
func gatesOf(model string) float64 {
	switch model {
	case "lstm":
		return 4
	case "gru":
		return 3
	default:
		return 1
	}
}

// flops estimates the work of a trial: 2 flop a weight and step forward, 4
// backward, and forming and differentiating the reflectors' products once a
// minibatch (4 and 8 flop an element of each n × n factor).
func (s *settings) flops(set *dataset.Set, steps, inputs int) float64 {
	n := float64(s.hidden)
	forward := 2 * gatesOf(s.model) * n * (n + float64(inputs)) * float64(steps)
	train, validation := dataset.Split(set.Train.N, s.validation, s.seed)
	minibatches := (len(train) + s.batch - 1) / s.batch
	epoch := 3*forward*float64(len(train)) + forward*float64(len(validation))
	reflectors := 0.0
	switch s.model {
	case "ornn":
		reflectors = float64(s.m1)
	case "spectral-rnn":
		reflectors = float64(s.m1 + s.m2)
	}
	epoch += float64(minibatches) * 12 * n * n * reflectors
	tests := 1.0
	if every := s.testInterval(len(train), set.Test.N); every > 0 {
		tests += float64(s.epochs / every)
	}
	return float64(s.epochs)*epoch + tests*forward*float64(set.Test.N)
}

// bytes estimates the peak memory of a trial whose history may take so much: the
// history and inputs of one minibatch, the arranged series, parameters and
// moments.
func (s *settings) bytes(set *dataset.Set, steps, inputs int, parameters, history int64) int64 {
	limits := s.keep(cell.Limits{Steps: steps, Batch: max(s.batch, evaluationBatch)}, history)
	gathered := 4 * int64(limits.Batch) * int64(steps) * int64(inputs)
	return s.historyBytes(limits, limits.History) + gathered + 2*set.Size() + 6*4*parameters
}

// testInterval is the number of epochs between points of the test curve, 0 for
// none: at most 20 points a trial, and so few that testing costs no more than
// about a tenth of training (a series costs a third of a trained one).
func (s *settings) testInterval(train, test int) int {
	switch {
	case s.testEvery > 0:
		return s.testEvery
	case s.testEvery < 0:
		return 0
	default:
		return max((s.epochs+19)/20, (10*test+3*train-1)/(3*train), 1)
	}
}
