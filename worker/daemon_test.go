package worker_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"sweep/sweep"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
	"sweep/worker"
)

// daemon runs a daemon until the test ends.
func (r *rig) daemon(conn *nats.Conn, options worker.Options) (*worker.Daemon, *wire.Client) {
	r.t.Helper()
	options.Wire, options.Launcher, options.Logger, options.Name, options.Version = r.wire, r.launcher,
		logger(r.t), "w", "1.2.3"
	d := worker.NewDaemon(options)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			r.t.Errorf("the daemon ended with %v", err)
		}
	})
	r.t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return d, wire.NewClient(conn)
}

// controlled returns the worker's answer to a command. A client gives up soon, and the command may come again.
func (r *rig) controlled(command func() (*wire.WorkerStatus, error)) (status *wire.WorkerStatus) {
	r.t.Helper()
	eventually(r.t, "the worker's answer", func() bool {
		var err error
		status, err = command()
		return r.answered(err)
	})
	return status
}

// ask returns what the daemon answers over HTTP.
func ask(t *testing.T, d *worker.Daemon, path string) (code int, text string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	d.Handler(func() error { return nil }).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return recorder.Code, string(body)
}

func TestDaemonShowsWhatItRunsAndDrains(t *testing.T) {
	t.Parallel()
	conn := wiretest.Start(t)
	end := make(chan struct{})
	r := rigOver(t, conn, func(ctx context.Context, _ *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		select {
		case <-end:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return outcome(request), nil
	})
	d, client := r.daemon(conn, worker.Options{Slots: 2, Grace: patience})
	r.publish(job(0))
	status := func() wire.WorkerStatus {
		workers, err := client.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(workers) != 1 {
			return wire.WorkerStatus{}
		}
		return workers[0]
	}
	running := func(s wire.WorkerStatus) (trials []sweep.TrialID) {
		for _, slot := range s.Slots {
			if slot.Trial != nil {
				trials = append(trials, *slot.Trial)
			}
		}
		return trials
	}
	var s wire.WorkerStatus
	r.await("the trial to run", func() bool { s = status(); return len(running(s)) == 1 })
	if s.Name != "w" || s.Pool != sweep.DefaultPool || s.Version != "1.2.3" || s.State != wire.WorkerReady ||
		len(s.Slots) != 2 || running(s)[0] != job(0).TrialID {
		t.Errorf("status %+v", s)
	}
	if code, text := ask(t, d, "/readyz"); code != http.StatusOK {
		t.Errorf("readyz: %d %s", code, text)
	}
	drained := r.controlled(func() (*wire.WorkerStatus, error) {
		return client.DrainWorker(t.Context(), "w", "repair")
	})
	if drained.State != wire.WorkerDraining || len(running(*drained)) != 1 {
		t.Errorf("drain: %+v", drained)
	}
	resuming := r.controlled(func() (*wire.WorkerStatus, error) { return client.ResumeWorker(t.Context(), "w") })
	if resuming.State != wire.WorkerDraining || !strings.Contains(resuming.Reason, "resumes when its trials have ended") {
		t.Errorf("resume while a trial runs: %+v", resuming)
	}
	r.controlled(func() (*wire.WorkerStatus, error) { return client.DrainWorker(t.Context(), "w", "repair") })
	close(end)
	r.await("the drain", func() bool { return status().State == wire.WorkerDrained })
	r.queueEmpties() // the job of a short trial goes a moment after the drain
	r.publish(job(1))
	if code, text := ask(t, d, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "repair") {
		t.Errorf("readyz: %d %s", code, text)
	}
	if n := r.queue(); n != 1 {
		t.Errorf("%d jobs in the queue, want the one that came after the drain", n)
	}
	resumed := r.controlled(func() (*wire.WorkerStatus, error) { return client.ResumeWorker(t.Context(), "w") })
	if resumed.State != wire.WorkerReady {
		t.Errorf("resume: %+v", resumed)
	}
	r.result(1)
	r.queueEmpties()
	_, metrics := ask(t, d, "/metrics")
	for _, want := range []string{`sweep_worker_executions_total{end="completed"} 2`, "sweep_worker_slots 2",
		"sweep_worker_drained 0", "go_goroutines"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s:\n%s", want, metrics)
		}
	}
}

// A machine that seems broken takes no jobs until somebody has looked at it.
func TestBrokenDaemonStaysDrained(t *testing.T) {
	t.Parallel()
	conn := wiretest.Start(t)
	var mended atomic.Bool
	r := rigOver(t, conn, func(_ context.Context, p *process, request sweep.TrainRequest,
		_ sweep.Sink) (*sweep.Result, error) {
		if mended.Load() {
			return outcome(request), nil
		}
		_, _ = p.die()
		return nil, killedError{}
	})
	r.publish(jobs(4)...)
	d, client := r.daemon(conn, worker.Options{})
	r.await("the worker to drain itself", func() bool { return d.Status().State == wire.WorkerDrained })
	if reason := d.Status().Reason; !strings.Contains(reason, "3 failures of the machine") {
		t.Errorf("drained: %s", reason)
	}
	if _, metrics := ask(t, d, "/metrics"); !strings.Contains(metrics, "sweep_worker_trainer_restarts_total 2") ||
		!strings.Contains(metrics, "sweep_worker_drained 1") {
		t.Errorf("metrics: %s", metrics)
	}
	mended.Store(true)
	r.controlled(func() (*wire.WorkerStatus, error) { return client.ResumeWorker(t.Context(), "w") })
	r.result(3)
}

// A daemon whose server is cut off, and accepts connections but says nothing, ends all the same.
func TestDaemonEndsInACutNetwork(t *testing.T) {
	t.Parallel()
	server := wiretest.Run(t, wiretest.Options{Dir: t.TempDir(), Port: -1})
	r := rigOver(t, server.Connect(t), nil)
	proxy := server.Proxy(t)
	conn := proxy.Connect(t)
	d := worker.NewDaemon(worker.Options{Wire: openWire(t, conn), Launcher: r.launcher, Name: "w", Logger: logger(t)})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	r.await("a heartbeat", func() bool { _, came := r.lastHeartbeat(); return came })
	proxy.Cut()
	eventually(t, "the client connects again", func() bool { return proxy.Held() > 0 })
	stop()
	if err := sweeptest.Receive(t, "the end of the daemon", done); err == nil ||
		!strings.Contains(err.Error(), "out of reach") {
		t.Errorf("Run: %v", err)
	}
}
