package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// sweepCommand is the command of an operation on one sweep; do returns what is printed behind the sweep's id.
func sweepCommand(s *settings, use, long, example string, do func(cmd *cobra.Command, t target, id string,
	args []string) (done string, err error)) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use:   use,
		Short: wire.Purpose(name),
		Long: long + `

SWEEP is an id, the beginning of one, a name, or "latest".

Exit codes: 0 done, 1 not possible, 4 no such sweep.`,
		Example: example,
		Args:    cobra.ExactArgs(strings.Count(use, " ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				done, err := do(cmd, t, record.ID, args[1:])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "sweep %s%s\n", record.ID, done)
				return err
			})
		},
	}
}

// changeCommands are the commands of operations that change one sweep.
func changeCommands(s *settings) []*cobra.Command {
	return []*cobra.Command{
		sweepCommand(s, "pause SWEEP", `Running trials continue to their results; "sweep resume" starts the others.`,
			"  sweep pause latest\n  sweep pause ucr",
			func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
				return " is paused", t.Pause(cmd.Context(), id)
			}),
		sweepCommand(s, "resume SWEEP", "", "  sweep resume latest\n  sweep resume ucr",
			func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
				err := t.Resume(cmd.Context(), id)
				if err == nil {
					s.laterHint(cmd, id)
				}
				return " is active", err
			}),
		sweepCommand(s, "cancel SWEEP", `Results are kept; "sweep retry" runs cancelled trials again.`,
			"  sweep cancel latest\n  sweep cancel ucr",
			func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
				stopped, err := t.Cancel(cmd.Context(), id)
				return fmt.Sprintf(" is cancelled, with %s queued or running", sweep.CountText(stopped, "trial")), err
			}),
		sweepCommand(s, "retry SWEEP",
			`Trials that completed keep their results. The program runs as it was submitted: if it
has changed since, nothing is retried. Submit the sweep file again to run the new one.
If another file that the program reads has changed, the trials run with the new one, and
the command prints a note.`,
			"  sweep retry latest\n  sweep retry ucr",
			func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
				trials, err := s.retry(cmd, t, id, nil)
				return ": retrying " + sweep.CountText(trials, "trial"), err
			}),
		sweepCommand(s, "budget SWEEP BUDGET",
			`BUDGET is a number of trials that may run to an end, a time that their executions may
take together, or both; "none" is no bound. It counts what the sweep has used of the
budget that it has. A sweep that was paused because its budget was used up goes on.
Sweeps that an agent submitted within one session share their budget.`,
			"  sweep budget latest \"200 trials\"\n  sweep budget ucr \"200 trials, 3h\"\n  sweep budget ucr none",
			func(cmd *cobra.Command, t target, id string, args []string) (string, error) {
				budget, err := sweep.ParseBudget(args[0])
				if err != nil {
					return "", &exitError{exitUsage, err}
				}
				if err = t.SetBudget(cmd.Context(), id, budget); err == nil {
					s.laterHint(cmd, id)
				}
				return fmt.Sprintf(" has a budget of %v", budget), err
			}),
		sweepCommand(s, "priority SWEEP NUMBER",
			"Trials of sweeps with a larger number start first, including those that already wait.",
			"  sweep priority latest 10\n  sweep priority ucr -1",
			func(cmd *cobra.Command, t target, id string, args []string) (string, error) {
				priority, err := strconv.Atoi(args[0])
				if err != nil {
					return "", usageError("priority %q: expected a whole number", args[0])
				}
				return fmt.Sprintf(" has priority %d", priority), t.SetPriority(cmd.Context(), id, priority)
			}),
		sweepCommand(s, "rename SWEEP NAME",
			`Lists, tables and SQL show the new name, and commands find the sweep by it. Its trials'
runs are called after the first name. If several sweeps have a name, it means the newest.`,
			"  sweep rename latest baseline\n  sweep rename baseline ucr",
			func(cmd *cobra.Command, t target, id string, args []string) (string, error) {
				return fmt.Sprintf(" is called %q", args[0]), t.Rename(cmd.Context(), id, args[0])
			}),
		newDelete(s), newPrune(s),
	}
}

// retry retries trials of a sweep, all if none are named, and prints which of their inputs have changed.
func (s *settings) retry(cmd *cobra.Command, t target, id string, indices []int64) (trials int64, err error) {
	changed := changedForRetry(cmd.Context(), t, id, indices)
	if len(indices) == 0 {
		trials, err = checkedTarget{t}.Retry(cmd.Context(), id)
	} else {
		trials, err = checkedTarget{t}.RetryNamed(cmd.Context(), id, indices)
	}
	if err == nil && trials > 0 {
		s.hintRetry(cmd, id, changed)
	}
	return trials, err
}

// checkedTarget retries no trials whose program has changed.
type checkedTarget struct{ target }

// Retry implements wire.Controller.
func (t checkedTarget) Retry(ctx context.Context, id string) (int64, error) {
	if err := programUnchanged(ctx, t, id); err != nil {
		return 0, err
	}
	return t.target.Retry(ctx, id)
}

// RetryNamed implements wire.Controller.
func (t checkedTarget) RetryNamed(ctx context.Context, id string, indices []int64) (int64, error) {
	if err := programUnchanged(ctx, t, id, indices...); err != nil {
		return 0, err
	}
	return t.target.RetryNamed(ctx, id, indices)
}
