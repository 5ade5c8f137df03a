package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"sweep/sweep"
)

// sweepItem is a sweep in a list.
type sweepItem struct {
	ID       string           `json:"id"`
	Name     string           `json:"name"`
	Trainer  string           `json:"trainer"`
	Pool     string           `json:"pool"`
	Priority int              `json:"priority"`
	State    sweep.SweepState `json:"state"`
	Reason   string           `json:"reason,omitempty"`
	AskedBy  string           `json:"asked_by,omitempty"`
	Purpose  string           `json:"purpose,omitempty"`
	sweep.Annotation
	Points    int64          `json:"points"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
	Progress  sweep.Progress `json:"progress"`
}

func (s *Server) item(ctx context.Context, record *sweep.SweepRecord) (sweepItem, error) {
	progress, err := s.options.Store.Progress(ctx, record.ID)
	return sweepItem{
		ID: record.ID, Name: record.Name, Trainer: record.Trainer, Pool: record.Pool, Priority: record.Priority,
		State: record.State, Reason: record.Reason, AskedBy: record.AskedBy, Purpose: record.Purpose,
		Annotation: record.Annotation,
		Points:     record.Points(), CreatedAt: record.CreatedAt,
		UpdatedAt: record.UpdatedAt, Progress: progress,
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
	for _, tag := range q.list("tag") {
		records = slices.DeleteFunc(records, func(r sweep.SweepRecord) bool { return !slices.Contains(r.Tags, tag) })
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
	// Scales are those of the parameters' distributions, by name.
	Scales map[string]string `json:"scales,omitempty"`
}

// showSweep tells everything of a sweep that is not its trials'.
func (s *Server) showSweep(r *http.Request, record *sweep.SweepRecord) (any, error) {
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
				if scale := scaleOf(&p.Values); scale != "" {
					if a.Scales == nil {
						a.Scales = map[string]string{}
					}
					a.Scales[p.Name] = scale
				}
			}
			shown.Axes = append(shown.Axes, a)
		}
		answer.Grids = append(answer.Grids, shown)
	}
	return answer, nil
}
