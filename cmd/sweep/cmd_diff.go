package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
)

func newDiff(s *settings) *cobra.Command {
	var metric string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff SWEEP SWEEP",
		Short: "Compare two sweeps: the parameters in which they differ, and the effect on a metric",
		Long: `For each grid point that both sweeps have, apart from those parameters and the seed,
the command prints the mean ± standard deviation of a metric in each sweep, largest
difference first. The last column is the difference in standard errors (Welch): below
about 2 it may be chance.

Exit codes: 0 done, 1 they have no metric in common, 4 no such sweep.`,
		Example: "  sweep diff before after\n  sweep diff ucr latest --metric test_accuracy --limit 0",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSweep(cmd, s.openReader, args, func(results reader, first *sweep.SweepRecord) error {
				second, err := results.Sweep(cmd.Context(), args[1])
				if err != nil {
					return err
				}
				d, err := compareSweeps(cmd.Context(), results, [2]*sweep.SweepRecord{first, second}, metric)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(cmd, d)
				}
				return d.write(cmd, limit)
			})
		},
	}
	cmd.Flags().StringVar(&metric, "metric", "", "metric to compare (default: the one by which the sweep selects "+
		"trials)")
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum number of grid points; 0 lists all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// comparison is what two sweeps differ in.
type comparison struct {
	Sweeps [2]string `json:"sweeps"`
	Names  [2]string `json:"names"`
	// Parameters are those whose values differ.
	Parameters []differingParameter `json:"parameters"`
	Metric     string               `json:"metric"`
	Goal       string               `json:"goal"`
	// By are the parameters that name a grid point.
	By []string `json:"by"`
	// Points are the grid points that both have, Only how many only one has.
	Points []pointPair `json:"points"`
	Only   [2]int      `json:"only"`
}

type differingParameter struct {
	Name   string      `json:"name"`
	Values [2][]string `json:"values"`
}

// pointPair is a grid point in both sweeps.
type pointPair struct {
	Values []string    `json:"values"`
	Mean   [2]float64  `json:"mean"`
	SD     [2]*float64 `json:"sd"` // nil of one trial
	Count  [2]int64    `json:"count"`
	Change float64     `json:"change"`
	Errors float64     `json:"standard_errors,omitempty"`
	texts  [2]string
}

// absent stands for a parameter that a trial does not have.
const absent = "–"

// compareSweeps reads the trials of two sweeps.
func compareSweeps(ctx context.Context, results sweep.Reader, records [2]*sweep.SweepRecord,
	metric string) (*comparison, error) {
	d := &comparison{}
	names := frame.NamesIn(ctx, results, records[:]...)
	if metric != "" {
		d.Metric = names.Called(metric, sweep.MetricKind)
	}
	var frames [2]*frame.Frame
	var values [2]map[string][]string
	for i, record := range records {
		d.Sweeps[i], d.Names[i] = record.ID, record.Name
		if d.Metric == "" {
			if names := frame.MainMetrics(ctx, results, record); len(names) > 0 {
				d.Metric = names[0]
			}
		}
	}
	varied := append(progress.Varied(records[0], false), progress.Varied(records[1], false)...)
	for i, record := range records {
		f, err := frame.Read(ctx, results, []*sweep.SweepRecord{record}, sweep.TrialQuery{},
			frame.GroupColumns(varied, []string{d.Metric})...)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // its files have no names
		frames[i], values[i] = f, parameterValues(f)
	}
	d.Goal = cmp.Or(records[0].Goal(d.Metric), records[1].Goal(d.Metric), sweep.Minimize)
	either := maps.Clone(values[0])
	maps.Copy(either, values[1])
	for _, name := range slices.Sorted(maps.Keys(either)) {
		if !slices.Equal(values[0][name], values[1][name]) {
			d.Parameters = append(d.Parameters, differingParameter{name, [2][]string{values[0][name], values[1][name]}})
		}
		// What one sweep does not vary and the other has another value of is what they are
		// compared by; what both vary names a point.
		fixed := len(values[0][name]) <= 1 && len(values[1][name]) <= 1
		if slices.Contains(varied, name) && name != sweep.SeedParameter && !fixed {
			d.By = append(d.By, name)
		}
	}
	var gathered [2]*frame.Grouped
	for i, f := range frames {
		completed := frame.Filter{States: []frame.State{frame.Completed, frame.Diverged}}
		var err error
		if gathered[i], err = f.GroupBy(ctx, completed, d.By, []string{d.Metric}, nil, true); err != nil {
			return nil, err
		}
	}
	d.pair(gathered)
	return d, nil
}

// parameterValues are the values that each parameter has in a sweep, in their order.
func parameterValues(f *frame.Frame) map[string][]string {
	values := map[string][]string{}
	for own, list := range f.Values() {
		for _, value := range list {
			text := absent
			if value != nil {
				text = exactText(frame.Stored(value))
			}
			values[own] = append(values[own], text)
		}
	}
	return values
}

// pair puts the points beside each other that both sweeps have.
func (d *comparison) pair(gathered [2]*frame.Grouped) {
	others := map[string]*frame.Group{}
	for i := range gathered[1].List {
		others[gathered[1].Key(i)] = &gathered[1].List[i]
	}
	d.Only[1] = len(others)
	for i := range gathered[0].List {
		b := others[gathered[0].Key(i)]
		if b == nil {
			d.Only[0]++
			continue
		}
		d.Only[1]--
		x, y := &gathered[0].List[i].Metrics[0], &b.Metrics[0]
		if x.N == 0 || y.N == 0 {
			continue
		}
		p := pointPair{
			Values: groupTexts(&gathered[0].List[i]), Mean: [2]float64{*x.Mean, *y.Mean},
			SD: [2]*float64{x.SD, y.SD}, Count: [2]int64{x.N, y.N},
			Change: *y.Mean - *x.Mean, texts: [2]string{metricText(x), metricText(y)},
		}
		if x.N > 1 && y.N > 1 {
			if e := math.Sqrt(*x.SD**x.SD/float64(x.N) + *y.SD**y.SD/float64(y.N)); e > 0 {
				p.Errors = p.Change / e
			}
		}
		d.Points = append(d.Points, p)
	}
	slices.SortFunc(d.Points, func(a, b pointPair) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)), slices.Compare(a.Values, b.Values))
	})
}

func (d *comparison) write(cmd *cobra.Command, limit int) error {
	out := cmd.OutOrStdout()
	title := [2]string{d.Names[0], d.Names[1]}
	if title[0] == title[1] {
		title = d.Sweeps
	}
	notes := cmd.ErrOrStderr()
	if len(d.Parameters) == 0 {
		fmt.Fprintln(out, "all parameters have the same values in both")
	} else {
		table := &columns{exact: true}
		table.add(always, "PARAMETER", title[0], title[1])
		for _, p := range d.Parameters {
			table.row(p.Name, shorten(listText(p.Values[0]), cellWidth), shorten(listText(p.Values[1]), cellWidth))
		}
		if err := table.write(out, notes); err != nil {
			return err
		}
	}
	if len(d.Points) == 0 {
		return fmt.Errorf("no grid point has a metric %q in both sweeps: name another with --metric", d.Metric)
	}
	better, worse := 0, 0
	for _, p := range d.Points {
		switch choice := (sweep.Select{Goal: d.Goal}); {
		case choice.Better(p.Mean[1], p.Mean[0]):
			better++
		case choice.Better(p.Mean[0], p.Mean[1]):
			worse++
		}
	}
	fmt.Fprintf(out, "\n%s at the %d grid points of both: better in %s at %d, worse at %d\n\n", d.Metric, len(d.Points),
		title[1], better, worse)
	table := &columns{exact: true, more: "--json has them"}
	for i, heading := range sweep.Headings(d.By) {
		table.add(1+i, heading)
	}
	table.add(always, title[0], title[1], "CHANGE", "ERRORS")
	shown := d.Points
	if limit > 0 {
		shown = shown[:min(len(shown), limit)]
	}
	for _, p := range shown {
		significance := ""
		if p.Errors != 0 {
			significance = fmt.Sprintf("%+.1f", p.Errors)
		}
		table.row(append(slices.Clone(p.Values), p.texts[0], p.texts[1], fmt.Sprintf("%+.4g", p.Change),
			significance)...)
	}
	if err := table.write(out, notes); err != nil {
		return err
	}
	if n := len(d.Points) - len(shown); n > 0 {
		fmt.Fprintf(out, "%d more points; --limit 0 lists all\n", n)
	}
	for i, n := range d.Only {
		if n > 0 {
			fmt.Fprintf(out, "%d grid points are only in %s\n", n, title[i])
		}
	}
	return nil
}

// listText lists a few values.
func listText(values []string) string {
	const most = 8
	switch {
	case len(values) == 0:
		return absent
	case len(values) > most:
		return strings.Join(values[:most-1], ", ") + ", … " + values[len(values)-1]
	}
	return strings.Join(values, ", ")
}
