package main

import (
	"context"
	"fmt"
	"io"
	"os"
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
		Use:     "table ucr|mnist [SWEEP...]",
		Short:   "Print the papers' tables from the results, beside the published figures",
		GroupID: "ask",
		Long: `Print a table of the papers from the results of sweeps (the newest that has any if
none is named), beside the published figures: ucr is Table 4 of Zhang, Lei and
Dhillon (2018), mnist its Table 2.

Two selections, both by validation alone: "mean" (mean ± standard deviation over
replicates at the grid point with the smallest validation loss averaged over its
replicates) and "single" (the one trial with the smallest validation loss).

Exit codes: 0 done, 2 an unknown table, selection or format, 4 no results.`,
		Example: `  sweep table ucr
  sweep table ucr --select single --format markdown
  sweep table mnist latest --format latex`,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: []string{"ucr", "mnist"},
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := report.ParseSelection(options.selection)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			if args[0] != "ucr" && args[0] != "mnist" {
				return usageError("no table %q: expected ucr or mnist", args[0])
			}
			if !slices.Contains(report.Formats, options.format) {
				return usageError("--format %s: expected one of %s", options.format, strings.Join(report.Formats, ", "))
			}
			results, err := s.openReader(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = results.Close() }()
			table, err := buildTable(cmd.Context(), results, args[0], args[1:], options.all, by)
			if err != nil {
				return err
			}
			return table.Write(cmd.OutOrStdout(), options.format, isTerminal(cmd.OutOrStdout()))
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.selection, "select", string(report.Mean), "mean or single")
	f.StringVar(&options.format, "format", "text", strings.Join(report.Formats, ", "))
	f.BoolVar(&options.all, "all", false, "take the results of all sweeps together")
	return cmd
}

// buildTable gathers the sweeps' completed trials: the named ones, all, or the
// newest sweep that has a row for the table.
func buildTable(ctx context.Context, results sweep.Reader, kind string, references []string, all bool, by report.Selection) (*report.Table, error) {
	records, err := tableSweeps(ctx, results, references)
	if err != nil {
		return nil, err
	}
	collection := report.NewCollection()
	for _, record := range records {
		if len(references) == 0 && !all {
			collection = report.NewCollection()
		}
		err := results.Trials(ctx, sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}}, collection.Add)
		if err != nil {
			return nil, err
		}
		if len(references) == 0 && !all && hasRows(collection, kind) {
			break
		}
	}
	if !hasRows(collection, kind) {
		return nil, fmt.Errorf("%w: no completed trial belongs into the %s table", sweep.ErrNotFound, kind)
	}
	if kind == "mnist" {
		return collection.MNIST(by), nil
	}
	return collection.UCR(by), nil
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

func hasRows(c *report.Collection, kind string) bool {
	if kind == "mnist" {
		return c.HasMNIST()
	}
	return c.HasUCR()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
