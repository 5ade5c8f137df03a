package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/wire"
	"sweep/worker/device"
)

// stopGrace is longer than trainer processes with their own watchdog take to stop.
const stopGrace = 8 * time.Second

// Options are the settings of a Worker.
type Options struct {
	Wire     *wire.Wire
	Launcher sweep.Launcher
	// Name identifies the worker in events; the host's name and the process if empty.
	Name string
	// Version is the program's, to be shown.
	Version string
	// Pool is the pool whose jobs the worker takes; sweep.DefaultPool if empty.
	Pool string
	// Slots is the number of trials run at a time; 1 if not positive.
	Slots int
	// Memory is what a trial may use, in bytes; 0 sets no limit. Rounded down by
	// sweep.RoundMemory it is what the worker offers, and one that uses more is ended.
	Memory int64
	// Labels are further properties that sweeps can require of a worker.
	Labels map[string]string
	// Devices are those that trials may hold; nil if there are none.
	Devices *device.Pool
	// DataDir holds the data sets, CheckpointDir the checkpoints of trials that
	// were interrupted here.
	DataDir, CheckpointDir string
	// Artifacts stores the artifacts of trials. Without it they are missing.
	Artifacts *artifact.Store
	// SpoolDir holds what trials left until Artifacts has it, about Spool bytes at most, DefaultSpool if not positive;
	// beyond that the worker takes no trials that leave artifacts. Without SpoolDir trials occupy their slots until
	// their artifacts are stored.
	SpoolDir string
	Spool    int64
	// Grace is how long running trials may continue during a drain.
	Grace time.Duration
	// MachineFailures is how many of the machine's failures in a row, over
	// different trials, make the worker stop; 3 if not positive.
	MachineFailures int
	// Waits has a worker whose machine lacks room on its disk, or memory, take no jobs until a probe finds it.
	// Otherwise these are failures of the machine, too.
	Waits  bool
	Logger *slog.Logger
}

// Worker runs trials. Create one with New and run it once.
type Worker struct {
	options Options
	// id is unique over all workers and time.
	id      string
	started time.Time
	wire    *wire.Wire
	log     *slog.Logger
	health  *health
	aside   *aside
	// machine reports what the machine lacks: probeMachine, but in tests.
	machine func() error
	// stopGrace is how long a trainer may take to stop a trial before it is ended.
	stopGrace time.Duration
	// announceAfter, reportTimeout, resultTimeout, longestWait, probeTime and farewell are the constants, but in tests.
	announceAfter, reportTimeout, resultTimeout, longestWait, probeTime, farewell time.Duration

	slots    []*slot
	offer    *offer
	backlog  *backlog
	puller   *puller
	needs    *needs
	reporter *reporter
	spool    *spool
	// fullLogged is when a full artifact store was last logged, in Unix nanoseconds.
	fullLogged atomic.Int64
	heartbeats *heartbeats
	// headers are those of the checkpoints of the last heartbeat.
	headers headers
	metrics *metrics
	// draining means that no further job is pulled, cutOff that it ended without reaching the server.
	draining, cutOff atomic.Bool
}

// BrokenError means that a worker stopped because its machine seems broken.
type BrokenError struct {
	Worker   string
	Failures int
	// Last is the failure that made it stop.
	Last error
}

// Error implements error.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("worker %s stopped after %d failures of the machine in a row, over different trials (not "+
		"charged to them); the last: %v",
		e.Worker, e.Failures, e.Last)
}

// Unwrap returns the last failure.
func (e *BrokenError) Unwrap() error { return e.Last }

// New returns a worker.
func New(options Options) *Worker {
	if options.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown-host"
		}
		options.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	options.Pool = cmp.Or(options.Pool, sweep.DefaultPool)
	options.Slots = max(options.Slots, 1)
	if options.Spool <= 0 {
		options.Spool = DefaultSpool
	}
	if options.MachineFailures < 1 {
		options.MachineFailures = 3
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Worker{
		options: options, id: wire.NewExecution(), started: time.Now().UTC(), wire: options.Wire,
		log:    options.Logger.With("worker", options.Name),
		health: newHealth(options.MachineFailures), stopGrace: stopGrace, announceAfter: announceAfter,
		reportTimeout: reportTimeout, resultTimeout: resultTimeout, longestWait: longestWait, probeTime: probeTime,
		farewell: farewell,
		backlog:  newBacklog(options.Slots), metrics: newMetrics(), aside: newAside(),
	}
	w.machine = w.probeMachine
	for i := range options.Slots {
		w.slots = append(w.slots, newSlot(w, i))
	}
	w.heartbeats = newHeartbeats(w)
	w.offer = newOffer(options, w.heartbeats.soon)
	w.puller, w.needs = newPuller(w), newNeeds(w)
	w.reporter = newReporter(w)
	w.spool = newSpool(w)
	return w
}

// Run pulls and runs trials until ctx ends, which drains: no further job is pulled, running trials
// may continue for Grace, then they are stopped and released; their checkpoints are kept. So long artifacts are stored,
// too; those that are not stay in SpoolDir, and their trials are released. Results
// that the server does not accept within resultTimeout after that are lost, and the trials run
// again elsewhere. Run returns nil after a drain. If the machine seems broken, it takes no more
// jobs, waits for the running trials, and returns a *BrokenError.
func (w *Worker) Run(ctx context.Context) error {
	pulling, stopPulling := context.WithCancel(ctx)
	defer stopPulling()
	defer context.AfterFunc(pulling, func() {
		w.draining.Store(true)
		w.heartbeats.soon()
	})()
	running, stopRunning := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRunning()

	w.removeOldCheckpoints(time.Now())
	w.spool.open(running)
	defer w.spool.shut()
	unsubscribe, err := w.wire.Cancellations(w.cancel)
	if err != nil {
		return err
	}

	// trying is what needs the machine alone, such as a trainer that is started, and ends; helping needs the server.
	var trying, helping sync.WaitGroup
	defer trying.Wait()
	helpers, stopHelping := context.WithCancel(context.WithoutCancel(ctx))
	defer w.leave("the last heartbeat", func() {
		helping.Wait()
		unsubscribe()
	})
	defer stopHelping()
	w.offer.discover(pulling, &trying)
	helping.Go(func() { w.heartbeats.run(helpers) })
	helping.Go(func() { w.watch(helpers, &helping, &trying) })
	trying.Go(func() { w.mend(pulling) })
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	defer context.AfterFunc(running, w.reporter.takeAll)()

	var slots, pullers, reporting sync.WaitGroup
	reporting.Go(func() { w.reporter.run(sending) })
	stored := w.spool.start(running)
	pullers.Go(func() { w.puller.run(pulling) })
	if w.needs != nil {
		pullers.Go(func() { w.needs.run(pulling) })
	}
	failures := make([]error, len(w.slots))
	for i, s := range w.slots {
		slots.Go(func() {
			failures[i] = s.run(pulling, running)
			if failures[i] != nil {
				stopPulling() // the other slots end after their trials
			}
		})
	}
	stopped, reported := make(chan struct{}), make(chan struct{})
	go func() {
		<-pulling.Done()
		w.leave("the last pull", pullers.Wait)
		w.returnJobs(w.backlog, -1)
		slots.Wait()
		for _, s := range w.slots {
			w.returnJobs(s.prefetched, -1)
		}
		close(stopped)
		w.spool.close()
		stored()
		w.spool.release()
		w.reporter.close()
		reporting.Wait()
		close(reported)
	}()
	select {
	case <-reported:
	case <-ctx.Done():
		if within(w.options.Grace, reported) {
			break
		}
		stopRunning()
		<-stopped
		if !within(w.resultTimeout, reported) {
			w.cutOff.Store(true)
			stopSending()
			w.leave("the last events", func() { <-reported })
		}
	}
	return errors.Join(failures...)
}

// farewell bounds what a worker still does at the server when it ends, lastFarewell if it does not reach the
// server: in a cut network each call may wait until the client has failed to connect again, for seconds.
const (
	farewell     = 10 * time.Second
	lastFarewell = 2 * time.Second
)

// leave does something at the server when the worker ends, and does not wait for it for ever.
func (w *Worker) leave(what string, do func()) {
	limit := w.farewell
	if w.cutOff.Load() {
		limit = lastFarewell
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	if !within(limit, done) {
		w.log.Warn("ending without an answer of the server", "to", what, "waited", limit)
		w.cutOff.Store(true)
	}
}

// within waits for done up to a time, and reports whether it was closed.
func within(d time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// cancel stops the running and drops the waiting trials of a sweep: those with the indices, or
// all if there are none.
func (w *Worker) cancel(id string, indices []int64, reasons map[int64]wire.Halt) {
	if len(reasons) > 0 {
		for e := range w.executions {
			if reason, ok := reasons[e.delivery.Index]; ok && e.delivery.Sweep == id {
				e.halt(reason)
			}
		}
		return
	}
	named := func(trial sweep.TrialID) bool {
		return trial.Sweep == id && (len(indices) == 0 || slices.Contains(indices, trial.Index))
	}
	var waiting []*wire.Delivery
	for b := range w.backlogs {
		waiting = append(waiting, b.remove(func(d *wire.Delivery, _ time.Duration) bool { return named(d.TrialID) })...)
	}
	for _, d := range waiting {
		w.needs.release(d, false)
		if err := d.Ack(); err != nil {
			w.log.Warn("job of a cancelled trial not acknowledged", "trial", d.TrialID, "error", err)
		}
	}
	for e := range w.executions {
		if named(e.delivery.TrialID) {
			e.abandon(errCancelled)
		}
	}
	w.spool.cancel(func(r *wire.Running) bool { return named(r.TrialID) })
}

// executions yields the running executions.
func (w *Worker) executions(yield func(*execution) bool) {
	for _, s := range w.slots {
		if e := s.current(); e != nil && !yield(e) {
			return
		}
	}
}

// backlogs yields all jobs that wait here: for a slot, and in a slot for its trainer.
func (w *Worker) backlogs(yield func(*backlog) bool) {
	if !yield(w.backlog) {
		return
	}
	for _, s := range w.slots {
		if !yield(s.prefetched) {
			return
		}
	}
	if w.needs != nil {
		yield(w.needs.waiting)
	}
}

// has reports whether a job is here already. The server delivers it again when it was not renewed in time, for example
// because this machine was suspended. Whoever has it goes on renewing it, and acknowledges it.
func (w *Worker) has(d *wire.Delivery) (here bool) {
	if !d.Redelivered() {
		return false
	}
	compare := func(other *wire.Delivery) { here = here || d.Repeats(other) }
	for e := range w.executions {
		compare(e.identity.Load().delivery)
	}
	for b := range w.backlogs {
		b.each(compare)
	}
	w.reporter.each(compare)
	w.spool.each(compare)
	return here
}

// adopt reports whether an execution here goes on for a job.
func (w *Worker) adopt(d *wire.Delivery) bool {
	for e := range w.executions {
		if e.adopt(d) {
			return true
		}
	}
	return false
}

// returnJobs returns jobs that have waited longer than a time to the queue. One that runs alone waits until the slots
// are free, unless the worker ends: other workers may be as busy.
func (w *Worker) returnJobs(b *backlog, longer time.Duration) {
	for _, d := range b.remove(func(d *wire.Delivery, waited time.Duration) bool {
		return waited > longer && (longer < 0 || !d.Alone())
	}) {
		w.returnJob(d)
	}
}

// returnJob returns a job to the queue.
func (w *Worker) returnJob(d *wire.Delivery) {
	w.needs.release(d, false)
	if err := d.NakWithDelay(returnDelay); err != nil {
		w.log.Warn("job not returned to the queue", "trial", d.TrialID, "error", err)
	}
}

// request returns the trainer's request for a job, without a checkpoint. Early stopping looks at every sample, so the
// trainer must not thin them.
func (w *Worker) request(d *wire.Delivery) sweep.TrainRequest {
	return sweep.TrainRequest{Trial: d.Trial, DataDir: w.options.DataDir, Points: d.Limits.Points, Script: d.Script,
		Artifacts: d.Artifacts, Thinned: d.Stop == nil}
}

const (
	// watchInterval is how often running trials are checked.
	watchInterval = 100 * time.Millisecond
	// returnDelay delays the redelivery of a returned job.
	returnDelay = 10 * time.Millisecond
)

// watch checks the jobs here until ctx ends: every Renewal it tells the server that they are in
// progress, it announces trials that take longer, stops those that use too much memory, and
// returns jobs that wait too long.
func (w *Worker) watch(ctx context.Context, helping, trying *sync.WaitGroup) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		free, _ := w.backlog.room()
		for b := range w.backlogs {
			waits := w.needs != nil && b == w.needs.waiting // for devices
			if !waits && (b != w.backlog || free == 0) {
				w.returnJobs(b, w.longestWait)
			}
		}
		due := time.Since(renewed) >= w.wire.Renewal()
		if due {
			renewed = time.Now()
			for b := range w.backlogs {
				b.each(w.inProgress)
			}
			w.reporter.each(w.inProgress)
			w.spool.each(w.inProgress)
			w.offer.retry(ctx, trying)
		}
		for e := range w.executions {
			if due {
				w.inProgress(e.identity.Load().delivery)
			}
			e.look(helping)
		}
	}
}

func (w *Worker) inProgress(d *wire.Delivery) {
	if err := d.InProgress(); err != nil {
		w.metrics.missed.Inc()
		w.log.Warn("job not renewed", "trial", d.TrialID, "error", err)
	}
}

// Status returns what the worker offers and what each slot runs.
func (w *Worker) Status() wire.WorkerStatus {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	status := wire.WorkerStatus{
		ID: w.id, Name: w.options.Name, Host: host, Process: os.Getpid(), Pool: w.options.Pool,
		Version: w.options.Version,
		State:   wire.WorkerReady, StartedAt: w.started, Slots: make([]wire.WorkerSlot, len(w.slots)),
	}
	for i, s := range w.slots {
		status.Slots[i] = s.status()
	}
	if reason, _ := w.aside.now(); reason != "" {
		status.State, status.Reason = wire.WorkerAside, reason
	}
	if w.draining.Load() {
		status.State, status.Reason = wire.WorkerDraining, ""
	}
	status.Spool = w.spool.status() // before the offer, which depends on it
	status.Offer, status.Refusals = w.offer.current()
	status.Devices = w.needs.devices()
	if problem := w.reporter.problem.Load(); problem != nil {
		status.Problem = *problem
	}
	return status
}
