package main

import (
	"fmt"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

func newCurves(s *settings) *cobra.Command {
	var metrics []string
	var format string
	cmd := &cobra.Command{
		Use:     "curves SWEEP INDEX",
		Short:   "Show the curves of one trial",
		GroupID: "ask",
		Long: `Show the curves of one trial of a sweep: a small plot and a few figures for each
metric, or every point as CSV or JSON.

Exit codes: 0 done, 2 a bad index or format, 4 no such sweep or trial.`,
		Example: "  sweep curves latest 0\n  sweep curves ucr 17 --metric validation_loss --format csv",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || index < 0 {
				return usageError("%q is no trial index", args[1])
			}
			results, record, err := s.findSweep(cmd.Context(), args[:1])
			if err != nil {
				return err
			}
			defer func() { _ = results.Close() }()
			curves, err := results.Curves(cmd.Context(), sweep.TrialID{Sweep: record.ID, Index: index}, metrics...)
			if err != nil {
				return err
			}
			switch format {
			case "text":
				return plotCurves(cmd, curves)
			case "csv":
				fmt.Fprintln(cmd.OutOrStdout(), "metric,step,value")
				for _, c := range curves {
					for i, step := range c.Steps {
						fmt.Fprintf(cmd.OutOrStdout(), "%s,%d,%v\n", c.Metric, step, c.Values[i])
					}
				}
				return nil
			case "json":
				return writeJSON(cmd, plainCurves(curves))
			default:
				return usageError("--format %s: expected text, csv or json", format)
			}
		},
	}
	cmd.Flags().StringSliceVar(&metrics, "metric", nil, "only these metrics")
	cmd.Flags().StringVar(&format, "format", "text", "text, csv or json")
	return cmd
}

// plainCurve is a curve whose values JSON can carry: null where not finite.
type plainCurve struct {
	Metric string     `json:"metric"`
	Steps  []int64    `json:"steps"`
	Values []*float32 `json:"values"`
}

func plainCurves(curves []sweep.Curve) []plainCurve {
	plain := make([]plainCurve, len(curves))
	for i, c := range curves {
		plain[i] = plainCurve{c.Metric, c.Steps, make([]*float32, len(c.Values))}
		for j, v := range c.Values {
			if finite(v) {
				plain[i].Values[j] = &c.Values[j]
			}
		}
	}
	return plain
}

func finite(v float32) bool {
	return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
}

// sparkWidth is the number of characters of a small plot.
const sparkWidth = 48

func plotCurves(cmd *cobra.Command, curves []sweep.Curve) error {
	if len(curves) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "no curves yet")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "METRIC\tPOINTS\tFIRST\tSMALLEST\tLARGEST\tLAST\t")
	for _, c := range curves {
		low, high := bounds(c.Values)
		fmt.Fprintf(w, "%s\t%d\t%.4g\t%.4g\t%.4g\t%.4g\t%s\n", c.Metric, len(c.Values), c.Values[0], low, high,
			c.Values[len(c.Values)-1], spark(c.Values, low, high))
	}
	return w.Flush()
}

func bounds(values []float32) (low, high float32) {
	low, high = float32(math.Inf(1)), float32(math.Inf(-1))
	for _, v := range values {
		if finite(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// spark draws values as block characters; each stands for the mean of its part.
func spark(values []float32, low, high float32) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	width := min(sparkWidth, len(values))
	line := make([]rune, width)
	for i := range line {
		part := values[i*len(values)/width : (i+1)*len(values)/width]
		var sum float64
		n := 0
		for _, v := range part {
			if finite(v) {
				sum += float64(v)
				n++
			}
		}
		switch {
		case n == 0:
			line[i] = '×'
		case high > low:
			at := (sum/float64(n) - float64(low)) / (float64(high) - float64(low))
			line[i] = blocks[min(int(at*float64(len(blocks))), len(blocks)-1)]
		default:
			line[i] = blocks[0]
		}
	}
	return string(line)
}
