package worker

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"sweep/sweep/wire"
)

// Daemon is a worker that stays: it can be asked how it is, drained and resumed
// from afar, and a worker that stopped itself stays drained and says why.
type Daemon struct {
	options Options
	log     *slog.Logger
	metrics *metrics
	status  wire.WorkerStatus // what does not change

	mu     sync.Mutex
	worker *Worker            // that runs; nil while drained
	stop   context.CancelFunc // drains worker
	// drained says that the worker is to take no jobs, reason why.
	drained bool
	reason  string
	// resumed holds a token when that may have changed.
	resumed chan struct{}
}

// NewDaemon returns a daemon; version is the program's, to be shown.
func NewDaemon(options Options, version string) *Daemon {
	first := New(options) // knows the defaults
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Daemon{
		options: first.options, log: first.log, metrics: first.metrics,
		status: wire.WorkerStatus{
			ID: wire.NewExecution(), Name: first.options.Name, Host: host, Process: os.Getpid(),
			Pool: first.options.Pool, Version: version, StartedAt: time.Now().UTC(),
		},
		resumed: make(chan struct{}, 1),
	}
}

// Run runs trials until ctx ends, which drains; see Worker.Run.
func (d *Daemon) Run(ctx context.Context) error {
	stop, err := d.options.Wire.ServePresence(d)
	if err != nil {
		return err
	}
	defer stop()
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

// begin returns a worker and the context that it pulls in, nil while drained.
func (d *Daemon) begin(ctx context.Context) (*Worker, context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drained {
		return nil, nil
	}
	pulling, stop := context.WithCancel(ctx)
	d.worker, d.stop = New(d.options), stop
	d.worker.metrics = d.metrics
	return d.worker, pulling
}

// end notes that the worker has ended: drained, or broken.
func (d *Daemon) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
	d.worker, d.stop = nil, nil
	if err != nil {
		d.drained, d.reason = true, err.Error()
		d.log.Error("drained by itself; it takes jobs again after \"sweep drain --resume\" or a restart", "reason", err)
		return
	}
	if d.drained {
		d.log.Info("drained", "reason", d.reason)
	}
}

// Drain implements wire.Presence. Running trials end, or are given back after
// Options.Grace.
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
	select {
	case d.resumed <- struct{}{}:
	default: // it is awake already
	}
}

// Status implements wire.Presence.
func (d *Daemon) Status() wire.WorkerStatus {
	d.mu.Lock()
	worker := d.worker
	status := d.status
	status.State, status.Reason = wire.WorkerReady, d.reason
	switch {
	case d.drained && worker != nil:
		status.State = wire.WorkerDraining
	case d.drained:
		status.State = wire.WorkerDrained
	}
	d.mu.Unlock()
	status.Slots = make([]wire.WorkerSlot, d.options.Slots)
	if worker != nil {
		for i, s := range worker.Status() {
			status.Slots[i].Since = s.Since
			if s.Trial.Sweep != "" {
				trial := s.Trial
				status.Slots[i].Trial = &trial
			}
		}
	}
	return status
}
