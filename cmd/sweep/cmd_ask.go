package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

// askPause is the time between two looks at trials that have not ended.
const askPause = 200 * time.Millisecond

func newAsk(s *settings) *cobra.Command {
	var from, count int64
	cmd := &cobra.Command{
		Use:   "ask SWEEP",
		Short: "Wait for the results of a sweep's trials and print them as JSON lines",
		Long: `The results are printed in the order of the trials, each as soon as it and all before it
have ended. "value" is the metric by which the sweep compares its trials; a trial that
failed, was cancelled or diverged has none, one that was stopped early its last. With
"sweep tell" this is a search of your own, in any language: ask for results, let your
method choose the next points, tell them.

Exit codes: 0 done, 1 the sweep was cancelled, 2 the sweep has fewer trials, 4 no such
sweep, 6 the sweep is paused because its trials fail.`,
		Example: "  sweep ask latest\n  sweep ask tuning --from 16 -n 8",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from < 0 || count < 0 {
				return usageError("--from and --count are 0 or more")
			}
			return withSweep(cmd, s.openReader, args, func(results reader, record *sweep.SweepRecord) error {
				have := record.Points()
				if from > have || count > have-from {
					return usageError("sweep %s has %s, too few for --from %d --count %d: add points with "+
						"\"sweep tell\"", record.ID, sweep.CountText(have, "trial"), from, count)
				}
				until := have
				if count > 0 {
					until = from + count
				}
				return askResults(cmd, results, record, from, until)
			})
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "index of the first trial")
	cmd.Flags().Int64VarP(&count, "count", "n", 0, "number of trials (default: all that the sweep has)")
	return cmd
}

// askedTrial is a trial that has ended as a line of JSON.
type askedTrial struct {
	Index      int64              `json:"index"`
	State      sweep.State        `json:"state"`
	Value      *float64           `json:"value,omitempty"`
	Parameters json.RawMessage    `json:"parameters"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	Error      string             `json:"error,omitempty"`
}

// askResults prints the trials from one on, in order, and waits for those that have not ended.
func askResults(cmd *cobra.Command, results reader, record *sweep.SweepRecord, from, until int64) error {
	ctx, encoder := cmd.Context(), newEncoder(cmd.OutOrStdout())
	submission := &record.Grids[0].Submission
	by, said := submission.Spec.Select.Filled(&submission.Description).By, ""
	for from < until {
		next, err := printEnded(ctx, results, record.ID, by, from, until, encoder)
		if err != nil {
			return err
		}
		if next > from {
			from = next
			continue
		}
		now, err := results.Sweep(ctx, record.ID)
		if err != nil {
			return err
		}
		if now.Halted() {
			return &exitError{exitHalted, fmt.Errorf("sweep %s is paused: %s", now.ID, now.Reason)}
		}
		switch reason := fmt.Sprintf("sweep %s is %s", now.ID, now.State); {
		case now.State == sweep.SweepCancelled:
			return fmt.Errorf("%s: its trials from %d on have no results", reason, from)
		case now.State == sweep.SweepActive:
			said = ""
		case reason != said:
			fmt.Fprintln(cmd.ErrOrStderr(), reason)
			said = reason
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(askPause):
		}
	}
	return nil
}

// printEnded prints the trials from one on that have ended, up to the first that has not, and returns the index
// of that.
func printEnded(ctx context.Context, results reader, id, by string, from, until int64,
	encoder *json.Encoder) (int64, error) {
	query := sweep.TrialQuery{Sweeps: []string{id}, Limit: int(min(until-from, maxPoints))}
	if from > 0 {
		query.After = &sweep.TrialID{Sweep: id, Index: from - 1}
	}
	err := results.Trials(ctx, query, func(t *sweep.TrialRecord) error {
		if !t.State.Terminal() || t.Index != from {
			return errEnough
		}
		line := askedTrial{Index: t.Index, State: t.State}
		var err error
		if line.Parameters, err = t.Parameters.Canonical(); err != nil {
			return err
		}
		if r := t.Result; r != nil {
			line.Metrics, line.Error = r.Summary, r.Error
			ended := t.State == sweep.Completed || t.State == sweep.Stopped
			if value, ok := r.Summary[by]; ok && ended && !r.Diverged {
				line.Value = &value
			}
		}
		from++
		return encoder.Encode(line)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return from, err
}
