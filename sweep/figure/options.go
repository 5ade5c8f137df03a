package figure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/statistics"
)

// Kinds are the kinds of figures.
var Kinds = []string{"curves", "slice", "heatmap", "parallel", "table"}

// Options say what is drawn, and how. What is empty is chosen by the sweep file.
type Options struct {
	// Kind is one of Kinds.
	Kind string
	// Metric is what is drawn: of curves over the steps, else of the summary.
	Metric string
	// X and Y are the parameters of a slice and a heat map. For curves X is the metric on the x axis,
	// such as seconds; empty means the steps.
	X, Y string
	// XLabel and YLabel are the labels of the axes of curves; empty means epoch or step, and the metric.
	XLabel, YLabel string
	// References are horizontal lines across curves.
	References []Reference
	// GroupBy are parameters: trials that agree in them belong together.
	GroupBy []string
	// Groups is the largest number of groups, the best of them.
	Groups int
	// LogX and LogY make an axis logarithmic, LogY the colours of a heat map.
	LogX, LogY bool
	// Top is the percentage of trials that parallel coordinates colour.
	Top float64
	// Where has the conditions that trials must match.
	Where []sweep.TrialCondition
	// Title stands above, the sweeps' names if it is empty.
	Title string
	// Width and Height are in centimetres; a Height of 0 is 9, or what the rows of a
	// table take.
	Width, Height float64
	// panel says that the figure is part of a page, which says what lines and bands are.
	panel bool
}

// Reference is a horizontal line with a label, for instance the loss of the best answer that needs no memory:
// at a value or, if Metric is not empty, at the mean of a summary metric.
type Reference struct {
	At     float64
	Metric string
	Label  string
}

// OptionError says what cannot be drawn as it is asked for.
type OptionError struct{ Problem string }

// Error implements error.
func (e *OptionError) Error() string { return e.Problem }

func wrong(format string, args ...any) error { return &OptionError{fmt.Sprintf(format, args...)} }

// Check returns an *OptionError for what no figure can be.
func (o *Options) Check() error {
	switch {
	case !slices.Contains(Kinds, o.Kind):
		return wrong("no figure %q: expected one of %s", o.Kind, strings.Join(Kinds, ", "))
	case o.Width < 4 || o.Width > 100 || o.Height != 0 && o.Height < 3 || o.Height > 100:
		return wrong("a figure of %g × %g cm: expected 4 to 100 by 3 to 100", o.Width, o.Height)
	case o.Groups < 1 || o.Groups > 100:
		return wrong("%d groups: expected 1 to 100", o.Groups)
	case o.Top <= 0 || o.Top > 100:
		return wrong("the best %g %%: expected more than 0, and 100 at most", o.Top)
	}
	for _, option := range []struct {
		name  string
		given bool
		kinds []string
	}{
		{"x", o.X != "", []string{"curves", "slice", "heatmap"}},
		{"y", o.Y != "", []string{"heatmap"}},
		{"log-x", o.LogX, []string{"curves", "slice"}},
		{"log-y", o.LogY, []string{"curves", "slice", "heatmap"}},
		{"group-by", len(o.GroupBy) > 0, []string{"curves", "slice", "table"}},
	} {
		if option.given && !slices.Contains(option.kinds, o.Kind) {
			return wrong("%s means nothing to the figure %s: it belongs to %s", option.name, o.Kind,
				strings.Join(option.kinds, ", "))
		}
	}
	return nil
}

// Named returns the options with what is called in them by any names of so many sweeps called by its own.
func (o Options) Named(names *sweep.Names, sweeps int) Options {
	if sweeps > 1 {
		names.AddParameter(frame.SweepColumn, false)
	}
	called := func(text string, kind sweep.NameKind) string {
		if text == "" {
			return ""
		}
		if all := names.Find(text, kind); len(all) > 0 {
			return all[0].Own()
		}
		return sweep.Assume(text, kind).Own()
	}
	x := sweep.ParameterKind
	if o.Kind == "curves" {
		x = sweep.MetricKind
	}
	o.Metric, o.X, o.Y = called(o.Metric, sweep.MetricKind), called(o.X, x), called(o.Y, sweep.ParameterKind)
	o.GroupBy = slices.Clone(o.GroupBy)
	for i, text := range o.GroupBy {
		o.GroupBy[i] = called(text, sweep.ParameterKind)
	}
	return o
}

// Draw makes a figure of the results of sweeps, whose records have their
// submissions. Without anything to draw its error is ErrNothing, and what is asked for
// wrongly is an *OptionError.
func Draw(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord, o Options) (*Figure, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	d, err := read(ctx, results, records, o.Where)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.frame.Close() }() // its files have no names
	if o.panel && len(d.varying) == 0 {    // its only line is named as in the other panels
		d.varying = categorical(records, o.Where)
	}
	f := &Figure{
		width: vg.Length(o.Width) * vg.Centimeter, height: vg.Length(cmp.Or(o.Height, 9)) * vg.Centimeter,
		title: cmp.Or(o.Title, d.name),
	}
	switch o.Kind {
	case "curves":
		err = d.curves(ctx, results, f, o)
	case "slice":
		err = d.slice(f, o)
	case "heatmap":
		err = d.heatmap(f, o)
	case "parallel":
		err = d.parallel(f, o)
	case "table":
		err = d.table(f, o)
	}
	if err = cmp.Or(d.err, err); err != nil {
		return nil, err
	}
	return f, nil
}

// check returns an error if the trials lack one of some parameters.
func (d *data) check(names ...string) error {
	for _, name := range names {
		if !slices.ContainsFunc(d.trials, func(t trial) bool { return t.has(name) }) {
			return wrong("the trials have no parameter %q: those in which they differ are %s", name,
				strings.Join(d.varying, ", "))
		}
	}
	return nil
}

// grouping are the parameters that the sweep file groups by, of those that vary;
// all that vary if it names none of them.
func (d *data) grouping() []string {
	by := slices.DeleteFunc(slices.Clone(d.varying), func(name string) bool {
		return name != frame.SweepColumn && !slices.Contains(d.choice.Group, name)
	})
	if len(by) == 0 {
		return d.varying
	}
	return by
}

// best sorts groups by the mean of a metric, the best first, and returns the first most of them.
func (d *data) best(list []group, metric string, most int) []group {
	goal := sweep.Select{Goal: d.goal(metric)}
	means := map[int64]float64{} // by the groups' first trials
	for _, g := range list {
		means[g.trials[0].row] = g.mean(metric)
	}
	slices.SortStableFunc(list, func(a, b group) int {
		return compare(goal, means[a.trials[0].row], means[b.trials[0].row])
	})
	return list[:min(most, len(list))]
}

// compare orders values of a metric, the best first.
func compare(goal sweep.Select, a, b float64) int {
	switch {
	case goal.Better(a, b):
		return -1
	case goal.Better(b, a):
		return 1
	}
	return 0
}

// mean is the mean of a metric, which all trials of the group have.
func (g group) mean(metric string) float64 { return g.moments(metric).Mean }

// moments are those of a metric.
func (g group) moments(metric string) statistics.Moments {
	return statistics.MomentsOf(g.values(metric))
}

func (g group) values(metric string) []float64 {
	values := make([]float64, len(g.trials))
	for i, t := range g.trials {
		values[i] = t.metric(metric)
	}
	return values
}
