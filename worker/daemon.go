package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// Daemon is a worker that can be inspected, drained and resumed remotely. If its machine seems
// broken, it stays, drained, and reports why.
type Daemon struct {
	options Options
	log     *slog.Logger
	metrics *metrics
	// last is the worker that runs, or ran last: its status is still shown.
	mu   sync.Mutex
	last *Worker
	stop context.CancelFunc // drains it; nil if it does not run
	// drained means that the worker is to take no jobs; reason is why.
	drained bool
	reason  string
	// resumed holds a token when that may have changed.
	resumed chan struct{}
}

// NewDaemon returns a daemon.
func NewDaemon(options Options) *Daemon {
	options.Waits = true
	first := New(options) // knows the defaults
	return &Daemon{options: first.options, log: first.log, metrics: first.metrics, last: first,
		resumed: make(chan struct{}, 1)}
}

// errCutOff is the error of a worker that ends while it cannot reach the server.
var errCutOff = errors.New("the server is out of reach: the last messages have not been sent, and trials whose " +
	"results were not reported run again")

// Run runs trials until ctx ends, which drains; see Worker.Run.
func (d *Daemon) Run(ctx context.Context) (err error) {
	stop, err := d.options.Wire.ServePresence(d)
	if err != nil {
		return err
	}
	defer func() {
		d.mu.Lock()
		last := d.last
		d.mu.Unlock()
		if last.leave("the end of its services", stop); last.cutOff.Load() {
			err = errors.Join(err, errCutOff)
		}
	}()
	for ctx.Err() == nil {
		w, pulling := d.begin(ctx)
		if w != nil {
			d.end(w.Run(pulling))
			continue
		}
		select {
		case <-d.resumed:
		case <-ctx.Done():
		}
	}
	return nil
}

// begin returns a new worker and the context in which it pulls, nil while drained.
func (d *Daemon) begin(ctx context.Context) (*Worker, context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drained {
		return nil, nil
	}
	pulling, stop := context.WithCancel(ctx)
	next := New(d.options)
	next.metrics, next.id, next.started = d.metrics, d.last.id, d.last.started
	d.last, d.stop = next, stop
	return next, pulling
}

// end records that the worker has ended, drained or broken.
func (d *Daemon) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
	d.stop = nil
	if err != nil {
		d.drained, d.reason = true, err.Error()
		d.log.Error("drained itself; to resume, run \"sweep drain --resume\" or restart it", "reason", err)
		return
	}
	if d.drained {
		d.log.Info("drained", "reason", d.reason)
	}
}

// Drain implements wire.Presence. Running trials that do not end within Options.Grace are
// released.
func (d *Daemon) Drain(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drained, d.reason = true, reason
	if d.stop != nil {
		d.log.Info("draining", "reason", reason)
		d.stop()
	}
}

// Resume implements wire.Presence.
func (d *Daemon) Resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drained, d.reason = false, ""
	d.last.aside.lift()
	select {
	case d.resumed <- struct{}{}:
	default: // it is awake already
	}
}

// Log implements wire.Presence.
func (d *Daemon) Log(id sweep.TrialID, from int64) *wire.RunningLog {
	d.mu.Lock()
	worker := d.last
	d.mu.Unlock()
	return worker.Log(id, from)
}

// Status implements wire.Presence.
func (d *Daemon) Status() wire.WorkerStatus {
	d.mu.Lock()
	worker, running, drained, reason := d.last, d.stop != nil, d.drained, d.reason
	d.mu.Unlock()
	status := worker.Status()
	switch {
	case drained && running:
		status.State = wire.WorkerDraining
	case drained:
		status.State = wire.WorkerDrained
	case status.State == wire.WorkerAside:
		return status
	case !running: // it is about to take jobs again
		status.State = wire.WorkerReady
	case status.State == wire.WorkerDraining:
		reason = "it resumes when its trials have ended"
	}
	status.Reason = reason
	return status
}
