package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

// sweepCommand is a command that changes one sweep.
func sweepCommand(s *settings, use, short, long, example string, do func(cmd *cobra.Command, t target, id string,
	args []string) error) *cobra.Command {
	arguments := 1
	if use == "priority" {
		arguments = 2
		use += " SWEEP NUMBER"
	} else {
		use += " SWEEP"
	}
	return &cobra.Command{
		Use:     use,
		Short:   short,
		GroupID: "cluster",
		Long: long + `

SWEEP is an id, the beginning of one, a name, or "latest".

Exit codes: 0 done, 1 it cannot be done, 4 no such sweep.`,
		Example: example,
		Args:    cobra.ExactArgs(arguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.onTarget(cmd, func(t target) error {
				record, err := t.Sweep(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return do(cmd, t, record.ID, args[1:])
			})
		},
	}
}

func newPause(s *settings) *cobra.Command {
	return sweepCommand(s, "pause", "Keep a sweep's waiting trials from starting",
		"Keep a sweep's waiting trials from starting; those that run go on to their results.",
		"  sweep pause latest",
		func(cmd *cobra.Command, t target, id string, _ []string) error {
			if err := t.Pause(cmd.Context(), id); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s is paused\n", id)
			return nil
		})
}

func newResume(s *settings) *cobra.Command {
	return sweepCommand(s, "resume", "Let a paused sweep go on", "Let a paused sweep go on.", "  sweep resume latest",
		func(cmd *cobra.Command, t target, id string, _ []string) error {
			if err := t.Resume(cmd.Context(), id); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s is active\n", id)
			s.laterHint(cmd, "sweep "+id)
			return nil
		})
}

func newCancel(s *settings) *cobra.Command {
	return sweepCommand(s, "cancel", "End a sweep: what waits never starts, what runs is stopped",
		"End a sweep: what waits never starts, what runs is stopped. \"sweep retry\" takes it up again.",
		"  sweep cancel latest",
		func(cmd *cobra.Command, t target, id string, _ []string) error {
			stopped, err := t.Cancel(cmd.Context(), id)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s is cancelled: %d trials were queued or running\n", id, stopped)
			return nil
		})
}

func newRetry(s *settings) *cobra.Command {
	return sweepCommand(s, "retry", "Train a sweep's failed and cancelled trials again",
		"Put exactly those trials of a sweep back that failed or were cancelled.",
		"  sweep retry latest",
		func(cmd *cobra.Command, t target, id string, _ []string) error {
			trials, err := t.Retry(cmd.Context(), id)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s: %d to train again\n", id, trials)
			if trials > 0 {
				s.laterHint(cmd, "sweep "+id)
			}
			return nil
		})
}

func newPriority(s *settings) *cobra.Command {
	return sweepCommand(s, "priority", "Change a sweep's priority, also over what waits already",
		"Change a sweep's priority. Trials of a sweep with a larger number start before all others.",
		"  sweep priority latest 10",
		func(cmd *cobra.Command, t target, id string, args []string) error {
			priority, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError("priority %q: expected a whole number", args[0])
			}
			if err := t.SetPriority(cmd.Context(), id, priority); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s has priority %d\n", id, priority)
			return nil
		})
}
