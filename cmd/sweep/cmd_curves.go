package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/braille"
	"sweep/sweep/frame"
)

type curvesOptions struct {
	metrics namesFlag
	format  string
	plot    bool
	logY    bool
}

func newCurves(s *settings) *cobra.Command {
	var options curvesOptions
	cmd := &cobra.Command{
		Use:   "curves SWEEP INDEX...",
		Short: "Show the curves of one or more trials of a sweep",
		Long: `By default each metric is a small plot with a few figures. --plot draws each metric in
the size of the terminal, with one lettered curve per trial. --format prints every
sample as CSV or JSON. INDEX is a number or a range such as 3-7.

Exit codes: 0 done, 2 an invalid index or format, 4 no such sweep, trial or metric.`,
		Example: `  sweep curves latest 0
  sweep curves ucr 17 18 30-32 --plot --metric validation_loss --log-y
  sweep curves ucr 17 --metric validation_loss --format csv`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			indices, err := options.check(args[1:])
			if err != nil {
				return err
			}
			return withSweep(cmd, s.openReader, args, func(results reader, record *sweep.SweepRecord) error {
				return runCurves(cmd, results, record, indices, &options)
			})
		},
	}
	f := cmd.Flags()
	f.Var(&options.metrics, "metric", "show only these metrics")
	f.StringVar(&options.format, "format", "text", "text, csv or json")
	f.BoolVar(&options.plot, "plot", false, "draw each metric in the size of the terminal")
	f.BoolVar(&options.logY, "log-y", false, "use a logarithmic axis, with --plot")
	return cmd
}

// maxPlotted is how many trials fit a picture: they have a letter each.
const maxPlotted = 26

// check returns the trials whose curves are to be shown, or why the options contradict them.
func (o *curvesOptions) check(args []string) ([]int64, error) {
	indices, err := parseIndices(args)
	switch {
	case err != nil:
		return nil, err
	case o.plot && o.format != "text":
		return nil, usageError("--plot and --format %s exclude each other", o.format)
	case o.logY && !o.plot:
		return nil, usageError("--log-y requires --plot")
	case len(indices) > 1 && !o.plot:
		return nil, usageError("%d trials: only --plot shows several", len(indices))
	case len(indices) > maxPlotted:
		return nil, usageError("%d trials: at most %d fit in one plot", len(indices), maxPlotted)
	case o.format != "text" && o.format != "csv" && o.format != "json":
		return nil, usageError("--format %s: expected text, csv or json", o.format)
	}
	return indices, nil
}

func runCurves(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord, indices []int64,
	options *curvesOptions) error {
	var all [][]sweep.Curve
	names := frame.NamesIn(cmd.Context(), results, record)
	metrics := names.Own(options.metrics.in(names), sweep.MetricKind)
	for _, index := range indices {
		id := sweep.TrialID{Sweep: record.ID, Index: index}
		curves, err := results.Curves(cmd.Context(), id, metrics...)
		if err == nil && len(metrics) > 0 {
			err = sweep.CheckCurves(cmd.Context(), results, id, metrics, curves)
		}
		if err != nil {
			return err
		}
		all = append(all, curves)
	}
	if options.plot {
		return drawCurves(cmd, record, indices, all, options.logY)
	}
	curves := all[0]
	switch options.format {
	case "csv":
		w := csv.NewWriter(cmd.OutOrStdout())
		_ = w.Write([]string{"metric", "step", "value"}) // Error has it
		for _, c := range curves {
			for i, step := range c.Steps {
				_ = w.Write([]string{c.Metric, fmt.Sprint(step), fmt.Sprint(c.Values[i])})
			}
		}
		w.Flush()
		return w.Error()
	case "json":
		return writeJSON(cmd, plainCurves(curves))
	}
	return plotCurves(cmd, record, curves)
}

// drawCurves draws a picture of each metric, of all trials that have it.
func drawCurves(cmd *cobra.Command, record *sweep.SweepRecord, indices []int64, all [][]sweep.Curve, logY bool) error {
	var metrics []string
	for _, curves := range all {
		for _, c := range curves {
			if !slices.Contains(metrics, c.Metric) {
				metrics = append(metrics, c.Metric)
			}
		}
	}
	if len(metrics) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), noCurves(record))
		return nil
	}
	width, height := terminalSize(cmd.OutOrStdout())
	for i, metric := range metrics {
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		fmt.Fprintln(cmd.OutOrStdout(), metric)
		plot := braille.Plot{Width: min(width-1, 120), Height: min(max(height-4, 8), 24), LogY: logY}
		var lines []braille.Line
		var legend []string
		for k, curves := range all {
			for _, c := range curves {
				if c.Metric != metric {
					continue
				}
				lines = append(lines, brailleLine(c))
				if len(all) > 1 {
					letter := 'a' + rune(k)
					plot.Marks = append(plot.Marks, letter)
					legend = append(legend, fmt.Sprintf("%c trial %d", letter, indices[k]))
				}
			}
		}
		picture := plot.Draw(lines)
		if picture == nil {
			picture = []string{"no value can be drawn"}
		}
		fmt.Fprintln(cmd.OutOrStdout(), strings.Join(picture, "\n"))
		if legend != nil {
			fmt.Fprintln(cmd.OutOrStdout(), strings.Join(legend, " · "))
		}
	}
	return nil
}

// noCurves says that there are none, which an ended sweep will not get.
func noCurves(record *sweep.SweepRecord) string {
	if record.State == sweep.SweepFinished || record.State == sweep.SweepCancelled {
		return "no curves: none was reported, or they were pruned"
	}
	return "no curves yet"
}

func brailleLine(c sweep.Curve) braille.Line {
	var l braille.Line
	for i, step := range c.Steps {
		l.X, l.Y = append(l.X, float64(step)), append(l.Y, float64(c.Values[i]))
	}
	return l
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

// Small plots have as many characters as there is room, between these bounds.
const leastSpark, maxSpark = 8, 48

func plotCurves(cmd *cobra.Command, record *sweep.SweepRecord, curves []sweep.Curve) error {
	if len(curves) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), noCurves(record))
		return nil
	}
	out := cmd.OutOrStdout()
	table := &columns{more: "--format json has the points"}
	table.add(always, "metric", "points")
	table.add(2, "first")
	table.add(1, "smallest", "largest", "last")
	for _, c := range curves {
		if len(c.Values) == 0 {
			table.row(c.Metric, "0", "", "", "", "")
			continue
		}
		number := func(v float32) string { return fmt.Sprintf("%.4g", v) }
		low, high := c.Bounds()
		table.row(c.Metric, fmt.Sprint(len(c.Values)), number(c.Values[0]), number(low), number(high),
			number(c.Values[len(c.Values)-1]))
	}
	if room := tableWidth(out) - table.width() - 2; room >= leastSpark {
		table.add(always, "")
		for i, c := range curves {
			low, high := c.Bounds()
			table.rows[i] = append(table.rows[i], spark(c.Values, low, high, min(room, maxSpark)))
		}
	}
	return table.write(out, cmd.ErrOrStderr())
}

// spark draws values as so many block characters at most; each stands for the mean of its part.
func spark(values []float32, low, high float32, most int) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	width := min(most, len(values))
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
