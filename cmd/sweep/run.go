package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"sweep/coordinator"
	"sweep/sweep"
	"sweep/sweep/report"
	"sweep/sweep/wire"
	"sweep/worker"
)

type runOptions struct {
	slots int
	reuse bool
	fresh bool
	quiet bool
}

func newRun(s *settings) *cobra.Command {
	var options runOptions
	cmd := &cobra.Command{
		Use:     "run FILE",
		Short:   "Train all trials of a sweep file on this machine",
		GroupID: "train",
		Long: `Train all trials of a sweep file on this machine, with nothing to install: an
in-process message broker, a local database, and one trainer process a slot.

An interrupted run goes on where it stopped when the same file is run again. A
trial whose result is in the database already (same trainer, data and
parameters) is not trained again; --reuse=false trains it all the same.

Exit codes: 0 all trials completed, 1 something went wrong, 2 the file is refused,
3 some trials failed, 4 no such file or trainer, 130 interrupted (run the same
command again to go on).`,
		Example: `  sweep run examples/cbf.yaml
  sweep run examples/ucr.yaml --data ~/data --slots 4`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runSweep(cmd, s, options, args[0]) },
	}
	f := cmd.Flags()
	f.IntVar(&options.slots, "slots", runtime.NumCPU(), "trials trained at a time")
	f.BoolVar(&options.reuse, "reuse", true, "take over results of equal trainer, data and parameters from earlier sweeps")
	f.BoolVar(&options.fresh, "fresh", false, "start a new sweep even if one of this file is unfinished")
	f.BoolVar(&options.quiet, "quiet", false, "show no progress, only the result")
	return cmd
}

// runSweep checks the file, brings up the parts of a cluster in this process
// and waits for the sweep's end.
func runSweep(cmd *cobra.Command, s *settings, options runOptions, path string) error {
	ctx := cmd.Context()
	if options.slots < 1 {
		return usageError("--slots %d: expected at least 1", options.slots)
	}
	log, err := s.logger(cmd)
	if err != nil {
		return err
	}
	home, err := s.homeDir()
	if err != nil {
		return err
	}
	launcher, err := s.newLauncher(log)
	if err != nil {
		return err
	}
	p, err := s.readPlan(ctx, path, launcher)
	if err != nil {
		return err
	}
	p.submission.Reuse = options.reuse
	for _, note := range p.notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	unlock, err := lockHome(home)
	if err != nil {
		return err
	}
	defer unlock()
	results, err := s.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }() // everything is committed by then

	l := &local{store: results, log: log, launcher: launcher, home: home, slots: options.slots}
	if l.dataDir, err = s.dataDir(); err != nil {
		return err
	}
	out := cmd.ErrOrStderr()
	if options.quiet {
		out = io.Discard
	}
	record, err := l.run(ctx, p.submission, options.fresh, out)
	if err != nil {
		return err
	}
	return conclude(cmd, results, record)
}

// local is the cluster in one process tree.
type local struct {
	store    sweep.Store
	log      *slog.Logger
	launcher sweep.Launcher
	home     string
	dataDir  string
	slots    int
}

// run brings up broker, coordinator and worker, submits or resumes the sweep,
// and takes everything down again when it is finished or ctx ends.
func (l *local) run(ctx context.Context, submission *sweep.Submission, fresh bool, out io.Writer) (*sweep.SweepRecord, error) {
	broker, err := startBroker(l.home)
	if err != nil {
		return nil, err
	}
	defer broker.Close()
	w, err := wire.New(broker.conn, wire.Options{Logger: l.log})
	if err != nil {
		return nil, err
	}
	if err := w.Setup(ctx); err != nil {
		return nil, err
	}
	c := coordinator.New(coordinator.Options{
		Store: l.store, Wire: w, Logger: l.log, Exclusive: true,
		// On a user's machine a full disk ends the run with a clear error; the
		// same command goes on when there is room again.
		Fatal: func(err error) bool { return errors.Is(err, syscall.ENOSPC) },
	})
	id, err := l.submit(ctx, c, submission, fresh, out)
	if err != nil {
		return nil, err
	}
	record, err := l.store.Sweep(ctx, id)
	if err != nil {
		return nil, err
	}

	// The worker drains before the coordinator stops, so that what it reports
	// last is still recorded.
	collecting, stopCollecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCollecting()
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	var coordinatorErr, workerErr, diskErr error
	var collectorDone, workerDone, shown sync.WaitGroup
	shown.Go(func() {
		if diskErr = watchDisk(working, l.home); diskErr != nil {
			stopWorking()
		}
	})
	collectorDone.Go(func() {
		defer stopWorking() // nothing is worth doing that is not recorded
		coordinatorErr = c.Run(collecting)
	})
	workerDone.Go(func() {
		defer stopWorking()
		select {
		case <-c.Ready():
		case <-working.Done():
			return
		}
		workerErr = worker.New(worker.Options{
			Wire: w, Launcher: l.launcher, Pool: submission.Spec.Pool, Slots: l.slots, DataDir: l.dataDir,
			CheckpointDir: filepath.Join(l.home, "checkpoints"), Logger: l.log,
		}).Run(working)
	})
	shown.Go(func() { newProgress(l.store, record, out).watch(working) })
	finished, waitErr := c.Wait(working, id)
	stopWorking()
	shown.Wait()
	workerDone.Wait()
	stopCollecting()
	collectorDone.Wait()
	switch {
	case coordinatorErr != nil:
		return nil, coordinatorErr
	case waitErr == nil:
		return finished, nil
	case diskErr != nil:
		return nil, diskErr
	case workerErr != nil:
		return nil, workerErr
	case ctx.Err() != nil:
		counts, err := l.store.Progress(context.WithoutCancel(ctx), id)
		if err != nil {
			return nil, err
		}
		return nil, &exitError{exitInterrupted, fmt.Errorf("interrupted: %d of %d trials are done and kept; run the same command again to go on", counts.Done(), counts.Total())}
	default:
		return nil, waitErr
	}
}

// submit goes on with the newest unfinished sweep of the same file, or starts a
// new one.
func (l *local) submit(ctx context.Context, c *coordinator.Coordinator, submission *sweep.Submission, fresh bool, out io.Writer) (string, error) {
	unfinished, err := l.store.Sweeps(ctx, sweep.SweepActive, sweep.SweepPaused)
	if err != nil {
		return "", err
	}
	resume := ""
	for i := range unfinished {
		record := &unfinished[i]
		same, err := sameSweep(record, submission)
		if err != nil {
			return "", err
		}
		if same && !fresh && resume == "" {
			resume = record.ID
			continue
		}
		// This process runs one sweep: others wait until their files are run again.
		if record.State == sweep.SweepActive {
			if err := l.store.SetSweepState(ctx, record.ID, sweep.SweepPaused); err != nil {
				return "", err
			}
		}
	}
	if resume != "" {
		if err := l.store.SetSweepState(ctx, resume, sweep.SweepActive); err != nil {
			return "", err
		}
		counts, err := l.store.Progress(ctx, resume)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(out, "sweep %s goes on: %d of %d trials are done\n", resume, counts.Done(), counts.Total())
		return resume, nil
	}
	id, points, err := c.Submit(ctx, submission)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(out, "sweep %s: %d trials on %d slots\n", id, points, l.slots)
	return id, nil
}

// sameSweep reports whether a submission asks for exactly what a sweep does:
// same points, same trainer, same data.
func sameSweep(record *sweep.SweepRecord, submission *sweep.Submission) (bool, error) {
	if len(record.Grids) != 1 {
		return false, nil
	}
	key := func(s *sweep.Submission) (string, error) {
		datasets := make(map[string]any, len(s.Datasets))
		for name, digest := range s.Datasets {
			datasets[name] = digest
		}
		data, err := sweep.CanonicalJSON(map[string]any{
			"source": s.Source, "trainer": s.Description.Name, "version": s.Description.ResultVersion, "datasets": datasets,
		})
		return string(data), err
	}
	old, err := key(&record.Grids[0].Submission)
	if err != nil {
		return false, err
	}
	now, err := key(submission)
	return old == now, err
}

// conclude prints the result of a finished sweep and decides the exit code.
func conclude(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord) error {
	ctx := cmd.Context()
	counts, err := results.Progress(ctx, record.ID)
	if err != nil {
		return err
	}
	errOut := cmd.ErrOrStderr()
	fmt.Fprintf(errOut, "sweep %s: %d completed (%d taken over from earlier sweeps, %d diverged), %d failed, in %s\n", record.ID,
		counts.Completed, counts.Reused, counts.Diverged, counts.Failed, roughly(record.UpdatedAt.Sub(record.CreatedAt)))
	if counts.Faults > 0 {
		fmt.Fprintf(errOut, "warning: %d repeated trials gave other bits than before\n", counts.Faults)
	}
	collection := report.NewCollection()
	err = results.Trials(ctx, sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}}, collection.Add)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if collection.HasUCR() {
		if err := collection.UCR(report.Mean).Write(out, "text", isTerminal(out)); err != nil {
			return err
		}
	}
	if collection.HasMNIST() {
		if err := collection.MNIST(report.Mean).Write(out, "text", isTerminal(out)); err != nil {
			return err
		}
	}
	if counts.Failed > 0 {
		return &exitError{exitTrials, fmt.Errorf("%d of %d trials failed: see \"sweep trials %s --state failed\"", counts.Failed, counts.Total(), record.ID)}
	}
	return nil
}
