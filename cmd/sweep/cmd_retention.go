package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/wire"
)

func newDelete(s *settings) *cobra.Command {
	return sweepCommand(s, "delete SWEEP",
		`If another sweep reuses a result, the result and its curves are kept and move to that
sweep. A sweep that is running is rejected: cancel it first. The command waits for the
trials of a cancelled sweep to stop. Workers delete its checkpoints the next time they
contact the coordinator. Other sweeps continue meanwhile. To finish an interrupted
deletion, repeat the command with the sweep's id, or run "sweep prune".`,
		"  sweep delete 20260301-120000-x7k2\n  sweep cancel latest && sweep delete latest",
		func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
			removed, err := deleteSweep(cmd.Context(), t, id)
			return " is deleted: " + sweep.CountText(removed.Trials, "trial"), err
		})
}

// deleteSweep deletes a sweep, once the trials of one that was cancelled have stopped.
func deleteSweep(ctx context.Context, t target, id string) (sweep.Removed, error) {
	const every = 200 * time.Millisecond
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		removed, err := t.Delete(ctx, id)
		if !errors.Is(err, sweep.ErrRunning) {
			return removed, err
		}
		if record, unread := t.Sweep(ctx, id); unread != nil || record.State != sweep.SweepCancelled {
			return removed, err
		}
		select {
		case <-ctx.Done():
			return removed, err
		case <-again.C:
		}
	}
}

func newPrune(s *settings) *cobra.Command {
	var older, curves, sweeps string
	cmd := &cobra.Command{
		Use:   "prune --older AGE",
		Short: wire.Purpose("prune"),
		Long: `An AGE is a number of days or weeks (30d, 8w) or a duration (12h), counted from the
end of a sweep.

--older removes the records of executions and refusals, and quarantined events.
--curves removes curves; their AGE must not be smaller than that of --older. Curves of
results that another sweep reuses are kept; results without their curves are not reused
any more. --sweeps removes whole sweeps, as "sweep delete" does; results are removed
only in this way. Sweeps that are running, waiting or paused keep everything.

Exit codes: 0 done, 1 not possible, 2 invalid flags.`,
		Example: "  sweep prune --older 30d\n  sweep prune --older 30d --curves 52w",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			var keep sweep.Retention
			for _, flag := range []struct {
				name, text string
				before     *time.Time
			}{{"older", older, &keep.Events}, {"curves", curves, &keep.Curves}, {"sweeps", sweeps, &keep.Sweeps}} {
				if !cmd.Flags().Changed(flag.name) {
					continue
				}
				age, err := parseAge(flag.text)
				if err != nil {
					return usageError("--%s %s: %v", flag.name, flag.text, err)
				}
				*flag.before = now.Add(-age)
			}
			switch {
			case keep == (sweep.Retention{}):
				return usageError("nothing to remove is named: --older 30d removes the events of sweeps that ended " +
					"more than 30 days ago")
			case !keep.Curves.IsZero() && keep.Curves.After(keep.Events) && !keep.Events.IsZero():
				return usageError("--curves %s: curves must be kept at least as long as events (--older %s)",
					curves, older)
			}
			return with(cmd, s.openTarget, func(t target) error {
				removed, err := t.Prune(cmd.Context(), keep)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "removed: %s of executions, refusals and events, %s, %s with %s\n",
					sweep.CountText(removed.Events, "record"), sweep.CountText(removed.Curves, "curve"),
					sweep.CountText(removed.Sweeps, "sweep"), sweep.CountText(removed.Trials, "trial"))
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&older, "older", "", "remove the events of sweeps that ended longer ago than this")
	f.StringVar(&curves, "curves", "", "remove the curves of sweeps that ended longer ago than this")
	f.StringVar(&sweeps, "sweeps", "", "remove sweeps that ended longer ago than this")
	return cmd
}

// parseAge reads a number of days (30d) or weeks (8w), or a duration.
func parseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	for suffix, unit := range map[byte]time.Duration{'d': day, 'w': 7 * day} {
		if text == "" || text[len(text)-1] != suffix {
			continue
		}
		n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
		if err != nil || n > uint64(math.MaxInt64/unit) {
			return 0, fmt.Errorf("expected a number of days or weeks, as in 30d or 8w")
		}
		return time.Duration(n) * unit, nil
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, fmt.Errorf("expected an age, as in 30d, 8w or 12h")
	}
	return age, nil
}
