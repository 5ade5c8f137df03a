package web

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"

	"sweep/sweep"
	"sweep/sweep/frame"
)

const (
	// mostCurves is of how many trials curves are read for one picture.
	mostCurves = 1000
	// mostBands is how many groups one picture has.
	mostBands = 12
)

// durations are the seconds that trials took.
const durations = "trial.seconds"

// curves answers the curves of one metric of the trials that match a filter: a band for
// each group, by by=… or by everything but the seed, or for each trial=….
func (s *Server) curves(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q := queryOf(r)
	metric, rank := metricOf(record, q.text("metric")), q.text("rank")
	width := int(min(max(q.number("points", 300), 10), 2000))
	most := int(min(max(q.number("trials", 200), 1), mostCurves))
	ask := frame.GroupQuery{Filter: q.filter(), By: q.list("by"),
		Limit: int(min(max(q.number("groups", 8), 1), mostBands))}
	if rank != "" {
		ask.Metrics, ask.OrderBy, ask.Descending = []string{rank}, "mean", goalOf(record, rank) == sweep.Maximize
	}
	if q.flag("time") {
		ask.Metrics = append(ask.Metrics, durations)
	}
	from, until := q.fraction("from", math.Inf(-1)), q.fraction("until", math.Inf(1))
	var groups *frame.Groups
	var members map[int64][]int64
	read, err := s.useFor(r, q, func(f *frame.Frame) (err error) {
		if trials := q.list("trial"); trials != nil {
			groups, members, err = bandsOfTrials(f, trials)
			return err
		}
		ask.By = groupBy(f, record, ask.By)
		if groups, err = f.Groups(r.Context(), ask); err == nil {
			members, err = bandMembers(r.Context(), f, groups, ask.Filter, most)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	bands := []band{}
	drawn := 0
	for _, g := range groups.Groups {
		b := band{Values: g.Values, First: g.First, Of: g.Count, Indices: append([]int64{}, members[g.First]...),
			Trials: len(members[g.First]), Result: frame.Statistics{Best: -1}}
		for i, name := range ask.Metrics[:min(len(ask.Metrics), len(g.Metrics))] {
			switch name {
			case rank:
				b.Result = g.Metrics[i]
			case durations:
				b.Seconds = g.Metrics[i].Mean
			}
		}
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

// bandMembers chooses the trials whose curves are read of each group, by the group's first trial.
func bandMembers(ctx context.Context, f *frame.Frame, groups *frame.Groups, filter frame.Filter,
	most int) (map[int64][]int64, error) {
	members := map[int64][]int64{}
	each := max(1, most/max(1, len(groups.Groups)))
	for _, g := range groups.Groups {
		group := frame.Filter{States: filter.States, Where: slices.Clone(filter.Where), Written: filter.Written}
		for i, name := range groups.Names {
			value := g.Values[i]
			if value == nil { // without those whose value is null
				value = json.RawMessage(nil)
			}
			group.Where = append(group.Where, sweep.TrialCondition{Name: name, Operator: "=", Value: value})
		}
		chosen, err := f.Sample(ctx, frame.SampleQuery{Filter: group, Top: 1, Limit: each})
		if err != nil {
			return nil, err
		}
		for _, row := range chosen.Rows {
			members[g.First] = append(members[g.First], row.Index)
		}
	}
	return members, nil
}

// bandsOfTrials makes each of some trials a group of its own.
func bandsOfTrials(f *frame.Frame, trials []string) (*frame.Groups, map[int64][]int64, error) {
	if len(trials) > mostBands {
		return nil, nil, fmt.Errorf("%d trials given: one picture has up to %d", len(trials), mostBands)
	}
	groups, members := &frame.Groups{By: []string{}}, map[int64][]int64{}
	for _, text := range trials {
		index, err := strconv.ParseInt(text, 10, 64)
		if err != nil || index < 0 || index >= f.Loaded().Rows {
			return nil, nil, fmt.Errorf("%.40q is not the index of a trial", text)
		}
		members[index] = []int64{index}
		groups.Groups = append(groups.Groups, frame.Group{Values: []any{}, First: index, Count: 1})
	}
	groups.Total, groups.Trials = int64(len(trials)), int64(len(trials))
	return groups, members, nil
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
