package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sweep/sweep"
	"sweep/sweep/report"
)

type tableOptions struct {
	selection string
	format    string
	all       bool
}

func newTable(s *settings) *cobra.Command {
	var options tableOptions
	cmd := &cobra.Command{
		Use:     "table ucr|mnist|tasks [SWEEP...]",
		Short:   "Print the papers' tables from the results, beside the published figures",
		GroupID: "ask",
		Long: `Print a table of the papers from the results of sweeps (the newest that has any if
none is named), beside the published figures: ucr is Table 4 of Zhang, Lei and
Dhillon (2018), mnist its Table 2; tasks has the losses of tasks without an accuracy,
such as addition and copy, beside that of the best answer that needs no memory.

Who stands for a data set and model is chosen by what the sweep file's select says
(the smallest validation loss, if it says nothing):

  mean        mean ± standard deviation over replicates at the grid point that is best
              by the metric averaged over its replicates
  single      the one best trial
  ensemble    the replicates of the point of mean together: the class with the largest
              mean probability. The sweep file asks for "artifacts: [probabilities]"
  ensemble:3  likewise, of all replicates of the three best points

Exit codes: 0 done, 2 an unknown table, selection or format, 4 no results.`,
		Example: `  sweep table ucr
  sweep table ucr --select single --format markdown
  sweep table ucr --select ensemble:6
  sweep table mnist latest --format latex`,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: tableNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := report.ParseSelection(options.selection)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			kind := slices.IndexFunc(report.Kinds, func(k report.Kind) bool { return k.Name == args[0] })
			if kind < 0 {
				return usageError("no table %q: expected one of %s", args[0], strings.Join(tableNames(), ", "))
			}
			if by.Ensemble() > 0 && !report.Kinds[kind].Classes {
				return usageError("table %s has no classes to vote on: --select mean or single", args[0])
			}
			if !slices.Contains(report.Formats, options.format) {
				return usageError("--format %s: expected one of %s", options.format, strings.Join(report.Formats, ", "))
			}
			return s.onTarget(cmd, func(t target) error {
				table, err := buildTable(cmd.Context(), t, &report.Kinds[kind], args[1:], options.all, by)
				if err != nil {
					return err
				}
				return table.Write(cmd.OutOrStdout(), options.format, isTerminal(cmd.OutOrStdout()))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.selection, "select", string(report.Mean), "mean, single, ensemble or ensemble:K")
	f.StringVar(&options.format, "format", "text", strings.Join(report.Formats, ", "))
	f.BoolVar(&options.all, "all", false, "take the results of all sweeps together")
	return cmd
}

// buildTable gathers the sweeps' completed trials: the named ones, all, or the
// newest sweep that has a row for the table.
func buildTable(ctx context.Context, results target, kind *report.Kind, references []string, all bool, by report.Selection) (*report.Table, error) {
	records, err := tableSweeps(ctx, results, references)
	if err != nil {
		return nil, err
	}
	together := len(references) > 0 || all
	var collection *report.Collection
	var choice *sweep.Select
	for i := range records {
		record, err := results.Sweep(ctx, records[i].ID) // with its submission
		if err != nil {
			return nil, err
		}
		submission := &record.Grids[0].Submission
		if submission.Description.Parameter("dataset") == nil || submission.Description.Parameter("model") == nil {
			continue // nothing for a table
		}
		own := submission.Spec.Select.Filled(&submission.Description)
		switch {
		case collection == nil || !together:
			collection, choice = report.NewCollection(own), &own
		case !reflect.DeepEqual(own, *choice):
			return nil, usageError("sweep %s compares its trials by %v, another of this table by %v: print their tables apart", record.ID, own, *choice)
		}
		err = results.Trials(ctx, sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}}, collection.Add)
		if err != nil {
			return nil, err
		}
		if !together && kind.Has(collection) {
			break
		}
	}
	if collection == nil || !kind.Has(collection) {
		return nil, fmt.Errorf("%w: no completed trial belongs into the table %s", sweep.ErrNotFound, kind.Name)
	}
	if by.Ensemble() > 0 {
		err := collection.Vote(by, func(id sweep.TrialID) ([]byte, error) {
			var b bytes.Buffer
			_, err := results.Artifact(ctx, id, report.ProbabilitiesArtifact, 0, &b)
			return b.Bytes(), err
		})
		if err != nil {
			return nil, err
		}
	}
	return kind.Lay(collection, by), nil
}

func tableSweeps(ctx context.Context, results sweep.Reader, references []string) ([]sweep.SweepRecord, error) {
	if len(references) == 0 {
		return results.Sweeps(ctx)
	}
	var records []sweep.SweepRecord
	for _, reference := range references {
		record, err := results.Sweep(ctx, reference)
		if err != nil {
			return nil, err
		}
		records = append(records, *record)
	}
	return records, nil
}

func tableNames() (names []string) {
	for _, kind := range report.Kinds {
		names = append(names, kind.Name)
	}
	return names
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
