package figure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
)

// SweepColumn names the sweep where several are drawn together, as if it were a
// parameter.
const SweepColumn = "sweep"

// ErrNothing says that there is nothing to draw.
var ErrNothing = errors.New("nothing to draw")

// trial is a completed trial. There may be a hundred thousand, of some forty parameters
// each, of which all but a few agree.
type trial struct {
	id sweep.TrialID
	// shared are the parameters of the first trial; own are those that differ from them,
	// missing those of them that this one has not.
	shared, own sweep.Parameters
	missing     []string
	metrics     []metricValue
	diverged    bool
}

// metricValue takes a quarter of what it does in a map.
type metricValue struct {
	name  string
	value float64
}

// metric returns the value of a metric, NaN if the trial has none.
func (t *trial) metric(name string) float64 {
	for _, m := range t.metrics {
		if m.name == name {
			return m.value
		}
	}
	return math.NaN()
}

// parameter returns the value of a parameter, and whether the trial has it.
func (t *trial) parameter(name string) (value any, ok bool) {
	if value, ok = t.own[name]; ok {
		return value, true
	}
	if value, ok = t.shared[name]; ok && slices.Contains(t.missing, name) {
		return nil, false
	}
	return value, ok
}

// has reports whether the trial has a parameter.
func (t *trial) has(name string) bool {
	_, ok := t.parameter(name)
	return ok
}

// share keeps of a trial's parameters what differs from the shared ones; text returns
// the one copy of a text.
func (t *trial) share(parameters sweep.Parameters, text func(string) string) {
	for name, value := range parameters {
		if first, ok := t.shared[name]; ok && same(first, value) {
			continue
		}
		if t.own == nil {
			t.own = sweep.Parameters{}
		}
		if s, ok := value.(string); ok {
			value = text(s)
		}
		t.own[text(name)] = value
	}
	for name := range t.shared {
		if _, ok := parameters[name]; !ok {
			t.missing = append(t.missing, name)
		}
	}
}

// same reports whether two values of a parameter are equal.
func same(a, b any) bool {
	switch a.(type) {
	case nil, bool, int64, float64, string:
		return a == b
	}
	return sweep.Equal(a, b)
}

// data is what a figure is drawn from.
type data struct {
	name         string
	trials       []trial
	descriptions []*sweep.Description
	choice       sweep.Select
	// varying are the parameters in which the trials differ, the seed left out.
	varying []string
	// Trials that are not drawn, by why.
	diverged, failed, stopped, skipped, cancelled, unfinished int
}

// leaveOut counts a trial that is not drawn.
func (d *data) leaveOut(state sweep.State) {
	switch state {
	case sweep.Failed:
		d.failed++
	case sweep.Stopped:
		d.stopped++
	case sweep.Skipped:
		d.skipped++
	case sweep.Cancelled:
		d.cancelled++
	default:
		d.unfinished++
	}
}

// read loads the trials of sweeps.
func read(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord,
	where []sweep.TrialCondition) (*data, error) {
	d := &data{}
	var names []string
	var shared sweep.Parameters
	texts := map[string]string{}
	text := func(s string) string {
		if one, ok := texts[s]; ok {
			return one
		}
		texts[s] = s
		return s
	}
	for _, record := range records {
		names = append(names, record.Name)
		for i := range record.Grids {
			submission := &record.Grids[i].Submission
			d.descriptions = append(d.descriptions, &submission.Description)
			if d.choice.By == "" {
				d.choice = submission.Spec.Select.Filled(&submission.Description)
			}
		}
		title := record.Name
		if len(slices.DeleteFunc(slices.Clone(records), func(r *sweep.SweepRecord) bool {
			return r.Name != record.Name
		})) > 1 {
			title = record.ID
		}
		err := results.Trials(ctx, sweep.TrialQuery{Sweeps: []string{record.ID}, Where: where},
			func(t *sweep.TrialRecord) error {
				if t.State != sweep.Completed || t.Result == nil {
					d.leaveOut(t.State)
					return nil
				}
				if len(records) > 1 {
					t.Parameters = t.Parameters.Clone()
					t.Parameters[SweepColumn] = title
				}
				if shared == nil {
					shared = t.Parameters
				}
				drawn := trial{id: t.TrialID, shared: shared, diverged: t.Result.Diverged}
				drawn.id.Sweep = text(t.Sweep)
				drawn.share(t.Parameters, text)
				drawn.metrics = make([]metricValue, 0, len(t.Result.Summary))
				for name, value := range t.Result.Summary {
					drawn.metrics = append(drawn.metrics, metricValue{text(name), value})
				}
				d.trials = append(d.trials, drawn)
				if t.Result.Diverged {
					d.diverged++
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	d.name = strings.Join(names, ", ")
	if len(d.trials) == 0 {
		return nil, fmt.Errorf("%w: no trial of %s has completed (%d failed, %d have not ended): %w", ErrNothing,
			d.name, d.failed, d.unfinished, sweep.ErrNotFound)
	}
	d.varying = d.findVarying(records)
	return d, nil
}

// findVarying returns the parameters in which the trials differ, in the order of
// the sweep files.
func (d *data) findVarying(records []*sweep.SweepRecord) (names []string) {
	differ := map[string]bool{}
	for _, t := range d.trials {
		for name := range t.own {
			differ[name] = true
		}
		for _, name := range t.missing {
			differ[name] = true
		}
	}
	delete(differ, sweep.SeedParameter)
	add := func(name string) {
		if differ[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(SweepColumn)
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

func (d *data) metricNames() []string {
	seen := map[string]bool{}
	for _, t := range d.trials {
		for _, m := range t.metrics {
			seen[m.name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// valued returns the trials that have a finite value of a metric, which is an
// error if none has, and did not diverge.
func (d *data) valued(metric string) ([]trial, error) {
	var kept []trial
	for _, t := range d.trials {
		if v := t.metric(metric); !t.diverged && !math.IsNaN(v) && !math.IsInf(v, 0) {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%w: no trial that did not diverge has a metric %q: there are %s: %w", ErrNothing,
			metric, strings.Join(d.metricNames(), ", "), sweep.ErrNotFound)
	}
	return kept, nil
}

// scored returns a metric, or the one that trials are compared by, and the trials that have it.
func (d *data) scored(name string) (metric string, trials []trial, err error) {
	if metric, err = d.metric(name); err == nil {
		trials, err = d.valued(metric)
	}
	return metric, trials, err
}

// goal is a metric's goal.
func (d *data) goal(metric string) string {
	if metric == d.choice.By && d.choice.Goal != "" {
		return d.choice.Goal
	}
	for _, description := range d.descriptions {
		if m := description.Metric(metric); m != nil && m.Goal != "" {
			return m.Goal
		}
	}
	return sweep.Minimize
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
func groups(trials []trial, by []string) []group {
	var list []group
	place := map[string]int{}
	for _, t := range trials {
		var key, label []string
		for _, name := range by {
			value, ok := t.parameter(name)
			if !ok {
				key = append(key, "")
				continue
			}
			text := valueText(value)
			form, _ := sweep.CanonicalJSON(value) // a stored value has a form
			key = append(key, "="+string(form))
			if _, isText := value.(string); !isText {
				text = words(name) + " " + text
			}
			label = append(label, text)
		}
		k := strings.Join(key, "\x00")
		i, ok := place[k]
		if !ok {
			i = len(list)
			place[k] = i
			list = append(list, group{label: strings.Join(label, ", ")})
		}
		list[i].trials = append(list[i].trials, t)
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
