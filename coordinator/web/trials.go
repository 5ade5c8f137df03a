package web

import (
	"net/http"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// over answers a query over a sweep's columns: with what do returns, and how much of
// the sweep it covers.
func (s *Server) over(r *http.Request, q *query, do func(f *frame.Frame) (any, error)) (any, error) {
	var answer any
	read, err := s.useFor(r, q, func(f *frame.Frame) (err error) {
		answer, err = do(f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"read": read, "answer": answer}, nil
}

// useFor is use for a request's sweep, with the request's own mistakes.
func (s *Server) useFor(r *http.Request, q *query, do func(f *frame.Frame) error) (Read, error) {
	if q.err != nil {
		return Read{}, q.err
	}
	var refused error
	read, err := s.use(r.Context(), r.PathValue("id"), func(f *frame.Frame) error {
		refused = do(f)
		return refused
	})
	if refused != nil && r.Context().Err() == nil {
		err = bad(refused)
	}
	return read, err
}

func (s *Server) columns(r *http.Request) (any, error) {
	return s.over(r, queryOf(r), func(f *frame.Frame) (any, error) { return f.Columns(), nil })
}

// trials answers a page of the list of trials.
func (s *Server) trials(r *http.Request) (any, error) {
	q := queryOf(r)
	ask := frame.Query{
		Filter: q.filter(), OrderBy: q.text("sort"), Descending: q.flag("descending"), Offset: q.number("offset", 0),
		Limit: int(q.number("limit", 50)), Columns: q.list("column"),
	}
	return s.over(r, q, func(f *frame.Frame) (any, error) { return f.Page(r.Context(), ask) })
}

// groups answers a page of the groups of trials that agree in by=…, or in everything
// but the seed.
func (s *Server) groups(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	ask := frame.GroupQuery{
		Filter: q.filter(), By: q.list("by"), Metrics: q.list("metric"), Goals: map[string]string{},
		OrderBy: q.text("sort"), Descending: q.flag("descending"),
		Offset: int(q.number("offset", 0)), Limit: int(q.number("limit", 50)),
	}
	for _, name := range ask.Metrics {
		ask.Goals[name] = goalOf(record, name)
	}
	return s.over(r, q, func(f *frame.Frame) (any, error) {
		ask.By = groupBy(f, record, ask.By)
		return f.Groups(r.Context(), ask)
	})
}

// slice answers a metric over one parameter, or two; the i-th bins=… and scale=… are of the i-th by=….
func (s *Server) slice(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	metric := q.text("metric")
	ask := frame.SliceQuery{Filter: q.filter(), By: q.list("by"), Metric: metric, Goal: goalOf(record, metric),
		Divisions: map[string]frame.Division{}}
	for i, name := range ask.By {
		ask.Divisions[name] = frame.Division{Bins: int(q.numberAt("bins", i)), Scale: q.textAt("scale", i)}
	}
	return s.over(r, q, func(f *frame.Frame) (any, error) { return f.Slice(r.Context(), ask) })
}

// lines answers some trials to be drawn as lines.
func (s *Server) lines(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	metric := q.text("metric")
	ask := frame.SampleQuery{
		Filter: q.filter(), Metric: metric, Goal: goalOf(record, metric), Top: q.fraction("top", 1),
		Limit: int(q.number("limit", 500)), Columns: q.list("column"),
	}
	return s.over(r, q, func(f *frame.Frame) (any, error) { return f.Sample(r.Context(), ask) })
}

// importance answers which parameters matter for a metric.
func (s *Server) importance(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	metric := q.text("metric")
	ask := frame.ImportanceQuery{Filter: q.filter(), Metric: metric, Goal: goalOf(record, metric),
		Top: q.fraction("top", 0.1)}
	return s.over(r, q, func(f *frame.Frame) (any, error) {
		ask.Parameters = varied(f, record)
		return f.Importance(r.Context(), ask)
	})
}
