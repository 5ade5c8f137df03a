package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/screen"
	"sweep/sweep/wire"
)

// watchInterval is how often a watched sweep's state is looked at.
const watchInterval = 500 * time.Millisecond

func newWatch(s *settings) *cobra.Command {
	var mode string
	cmd := &cobra.Command{
		Use:   "watch [SWEEP]",
		Short: "Watch sweeps, workers, trials, curves and logs on the full screen, or follow the progress of one",
		Long: `In a terminal, the view opens with the named or the newest sweep. The keys are listed
at the bottom; q quits.

Without a terminal, or with --progress, the command shows the sweep's progress until
it ends, and then its tables. Interrupting the command does not stop the sweep.

` + progressHelp + `

Exit codes: 0 all trials completed, 1 error, 3 some trials failed, 4 no such sweep,
5 artifacts of completed trials were lost, 6 paused because trials fail, 7 no trial logged
the sweep's metric, 130 interrupted.`,
		Example: "  sweep watch\n  sweep watch ucr --progress tty",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSweep(cmd, s.openReader, args, func(results reader, record *sweep.SweepRecord) error {
				if mode == progressAuto && isTerminal(cmd.OutOrStdout()) && isTerminal(cmd.InOrStdin()) {
					return watchScreen(cmd, s, results, record.ID)
				}
				return watchSweep(cmd, results, record.ID, mode)
			})
		},
	}
	addProgressFlag(cmd, &mode)
	return cmd
}

// watchScreen shows everything on the whole screen.
func watchScreen(cmd *cobra.Command, s *settings, results reader, id string) error {
	options := screen.Options{Store: results, Sweep: id, Input: cmd.InOrStdin(), Output: unchanged(cmd.OutOrStdout())}
	if r, ok := results.(*remote); ok {
		options.Workers = func(ctx context.Context) ([]screen.Worker, error) { return screenWorkers(ctx, r) }
	}
	options.Log = func(ctx context.Context, id sweep.TrialID) (string, error) {
		var out, notes bytes.Buffer
		l, err := s.logsOf(results, id, &out, &notes)
		if err == nil {
			err = l.one(ctx, "")
		}
		return notes.String() + out.String(), err
	}
	return screen.Run(cmd.Context(), options)
}

// screenWorkers are the workers of a cluster as the screen lists them.
func screenWorkers(ctx context.Context, r *remote) ([]screen.Worker, error) {
	workers, err := r.Workers(ctx)
	if err != nil {
		return nil, err
	}
	var list []screen.Worker
	for _, w := range workers {
		line := screen.Worker{Name: w.Name, State: string(w.State), Pool: w.Pool, Slots: len(w.Slots),
			Refused: len(w.Refusals), Reason: w.Reason}
		for _, slot := range w.Slots {
			if slot.Trial != nil {
				line.Runs = append(line.Runs, *slot.Trial)
			}
		}
		list = append(list, line)
	}
	return list, nil
}

// watchSweep shows a sweep until it ends. It waits for a coordinator that does not answer.
func watchSweep(cmd *cobra.Command, results sweep.Reader, id, mode string) error {
	record, err := results.Sweep(cmd.Context(), id)
	if err != nil {
		return err
	}
	console := newConsole(cmd.ErrOrStderr())
	console.asJSON = mode == progressJSON
	cmd.SetErr(console) // other output appears above the progress
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	var shown sync.WaitGroup
	shown.Go(func() { newProgressView(results, record, console, mode).watch(ctx) })
	defer shown.Wait()
	defer cancel()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	told, reason := "", ""
	for record.State == sweep.SweepActive || record.State == sweep.SweepWaiting ||
		record.State == sweep.SweepPaused && !record.Halted() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := results.Sweep(ctx, id)
		var away *wire.UnreachableError
		switch {
		case err == nil:
			record = now
			if problem := wire.ProblemOf(results); problem != told {
				told = problem
				tell(cmd, problem)
			}
			if record.Reason != reason && !record.Halted() {
				if reason = record.Reason; reason != "" {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", record.State, reason)
				}
			}
		case ctx.Err() != nil || !errors.As(err, &away):
			return err
		}
	}
	cancel()
	shown.Wait()
	return conclude(cmd, results, record, nil, nil)
}
