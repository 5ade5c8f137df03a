package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

func newSubmit(s *settings) *cobra.Command {
	var reuse, watch bool
	cmd := &cobra.Command{
		Use:     "submit FILE",
		Short:   "Hand a sweep file to a cluster",
		GroupID: "cluster",
		Long: `Check a sweep file against its trainer and the data here, and hand it to the
coordinator of a cluster. It answers with the sweep's id as soon as it has stored
the file, however many trials it has. Workers whose data differ from those here
refuse its trials.

Exit codes: 0 done, 1 no coordinator answers, 2 the file is refused, 3 with
--watch: some trials failed, 4 no such file or trainer.`,
		Example: "  sweep submit examples/ucr.yaml\n  sweep submit examples/cbf.yaml --watch --nats nats://head:4222",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.server() == "" {
				return usageError("submit needs a cluster: say where its NATS servers are by --nats, SWEEP_NATS or the settings file; \"sweep run %s\" trains here", args[0])
			}
			submission, err := s.submission(cmd, args[0], reuse)
			if err != nil {
				return err
			}
			return s.onTarget(cmd, func(t target) error {
				id, points, err := t.Submit(cmd.Context(), submission)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d trials\n", submission.Spec.Name, points)
				fmt.Fprintln(cmd.OutOrStdout(), id)
				if watch {
					return watchSweep(cmd, t, id)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&reuse, "reuse", true, "take over results of equal trainer, data and parameters from earlier sweeps")
	cmd.Flags().BoolVar(&watch, "watch", false, "show the sweep until it ends")
	return cmd
}

// submission checks a sweep file and returns what a coordinator needs of it.
func (s *settings) submission(cmd *cobra.Command, path string, reuse bool) (*sweep.Submission, error) {
	log, err := s.logger(cmd)
	if err != nil {
		return nil, err
	}
	launcher, err := s.newLauncher(log)
	if err != nil {
		return nil, err
	}
	p, err := s.readPlan(cmd.Context(), path, launcher)
	if err != nil {
		return nil, err
	}
	for _, note := range p.notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	p.submission.Reuse = reuse
	return p.submission, nil
}

func newExtend(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "extend SWEEP FILE",
		Short:   "Add the points of a sweep file to a running or finished sweep",
		GroupID: "cluster",
		Long: `Add the points of a sweep file to a running or finished sweep of a cluster. Points
that it has a result for are taken over and not trained again.

Exit codes: 0 done, 1 it cannot be done, 2 the file is refused, 4 no such sweep,
file or trainer.`,
		Example: "  sweep extend latest examples/more.yaml",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.server() == "" {
				return usageError("extend needs a cluster; here, put the new values into the sweep file and \"sweep run\" it: what is trained already is taken over")
			}
			submission, err := s.submission(cmd, args[1], true)
			if err != nil {
				return err
			}
			return s.onTarget(cmd, func(t target) error {
				record, err := t.Sweep(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				points, err := t.Extend(cmd.Context(), record.ID, submission)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "sweep %s has %d trials more, less those that it has results for\n", record.ID, points)
				return nil
			})
		},
	}
}
