package worker_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"sweep/sweep"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/wire"
	"sweep/worker"
)

// A trial is stopped at the first value that its rule does not allow, whatever its trainer does at that moment: the
// result and its digest are the same.
func TestStoppedEarly(t *testing.T) {
	t.Parallel()
	loss := func(values ...float32) sweep.Curve {
		c := sweep.Curve{Metric: "loss"}
		for i, v := range values {
			c.Steps, c.Values = append(c.Steps, int64(i+1)), append(c.Values, v)
		}
		return c
	}
	later := func(c sweep.Curve, from int) sweep.Curve {
		return sweep.Curve{Metric: c.Metric, Steps: c.Steps[from:], Values: c.Values[from:]}
	}
	accuracy := loss(0.1, 0.2, 0.3, 0.4)
	accuracy.Metric = "accuracy"
	all := []sweep.Curve{accuracy, loss(5, 4, 3, 2)}
	behaviours := map[int64]behaviour{
		1: func(ctx context.Context, p *process, _ sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
			for i := range 4 { // goes on until it is asked to end
				if err := sink.Points([]sweep.Curve{{Metric: "accuracy", Steps: accuracy.Steps[i : i+1],
					Values: accuracy.Values[i : i+1]}, {Metric: "loss", Steps: all[1].Steps[i : i+1],
					Values: all[1].Values[i : i+1]}}); err != nil {
					return p.until(ctx)
				}
			}
			return nil, errors.New("it was not stopped")
		},
		2: func(_ context.Context, _ *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
			_ = sink.Points(all) // ends at the same moment
			r := outcome(request)
			r.Curves = nil
			return r, nil
		},
		3: func(_ context.Context, _ *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
			r := outcome(request) // leaves the samples to its end
			r.Curves = []sweep.Curve{later(all[0], 1), later(all[1], 1)}
			return r, sink.Points([]sweep.Curve{{Metric: "accuracy", Steps: accuracy.Steps[:1], Values: accuracy.Values[:1]},
				{Metric: "loss", Steps: all[1].Steps[:1], Values: all[1].Values[:1]}})
		},
		4: func(_ context.Context, p *process, _ sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
			_ = sink.Points(all)
			return p.die() // as a program that cannot be stopped, and is killed
		},
		5: func(_ context.Context, _ *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
			if request.Thinned {
				return nil, errors.New("it was asked for thinned curves")
			}
			r := outcome(request) // nothing stops it
			r.Curves = []sweep.Curve{loss(3, 2, 1)}
			return r, nil
		},
	}
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
		return behaviours[request.Index](ctx, p, request, sink)
	})
	for index := range int64(5) {
		j := job(index + 1)
		j.Stop = &sweep.StopRule{Metric: "loss", Goal: sweep.Minimize, Generation: 2, Rule: "the median", Limits: []sweep.StopLimit{
			{At: 1, Value: 5, Trials: 8}, {At: 2, Value: 3.5, Trials: 8}, {At: 3, Value: 2.5, Trials: 6}}}
		if index == 0 {
			j.Artifacts, j.Parameters = []string{sweep.CheckpointArtifact}, sweep.Parameters{"budget": int64(9)}
		}
		r.publish(j)
	}
	r.launch(worker.Options{Launcher: r.launcher}, patience)
	want := r.result(1)
	if a := want.Artifacts; len(a) != 1 || a[0].Problem !=
		"the trial was stopped early, before its trainer saved a checkpoint" {
		t.Errorf("artifacts %+v", a)
	}
	if want.State != sweep.Stopped || want.Error != "stopped at value 2, step 2: the best loss up to there, 4, is above "+
		"3.5, the median of 8 trials before generation 2" {
		t.Errorf("%s, %q", want.State, want.Error)
	}
	if !reflect.DeepEqual(want.Summary, map[string]float64{"accuracy": 0.2, "loss": 4}) || want.Seconds <= 0 ||
		!reflect.DeepEqual(want.Marks, &sweep.Marks{Metric: "loss", Values: []float32{5, 4}, Count: 2, Best: new(float32(4))}) {
		t.Errorf("%+v, marks %+v", want, want.Marks)
	}
	cut := loss(0.1, 0.2)
	cut.Metric = "accuracy"
	if !reflect.DeepEqual(want.Curves, []sweep.Curve{cut, loss(5, 4)}) {
		t.Errorf("curves %+v", want.Curves)
	}
	for index := int64(2); index <= 4; index++ {
		got := r.result(index)
		if got.State != want.State || got.Error != want.Error || got.Digest != want.Digest {
			t.Errorf("trial %d: %s %q, digest %s; want %s %q, %s", index, got.State, got.Error, got.Digest, want.State,
				want.Error, want.Digest)
		}
	}
	if got := r.result(5); got.State != sweep.Completed || !reflect.DeepEqual(got.Marks,
		&sweep.Marks{Metric: "loss", Values: []float32{3, 2, 1}, Count: 3, Best: new(float32(1))}) {
		t.Errorf("%s, %q, marks %+v", got.State, got.Error, got.Marks)
	}
}

// The coordinator learns the marks of a trial while it runs, and stops it by the answer to a heartbeat. A trial that
// runs again stops when it has come as far as before.
func TestHalted(t *testing.T) {
	t.Parallel()
	next := make(chan struct{}, 10)
	r := newRig(t, func(ctx context.Context, p *process, _ sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
		for i := int64(1); ; i++ {
			select {
			case <-next:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if err := sink.Points([]sweep.Curve{{Metric: "loss", Steps: []int64{i}, Values: []float32{float32(9 - i)}}}); err != nil {
				return p.until(ctx)
			}
		}
	})
	for index := range int64(2) {
		j := job(index + 1)
		j.Stop = &sweep.StopRule{Metric: "loss", Goal: sweep.Minimize, Bands: []int64{2, 4}, Best: true}
		r.publish(j)
	}
	r.launch(worker.Options{Launcher: r.launcher}, patience)
	next <- struct{}{}
	next <- struct{}{}
	points := r.last(sweep.EventPoints, 1, 1)
	if !reflect.DeepEqual(points.Marks, &sweep.Marks{Metric: "loss", Bands: []int64{2, 4}, Values: []float32{7}, Count: 2,
		Best: new(float32(7))}) {
		t.Errorf("marks %+v", points.Marks)
	}
	halt := func(index, band int64) {
		execution := r.last(sweep.EventStarted, index, 1).Execution
		r.mu.Lock()
		r.answer.Halt = []wire.Halted{{Running: wire.Running{TrialID: points.TrialID, Execution: execution},
			Halt: wire.Halt{Band: band, Reason: "stopped at band 2"}}}
		r.mu.Unlock()
		if err := r.wire.RequestHeartbeats(); err != nil {
			t.Fatal(err)
		}
	}
	halt(1, 2)
	if got := r.result(1); got.State != sweep.Stopped || got.Error != "stopped at band 2" ||
		got.Summary["loss"] != 7 || got.Marks.Count != 2 {
		t.Errorf("%+v, %+v", got, got.Marks)
	}
	// The next one is told before it has come so far.
	if err := r.wire.Halt(job(2).Sweep, map[int64]wire.Halt{2: {Band: 3, Reason: "earlier"}}); err != nil {
		t.Fatal(err)
	}
	r.last(sweep.EventStarted, 2, 1)
	if err := r.wire.Halt(job(2).Sweep, map[int64]wire.Halt{2: {Band: 3, Reason: "again"}}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		next <- struct{}{}
	}
	if got := r.result(2); got.State != sweep.Stopped || got.Marks.Count < 3 {
		t.Errorf("%+v, %+v", got, got.Marks)
	}
}

// A trial that resumes reports what it reported before again, and is judged as without an interruption.
func TestStoppedAfterResuming(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
		points := func(until int64) error {
			for i := int64(1); i <= until; i++ {
				if err := sink.Points([]sweep.Curve{{Metric: "loss", Steps: []int64{i}, Values: []float32{5}}}); err != nil {
					return err
				}
			}
			return nil
		}
		if len(request.Checkpoint) == 0 {
			if err := errors.Join(points(2), sink.Checkpoint(2, []byte("state"))); err != nil {
				return nil, err
			}
			return p.die()
		}
		if points(4) != nil {
			return p.until(ctx)
		}
		return nil, errors.New("it was not stopped")
	})
	j := asking(1, sweep.CheckpointArtifact, "weights")
	j.Parameters = sweep.Parameters{"budget": int64(9)} // its last checkpoint is kept
	j.Stop = &sweep.StopRule{Metric: "loss", Goal: sweep.Minimize, Generation: 2, Limits: []sweep.StopLimit{
		{At: 3, Value: 4, Trials: 8}}}
	r.publish(j)
	store := newFolder(t)
	r.launch(worker.Options{Launcher: r.launcher, CheckpointDir: t.TempDir(), Artifacts: store}, patience)
	r.release(1, 1)
	r.queueEmpties() // a job that is there is not published again
	r.publish(j)
	got := r.result(1)
	if got.State != sweep.Stopped || len(got.Marks.Values) != 3 {
		t.Errorf("%s, %q, marks %+v", got.State, got.Error, got.Marks)
	}
	want := artifacttest.Record(j.TrialID, []byte("state")).Artifact
	if want.Name, want.Store = sweep.CheckpointArtifact, store.Name(); !reflect.DeepEqual(got.Artifacts,
		[]sweep.Artifact{want}) {
		t.Errorf("artifacts %+v, want %+v", got.Artifacts, want)
	} else if err := r.check(store, 1, want); err != nil {
		t.Error(err)
	}
}
