package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

func newDelete(s *settings) *cobra.Command {
	return sweepCommand(s, "delete", "Remove a sweep with its trials and curves",
		`Remove a sweep that does not run: its trials, results, curves and what else belongs
to them. Results that trials of other sweeps took over stay theirs, with their
curves. Workers drop its checkpoints at their next word with the coordinator. One
that runs is refused: cancel it first. Others work on meanwhile; a removal that was
cut short goes on when it is asked for again by the sweep's id, or by "sweep prune".`,
		"  sweep delete 20260301-120000-x7k2\n  sweep cancel latest && sweep delete latest",
		func(cmd *cobra.Command, t target, id string, _ []string) error {
			removed, err := t.Delete(cmd.Context(), id)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s is removed: %d trials\n", id, removed.Trials)
			return nil
		})
}

func newPrune(s *settings) *cobra.Command {
	var older, curves, sweeps string
	cmd := &cobra.Command{
		Use:     "prune --older AGE",
		Short:   "Remove what ended sweeps need not keep: records of executions, curves, whole sweeps",
		GroupID: "cluster",
		Long: `Remove what sweeps that ended long ago need not keep. An AGE is a number of days or
weeks, as in 30d and 8w, or a duration as in 12h; a sweep's age counts from its end.

--older removes events: what was recorded of executions and refusals, and what came
into quarantine. --curves removes curves, which are kept longer than events; those
that trials of other sweeps took over stay. --sweeps removes whole sweeps, as
"sweep delete" does. Results go with their sweep alone. Sweeps that run, wait or are
paused keep everything.

Exit codes: 0 done, 1 it cannot be done, 2 bad flags.`,
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
				return usageError("say what is to be removed: --older 30d removes events of sweeps that ended 30 " +
					"days ago")
			case !keep.Curves.IsZero() && keep.Curves.After(keep.Events) && !keep.Events.IsZero():
				return usageError("--curves %s: curves are kept longer than events, which --older %s removes",
					curves, older)
			}
			return s.onTarget(cmd, func(t target) error {
				removed, err := t.Prune(cmd.Context(), keep)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "removed: %d records of executions, refusals and events, %d curves, "+
					"%d sweeps with %d trials\n",
					removed.Events, removed.Curves, removed.Sweeps, removed.Trials)
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&older, "older", "", "remove the events of sweeps that ended longer ago")
	f.StringVar(&curves, "curves", "", "remove the curves of sweeps that ended longer ago")
	f.StringVar(&sweeps, "sweeps", "", "remove sweeps that ended longer ago, whole")
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
