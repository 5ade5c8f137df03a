package model

import (
	"sweep/model/kernel"
	"sweep/model/layer"
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
	return max(t.Batch(task.Train, s.batch), t.Batch(task.Validation, evaluationBatch), t.Batch(task.Test, evaluationBatch))
}

// costOf estimates a trial whose minibatches may keep so much history: 2 operations
// a weight forward, 4 back, and what each minibatch takes besides; the history and
// inputs of one minibatch, the data, parameters and moments.
func (s *settings) costOf(t task.Task, history int64) (cost, error) {
	shape, schedule := t.Shape(), t.Schedule()
	net, err := declare(kernel.Float32(), s, shape)
	if err != nil {
		return cost{}, err
	}
	parameters := int64(net.arena.Count())
	one := net.cost(layer.Limits{Steps: shape.Steps, Batch: 1})
	forward, train, test := 2*one.Weights, t.Count(task.Train), t.Count(task.Test)
	training := 3*forward*float64(train) + float64(schedule.Interval)*one.Minibatch
	interval := training + forward*float64(t.Count(task.Validation))
	tests := 1.0
	if every := s.testInterval(schedule, train, test); every > 0 {
		tests += float64(schedule.Intervals() / every)
	}
	limits := withHistory[float32](net.stack, layer.Limits{Steps: shape.Steps, Batch: s.room(t)}, history)
	gathered := 4 * int64(limits.Batch) * int64(shape.Steps) * int64(max(shape.Inputs, 2))
	return cost{
		parameters: parameters,
		step:       training / float64(schedule.Interval),
		flops:      float64(schedule.Steps)/float64(schedule.Interval)*interval + tests*forward*float64(test),
		bytes:      4*net.cost(limits).Values + gathered + t.Memory() + 6*4*parameters,
	}, nil
}

// testInterval is the number of epochs between points of the test curve, 0 for
// none: at most 20 points a trial, and so few that testing costs no more than
// about a tenth of training (a series costs a third of a trained one). A task
// without epochs is tested at its end.
func (s *settings) testInterval(schedule task.Schedule, train, test int) int {
	switch {
	case !schedule.Epochs || s.testEvery < 0:
		return 0
	case s.testEvery > 0:
		return s.testEvery
	default:
		return max((schedule.Intervals()+19)/20, (10*test+3*train-1)/(3*train), 1)
	}
}
