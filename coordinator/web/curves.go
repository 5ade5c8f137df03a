package web

import (
	"math"
	"net/http"
	"slices"

	"sweep/coordinator/web/frame"
	"sweep/sweep"
)

const (
	// mostCurves is of how many trials curves are read for one picture.
	mostCurves = 1000
	// mostBands is how many groups one picture has.
	mostBands = 12
)

// curves answers the curves of one metric of the trials that match a filter: a band for
// each group, by by=… or by everything but the seed.
func (s *Server) curves(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	metric, rank := q.text("metric"), q.text("rank")
	width := int(min(max(q.number("points", 300), 10), 2000))
	most := int(min(max(q.number("trials", 200), 1), mostCurves))
	ask := frame.GroupQuery{Filter: q.filter(), By: q.list("by"),
		Limit: int(min(max(q.number("groups", 8), 1), mostBands))}
	if rank != "" {
		ask.Metrics, ask.OrderBy, ask.Descending = []string{rank}, "mean", goalOf(record, rank) == sweep.Maximize
	}
	from, until := q.fraction("from", math.Inf(-1)), q.fraction("until", math.Inf(1))
	var groups *frame.Groups
	members := map[int64][]int64{}
	read, err := s.useFor(r, q, func(f *frame.Frame) (err error) {
		if groups, err = f.Groups(r.Context(), ask); err != nil {
			return err
		}
		each := max(1, most/max(1, len(groups.Groups)))
		for _, g := range groups.Groups {
			group := frame.Filter{States: ask.States, Where: slices.Clone(ask.Where)}
			for i, name := range groups.By {
				group.Where = append(group.Where, sweep.TrialCondition{Name: name, Operator: "=", Value: g.Values[i]})
			}
			chosen, err := f.Sample(r.Context(), frame.SampleQuery{Filter: group, Top: 1, Limit: each})
			if err != nil {
				return err
			}
			for _, row := range chosen.Rows {
				members[g.First] = append(members[g.First], row.Index)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	bands := []band{}
	drawn := 0
	for _, g := range groups.Groups {
		b := band{Values: g.Values, First: g.First, Of: g.Count, Indices: append([]int64{}, members[g.First]...),
			Trials: len(members[g.First])}
		var list []sweep.Curve
		for _, index := range members[g.First] {
			curves, err := s.options.Store.Curves(r.Context(), sweep.TrialID{Sweep: record.ID, Index: index}, metric)
			if err != nil {
				return nil, err
			}
			if len(curves) == 0 || len(curves[0].Values) == 0 {
				b.Without++
				continue
			}
			within(&curves[0], from, until)
			list = append(list, curves[0])
			if q.flag("single") {
				b.Curves = append(b.Curves, draw(&curves[0], width))
			}
		}
		drawn += b.Trials
		b.fill(list, width)
		bands = append(bands, b)
	}
	return map[string]any{"read": read, "answer": map[string]any{
		"metric": metric, "by": groups.By, "bands": bands, "groups": groups.Total, "trials": groups.Trials,
		"drawn": drawn,
	}}, nil
}

// within leaves the points of a range of steps alone, and one on either side, so that
// lines go on to the edge.
func within(c *sweep.Curve, from, until float64) {
	first, last := 0, len(c.Steps)
	for first+1 < last && float64(c.Steps[first+1]) < from {
		first++
	}
	for last-1 > first && float64(c.Steps[last-2]) > until {
		last--
	}
	c.Steps, c.Values = c.Steps[first:last], c.Values[first:last]
}
