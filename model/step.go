package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/network"
	"sweep/model/optim"
	"sweep/model/random"
	"sweep/model/task"
	"sweep/sweep"
)

// StepShape is a network and a minibatch whose training step is to be timed.
type StepShape struct {
	Model    string // as the parameter model
	Operator string // how reflectors are applied: "" for the faster, "dense" or "compact-wy"
	Hidden   int    // n
	M1, M2   int    // reflectors of U and V; as far as the model has them
	Inputs   int    // n_i
	Steps    int    // T
	Batch    int    // B
	Classes  int
	Threads  int
}

// StepTimes are the times of training steps: forward, backward, clipping, the
// optimiser's update and the reflectors' projection.
type StepTimes struct {
	Parameters int
	Median     time.Duration
	Best       time.Duration
	Count      int     // steps timed
	Flops      float64 // of the products of a step, as W was applied
	// Peak is the number of floating-point operations a second of nothing but
	// multiply-adds on one thread, measured before and after; 0 where there is
	// no such loop.
	Peak float64
}

// Share is the share of the peak of all threads that a step of that time reached.
func (t *StepTimes) Share(d time.Duration, threads int) float64 {
	if t.Peak == 0 || d <= 0 {
		return 0
	}
	return t.Flops / d.Seconds() / t.Peak / float64(threads)
}

// minimumSteps is the least number of steps of a measurement, however long they
// take.
const minimumSteps = 7

// A StepTimer trains one network on one minibatch of random series.
type StepTimer struct {
	settings  *settings
	net       *network.Network[float32]
	optimizer *optim.Optimizer[float32]
	batch     *task.Batch[float32]
	flops     float64
}

// NewStepTimer makes the network and the minibatch, to be closed by Close. The
// settings are those of the trainer's defaults.
func NewStepTimer(ctx context.Context, shape StepShape) (*StepTimer, error) {
	if err := kernel.CheckEnvironment(); err != nil {
		return nil, err
	}
	for _, size := range []struct {
		name  string
		value int
	}{{"inputs", shape.Inputs}, {"steps", shape.Steps}, {"classes", shape.Classes}, {"threads", shape.Threads}} {
		if size.value < 1 {
			return nil, fmt.Errorf("step timer: %d %s: want at least 1", size.value, size.name)
		}
	}
	parameters, err := description().Resolve(sweep.Parameters{
		"dataset": dataset.GeneratedCBF, "model": shape.Model, "hidden": int64(shape.Hidden),
		"m1": int64(max(shape.M1, 1)), "m2": int64(max(shape.M2, 1)), "batch": int64(shape.Batch),
	})
	if err != nil {
		return nil, err
	}
	s, err := settingsOf(parameters)
	if err != nil {
		return nil, err
	}
	if s.network.System.FeedForward && shape.Steps > 1 {
		return nil, fmt.Errorf("step timer: %d steps: %s reads a series as one step", shape.Steps, shape.Model)
	}
	s.network.Options.Operator = layer.OperatorKind(shape.Operator)
	history, err := environmentHistory()
	if err != nil {
		return nil, err
	}
	set := kernel.Float32()
	work := task.Shape{Steps: shape.Steps, Inputs: shape.Inputs, Outputs: shape.Classes, Classes: true,
		Loss: "cross_entropy"}
	net, err := network.New(ctx, set, s.spec(work), network.Room{Batch: shape.Batch, History: history,
		Threads: shape.Threads})
	if err != nil {
		return nil, err
	}
	optimizer, err := optim.New(set, net.Arena, s.optimizer)
	if err != nil {
		net.Close()
		return nil, err
	}
	source := random.New(s.network.Options.Seed, random.Series)
	cost := net.Cost(layer.Limits{Steps: shape.Steps, Batch: shape.Batch})
	t := &StepTimer{
		settings: s, net: net, optimizer: optimizer,
		batch: task.NewBatch[float32](work, shape.Batch, net.Rows()),
		// Products with weights: the input's gradient is not asked for.
		flops: float64(shape.Batch) * (6*cost.Weights - 2*cost.Inputs),
	}
	t.batch.Reset(shape.Steps, shape.Batch, false)
	random.Gaussian(t.batch.X.Data, 1, source)
	for i := range t.batch.Targets.Classes {
		t.batch.Targets.Classes[i] = source.Below(shape.Classes)
	}
	return t, nil
}

// Close ends the timer's threads.
func (t *StepTimer) Close() { t.net.Close() }

// step does one training step.
func (t *StepTimer) step() {
	t.net.Differentiate(t.batch, t.optimizer.State().Steps)
	t.net.Update(t.optimizer, t.settings.rate.initial, t.settings.clip)
}

// Measure times steps for the given time, and at most so many.
func (t *StepTimer) Measure(ctx context.Context, budget time.Duration, most int) (*StepTimes, error) {
	level := t.net.Level()
	peak := kernel.MeasurePeak(level)
	times := make([]time.Duration, 0, most)
	warm := time.Now()
	for i := range 10 {
		t.step()
		if i > 0 && time.Since(warm) > budget/4 {
			break
		}
	}
	for begin := time.Now(); len(times) < most; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := time.Now()
		t.step()
		end := time.Now()
		times = append(times, end.Sub(start))
		if len(times) >= minimumSteps && end.Sub(begin) > budget {
			break
		}
	}
	peak = max(peak, kernel.MeasurePeak(level))
	slices.Sort(times)
	return &StepTimes{
		Parameters: t.net.Arena.Count(), Median: times[len(times)/2], Best: times[0], Count: len(times),
		Flops: t.flops, Peak: peak,
	}, nil
}
