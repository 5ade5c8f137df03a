package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"sweep/sweep"
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

Exit codes: 0 done, 1 not possible, 4 no such sweep.`,
		Example: example,
		Args:    cobra.ExactArgs(arguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				return do(cmd, t, record.ID, args[1:])
			})
		},
	}
}

func newPause(s *settings) *cobra.Command {
	return sweepCommand(s, "pause", "Pause a sweep: start no further trials",
		"Pause a sweep: start no further trials. Running trials continue to their results; \"sweep resume\"\n"+
			"starts the others.",
		"  sweep pause latest\n  sweep pause ucr",
		func(cmd *cobra.Command, t target, id string, _ []string) error {
			if err := t.Pause(cmd.Context(), id); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s is paused\n", id)
			return nil
		})
}

func newResume(s *settings) *cobra.Command {
	return sweepCommand(s, "resume", "Resume a paused sweep", "Resume a paused sweep.",
		"  sweep resume latest\n  sweep resume ucr",
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
	return sweepCommand(s, "cancel", "Cancel a sweep: stop its running trials and start no others",
		"Cancel a sweep: stop its running trials and start no others. Results are kept; \"sweep retry\" runs\n"+
			"cancelled trials again.",
		"  sweep cancel latest\n  sweep cancel ucr",
		func(cmd *cobra.Command, t target, id string, _ []string) error {
			stopped, err := t.Cancel(cmd.Context(), id)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s is cancelled, with %s queued or running\n", id,
				sweep.CountText(stopped, "trial"))
			return nil
		})
}

func newRetry(s *settings) *cobra.Command {
	return sweepCommand(s, "retry", "Retry a sweep's failed and cancelled trials",
		"Retry a sweep's failed and cancelled trials. Trials that completed keep their results.",
		"  sweep retry latest\n  sweep retry ucr",
		func(cmd *cobra.Command, t target, id string, _ []string) error {
			trials, err := t.Retry(cmd.Context(), id)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sweep %s: retrying %s\n", id, sweep.CountText(trials, "trial"))
			if trials > 0 {
				s.laterHint(cmd, "sweep "+id)
			}
			return nil
		})
}

func newPriority(s *settings) *cobra.Command {
	return sweepCommand(s, "priority", "Change a sweep's priority",
		"Change a sweep's priority. Trials of sweeps with a larger number start first, including those that\n"+
			"already wait.",
		"  sweep priority latest 10\n  sweep priority ucr 0",
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
