package local

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

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
				changed, err := o.changed(ctx, record.ID)
				if err != nil {
					return "", err
				}
				if len(changed) == 0 {
					resume, stopped = record.ID, whole.Halted()
					continue
				}
				fmt.Fprintf(o.Out, "sweep %s is not resumed: its inputs changed since its trials ran (%s); starting "+
					"a new sweep\n", record.ID, strings.Join(changed, ", "))
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

// changed names some inputs of a sweep's completed trials that have changed since.
func (o *Options) changed(ctx context.Context, id string) (names []string, err error) {
	if o.Changed == nil {
		return nil, nil
	}
	const most = 5
	err = o.Store.Inputs(ctx, sweep.InputQuery{Sweep: id}, func(l *sweep.InputList) error {
		for _, name := range o.Changed(&l.Inputs) {
			if len(names) < most && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
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
