package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

func newSQL(s *settings) *cobra.Command {
	var format, of string
	cmd := &cobra.Command{
		Use:   "sql STATEMENT",
		Short: "Query the results in SQL, read-only",
		Long: `STATEMENT is one read-only SQL statement. The views are results (a row per trial),
metrics (a row per trial and metric), best_trials, point_means, curves (a row per sample),
ucr_table, mnist_table and others; their names and columns are the same in SQLite and
Postgres. With --sweep, t has a row per trial of
that sweep and a column for each of its parameters and metrics. A metric with the name
of a parameter or of another column is called "metric.NAME".

Exit codes: 0 done, 1 the database rejects the statement.`,
		Example: `  sweep sql --sweep latest "SELECT model, avg(test_accuracy) FROM t GROUP BY model"
  sweep sql --sweep latest "SELECT * FROM t ORDER BY trial_index LIMIT 10"
  sweep sql "SELECT * FROM best_trials" --format csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd, s.openReader, func(results reader) error {
				write, flush, err := rowWriter(cmd, format)
				if err != nil {
					return err
				}
				if of != "" {
					err = results.QuerySweep(cmd.Context(), of, args[0], write)
				} else {
					err = results.Query(cmd.Context(), args[0], write)
				}
				if err != nil {
					return err
				}
				return flush()
			})
		},
	}
	cmd.Flags().StringVar(&of, "sweep", "", "sweep whose trials are available as t: a name, an id, or latest")
	cmd.Flags().StringVar(&format, "format", "text", "text, csv or json (one object per line)")
	return cmd
}

// rowWriter returns what prints rows in a format, the header before the first.
func rowWriter(cmd *cobra.Command, format string) (write func(columns []string, row []any) error,
	flush func() error, err error) {
	out := cmd.OutOrStdout()
	header := false
	switch format {
	case "text":
		w := newColumns(out)
		return func(columns []string, row []any) error {
			if !header {
				header = true
				fmt.Fprintln(w, strings.Join(sweep.Headings(columns), "\t"))
			}
			fmt.Fprintln(w, strings.Join(cells(row), "\t"))
			return nil
		}, w.Flush, nil
	case "csv":
		w := csv.NewWriter(dataOut(cmd))
		return func(columns []string, row []any) error {
				if !header {
					header = true
					if err := w.Write(columns); err != nil {
						return err
					}
				}
				return w.Write(cells(row))
			}, func() error {
				w.Flush()
				return w.Error()
			}, nil
	case "json":
		encoder := newEncoder(out)
		return func(columns []string, row []any) error {
			return encoder.Encode(orderedRow{columns, row})
		}, func() error { return nil }, nil
	default:
		return nil, nil, usageError("--format %s: expected text, csv or json", format)
	}
}

// orderedRow is a row as a JSON object that keeps the order of its columns.
type orderedRow struct {
	columns []string
	row     []any
}

// MarshalJSON implements json.Marshaler.
func (r orderedRow) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, column := range r.columns {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(column)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(plainValue(r.row[i]))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// plainValue turns what a database driver returns into what JSON carries: numbers
// that are not finite are null, as in curves.
func plainValue(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return v
}

func cells(row []any) []string {
	texts := make([]string, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil:
		case []byte:
			texts[i] = string(v)
		case float64:
			texts[i] = fmt.Sprintf("%.6g", v)
		case time.Time:
			texts[i] = v.UTC().Format(time.RFC3339)
		default:
			texts[i] = fmt.Sprint(v)
		}
	}
	return texts
}
