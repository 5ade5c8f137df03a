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

// band is the curves of a group of trials: the mean of its trials at each step, the
// sample's deviation between them, and the smallest and largest value of all points,
// so that no spike is lost. Of steps closer than a pixel one stands for all; Trials
// of Of were read.
type band struct {
	Values  []any      `json:"values"`
	First   int64      `json:"first"`
	Trials  int        `json:"trials"`
	Of      int64      `json:"of"`
	Indices []int64    `json:"indices"`
	Steps   []float64  `json:"steps"`
	N       []int      `json:"n"`
	Mean    []*float64 `json:"mean"`
	SD      []*float64 `json:"sd"`
	Low     []*float64 `json:"low"`
	High    []*float64 `json:"high"`
	// NotFinite counts the points that are NaN or infinite, Without the trials that
	// have no such curve.
	NotFinite int `json:"not_finite"`
	Without   int `json:"without"`
	// Curves are those of the single trials, where they were asked for.
	Curves []drawnCurve `json:"curves,omitempty"`
}

// curves answers the curves of one metric of the trials that fit a filter: a band for
// each group, by by=… or by everything but the seed.
func (s *Server) curves(r *http.Request) (any, error) {
	q := queryOf(r)
	metric, by := q.text("metric"), q.list("by")
	width := int(min(max(q.number("points", 300), 10), 2000))
	most := int(min(max(q.number("trials", 200), 1), mostCurves))
	groupsWanted := int(min(max(q.number("groups", 8), 1), mostBands))
	filter, single := q.filter(), q.flag("single")
	from, until := q.fraction("from", math.Inf(-1)), q.fraction("until", math.Inf(1))
	goals, err := s.goals(r, q.text("rank"))
	if err != nil {
		return nil, err
	}
	record, err := s.options.Store.Sweep(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var groups *frame.Groups
	members := map[int64][]int64{}
	read, err := s.useFor(r, q, func(f *frame.Frame) error {
		ask := frame.GroupQuery{Filter: filter, By: by, Limit: groupsWanted}
		if rank := q.text("rank"); rank != "" {
			ask.Metrics, ask.Goals, ask.OrderBy, ask.Descending = []string{rank}, goals, "mean",
				goals[rank] == sweep.Maximize
		}
		if groups, err = f.Groups(r.Context(), ask); err != nil {
			return err
		}
		each := max(1, most/max(1, len(groups.Groups)))
		for _, g := range groups.Groups {
			group := filter
			group.Where = slices.Clone(group.Where)
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
			if single {
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

// fill gathers curves into as many places as there are pixels, or one a step where
// there are fewer steps.
func (b *band) fill(list []sweep.Curve, width int) {
	if len(list) == 0 {
		return
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	distinct := map[int64]struct{}{}
	for i := range list {
		for _, step := range list[i].Steps {
			first, last = min(first, step), max(last, step)
			if len(distinct) <= width {
				distinct[step] = struct{}{}
			}
		}
	}
	var at func(step int64) int
	var steps []float64
	if len(distinct) <= width {
		for step := range distinct {
			steps = append(steps, float64(step))
		}
		slices.Sort(steps)
		places := make(map[int64]int, len(steps))
		for i, step := range steps {
			places[int64(step)] = i
		}
		at = func(step int64) int { return places[step] }
	} else {
		for i := range width {
			steps = append(steps, float64(first)+(float64(i)+0.5)*float64(last-first)/float64(width))
		}
		at = func(step int64) int { return pixelOf(step, first, last, width) }
	}
	type gathered struct {
		n                        int
		mean, squares, low, high float64
	}
	all := make([]gathered, len(steps))
	sums, counts := make([]float64, len(steps)), make([]int, len(steps))
	for i := range list {
		clear(sums)
		clear(counts)
		for k, step := range list[i].Steps {
			v := float64(list[i].Values[k])
			if math.IsNaN(v) || math.IsInf(v, 0) {
				b.NotFinite++
				continue
			}
			p := at(step)
			g := &all[p]
			if g.n == 0 && counts[p] == 0 {
				g.low, g.high = v, v
			}
			g.low, g.high = min(g.low, v), max(g.high, v)
			sums[p] += v
			counts[p]++
		}
		for p := range all {
			if counts[p] == 0 {
				continue
			}
			g := &all[p]
			v := sums[p] / float64(counts[p])
			g.n++
			delta := v - g.mean
			g.mean += delta / float64(g.n)
			g.squares += delta * (v - g.mean)
		}
	}
	for p := range all {
		g := &all[p]
		b.Steps, b.N = append(b.Steps, steps[p]), append(b.N, g.n)
		var mean, sd, low, high *float64
		if g.n > 0 {
			mean, low, high = &g.mean, &g.low, &g.high
		}
		if g.n > 1 {
			v := math.Sqrt(g.squares / float64(g.n-1))
			sd = &v
		}
		b.Mean, b.SD, b.Low, b.High = append(b.Mean, mean), append(b.SD, sd), append(b.Low, low), append(b.High, high)
	}
}
