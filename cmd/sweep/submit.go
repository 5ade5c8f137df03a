package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

func newSubmit(s *settings) *cobra.Command {
	var reuse, watch, requireWorkers bool
	var key, mode string
	var options planOptions
	cmd := &cobra.Command{
		Use:     "submit FILE",
		Short:   "Hand a sweep file to a cluster",
		GroupID: "cluster",
		Long: `Check a sweep file against its trainer and the data here, and hand it to the
coordinator of a cluster. It answers with the sweep's id as soon as it has stored
the file, however many trials it has. Workers whose data differ from those here
refuse its trials.

If no worker offers what the trials need (the trainer and its version, memory,
labels) it says so; the sweep waits then and starts by itself when such a worker
comes. --require-workers makes it an error instead.

The program of a file with program is not sent: workers that run such sweeps see
it themselves (--script-dir), and refuse trials whose program, or a file that the
sweep file names, differs from the one here.

A submission is made once, however often its request is sent: --key NAME does the
same for a command that is repeated, as by a script that does not know how its
last run ended.

` + progressHelp + ` It belongs to --watch.

Exit codes: 0 done, 1 no coordinator answers, or no worker could run it and
--require-workers was given, 2 the file is refused, 3 with --watch: some trials
failed, 4 no such file or trainer.`,
		Example: "  sweep submit examples/ucr.yaml\n  sweep submit examples/cbf.yaml --watch --nats nats://head:4222",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.server() == "" {
				return usageError("submit needs a cluster: say where its NATS servers are by --nats, SWEEP_NATS or "+
					"the settings file; \"sweep run %s\" trains here", args[0])
			}
			if err := checkProgress(mode); err != nil {
				return err
			}
			if cmd.Flags().Changed("progress") && !watch {
				return usageError("--progress %s: it belongs to --watch", mode)
			}
			submission, err := s.submission(cmd, args[0], options, reuse)
			if err != nil {
				return err
			}
			return s.onTarget(cmd, func(t target) error {
				submission.Key = key
				done, err := t.Submit(cmd.Context(), submission, requireWorkers)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d trials\n", submission.Spec.Name, done.Points)
				if done.Waiting != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), "it waits:", done.Waiting)
				}
				fmt.Fprintln(cmd.OutOrStdout(), done.Sweep)
				if watch {
					return watchSweep(cmd, t, done.Sweep, mode)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&reuse, "reuse", true,
		"take over results of equal trainer, data and parameters from earlier sweeps")
	cmd.Flags().BoolVar(&watch, "watch", false, "show the sweep until it ends")
	cmd.Flags().BoolVar(&requireWorkers, "require-workers", false, "submit nothing if no worker could run it now")
	cmd.Flags().StringVar(&key, "key", "", "name of this submission: the same name again submits nothing new, and "+
		"prints the sweep that there is")
	addProgressFlag(cmd, &mode)
	options.addFlags(cmd.Flags())
	return cmd
}

// submission checks a sweep file and returns what a coordinator needs of it.
func (s *settings) submission(cmd *cobra.Command, path string, options planOptions,
	reuse bool) (*sweep.Submission, error) {
	log := s.logger(cmd)
	launcher, err := s.newLauncher(log)
	if err != nil {
		return nil, err
	}
	p, err := s.readPlan(cmd.Context(), path, options, launcher)
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
	var options planOptions
	cmd := &cobra.Command{
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
				return usageError("extend needs a cluster; here, put the new values into the sweep file and \"sweep " +
					"run\" it: what is trained already is taken over")
			}
			submission, err := s.submission(cmd, args[1], options, true)
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
				fmt.Fprintf(cmd.OutOrStdout(), "sweep %s has %d trials more, less those that it has results for\n",
					record.ID, points)
				return nil
			})
		},
	}
	options.addFlags(cmd.Flags())
	return cmd
}
