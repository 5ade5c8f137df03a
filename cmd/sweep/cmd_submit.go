package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/wire"
)

func newSubmit(s *settings) *cobra.Command {
	var reuse, watch, requireWorkers bool
	var key, mode string
	var options planOptions
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: wire.Purpose("submit"),
		Long: `The file is checked here against its trainer and the local data. The coordinator
returns the sweep's id as soon as it has stored the file, however many trials it has.
Workers whose data differ from the local data refuse its trials.

If no worker offers what the trials need (trainer and version, memory, labels), the
command reports it; the sweep waits and starts when such a worker appears. With
--require-workers this is an error.

The program of a file with the key program is not sent. Workers that run such sweeps
need it in one of their --script-dir directories. They refuse trials if the program, or
a file that the sweep file names, differs from the local one.

Sending the same request again never submits twice. --key NAME extends this to
repeated commands, such as a script that does not know how its last run ended.

` + progressHelp + ` It requires --watch.

Exit codes: 0 done, 1 no coordinator answers, or no worker can run it and
--require-workers is set, 2 the file is invalid, 3 with --watch: some trials failed,
4 no such file or trainer, 5 with --watch: artifacts of completed trials were lost,
6 with --watch: paused because trials fail, 7 with --watch: no trial logged the sweep's
metric.`,
		Example: "  sweep submit examples/noop.yaml\n  sweep submit examples/cbf.yaml --watch --nats nats://head:4222",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.server() == "" {
				return usageError("submit needs a cluster: set its NATS servers with --nats, SWEEP_NATS or the "+
					"settings file; to train on this machine, use \"sweep run %s\"", args[0])
			}
			if cmd.Flags().Changed("progress") && !watch {
				return usageError("--progress %s requires --watch", mode)
			}
			p, err := s.prepare(cmd, args[0], options, reuse)
			if err != nil {
				return err
			}
			return with(cmd, s.openTarget, func(t target) error {
				p.submission.Key = key
				if err := p.warnInputs(cmd, t); err != nil {
					return err
				}
				done, err := t.Submit(cmd.Context(), p.submission, requireWorkers)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", p.submission.Spec.Name,
					sweep.CountText(done.Points, "trial"))
				if done.Waiting != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), "waiting:", done.Waiting)
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
		"reuse results of earlier sweeps with the same trainer, data and parameters")
	cmd.Flags().BoolVar(&watch, "watch", false, "show the sweep until it ends")
	cmd.Flags().BoolVar(&requireWorkers, "require-workers", false, "fail if no worker can run the sweep now")
	cmd.Flags().StringVar(&key, "key", "", "name of this submission; submitting the same name again only prints the "+
		"existing sweep")
	addProgressFlag(cmd, &mode)
	options.addFlags(cmd.Flags())
	return cmd
}

func newExtend(s *settings) *cobra.Command {
	var options planOptions
	cmd := &cobra.Command{
		Use:   "extend SWEEP FILE",
		Short: wire.Purpose("extend"),
		Long: `Grid points that the sweep already has are left out: it is a set of points. If trials of
them failed, "sweep retry" runs these again. A program that has changed since the sweep
was submitted is rejected: submit the file as a sweep of its own.

Exit codes: 0 done, 1 not possible, 2 the file is invalid, 4 no such sweep, file or
trainer.`,
		Example: "  sweep extend latest examples/more.yaml\n  sweep extend cbf examples/cbf.yaml",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.server() == "" {
				return usageError("extend needs a cluster; on this machine, add the new values to the sweep file and " +
					"\"sweep run\" it again: existing results are reused")
			}
			p, err := s.prepare(cmd, args[1], options, true)
			if err != nil {
				return err
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				if err := p.warnInputs(cmd, t); err != nil {
					return err
				}
				points, err := t.Extend(cmd.Context(), record.ID, p.submission)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "sweep %s: added %s that it did not have\n", record.ID,
					sweep.CountText(points, "trial"))
				return nil
			})
		},
	}
	options.addFlags(cmd.Flags())
	return cmd
}
