package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// comparedSweep is a sweep in a comparison. Metric and States are over all of its trials;
// Metric is nil if no trial has the metric.
type comparedSweep struct {
	sweepItem
	Objective string            `json:"objective"`
	Goal      string            `json:"goal"`
	Read      Read              `json:"read"`
	Values    map[string]any    `json:"values"`
	Metric    *frame.Statistics `json:"metric"`
	States    map[string]int64  `json:"states"`

	// parameters and metrics are by what they are called.
	parameters, metrics map[string]frame.Column
	axes                []string
}

// compare answers with the parameters in which sweeps differ, and a metric's statistics for
// each of them.
func (s *Server) compare(r *http.Request) (any, error) {
	q := queryOf(r)
	references, metric := q.list("sweep"), q.text("metric")
	if len(references) < 1 || len(references) > maxFrames {
		return nil, bad(fmt.Errorf("name 1 to %d sweeps to compare, as sweep=ID", maxFrames))
	}
	list := []*comparedSweep{}
	names, metrics := map[string]bool{}, map[string]bool{}
	var axes []string
	for _, reference := range references {
		c, err := s.compared(r.Context(), reference, metric)
		if err != nil {
			return nil, err
		}
		list, axes = append(list, c), append(axes, c.axes...)
		for name := range c.parameters {
			names[name] = true
		}
		for name := range c.metrics {
			metrics[name] = true
		}
	}
	differ := differing(list, names)
	inFileOrder(differ, axes)
	return map[string]any{"sweeps": list, "differing": differ, "parameters": len(names),
		"metrics": sortedNames(metrics)}, nil
}

// compared reads what a comparison shows of a sweep, apart from Values.
func (s *Server) compared(ctx context.Context, reference, metric string) (*comparedSweep, error) {
	record, err := s.options.Store.Sweep(ctx, reference)
	if err != nil {
		return nil, err
	}
	item, err := s.item(ctx, record)
	if err != nil {
		return nil, err
	}
	c := &comparedSweep{sweepItem: item, Objective: objectiveOf(record), Goal: goalOf(record, metric),
		Values: map[string]any{}, axes: axisNames(record), parameters: map[string]frame.Column{},
		metrics: map[string]frame.Column{}}
	c.Read, err = s.use(ctx, record.ID, func(f *frame.Frame) error {
		for _, column := range f.Columns() {
			switch column.Kind {
			case "parameter":
				c.parameters[column.Called()] = column
			case "metric":
				c.metrics[column.Called()] = column
			}
		}
		if _, has := c.metrics[metricOf(record, metric)]; !has {
			return nil
		}
		groups, err := f.Groups(ctx, frame.GroupQuery{By: []string{}, Metrics: []string{metric},
			Goals: map[string]string{metric: c.Goal}, Limit: 1})
		if err == nil && len(groups.Groups) == 1 {
			c.Metric, c.States = &groups.Groups[0].Metrics[0], groups.Groups[0].States
		}
		return err
	})
	return c, err
}

// differing fills in the Values of parameters and returns those in which the sweeps differ.
func differing(list []*comparedSweep, parameters map[string]bool) []string {
	differ := map[string]bool{}
	for name := range parameters {
		for _, c := range list {
			values := valuesIn(c.parameters, name)
			c.Values[name] = values
			if fmt.Sprint(values) != fmt.Sprint(list[0].Values[name]) {
				differ[name] = true
			}
		}
	}
	return sortedNames(differ)
}

// valuesIn lists a column's values; if there are too many, it only says how many.
func valuesIn(columns map[string]frame.Column, name string) []any {
	c, there := columns[name]
	switch {
	case !there:
		return nil
	case c.Distinct < 0:
		return []any{"more than 1000 values"}
	case c.Distinct > len(c.Values):
		return []any{fmt.Sprintf("%d values", c.Distinct)}
	}
	return c.Values
}

// sortedNames returns the names of a set, sorted, and not nil.
func sortedNames(set map[string]bool) []string {
	return append([]string{}, slices.Sorted(maps.Keys(set))...)
}

// metricOf is what a metric is called that a text names.
func metricOf(record *sweep.SweepRecord, text string) string {
	return sweep.NamesOf(record).Called(text, sweep.MetricKind)
}

// goalOf returns the goal of a metric that a text names; the smallest value is the best where nothing is said.
func goalOf(record *sweep.SweepRecord, text string) string {
	return cmp.Or(record.Goal(metricOf(record, text)), sweep.Minimize)
}
