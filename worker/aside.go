package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

const (
	// firstProbe is the pause before the first probe of a worker that was set aside; it doubles up to longestProbe.
	firstProbe, longestProbe = time.Second, 5 * time.Minute
	// probeTime is how long the trial of a probe runs. One that has not failed by then counts as good.
	probeTime = time.Minute
	// forgiven bounds the memory for trials that were forgiven.
	forgiven = 1024
)

// aside is why a worker takes no jobs until a probe succeeds.
type aside struct {
	mu sync.Mutex
	// reason is empty while the worker is not set aside.
	reason string
	// trial is known to be good elsewhere; nil if there is none.
	trial *wire.Job
	// pause is that before the next probe.
	pause time.Duration
	// over is closed when the worker is no longer set aside, changed holds a token when it is.
	over    chan struct{}
	changed chan struct{}
	// stop ends the pulling of jobs.
	stop context.CancelFunc
	// spared are trials that were not charged when the machine failed them.
	spared map[sweep.TrialID]bool
}

func newAside() *aside {
	return &aside{changed: make(chan struct{}, 1), spared: map[sweep.TrialID]bool{}}
}

// set sets the worker aside for a reason, and reports whether it was not before. A trial of a probe replaces none.
func (a *aside) set(reason string, trial *wire.Job) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if trial != nil {
		a.trial = trial
	}
	if a.reason != "" {
		return false
	}
	a.reason, a.over = reason, make(chan struct{})
	a.pause = cmp.Or(a.pause, firstProbe)
	if a.stop != nil {
		a.stop()
	}
	select {
	case a.changed <- struct{}{}:
	default: // a token is there
	}
	return true
}

// lift has the worker take jobs again.
func (a *aside) lift() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reason != "" {
		a.reason, a.trial = "", nil
		close(a.over)
	}
}

// now returns why the worker is set aside, "" if it is not, and a channel that is closed at the end of that.
func (a *aside) now() (reason string, over <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason, a.over
}

// pulling returns a context that ends with ctx and when the worker is set aside.
func (a *aside) pulling(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop = stop; a.reason != "" {
		stop()
	}
	return ctx, stop
}

// good notes that a trial has completed: the next time, probes begin with a short pause again.
func (a *aside) good() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reason == "" {
		a.pause = 0
	}
}

// spare reports whether a trial that the machine failed is spared a charge: the first time, as the trial itself may be
// what fills the disk or the memory.
func (a *aside) spare(id sweep.TrialID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spared[id] {
		return false
	}
	if len(a.spared) == forgiven {
		clear(a.spared)
	}
	a.spared[id] = true
	return true
}

// next returns the pause before the next probe, and its trial.
func (a *aside) next() (pause time.Duration, trial *wire.Job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pause = cmp.Or(a.pause, firstProbe)
	a.pause = min(2*pause, longestProbe)
	return pause, a.trial
}

// setAside has the worker take no jobs until a probe of its disk, its memory and a trial succeeds.
func (w *Worker) setAside(reason string, trial *wire.Job) {
	if !w.aside.set(reason, trial) {
		return
	}
	w.log.Error("set aside: no jobs are taken until a probe succeeds", "reason", reason)
	w.heartbeats.soon()
}

// isAside reports whether the worker is set aside.
func (w *Worker) isAside() bool {
	reason, _ := w.aside.now()
	return reason != ""
}

// mend probes the worker while it is set aside, until ctx ends.
func (w *Worker) mend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.aside.changed:
		}
		for ctx.Err() == nil {
			reason, over := w.aside.now()
			if reason == "" {
				break
			}
			pause, trial := w.aside.next()
			if within(pause, over) || ctx.Err() != nil {
				continue
			}
			err := w.probe(ctx, trial)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				w.log.Warn("still set aside: the probe failed", "error", err, "next", 2*pause)
				continue
			}
			w.log.Info("jobs are taken again: the probe succeeded")
			w.aside.lift()
			w.heartbeats.soon()
		}
	}
}

// probe reports what is wrong with the machine, as far as its disk, its memory and a trial that is known to be good
// tell. The trial's result is dropped.
func (w *Worker) probe(ctx context.Context, trial *wire.Job) error {
	if err := w.machine(); err != nil || trial == nil {
		return err
	}
	if w.offer.unmet(&trial.Requirement) != "" {
		return nil // other trials run here
	}
	ctx, stop := context.WithTimeout(ctx, w.probeTime)
	defer stop()
	var variables []string
	if need := trial.Requirement.Need; w.needs != nil && need.Holds() {
		lease := w.needs.pool.Take(need)
		if lease == nil {
			return fmt.Errorf("no devices are free for trial %s, which is known to be good: it holds %s", trial.TrialID, need)
		}
		defer lease.Release()
		variables = lease.Variables()
	}
	process, err := w.options.Launcher.Launch(ctx, trial.Requirement.Trainer, variables...)
	if err != nil {
		return fmt.Errorf("start trainer %s: %w", trial.Requirement.Trainer, err)
	}
	defer func() { _ = process.Close() }() // its result is known
	result, err := process.Train(ctx, w.request(&wire.Delivery{Job: *trial}), nowhere{})
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil && result.State == sweep.Failed:
		err = errors.New(result.Error)
	}
	if err != nil {
		return fmt.Errorf("trial %s, which is known to be good, failed: %w", trial.TrialID, err)
	}
	return nil
}

// nowhere is a sink that drops everything.
type nowhere struct{}

func (nowhere) Points([]sweep.Curve) error     { return nil }
func (nowhere) Checkpoint(int64, []byte) error { return nil }
func (nowhere) Artifact(_ sweep.Artifact, content io.Reader) error {
	_, err := io.Copy(io.Discard, content)
	return err
}

// probeSize is how much a disk must have room for: what a trial left unfinished is removed by now, and has made a
// little room.
const probeSize = 16 << 20

// probeMachine returns what the machine lacks.
func (w *Worker) probeMachine() error { return errors.Join(w.probeDisk(), probeMemory()) }

// probeDisk writes a file to the directory of checkpoints and to that of temporary files, and removes it.
func (w *Worker) probeDisk() error {
	content := make([]byte, probeSize)
	var problems []error
	for _, dir := range []string{cmp.Or(w.options.CheckpointDir, os.TempDir()), os.TempDir()} {
		path := filepath.Join(dir, "probe-"+w.id+unfinishedSuffix)
		problems = append(problems, writeFile(path, content), removed(path))
	}
	return errors.Join(problems...)
}

// removed removes a file, if it is there.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
