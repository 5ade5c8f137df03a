package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"sweep/coordinator/web/frame"
	"sweep/sweep"
)

// sweepItem is a sweep in a list.
type sweepItem struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Trainer   string           `json:"trainer"`
	Pool      string           `json:"pool"`
	Priority  int              `json:"priority"`
	State     sweep.SweepState `json:"state"`
	Reason    string           `json:"reason,omitempty"`
	Points    int64            `json:"points"`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
	Progress  sweep.Progress   `json:"progress"`
}

func (s *Server) item(ctx context.Context, record *sweep.SweepRecord) (sweepItem, error) {
	progress, err := s.options.Store.Progress(ctx, record.ID)
	return sweepItem{
		ID: record.ID, Name: record.Name, Trainer: record.Trainer, Pool: record.Pool, Priority: record.Priority,
		State:  record.State,
		Reason: record.Reason, Points: record.Points(), CreatedAt: record.CreatedAt, UpdatedAt: record.UpdatedAt,
		Progress: progress,
	}, err
}

// listSweeps lists a page of the sweeps, the newest first.
func (s *Server) listSweeps(r *http.Request) (any, error) {
	q := queryOf(r)
	offset, limit := q.number("offset", 0), q.number("limit", 100)
	if q.err != nil {
		return nil, q.err
	}
	var states []sweep.SweepState
	for _, name := range q.list("state") {
		states = append(states, sweep.SweepState(name))
	}
	records, err := s.options.Store.Sweeps(r.Context(), states...)
	if err != nil {
		return nil, err
	}
	from := min(max(offset, 0), int64(len(records)))
	until := min(from+min(max(limit, 0), 500), int64(len(records)))
	list := []sweepItem{}
	for i := range records[from:until] {
		one, err := s.item(r.Context(), &records[int(from)+i])
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return map[string]any{"total": len(records), "sweeps": list}, nil
}

// shownGrid is a submission of a sweep, and shownAxis one of its axes.
type shownGrid struct {
	First  int64       `json:"first"`
	Points int64       `json:"points"`
	Cursor int64       `json:"cursor"`
	Source string      `json:"source"`
	Axes   []shownAxis `json:"axes"`
}

type shownAxis struct {
	Names  []string `json:"names"`
	Length int64    `json:"length"`
}

// showSweep tells everything of a sweep that is not its trials'.
func (s *Server) showSweep(r *http.Request) (any, error) {
	record, err := s.options.Store.Sweep(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	one, err := s.item(r.Context(), record)
	if err != nil {
		return nil, err
	}
	answer := struct {
		sweepItem
		Select     sweep.Select            `json:"select"`
		Metrics    []sweep.MetricSchema    `json:"metrics"`
		Parameters []sweep.ParameterSchema `json:"parameters"`
		Grids      []shownGrid             `json:"grids"`
	}{sweepItem: one, Metrics: []sweep.MetricSchema{}, Parameters: []sweep.ParameterSchema{}, Grids: []shownGrid{}}
	for i := range record.Grids {
		g := &record.Grids[i]
		if i == 0 {
			answer.Select = g.Submission.Spec.Select.Filled(&g.Submission.Description)
			answer.Metrics = append(answer.Metrics, g.Submission.Description.Metrics...)
			answer.Parameters = append(answer.Parameters, g.Submission.Description.Parameters...)
		}
		shown := shownGrid{First: g.First, Points: g.Points, Cursor: g.Cursor, Source: g.Submission.Source,
			Axes: []shownAxis{}}
		for _, axis := range g.Submission.Spec.Axes {
			a := shownAxis{Length: axis.Len()}
			for _, p := range axis.Parameters {
				a.Names = append(a.Names, p.Name)
			}
			shown.Axes = append(shown.Axes, a)
		}
		answer.Grids = append(answer.Grids, shown)
	}
	return answer, nil
}

// compare puts sweeps beside each other: the parameters in which they differ, and
// the statistics of a metric.
func (s *Server) compare(r *http.Request) (any, error) {
	q := queryOf(r)
	references, metric := q.list("sweep"), q.text("metric")
	if len(references) < 1 || len(references) > mostFrames {
		return nil, bad(fmt.Errorf("name 1 to %d sweeps to compare, as sweep=ID", mostFrames))
	}
	type compared struct {
		sweepItem
		Goal   string            `json:"goal"`
		Read   Read              `json:"read"`
		Values map[string]any    `json:"values"`
		Metric *frame.Statistics `json:"metric"`
		States map[string]int64  `json:"states"`
	}
	list := []compared{}
	described := []map[string]frame.Column{}
	metrics := map[string]bool{}
	for _, reference := range references {
		record, err := s.options.Store.Sweep(r.Context(), reference)
		if err != nil {
			return nil, err
		}
		one, err := s.item(r.Context(), record)
		if err != nil {
			return nil, err
		}
		c := compared{sweepItem: one, Goal: goalOf(record, metric), Values: map[string]any{}}
		columns := map[string]frame.Column{}
		c.Read, err = s.use(r.Context(), record.ID, func(f *frame.Frame) error {
			for _, column := range f.Columns() {
				columns[column.Name] = column
				metrics[column.Name] = metrics[column.Name] || column.Kind == "metric"
			}
			if columns[metric].Name == "" {
				return nil
			}
			groups, err := f.Groups(r.Context(), frame.GroupQuery{By: []string{}, Metrics: []string{metric},
				Goals: map[string]string{metric: c.Goal}, Limit: 1})
			if err == nil && len(groups.Groups) == 1 {
				c.Metric, c.States = &groups.Groups[0].Metrics[0], groups.Groups[0].States
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		list, described = append(list, c), append(described, columns)
	}
	names := map[string]bool{}
	for _, columns := range described {
		for name, c := range columns {
			if c.Kind == "parameter" {
				names[name] = true
			}
		}
	}
	differing := []string{}
	for name := range names {
		same := true
		for i, columns := range described {
			c, there := columns[name]
			values := c.Values
			switch {
			case !there:
				values = nil
			case c.Distinct < 0 || c.Distinct > len(c.Values):
				values = []any{fmt.Sprintf("%s values",
					map[bool]string{true: "more than 1000", false: fmt.Sprint(c.Distinct)}[c.Distinct < 0])}
			}
			list[i].Values[name] = values
			same = same && fmt.Sprint(values) == fmt.Sprint(list[0].Values[name])
		}
		if !same {
			differing = append(differing, name)
		}
	}
	slices.Sort(differing)
	metricNames := []string{}
	for name, is := range metrics {
		if is {
			metricNames = append(metricNames, name)
		}
	}
	slices.Sort(metricNames)
	return map[string]any{"sweeps": list, "differing": differing, "parameters": len(names), "metrics": metricNames}, nil
}

// goalOf returns the goal of a metric: the sweep's own if its trials compete by it,
// else the trainer's.
func goalOf(record *sweep.SweepRecord, name string) string {
	for i := range record.Grids {
		submission := &record.Grids[i].Submission
		if choice := submission.Spec.Select; choice.By == name && choice.Goal != "" {
			return choice.Goal
		}
		if m := submission.Description.Metric(name); m != nil && m.Goal != "" &&
			submission.Description.Parameter(name) == nil {
			return m.Goal
		}
	}
	return sweep.Minimize
}
