package figure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// ErrNothing says that there is nothing to draw.
var ErrNothing = errors.New("nothing to draw")

// trial is a completed trial: a row of the frame.
type trial struct {
	of  *data
	row int64
}

// metric returns the value of a metric, NaN if the trial has none.
func (t *trial) metric(name string) float64 {
	if value, ok := t.of.cells(sweep.MetricKind.Of(name))[t.row].(float64); ok {
		return value
	}
	return math.NaN()
}

// parameter returns the value of a parameter, and whether the trial has it.
func (t *trial) parameter(name string) (value any, ok bool) {
	if value = t.of.cells(sweep.ParameterKind.Of(name))[t.row]; value == nil {
		return nil, false
	}
	return frame.Stored(value), true
}

// has reports whether the trial has a parameter.
func (t *trial) has(name string) bool {
	_, ok := t.parameter(name)
	return ok
}

func (t *trial) diverged() bool {
	return t.of.cells(sweep.FieldKind.Of("state"))[t.row] == frame.Diverged.String()
}

// data is what a figure is drawn from.
type data struct {
	name         string
	ctx          context.Context
	frame        *frame.Frame
	columns      map[sweep.Name][]any // those that were read
	err          error                // the first error of reading them
	trials       []trial
	counts       frame.Counts
	repeated     int64 // trials that once has left out
	descriptions []*sweep.Description
	choice       sweep.Select
	// varying are the parameters in which the trials differ, the seed left out.
	varying []string
}

// cells returns a column by row.
func (d *data) cells(name sweep.Name) []any {
	column, known := d.columns[name]
	if !known {
		var err error
		if column, err = d.frame.Cells(d.ctx, name); err != nil {
			d.err = cmp.Or(d.err, err)
			column = make([]any, d.frame.Loaded().Rows)
		}
		d.columns[name] = column
	}
	return column
}

// read loads the trials of sweeps.
func read(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord,
	where []sweep.TrialCondition) (*data, error) {
	f, err := frame.Read(ctx, results, records, sweep.TrialQuery{Where: where})
	if err != nil {
		return nil, err
	}
	d := &data{ctx: ctx, frame: f, columns: map[sweep.Name][]any{}, counts: f.Loaded().Counts}
	var names []string
	for _, record := range records {
		names = append(names, record.Name)
		for i := range record.Grids {
			submission := &record.Grids[i].Submission
			d.descriptions = append(d.descriptions, &submission.Description)
			if d.choice.By == "" {
				d.choice = submission.Spec.Select.Filled(&submission.Description)
			}
		}
	}
	d.name = strings.Join(names, ", ")
	ended := frame.Filter{States: []frame.State{frame.Completed, frame.Diverged}}
	rows, err := f.Matching(ctx, ended, math.MaxInt)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%w: no trial of %s has completed (%d failed, %d have not ended): %w", ErrNothing, d.name,
			d.counts[frame.Failed], d.unfinished(), sweep.ErrNotFound)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, row := range rows {
		d.trials = append(d.trials, trial{d, row})
	}
	d.varying = d.findVarying(records)
	return d, nil
}

// unfinished counts the trials that have not ended.
func (d *data) unfinished() int64 {
	return d.counts[frame.Pending] + d.counts[frame.Queued] + d.counts[frame.Running]
}

// findVarying returns the parameters in which the trials differ, in the order of
// the sweep files.
func (d *data) findVarying(records []*sweep.SweepRecord) (names []string) {
	known := map[string]bool{sweep.SeedParameter: true}
	add := func(name string) {
		if !known[name] && d.frame.Has(sweep.ParameterKind.Of(name)) && len(d.groups(d.trials, []string{name})) > 1 {
			names = append(names, name)
		}
		known[name] = true
	}
	add(frame.SweepColumn)
	for _, record := range records {
		for p := range record.AxisParameters() {
			add(p.Name)
		}
	}
	return names // parameters that only follow from others, as defaults do, are none of these
}

// categorical returns the parameters of text that have several values in sweep files, without those of conditions.
func categorical(records []*sweep.SweepRecord, where []sweep.TrialCondition) (names []string) {
	for _, record := range records {
		for p := range record.AxisParameters() {
			if p.Values.Len() < 2 || slices.Contains(names, p.Name) ||
				slices.ContainsFunc(where, func(c sweep.TrialCondition) bool {
					return c.Name.Own() == p.Name && !c.Name.Is(sweep.MetricKind)
				}) {
				continue
			}
			if _, text := p.Values.At(0).(string); text {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// metric is the metric that is asked for, or the one that trials are compared by.
func (d *data) metric(name string) (string, error) {
	if name == "" {
		name = d.choice.By
	}
	if name == "" {
		for _, description := range d.descriptions {
			for _, m := range description.Metrics {
				if m.Summary && m.Goal != "" {
					return m.Name, nil
				}
			}
		}
		return "", wrong("the sweep file names no metric: name one by --metric: %s",
			strings.Join(d.metricNames(), ", "))
	}
	return name, nil
}

func (d *data) metricNames() (names []string) {
	for _, c := range d.frame.Columns() {
		name := c.Called()
		has := func(t trial) bool { return !math.IsNaN(t.metric(name)) }
		if c.Kind == "metric" && slices.ContainsFunc(d.trials, has) {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// valued returns the trials that have a finite value of a metric, which is an
// error if none has, and did not diverge.
func (d *data) valued(metric string) ([]trial, error) {
	var kept []trial
	for _, t := range d.trials {
		if !t.diverged() && !math.IsNaN(t.metric(metric)) {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%w: no trial that did not diverge has a metric %q: there are %s: %w", ErrNothing,
			metric, strings.Join(d.metricNames(), ", "), sweep.ErrNotFound)
	}
	return kept, nil
}

// once leaves out trials that a sweep before has too, unless the sweep is among the parameters that a figure tells
// trials apart by.
func (d *data) once(trials []trial, by ...string) []trial {
	if d.frame.Sweeps() == 1 || slices.Contains(by, frame.SweepColumn) {
		return trials
	}
	first, err := d.frame.Once(d.ctx)
	if err != nil {
		d.err = cmp.Or(d.err, err)
		return trials
	}
	kept := slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return !first(t.row) })
	again := int64(len(trials) - len(kept))
	d.counts[frame.Completed] -= again
	d.repeated += again
	for _, t := range d.trials {
		if t.diverged() && !first(t.row) {
			d.counts[frame.Diverged]--
			d.repeated++
		}
	}
	return kept
}

// scored returns a metric, or the one that trials are compared by, and the trials that have it.
func (d *data) scored(name string) (metric string, trials []trial, err error) {
	if metric, err = d.metric(name); err == nil {
		trials, err = d.valued(metric)
	}
	return metric, trials, err
}

// goal is a metric's goal, by which the smallest value is the best where nothing says it.
func (d *data) goal(metric string) string { return cmp.Or(d.knownGoal(metric), sweep.Minimize) }

// knownGoal is what the sweep file or the trainer says of a metric's goal.
func (d *data) knownGoal(metric string) string {
	if metric == d.choice.By && d.choice.Goal != "" {
		return d.choice.Goal
	}
	for _, description := range d.descriptions {
		if m := description.Metric(metric); m != nil && m.Goal != "" {
			return m.Goal
		}
	}
	return ""
}

// noteGoal says in a caption that nobody knows which values of a metric are better.
func (d *data) noteGoal(f *Figure, metric string) {
	if d.knownGoal(metric) == "" {
		f.note("Neither the sweep file nor the trainer says which values of %s are better: the smallest are taken for it.",
			words(metric))
	}
}

// metricLabel is a metric with its unit.
func (d *data) metricLabel(name string) string {
	for _, description := range d.descriptions {
		if m := description.Metric(name); m != nil && m.Unit != "" {
			return words(name) + " / " + m.Unit
		}
	}
	return words(name)
}

// words makes a name readable.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// group is trials that agree in some parameters.
type group struct {
	label  string
	trials []trial
}

// groups parts trials by parameters, in the order of their first trials.
func (d *data) groups(trials []trial, by []string) (list []group) {
	ask := frame.GroupQuery{By: []string{}, All: true, Members: math.MaxInt64}
	ask.Among = make([]int64, len(trials))
	for i := range trials {
		ask.Among[i] = trials[i].row
	}
	for _, name := range by {
		ask.By = append(ask.By, string(sweep.ParameterKind.Of(name)))
	}
	answer, err := d.frame.Groups(d.ctx, ask)
	if err != nil {
		d.err = cmp.Or(d.err, err)
		return []group{{trials: trials}}
	}
	for _, g := range answer.Groups {
		var label []string
		for i, value := range g.Values {
			if value == nil {
				continue
			}
			value = frame.Stored(value)
			text := valueText(value)
			if _, isText := value.(string); !isText {
				text = words(by[i]) + " " + text
			}
			label = append(label, text)
		}
		one := group{label: strings.Join(label, ", "), trials: make([]trial, len(g.Rows))}
		for i, row := range g.Rows {
			one.trials[i] = trial{d, row}
		}
		list = append(list, one)
	}
	return list
}

// valueText is a parameter's value as a picture has it: a text in quotes if it reads as another value.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		if sweep.PlainText(v) {
			return v
		}
	case float64:
		return tickText(v)
	}
	text, err := sweep.CanonicalJSON(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// asNumber is a value as a number, if it is one.
func asNumber(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return 0, false
}
