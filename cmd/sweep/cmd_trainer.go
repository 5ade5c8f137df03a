package main

import (
	"context"
	"log/slog"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/sweep"
	"sweep/worker/script"
	"sweep/worker/trainer"
	"sweep/worker/trainer/noop"
)

// builtinTrainers are the trainers that this program serves itself.
var builtinTrainers = map[string]func() (sweep.Trainer, error){
	model.Name: func() (sweep.Trainer, error) { return model.NewTrainer() },
	noop.Name:  func() (sweep.Trainer, error) { return noop.New(), nil },
}

func newTrainer(s *settings) *cobra.Command {
	return family("trainer", "Describe trainers: their parameters and metrics", "",
		"  sweep trainer describe\n  sweep trainer step --goals",
		newTrainerDescribe(s), newTrainerStep(), newTrainerServe())
}

// refusing is served if a trainer cannot be made: it answers with the reason.
type refusing struct {
	sweep.Trainer
	err error
}

func (r refusing) Describe(context.Context) (*sweep.Description, error) { return nil, r.err }

func newTrainerServe() *cobra.Command {
	var programs script.Options
	cmd := &cobra.Command{
		Use:    "serve NAME",
		Short:  "Serve a built-in trainer to the worker that started this process",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == sweep.ScriptTrainer {
				programs.Log = os.Stderr // before it is redirected
				trainer.Serve(script.New(programs))
				return nil
			}
			open, ok := builtinTrainers[args[0]]
			if !ok {
				return usageError("no built-in trainer %q", args[0])
			}
			// More threads than a trial trains on only wake each other.
			if os.Getenv("GOMAXPROCS") == "" {
				runtime.GOMAXPROCS(model.Threads())
			}
			served, err := open()
			if err != nil {
				served = refusing{err: err}
			}
			trainer.Serve(served)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&programs.Roots, "root", nil, "directory in which programs may be")
	f.StringVar(&programs.Checkpoints, "checkpoints", "", "directory of checkpoint folders")
	f.StringVar(&programs.Artifacts, "artifacts", "", "directory of artifacts")
	return cmd
}

func newTrainerDescribe(s *settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "describe [NAME]",
		Short: "List a trainer's parameters with types, defaults and ranges, and its metrics",
		Long: `NAME is a built-in trainer (builtin, noop, script) or an executable in --trainer-path.

Exit codes: 0 done, 1 the trainer does not start, 4 no such trainer.`,
		Example: "  sweep trainer describe\n  sweep trainer describe noop --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			description, err := s.describe(cmd.Context(), args)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd, description)
			}
			return writeDescription(cmd, description)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the complete description as JSON")
	return cmd
}

// describe returns the description of the trainer that is named, or of the built-in one.
func (s *settings) describe(ctx context.Context, args []string) (*sweep.Description, error) {
	name := sweep.DefaultTrainer
	if len(args) > 0 {
		name = args[0]
	}
	launcher, err := s.newLauncher(slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return launcher.Describe(ctx, name)
}
