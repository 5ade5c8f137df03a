package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

// sweepCommand is a command that changes one sweep; do returns what is printed behind the sweep's id.
func sweepCommand(s *settings, use, short, long, example string, do func(cmd *cobra.Command, t target, id string,
	args []string) (done string, err error)) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
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

func newPause(s *settings) *cobra.Command {
	return sweepCommand(s, "pause SWEEP", "Pause a sweep: start no further trials",
		`Running trials continue to their results; "sweep resume" starts the others.`,
		"  sweep pause latest\n  sweep pause ucr",
		func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
			return " is paused", t.Pause(cmd.Context(), id)
		})
}

func newResume(s *settings) *cobra.Command {
	return sweepCommand(s, "resume SWEEP", "Resume a paused sweep", "", "  sweep resume latest\n  sweep resume ucr",
		func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
			err := t.Resume(cmd.Context(), id)
			if err == nil {
				s.laterHint(cmd, id)
			}
			return " is active", err
		})
}

func newCancel(s *settings) *cobra.Command {
	return sweepCommand(s, "cancel SWEEP", "Cancel a sweep: stop its running trials and start no others",
		`Results are kept; "sweep retry" runs cancelled trials again.`,
		"  sweep cancel latest\n  sweep cancel ucr",
		func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
			stopped, err := t.Cancel(cmd.Context(), id)
			return fmt.Sprintf(" is cancelled, with %s queued or running", sweep.CountText(stopped, "trial")), err
		})
}

func newRetry(s *settings) *cobra.Command {
	return sweepCommand(s, "retry SWEEP", "Retry a sweep's failed and cancelled trials",
		`Trials that completed keep their results. The program runs as it was submitted: if it
has changed since, nothing is retried. Submit the sweep file again to run the new one.
If another file that the program reads has changed, the trials run with the new one, and
the command prints a note.`,
		"  sweep retry latest\n  sweep retry ucr",
		func(cmd *cobra.Command, t target, id string, _ []string) (string, error) {
			if err := programUnchanged(cmd.Context(), t, id); err != nil {
				return "", err
			}
			changed := changedForRetry(cmd.Context(), t, id, nil)
			trials, err := t.Retry(cmd.Context(), id)
			if err == nil && trials > 0 {
				s.hintRetry(cmd, id, changed)
			}
			return ": retrying " + sweep.CountText(trials, "trial"), err
		})
}

func newBudget(s *settings) *cobra.Command {
	return sweepCommand(s, "budget SWEEP BUDGET", "Change what a sweep may use: trials, time, or both",
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
		})
}

func newPriority(s *settings) *cobra.Command {
	return sweepCommand(s, "priority SWEEP NUMBER", "Change a sweep's priority",
		"Trials of sweeps with a larger number start first, including those that already wait.",
		"  sweep priority latest 10\n  sweep priority ucr -1",
		func(cmd *cobra.Command, t target, id string, args []string) (string, error) {
			priority, err := strconv.Atoi(args[0])
			if err != nil {
				return "", usageError("priority %q: expected a whole number", args[0])
			}
			return fmt.Sprintf(" has priority %d", priority), t.SetPriority(cmd.Context(), id, priority)
		})
}
