// Package local runs one sweep with a whole cluster in this process: a NATS server that
// listens on no port, a coordinator, and a worker with its trainer processes. Nothing needs
// to be installed, and the parts are those of a cluster of many machines.
//
//	record, err := local.Run(ctx, local.Options{Store: results, Launcher: launcher, Home: home, …}, submission, false)
//
// Run resumes the newest unfinished sweep of the same submission, and returns when the sweep
// is finished, when ctx ends (an InterruptedError), or when a disk is full (IsFull): what is
// done is recorded by then.
package local

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"

	"sweep/coordinator"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/wire"
	"sweep/worker"
	"sweep/worker/device"
)

// Options are what a run is made of.
type Options struct {
	// Store is led by this process, in the term Term.
	Store     sweep.Store
	Term      int64
	Artifacts *artifact.Store
	Launcher  sweep.Launcher
	Logger    *slog.Logger
	// Home is the directory of the broker's files and of checkpoints, DataDir that of data
	// sets.
	Home, DataDir string
	// Slots is how many trials run at a time.
	Slots int
	// Devices are those that trials may hold; nil if there are none.
	Devices *device.Pool
	// Changed names the inputs of a list that have changed; nil if the submission has no program.
	Changed func(in *sweep.Inputs) (names []string)
	// Out gets a line when the sweep begins or resumes.
	Out io.Writer
	// Begun is called before the first trial runs, Ended when the coordinator has stopped.
	Begun func(c *coordinator.Coordinator, record *sweep.SweepRecord) error
	Ended func()
	// Watch shows the sweep until ctx ends.
	Watch func(ctx context.Context, record *sweep.SweepRecord)
	// Full is called when a disk is found full, before the run ends.
	Full func(err error)
	// Deadline, if not nil, ends the run as an interruption does, and decides which trials run before. Only Run has
	// one.
	Deadline *Deadline

	// cluster is the identity of the database.
	cluster string
}

// InterruptedError says that a run was ended before its sweep was finished.
type InterruptedError struct {
	Sweep       string
	Done, Total int64
	// Deadline means that it was the deadline which ended the run.
	Deadline bool
}

func (e *InterruptedError) Error() string {
	why := "interrupted"
	if e.Deadline {
		why = "stopped at the deadline"
	}
	return fmt.Sprintf("%s: %d of %d trials are done; run the same command again to resume", why, e.Done, e.Total)
}

// Run brings up broker, coordinator and worker, submits or resumes the sweep, and takes
// everything down again when it is finished or ctx ends. With fresh, an unfinished sweep of
// the same submission is not resumed. Until the deadline, if there is one, trials run in the order that is best before
// it.
func Run(ctx context.Context, o Options, submission *sweep.Submission, fresh bool) (*sweep.SweepRecord, error) {
	var choosing *chooser
	if o.Deadline != nil {
		choosing = &chooser{Store: o.Store, slots: int64(o.Slots), at: o.Deadline.At, now: o.Deadline.Now}
		o.Store = choosing
	}
	broker, w, c, err := o.bringUp(ctx)
	if err != nil {
		return nil, err
	}
	defer broker.Close()
	id, err := o.submit(ctx, c, submission, fresh)
	if err != nil {
		return nil, err
	}
	record, err := o.Store.Sweep(ctx, id)
	if err != nil {
		return nil, err
	}
	defer o.Ended()
	if err := o.Begun(c, record); err != nil {
		return nil, err
	}
	training := ctx
	if d := o.Deadline; d != nil {
		if choosing.estimator, err = d.Estimator(ctx, record); err != nil {
			return nil, err
		}
		choosing.record = record
		var stop context.CancelFunc
		training, stop = d.Context(ctx, d.At)
		defer stop()
	}
	var finished *sweep.SweepRecord
	watch := func(ctx context.Context) { o.Watch(ctx, record) }
	interrupted, err := o.train(training, w, c, record.Pool, watch, func(ctx context.Context) (err error) {
		finished, err = c.Wait(ctx, record.ID)
		return err
	})
	if !interrupted {
		return finished, err
	}
	counts, err := o.Store.Progress(context.WithoutCancel(ctx), record.ID)
	if err != nil {
		return nil, err
	}
	return nil, &InterruptedError{record.ID, counts.Done(), counts.Total(), ctx.Err() == nil}
}

// bringUp starts a broker and returns it with a coordinator that does not run yet.
func (o *Options) bringUp(ctx context.Context) (*broker, *wire.Wire, *coordinator.Coordinator, error) {
	b, err := startBroker(o.Home)
	if err != nil {
		return nil, nil, nil, err
	}
	w, err := wire.New(b.conn, wire.Options{JobsInMemory: true, Logger: o.Logger})
	if err != nil {
		b.Close()
		return nil, nil, nil, err
	}
	c, err := o.coordinator(ctx, w)
	if err != nil {
		b.Close()
		return nil, nil, nil, err
	}
	return b, w, c, nil
}

// coordinator returns one that does not run yet, with the streams that it needs.
func (o *Options) coordinator(ctx context.Context, w *wire.Wire) (*coordinator.Coordinator, error) {
	cluster, err := o.Store.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	o.cluster = cluster.ID
	// The broker is this process's own: what it holds of another database is carried again,
	// and so is what it holds of later terms, if the database was restored.
	if err := w.Setup(ctx, cluster, true); err != nil {
		return nil, err
	}
	if err := w.ForgetTerms(ctx); err != nil {
		return nil, err
	}
	return coordinator.New(coordinator.Options{
		Store: o.Store, Artifacts: o.Artifacts, Wire: w, Logger: o.Logger, Exclusive: true, Cluster: cluster,
		Term: o.Term, Adopt: true,
		// On a user's machine a full disk ends the run with a clear error; the
		// same command resumes when there is space again.
		Fatal: IsFull,
	}), nil
}

// train runs coordinator and worker until wait returns, one of them fails, or ctx ends, which interrupts
// the sweeps. watch shows them meanwhile.
func (o *Options) train(ctx context.Context, w *wire.Wire, c *coordinator.Coordinator, pool string,
	watch func(ctx context.Context), wait func(ctx context.Context) error) (interrupted bool, err error) {
	// The worker drains before the coordinator stops, so that what it reports
	// last is still recorded.
	collecting, stopCollecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCollecting()
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	full := func(err error) error {
		if IsFull(err) {
			o.Full(err)
		}
		return err
	}
	var coordinatorErr, workerErr, diskErr error
	var collectorDone, workerDone, shown sync.WaitGroup
	shown.Go(func() {
		if diskErr = full(watchDisk(working, o.Home)); diskErr != nil {
			stopWorking()
		}
	})
	collectorDone.Go(func() {
		defer stopWorking() // nothing is worth doing that is not recorded
		coordinatorErr = full(c.Run(collecting))
	})
	hand := worker.New(worker.Options{
		Wire: w, Launcher: o.Launcher, Pool: pool, Slots: o.Slots, DataDir: o.DataDir,
		CheckpointDir: filepath.Join(o.Home, "checkpoints"), Artifacts: o.Artifacts, Logger: o.Logger,
		Devices:  o.Devices,
		SpoolDir: filepath.Join(o.Home, "spool", filepath.Base(o.cluster)), // what waits there is of this database
	})
	if logs, err := serveLogs(o.Home, hand.Log); err != nil {
		o.Logger.Warn("\"sweep logs\" cannot show running trials", "error", err)
	} else {
		defer func() { _ = logs.close() }() // what it leaves does no harm
	}
	workerDone.Go(func() {
		defer stopWorking()
		select {
		case <-c.Ready():
		case <-working.Done():
			return
		}
		workerErr = hand.Run(working)
	})
	shown.Go(func() { watch(working) })
	waitErr := wait(working)
	stopWorking()
	shown.Wait()
	workerDone.Wait()
	stopCollecting()
	collectorDone.Wait()
	switch {
	case coordinatorErr != nil:
		return false, coordinatorErr
	case waitErr == nil:
		return false, nil
	case diskErr != nil:
		return false, diskErr
	case workerErr != nil:
		return false, workerErr
	case ctx.Err() == nil:
		return false, waitErr
	}
	return true, nil
}
