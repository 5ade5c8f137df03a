package local

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"sweep/coordinator"
	"sweep/sweep"
)

// submit resumes the newest unfinished sweep of the same file, or starts a new one.
func (o *Options) submit(ctx context.Context, c *coordinator.Coordinator, submission *sweep.Submission,
	fresh bool) (string, error) {
	unfinished, err := o.Store.Sweeps(ctx, sweep.SweepActive, sweep.SweepWaiting, sweep.SweepPaused)
	if err != nil {
		return "", err
	}
	resume, stopped := "", false
	for i := range unfinished {
		record := &unfinished[i]
		if !fresh && resume == "" {
			whole, err := o.Store.Sweep(ctx, record.ID) // the list is without the submissions
			if err != nil {
				return "", err
			}
			if sameSweep(whole, submission) {
				resume, stopped = record.ID, whole.Halted()
				continue
			}
		}
		if record.State == sweep.SweepPaused {
			continue
		}
		// This process runs one sweep: others wait until their files are run again.
		if err := o.Store.SetSweepState(ctx, record.ID, sweep.SweepPaused, "another sweep was run; run this file "+
			"again to resume it"); err != nil {
			return "", err
		}
	}
	if resume == "" {
		done, err := c.Submit(ctx, submission, false)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(o.Out, "sweep %s: %s on %s\n", done.Sweep, sweep.CountText(done.Points, "trial"),
			sweep.CountText(o.Slots, "slot"))
		return done.Sweep, nil
	}
	retried := int64(0)
	if stopped { // its user has corrected the error
		if retried, err = o.Store.RetryTrials(ctx, resume); err != nil {
			return "", err
		}
	}
	if err := o.Store.SetSweepState(ctx, resume, sweep.SweepActive, ""); err != nil {
		return "", err
	}
	counts, err := o.Store.Progress(ctx, resume)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(o.Out, "resuming sweep %s: %d of %d trials are done\n", resume, counts.Done(), counts.Total())
	if retried > 0 {
		fmt.Fprintf(o.Out, "retrying %s that failed\n", sweep.CountText(retried, "trial"))
	}
	return resume, nil
}

// sameSweep reports whether a submission asks for exactly what a sweep does:
// same points, same trainer, same data.
func sameSweep(record *sweep.SweepRecord, now *sweep.Submission) bool {
	if len(record.Grids) != 1 {
		return false
	}
	old := &record.Grids[0].Submission
	return old.Source == now.Source && old.Description.Name == now.Description.Name &&
		old.Description.ResultVersion == now.Description.ResultVersion && maps.Equal(old.Datasets, now.Datasets) &&
		old.Spec.Cap == now.Spec.Cap && reflect.DeepEqual(old.Spec.Random, now.Spec.Random) &&
		reflect.DeepEqual(old.Spec.Policies, now.Spec.Policies)
}
