package worker_test

import (
	"context"
	"errors"
	"testing"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
	"sweep/worker"
)

// Every execution's last event has what its trainer wrote in it, and nothing of
// the executions before in the same process; one that wrote nothing has no log.
func TestLogs(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{}, 1)
	r := newRig(t, func(ctx context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		switch request.Index {
		case 0:
			p.write("epoch 1\n")
		case 2:
			p.write("no such file\n")
			return nil, errors.New("broken")
		case 3:
			result := outcome(request)
			result.State, result.Error = sweep.Failed, "no"
			p.write("failed\n")
			return result, nil
		case 4:
			p.write("waiting\n")
			waits <- struct{}{}
			return p.until(ctx)
		}
		return outcome(request), nil
	})
	r.publish(jobs(5)...)
	r.start(worker.Options{})
	log := func(kind sweep.EventKind, index int64) (string, int64) {
		t.Helper()
		e := r.last(kind, index, 1)
		return e.Log, e.LogStart
	}
	if text, start := log(sweep.EventResult, 0); text != "last words of process 2epoch 1\n" || start != 0 {
		t.Errorf("%q behind %d", text, start)
	}
	if text, _ := log(sweep.EventResult, 1); text != "" {
		t.Errorf("%q", text)
	}
	if released := r.last(sweep.EventReleased, 2, 1); released.Release.Stderr != "no such file\n" ||
		released.Log != "" {
		t.Errorf("%+v", released)
	}
	if text, _ := log(sweep.EventResult, 3); text != "failed\n" {
		t.Errorf("%q", text)
	}
	sweeptest.Receive(t, "the trial that waits", waits) // that it is announced does not mean that it has written
	if err := r.wire.Cancel("s", 4); err != nil {
		t.Fatal(err)
	}
	if text, _ := log(sweep.EventReleased, 4); text != "waiting\n" {
		t.Errorf("%q", text)
	}
}

// Of a trial that runs its worker shows the log so far, to who asks all workers or
// this one.
func TestRunningLog(t *testing.T) {
	t.Parallel()
	conn := wiretest.Start(t)
	wrote, more, end := make(chan *process), make(chan struct{}), make(chan struct{})
	r := rigOver(t, conn, func(_ context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		p.write("trial\n")
		if request.Index == 1 {
			wrote <- p
			<-more
			p.write("more\n")
			wrote <- p
			<-end
		}
		return outcome(request), nil
	})
	r.publish(job(0))
	_, client := r.daemon(conn, worker.Options{})
	r.result(0)
	r.publish(job(1))
	<-wrote
	id := sweep.TrialID{Sweep: "s", Index: 1}
	ask := func(worker string, id sweep.TrialID, from int64) *wire.RunningLog {
		t.Helper()
		log, err := client.RunningLog(t.Context(), worker, id, from)
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	var first, next *wire.RunningLog
	sweeptest.Until(t, "the log", func() bool { // a client gives up soon
		first = ask("", id, 0)
		return first != nil
	})
	if first.Log != (sweep.Log{Text: "trial\n"}) || first.End != 6 || first.Name != "w" ||
		first.Execution == "" {
		t.Fatalf("%+v", first)
	}
	close(more)
	<-wrote
	sweeptest.Until(t, "the rest of the log", func() bool {
		next = ask(first.Worker, id, first.End)
		return next != nil
	})
	if next.Log != (sweep.Log{Text: "more\n", Start: 6}) || next.End != 11 ||
		next.Execution != first.Execution {
		t.Errorf("%+v", next)
	}
	if log := ask("", sweep.TrialID{Sweep: "s"}, 0); log != nil {
		t.Errorf("of a trial that has ended: %+v", log)
	}
	if log := ask(first.Worker, sweep.TrialID{Sweep: "s"}, 0); log != nil {
		t.Errorf("of a trial that has ended: %+v", log)
	}
	close(end)
	if e := r.last(sweep.EventResult, 1, 1); e.Log != "trial\nmore\n" {
		t.Errorf("%q", e.Log)
	}
}
