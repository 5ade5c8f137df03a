package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"sweep/coordinator/schedule"
	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/sweep/wire"
)

// NoWorkerError means that no worker can run any trial of a submission.
type NoWorkerError struct{ Reason string }

// Error implements error.
func (e *NoWorkerError) Error() string { return "not submitted: " + e.Reason }

const (
	// discoveryPoll is how often Submit looks whether the workers are known, which they are
	// after schedule.DiscoveryTime.
	discoveryPoll = schedule.DiscoveryTime / 10
	// idAttempts bounds the ids that Submit draws for a sweep. Ids of the same second differ in a
	// suffix, of which there are a million.
	idAttempts = 10
)

// Submit implements wire.Controller. Its cost does not depend on the number of points, because nothing
// is expanded yet.
func (c *Coordinator) Submit(ctx context.Context, submission *sweep.Submission,
	requireWorkers bool) (wire.Submitted, error) {
	grid, err := open(submission)
	if err != nil {
		return wire.Submitted{}, err
	}
	done := wire.Submitted{Points: grid.Count()}
	for {
		var known bool
		if done.Waiting, known, err = c.unmet(ctx, submission); err != nil {
			return done, err
		}
		if known || !requireWorkers || c.wire == nil {
			break
		}
		wait(ctx, discoveryPoll) // for the workers' heartbeats
		if err := ctx.Err(); err != nil {
			return done, err
		}
	}
	if requireWorkers && done.Waiting != "" {
		return done, &NoWorkerError{done.Waiting}
	}
	for attempt := 1; ; attempt++ {
		id := newID(time.Now())
		done.Sweep, err = c.store.CreateSweep(ctx, id, submission, done.Points)
		if errors.Is(err, sweep.ErrExists) && attempt < idAttempts {
			continue // two submissions in one second drew the same of a million letters
		}
		if err != nil {
			return done, fmt.Errorf("storing the sweep %s: %w", submission.Spec.Name, err)
		}
		if done.Sweep == id {
			c.log.Info("sweep submitted", "sweep", id, "name", submission.Spec.Name, "points", done.Points)
		} else {
			c.log.Info("repeated submission ignored", "sweep", done.Sweep, "name", submission.Spec.Name)
		}
		c.facts.add(schedule.Changed{})
		return done, nil
	}
}

// unmet returns why no worker can run any trial of a submission, "" if one can, and whether the workers
// are known.
func (c *Coordinator) unmet(ctx context.Context, submission *sweep.Submission) (reason string, known bool, err error) {
	keys := slices.Sorted(maps.Keys(submission.Datasets))
	if len(keys) == 0 {
		keys = []string{""}
	}
	var offers []sweep.Offer
	err = c.between(ctx, func() error {
		known, offers = c.plan.Discovered(), c.plan.Offers(submission.Spec.Pool)
		return nil
	})
	if err != nil || !known {
		return "", false, err
	}
	for _, key := range keys {
		r := submission.Requirement(key)
		if reason = r.Unmet(submission.Spec.Pool, offers); reason == "" {
			break
		}
	}
	return reason, true, nil
}

// Extend adds those points of a further submission to a sweep that it does not have yet, and returns their number.
func (c *Coordinator) Extend(ctx context.Context, id string, submission *sweep.Submission) (points int64, err error) {
	if submission.Spec.Omit != nil { // it is decided here
		copied := *submission
		submission, copied.Spec.Omit = &copied, nil
	}
	grid, err := open(submission)
	if err != nil {
		return 0, err
	}
	c.extending.Lock() // two extensions at once would both add what they have in common
	defer c.extending.Unlock()
	record, err := c.store.Sweep(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("extending sweep %s: %w", id, err)
	}
	if submission.Spec.Budget != nil {
		return 0, fmt.Errorf("extending sweep %s: the file has a budget, which an extension cannot have: remove it, "+
			"and raise that of the sweep with \"sweep budget\"", record.ID)
	}
	if err := policy.Extends(&record.Grids[0].Submission.Spec, &submission.Spec); err != nil {
		return 0, fmt.Errorf("extending sweep %s: %w", record.ID, err)
	}
	if record.Trainer != submission.Spec.Trainer || record.Pool != submission.Spec.Pool {
		return 0, fmt.Errorf("extending sweep %s: it has trainer %s and pool %s, the extension %s and %s: submit it "+
			"as a sweep of its own",
			record.ID, record.Trainer, record.Pool, submission.Spec.Trainer, submission.Spec.Pool)
	}
	first := &record.Grids[0].Submission
	if program := submission.Spec.Script; program != nil && len(first.Datasets) > 0 && len(submission.Datasets) > 0 &&
		!maps.Equal(first.Datasets, submission.Datasets) {
		return 0, fmt.Errorf("extending sweep %s: the program %s in %s, or a file that belongs to it, has changed "+
			"since the sweep was submitted: put it back, or submit the file as a sweep of its own", record.ID,
			cmp.Or(program.Program, strings.Join(program.Command, " ")), program.Directory)
	}
	own, other := first.Spec.Select.Filled(&first.Description), submission.Spec.Select.Filled(&submission.Description)
	if !reflect.DeepEqual(own, other) {
		return 0, fmt.Errorf("extending sweep %s: it compares its trials by %v, the extension by %v: give it the "+
			"same select, or submit it as a sweep of its own",
			record.ID, own, other)
	}
	if !maps.Equal(first.Spec.Keep, submission.Spec.Keep) {
		return 0, fmt.Errorf("extending sweep %s: it has keep: %s, the extension %s: give it the same keep, or "+
			"submit it as a sweep of its own", record.ID, keepText(first.Spec.Keep), keepText(submission.Spec.Keep))
	}
	submission, points, err = leaveOut(ctx, record, submission, grid)
	if err != nil {
		return 0, fmt.Errorf("extending sweep %s: %w", record.ID, err)
	}
	if points == 0 {
		return 0, nil
	}
	added, err := c.store.AddGrid(ctx, record.ID, submission, points)
	if err != nil {
		return 0, fmt.Errorf("extending sweep %s: %w", record.ID, err)
	}
	c.log.Info("sweep extended", "sweep", record.ID, "points", added.Points)
	c.facts.add(schedule.Changed{})
	return added.Points, nil
}

// keepText writes keep as a sweep file has it.
func keepText(keep map[string]int64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(keep)) {
		list = append(list, fmt.Sprintf("%s: %d", name, keep[name]))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// open checks a submission, in case its client has not.
func open(submission *sweep.Submission) (*sweep.Grid, error) {
	grid, err := policy.Check(submission)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckToken("pool", submission.Spec.Pool); err != nil {
		return nil, err
	}
	return grid, nil
}

// Pause keeps the waiting trials of an active sweep from starting. Running trials finish.
func (c *Coordinator) Pause(ctx context.Context, id string) error {
	return c.change(ctx, "pausing", id, func(ctx context.Context, record *sweep.SweepRecord) error {
		switch record.State {
		case sweep.SweepPaused:
			return nil
		case sweep.SweepActive, sweep.SweepWaiting:
		default:
			return fmt.Errorf("it is %s: only an active sweep can be paused", record.State)
		}
		return c.store.SetSweepState(ctx, record.ID, sweep.SweepPaused, "")
	}, func(record *sweep.SweepRecord) error {
		k := &brokerCommand{pool: record.Pool, done: make(chan error, 1)}
		if err := c.carryOutCommand(ctx, k, schedule.Paused{Command: k, Sweep: record.ID}); err != nil {
			return fmt.Errorf("it is paused, but its jobs were not withdrawn and may still start: %w", err)
		}
		return nil
	})
}

// Resume resumes a paused sweep.
func (c *Coordinator) Resume(ctx context.Context, id string) error {
	return c.change(ctx, "resuming", id, func(ctx context.Context, record *sweep.SweepRecord) error {
		switch record.State {
		case sweep.SweepActive, sweep.SweepWaiting:
			return nil
		case sweep.SweepPaused:
			return c.store.SetSweepState(ctx, record.ID, sweep.SweepActive, "")
		case sweep.SweepCancelled:
			return errors.New("it is cancelled; use \"sweep retry\" instead")
		default:
			return fmt.Errorf("it is %s: only a paused sweep can be resumed", record.State)
		}
	}, nil)
}

// Cancel ends a sweep: waiting trials never start, running ones are stopped. It returns how many trials
// were queued or running.
func (c *Coordinator) Cancel(ctx context.Context, id string) (stopped int64, err error) {
	var active []sweep.TrialID
	record, err := c.store.Sweep(ctx, id)
	if err == nil { // many transactions, during which others are dispatched
		active, err = c.store.CancelTrials(ctx, record.ID)
	}
	if err == nil {
		id = record.ID
		err = c.stop(ctx, record, active, nil)
	}
	if err != nil {
		return int64(len(active)), fmt.Errorf("cancelling sweep %s: %w", id, err)
	}
	c.log.Info("done: cancelling a sweep", "sweep", id)
	return int64(len(active)), nil
}

// Retry makes the failed and cancelled trials of a sweep pending again and returns their number.
func (c *Coordinator) Retry(ctx context.Context, id string) (trials int64, err error) {
	record, err := c.store.Sweep(ctx, id)
	if err == nil { // many transactions, during which others are dispatched
		trials, err = c.store.RetryTrials(ctx, record.ID)
		c.facts.add(schedule.Changed{})
	}
	if err != nil {
		return trials, fmt.Errorf("retrying sweep %s: %w", id, err)
	}
	c.log.Info("done: retrying a sweep", "sweep", record.ID)
	return trials, nil
}

// CancelNamed implements wire.Controller.
func (c *Coordinator) CancelNamed(ctx context.Context, id string, indices []int64) (trials int64, err error) {
	var active []sweep.TrialID
	err = c.change(ctx, "cancelling trials of", id, func(ctx context.Context, record *sweep.SweepRecord) error {
		trials, active, err = c.store.CancelSome(ctx, record.ID, indices)
		return err
	}, func(record *sweep.SweepRecord) error {
		if len(indices) == 0 { // to workers that would mean all
			return nil
		}
		// Stop all named trials: this may repeat a call that failed here.
		return c.stop(ctx, record, active, indices)
	})
	return trials, err
}

// stop removes the jobs of cancelled trials, all of a sweep's if indices is empty, and tells workers to
// stop those that run. active are the trials that had not ended.
func (c *Coordinator) stop(ctx context.Context, record *sweep.SweepRecord, active []sweep.TrialID,
	indices []int64) error {
	c.waiters.notify(func(id string) bool { return id == record.ID })
	k := &brokerCommand{pool: record.Pool, done: make(chan error, 1)}
	err := c.carryOutCommand(ctx, k, schedule.Cancelled{Command: k, Pool: record.Pool, Sweep: record.ID, Active: active,
		Indices: indices})
	if err != nil {
		return fmt.Errorf("cancelled, but its jobs were not withdrawn; cancel again: %w", err)
	}
	return nil
}

// RetryNamed implements wire.Controller.
func (c *Coordinator) RetryNamed(ctx context.Context, id string, indices []int64) (trials int64, err error) {
	err = c.change(ctx, "retrying trials of", id, func(ctx context.Context, record *sweep.SweepRecord) error {
		trials, err = c.store.RetrySome(ctx, record.ID, indices)
		return err
	}, nil)
	return trials, err
}

// SetPriority changes a sweep's priority, also for its waiting jobs.
func (c *Coordinator) SetPriority(ctx context.Context, id string, priority int) error {
	return c.change(ctx, "changing the priority of", id, func(ctx context.Context, record *sweep.SweepRecord) error {
		return c.store.SetSweepPriority(ctx, record.ID, priority)
	}, nil)
}

// Rename gives a sweep another name, by which it is found from then on.
func (c *Coordinator) Rename(ctx context.Context, id, name string) error {
	return c.change(ctx, "renaming", id, func(ctx context.Context, record *sweep.SweepRecord) error {
		if err := sweep.CheckName("name of the sweep", name); err != nil {
			return err
		}
		if name == "latest" || strings.TrimSpace(name) != name {
			return fmt.Errorf("name %q: a sweep cannot be called \"latest\", or have a space at either end", name)
		}
		return c.store.RenameSweep(ctx, record.ID, name)
	}, nil)
}

// SetBudget changes what a sweep, and those that share its budget, may use.
func (c *Coordinator) SetBudget(ctx context.Context, id string, budget sweep.Budget) error {
	return c.change(ctx, "changing the budget of", id, func(ctx context.Context, record *sweep.SweepRecord) error {
		return c.store.SetSweepBudget(ctx, record.ID, budget)
	}, nil)
}

// Annotate changes the notes or tags of a sweep or trial.
func (c *Coordinator) Annotate(ctx context.Context, id string, edit sweep.Edit) error {
	record, err := c.store.Sweep(ctx, id)
	if err != nil {
		return fmt.Errorf("annotate sweep %s: %w", id, err)
	}
	if err := c.store.SetAnnotation(ctx, record.ID, edit); err != nil {
		return err // it names the sweep
	}
	c.log.Info("done: annotating a sweep", "sweep", record.ID, "by", edit.By)
	return nil
}

// Delete removes a sweep that does not run, with its trials, results and artifacts.
func (c *Coordinator) Delete(ctx context.Context, id string) (removed sweep.Removed, err error) {
	record, err := c.store.Sweep(ctx, id)
	if err == nil {
		removed, err = c.store.DeleteSweep(ctx, record.ID)
		c.facts.add(schedule.Changed{})
		c.forgetArtifacts(ctx, removed.Deleted)
	}
	if err != nil {
		return removed, fmt.Errorf("deleting sweep %s: %w", id, err)
	}
	c.log.Info("sweep deleted", "sweep", record.ID, "trials", removed.Trials)
	return removed, nil
}

// Prune removes data of ended sweeps that the retention does not keep.
func (c *Coordinator) Prune(ctx context.Context, keep sweep.Retention) (sweep.Removed, error) {
	removed, err := c.store.PruneSweeps(ctx, keep)
	c.facts.add(schedule.Changed{})
	c.forgetArtifacts(ctx, removed.Deleted)
	if err != nil {
		return removed, fmt.Errorf("pruning: %w", err)
	}
	c.log.Info("pruned", "sweeps", removed.Sweeps, "events", removed.Events, "curves", removed.Curves)
	return removed, nil
}

// change calls do between two steps of the schedule, to change a sweep in the database, and after that
// then, which may be nil.
func (c *Coordinator) change(ctx context.Context, doing, id string,
	do func(context.Context, *sweep.SweepRecord) error, then func(*sweep.SweepRecord) error) error {
	if err := c.started(ctx); err != nil {
		return fmt.Errorf("%s sweep %s: %w", doing, id, err)
	}
	var record *sweep.SweepRecord
	err := c.between(ctx, func() (err error) {
		work := ctx
		if c.wire != nil { // a client that goes away leaves no change half done
			var cancel func()
			work, cancel = context.WithCancel(context.WithoutCancel(ctx))
			defer cancel()
			defer context.AfterFunc(c.changes, cancel)()
		}
		if record, err = c.store.Sweep(work, id); err != nil {
			return err
		}
		id = record.ID
		defer c.facts.add(schedule.Changed{}) // also after an error: do may have done a part
		return do(work, record)
	})
	if err == nil && then != nil {
		err = then(record)
	}
	if err != nil {
		return fmt.Errorf("%s sweep %s: %w", doing, id, err)
	}
	c.log.Info("done: "+doing+" a sweep", "sweep", id)
	return nil
}
