package web

import (
	"fmt"
	"math"
	"net/http"
	"strconv"

	"sweep/sweep"
	"sweep/sweep/frame"
)

const (
	// maxCurves is of how many trials curves are read for one picture.
	maxCurves = 1000
	// maxBands is how many groups one picture has.
	maxBands = 12
)

// durations are the seconds that trials took.
const durations = "trial.seconds"

// curves answers the curves of one metric of the trials that match a filter: a band for
// each group, by by=… or by everything but the seed, or for each trial=….
func (s *Server) curves(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	metric, rank := metricOf(record, q.text("metric")), q.text("rank")
	width := int(min(max(q.number("points", 300), 10), 2000))
	ask := frame.GroupQuery{Filter: q.filter(), By: q.list("by"),
		Members: min(max(q.number("trials", 200), 1), maxCurves),
		Limit:   int(min(max(q.number("groups", 8), 1), maxBands))}
	if rank != "" {
		ask.Metrics, ask.OrderBy, ask.Descending = []string{rank}, "mean", goalOf(record, rank) == sweep.Maximize
	}
	if q.flag("time") {
		ask.Metrics = append(ask.Metrics, durations)
	}
	from, until := q.fraction("from", math.Inf(-1)), q.fraction("until", math.Inf(1))
	var groups *frame.Groups
	read, err := s.useFor(r, q, func(f *frame.Frame) (err error) {
		if trials := q.list("trial"); trials != nil {
			groups, err = bandsOfTrials(f, trials)
			return err
		}
		ask.By = groupBy(f, record, ask.By)
		groups, err = f.Groups(r.Context(), ask)
		return err
	})
	if err != nil {
		return nil, err
	}
	bands := []band{}
	drawn := 0
	for _, g := range groups.Groups {
		b := band{Values: g.Values, First: g.First, Of: g.Count, Indices: g.Rows, Trials: len(g.Rows),
			Result: frame.Statistics{Best: -1}}
		for i, name := range ask.Metrics[:min(len(ask.Metrics), len(g.Metrics))] {
			switch name {
			case rank:
				b.Result = g.Metrics[i]
			case durations:
				b.Seconds = g.Metrics[i].Mean
			}
		}
		var list []sweep.Curve
		for _, index := range g.Rows {
			curves, err := s.options.Store.Curves(r.Context(), sweep.TrialID{Sweep: record.ID, Index: index}, metric)
			if err != nil {
				return nil, err
			}
			if len(curves) == 0 || len(curves[0].Values) == 0 {
				b.Without++
				continue
			}
			b.LastStep = max(b.LastStep, curves[0].Steps[len(curves[0].Steps)-1])
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

// bandsOfTrials makes each of some trials a group of its own.
func bandsOfTrials(f *frame.Frame, trials []string) (*frame.Groups, error) {
	if len(trials) > maxBands {
		return nil, fmt.Errorf("%d trials given: one picture has up to %d", len(trials), maxBands)
	}
	groups := &frame.Groups{By: []string{}}
	for _, text := range trials {
		index, err := strconv.ParseInt(text, 10, 64)
		if err != nil || index < 0 || index >= f.Loaded().Rows {
			return nil, fmt.Errorf("%.40q is not the index of a trial", text)
		}
		groups.Groups = append(groups.Groups, frame.Group{Values: []any{}, First: index, Count: 1,
			Rows: []int64{index}})
	}
	groups.Total, groups.Trials = int64(len(trials)), int64(len(trials))
	return groups, nil
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
