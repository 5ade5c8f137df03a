package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/frame"
)

func newExport(s *settings) *cobra.Command {
	var format, output string
	var withCurves bool
	cmd := &cobra.Command{
		Use:   "export [SWEEP]",
		Short: "Write a sweep's trials as CSV or JSON lines, with parameters and summary metrics",
		Long: `Without SWEEP, the newest sweep is exported. JSON lines can include the curves.

Exit codes: 0 done, 1 the output cannot be written, 2 invalid flags, 4 no such sweep.`,
		Example: "  sweep export ucr --format csv > ucr.csv\n  sweep export latest --format jsonl --curves --output " +
			"trials.jsonl",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case format != "jsonl" && format != "csv":
				return usageError("--format %s: expected csv or jsonl", format)
			case format == "csv" && withCurves:
				return usageError("--curves requires --format jsonl; \"sweep curves\" writes the curves of a " +
					"trial as CSV")
			}
			return withSweep(cmd, s.openReader, args, func(results reader, record *sweep.SweepRecord) (err error) {
				out := dataOut(cmd)
				if output != "" {
					f, openErr := os.Create(output)
					if openErr != nil {
						return fmt.Errorf("export: %w", openErr)
					}
					defer func() {
						if closeErr := f.Close(); err == nil && closeErr != nil {
							err = fmt.Errorf("export: %w", closeErr)
						}
					}()
					out = f
				}
				query := sweep.TrialQuery{Sweeps: []string{record.ID}}
				if format == "jsonl" {
					return exportLines(cmd, results, query, withCurves, out)
				}
				return exportCSV(cmd, results, record, query, out)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "csv", "csv or jsonl")
	cmd.Flags().StringVar(&output, "output", "", "file to write (default: standard output)")
	cmd.Flags().BoolVar(&withCurves, "curves", false, "include the curves (jsonl only)")
	return cmd
}

// trialLine is a trial as a line of JSON.
type trialLine struct {
	plainTrial
	Curves []plainCurve `json:"curves,omitempty"`
}

func exportLines(cmd *cobra.Command, results sweep.Reader, query sweep.TrialQuery, withCurves bool,
	out io.Writer) error {
	encoder := newEncoder(out)
	return results.Trials(cmd.Context(), query, func(t *sweep.TrialRecord) error {
		line := trialLine{plainTrial: plainTrial{t, t.Result.Plain()}}
		if withCurves && t.Result != nil {
			curves, err := results.Curves(cmd.Context(), t.TrialID)
			if err != nil {
				return err
			}
			line.Curves = plainCurves(curves)
		}
		return encoder.Encode(line)
	})
}

// exportCSV writes a column a parameter and summary metric of the trainer's
// description, so that the header is known before the first trial. What programs
// report is looked up first.
func exportCSV(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord, query sweep.TrialQuery,
	out io.Writer) error {
	var parameters []string
	have := frame.Reported{}
	addParameter := func(name string) {
		if !slices.Contains(parameters, name) {
			parameters = append(parameters, name)
		}
	}
	open := false
	for _, g := range record.Grids {
		open = open || g.Submission.Description.Open
		for _, p := range g.Submission.Description.Parameters {
			addParameter(p.Name)
		}
	}
	if open {
		for p := range record.AxisParameters() {
			addParameter(p.Name)
		}
		if err := results.Trials(cmd.Context(), query, have.Add); err != nil {
			return err
		}
	}
	metrics := have.Sorted()
	for _, g := range record.Grids {
		for _, m := range g.Submission.Description.Metrics {
			if m.Summary && !slices.Contains(metrics, m.Name) {
				metrics = append(metrics, m.Name)
			}
		}
	}
	header := []string{"sweep", "index", "state", "diverged"}
	for _, name := range parameters {
		header = append(header, "parameter."+name)
	}
	for _, name := range metrics {
		header = append(header, "metric."+name)
	}
	header = append(header, "seconds", "kernel_level", "fingerprint", "started_at",
		"finished_at", "error", "run_name", "run_group", "notes", "tags")
	w := csv.NewWriter(out)
	if err := w.Write(header); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	err := results.Trials(cmd.Context(), query, func(t *sweep.TrialRecord) error {
		if err := fillNotFinite(cmd.Context(), results, t); err != nil {
			return err
		}
		r := t.Result
		if r == nil {
			r = &sweep.Result{}
		}
		row := []string{t.Sweep, fmt.Sprint(t.Index), string(t.State), fmt.Sprint(r.Diverged)}
		for _, name := range parameters {
			if v, ok := t.Parameters[name]; ok {
				row = append(row, exactText(v))
			} else {
				row = append(row, "")
			}
		}
		for _, name := range metrics {
			if v, ok := r.Summary[name]; ok {
				row = append(row, fmt.Sprint(v))
			} else {
				row = append(row, "")
			}
		}
		row = append(row, known(r.Seconds), r.KernelLevel, string(t.Fingerprint), timeText(t.StartedAt),
			timeText(t.FinishedAt), r.Error, t.RunName, t.RunGroup, t.Notes, strings.Join(t.Tags, ","))
		return w.Write(row)
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// known is a number of a result, nothing if the trainer does not report it.
func known(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
