package model

import (
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/network"
	"sweep/model/optim"
	"sweep/model/task"
)

// cost is what a trial comes to before it is run.
type cost struct {
	parameters int64
	flops      float64 // the work
	step       float64 // of it, that of a training step
	bytes      int64   // the peak memory
}

// room is the most sequences that a minibatch of a trial has.
func (s *settings) room(t task.Task) int {
	return max(t.Batch(task.Train, s.batch), t.Batch(task.Validation, evaluationBatch),
		t.Batch(task.Test, evaluationBatch))
}

// costOf estimates a trial whose minibatches may keep so much history: 2 operations
// a weight forward, 4 back, and what each minibatch takes besides; the memory of the
// network and of the data.
func (s *settings) costOf(t task.Task, history int64) (cost, error) {
	shape, schedule := t.Shape(), t.Schedule()
	net, err := network.Declare(kernel.Float32(), s.spec(shape))
	if err != nil {
		return cost{}, err
	}
	parameters := int64(net.Arena.Count())
	one := net.Cost(layer.Limits{Steps: shape.Steps, Batch: 1})
	forward, train, test := 2*one.Weights, t.Count(task.Train), t.Count(task.Test)
	training := 3*forward*float64(train) + float64(schedule.Interval)*one.Minibatch
	interval := training + forward*float64(t.Count(task.Validation))
	tests := 1.0
	if every := s.testInterval(schedule, train, test); every > 0 {
		tests += float64(schedule.Intervals() / every)
	}
	bytes := s.memory(net, shape, net.Limits(s.room(t), history)) + t.Memory()
	if s.fgsm > 0 {
		tests += 4 // forward and back, and forward
		bytes += valueBytes * net.PerturbValues(s.room(t), history)
	}
	return cost{
		parameters: parameters,
		step:       training / float64(schedule.Interval),
		flops:      float64(schedule.Steps)/float64(schedule.Interval)*interval + tests*forward*float64(test),
		bytes:      bytes,
	}, nil
}

// testInterval is the number of epochs between points of the test curve, 0 for
// none: at most curvePoints a trial, and so few that testing costs no more than
// about a tenth of training (a series costs a third of a trained one). A task
// without epochs is tested at its end.
func (s *settings) testInterval(schedule task.Schedule, train, test int) int {
	switch {
	case !schedule.Epochs || s.testEvery < 0:
		return 0
	case s.testEvery > 0:
		return s.testEvery
	default:
		return s.spacing(schedule, max((10*test+3*train-1)/(3*train), 1))
	}
}

// spacing is the number of intervals, a multiple of so many, between the points of a curve that has at
// most 20 over the trial. If the trial is open-ended, that of a longer trial is a multiple of it.
func (s *settings) spacing(schedule task.Schedule, every int) int {
	all := (schedule.Intervals() + curvePoints - 1) / curvePoints
	if !s.openEnded {
		return max(all, every)
	}
	for every < all {
		every *= 2
	}
	return every
}

// curvePoints bounds how often the test part is evaluated and the spectral margin is computed.
const curvePoints = 20

// memory is the bytes that a trial takes at most besides its data: those of layers and
// optimiser, parameters and their gradients, the kept weights, a minibatch, and a
// checkpoint while it is written.
func (s *settings) memory(net *network.Network[float32], shape task.Shape, limits layer.Limits) int64 {
	const copies = 3 // parameters, gradients and the snapshot
	moments := optim.Footprint(kernel.Float32(), net.Arena, s.optimizer)
	values := net.Values(limits) + int64(copies*net.Arena.Size()+moments)

	const value, number = 4, 8 // bytes
	steps, outputs := int64(limits.Batch)*int64(shape.Steps), int64(shape.Rows(limits.Batch, shape.Steps))
	batch := steps * value * int64(shape.Inputs)
	if shape.Vocabulary > 0 {
		batch = steps * number
	}
	if shape.Classes {
		batch += outputs * number
	} else {
		batch += outputs * value * int64(shape.Outputs)
	}
	// A checkpoint has parameters, snapshot and moments, and is copied to be sent.
	checkpoint := 2 * valueBytes * int64(2*net.Arena.Size()+optim.Moments(net.Arena, s.optimizer))
	tensors := tensorBytes * int64(len(net.Arena.Views()))
	return fixedBytes + tensors + value*values + batch + checkpoint
}

const (
	// fixedBytes is what does not grow with the network, as of threads and streams.
	fixedBytes = 16 << 10
	// tensorBytes is what describes a tensor: its view, its name and those who know it.
	tensorBytes = 512
)
