package local

import (
	"context"
	"fmt"

	"sweep/coordinator"
	"sweep/sweep"
)

// submit goes on with the newest unfinished sweep of the same file, or starts a
// new one.
func (o *Options) submit(ctx context.Context, c *coordinator.Coordinator, submission *sweep.Submission,
	fresh bool) (string, error) {
	unfinished, err := o.Store.Sweeps(ctx, sweep.SweepActive, sweep.SweepWaiting, sweep.SweepPaused)
	if err != nil {
		return "", err
	}
	resume := ""
	for i := range unfinished {
		record := &unfinished[i]
		same := false
		if !fresh && resume == "" {
			// The list is without the submissions.
			whole, err := o.Store.Sweep(ctx, record.ID)
			if err != nil {
				return "", err
			}
			if same, err = sameSweep(whole, submission); err != nil {
				return "", err
			}
		}
		if same {
			resume = record.ID
			continue
		}
		// This process runs one sweep: others wait until their files are run again.
		if record.State != sweep.SweepPaused {
			if err := o.Store.SetSweepState(ctx, record.ID, sweep.SweepPaused, "another sweep was run; run this file "+
				"again to resume it"); err != nil {
				return "", err
			}
		}
	}
	if resume != "" {
		if err := o.Store.SetSweepState(ctx, resume, sweep.SweepActive, ""); err != nil {
			return "", err
		}
		counts, err := o.Store.Progress(ctx, resume)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(o.Out, "resuming sweep %s: %d of %d trials are done\n", resume, counts.Done(), counts.Total())
		return resume, nil
	}
	done, err := c.Submit(ctx, submission, false)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(o.Out, "sweep %s: %s on %s\n", done.Sweep, sweep.CountText(done.Points, "trial"),
		sweep.CountText(o.Slots, "slot"))
	return done.Sweep, nil
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
			"source": s.Source, "trainer": s.Description.Name, "version": s.Description.ResultVersion,
			"datasets": datasets,
			"cap":      s.Spec.Cap, "random": s.Spec.Random != nil,
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
