package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// errEnough ends a query whose further rows are not needed.
var errEnough = errors.New("enough rows")

// checkLogged returns an error if no trial of a program has logged the metric of its sweep.
func checkLogged(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord) error {
	if record.Trainer != sweep.ScriptTrainer {
		return nil
	}
	full, err := results.Sweep(ctx, record.ID)
	if err != nil {
		return err
	}
	metric, logged := full.Grids[0].Submission.Spec.Select.By, false
	if metric == "" {
		return nil
	}
	names := map[string]bool{}
	err = results.Trials(ctx, sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}},
		func(t *sweep.TrialRecord) error {
			_ = frame.Reported(names).Add(t) // it never fails
			if logged = names[metric]; logged {
				return errEnough
			}
			return nil
		})
	if logged || err != nil {
		if errors.Is(err, errEnough) {
			err = nil
		}
		return err
	}
	hint := "they log no number at all"
	if sorted := slices.Sorted(maps.Keys(names)); len(sorted) > 0 {
		hint = "they log " + strings.Join(sorted[:min(len(sorted), maxNames)], ", ")
		if near := sweep.Nearest(metric, sorted); near != "" {
			hint += fmt.Sprintf(" (did you mean %q?)", near)
		}
	}
	return &exitError{exitMetric, fmt.Errorf("the sweep's metric %s was never logged by any of its trials; %s. "+
		"Correct the metric in the sweep file, or log it in the program, and run the file again", metric, hint)}
}

// maxNames is how many metrics a message lists.
const maxNames = 20
