package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// watchInterval is how often a watched sweep's state is looked at.
const watchInterval = 500 * time.Millisecond

func newWatch(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "watch [SWEEP]",
		Short:   "Show how a sweep advances until it ends",
		GroupID: "ask",
		Long: `Show how a sweep (the newest if none is named) advances until it ends, and then
its tables. Stopping to watch does not stop the sweep.

Exit codes: 0 all trials completed, 1 something went wrong, 3 some trials failed,
4 no such sweep, 130 interrupted.`,
		Example: "  sweep watch\n  sweep watch ucr",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			results, record, err := s.findSweep(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer func() { _ = results.Close() }() // it was only read
			return watchSweep(cmd, results, record.ID)
		},
	}
}

// watchSweep shows a sweep until it is over. A coordinator that is away for a
// while is waited for.
func watchSweep(cmd *cobra.Command, results sweep.Reader, id string) error {
	record, err := results.Sweep(cmd.Context(), id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	var shown sync.WaitGroup
	shown.Go(func() { newProgress(results, record, cmd.ErrOrStderr()).watch(ctx) })
	defer shown.Wait()
	defer cancel()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	told := ""
	for record.State == sweep.SweepActive || record.State == sweep.SweepPaused {
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
			if problem := problemOf(results); problem != told {
				told = problem
				tell(cmd, problem)
			}
		case ctx.Err() != nil || !errors.As(err, &away):
			return err
		}
	}
	cancel()
	shown.Wait()
	return conclude(cmd, results, record)
}
