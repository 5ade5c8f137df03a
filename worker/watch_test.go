package worker

import (
	"context"
	"testing"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// A trial that starts over has reported nothing: what it reported before does not stop it.
func TestStartsOverBeforeItsBand(t *testing.T) {
	e := &execution{delivery: &wire.Delivery{Job: wire.Job{Stop: &sweep.StopRule{Metric: "loss", Goal: sweep.Minimize,
		Bands: []int64{2, 4}}}}, recorder: sweep.NewRecorder(10)}
	e.ctx, e.abandon = context.WithCancelCause(t.Context())
	report := func(steps ...int64) error {
		return e.record([]sweep.Curve{{Metric: "loss", Steps: steps, Values: make([]float32, len(steps))}}, false)
	}
	e.watchAgain()
	if err := report(1, 2, 3); err != nil {
		t.Fatal(err)
	}
	e.watchAgain()
	e.halt(wire.Halt{Band: 2, Reason: "worse"})
	if e.ctx.Err() != nil {
		t.Fatal("stopped before it has reported anything")
	}
	if err := report(1); err != nil {
		t.Error(err)
	}
	if err := report(2); err == nil || e.ctx.Err() == nil {
		t.Error("not stopped at its band")
	}
}
