package web

import (
	"math"
	"net/http"

	"sweep/sweep"
)

// trial tells everything of one trial.
func (s *Server) trial(r *http.Request) (any, error) {
	index, err := trialIndex(r)
	if err != nil {
		return nil, err
	}
	q := queryOf(r)
	width := int(q.number("points", 600))
	if q.err != nil {
		return nil, q.err
	}
	ctx := r.Context()
	record, err := s.options.Store.Sweep(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	id := sweep.TrialID{Sweep: record.ID, Index: index}
	executions, err := s.options.Store.Executions(ctx, id) // it says why there is no such trial
	if err != nil {
		return nil, err
	}
	trial, err := s.options.Store.Trial(ctx, id)
	if err != nil {
		return nil, err
	}
	curves, err := s.options.Store.Curves(ctx, id)
	if err != nil {
		return nil, err
	}
	artifacts := []*sweep.ArtifactRecord{}
	err = s.options.Store.Artifacts(ctx, sweep.ArtifactQuery{Sweep: record.ID, Indices: []int64{index}},
		func(a *sweep.ArtifactRecord) error {
			artifacts = append(artifacts, a)
			return nil
		})
	if err != nil {
		return nil, err
	}
	metrics := []sweep.MetricSchema{}
	if len(record.Grids) > 0 {
		metrics = append(metrics, record.Grids[0].Submission.Description.Metrics...)
	}
	drawn := []drawnCurve{}
	for i := range curves {
		drawn = append(drawn, draw(&curves[i], width))
	}
	return map[string]any{
		"trial": trial, "executions": append([]sweep.Execution{}, executions...), "artifacts": artifacts,
		"curves": drawn,
		"points": record.Points(), "metrics": metrics, "sweep_state": record.State, "sweep_reason": record.Reason,
	}, nil
}

// executionLog answers the end of an execution's log.
func (s *Server) executionLog(r *http.Request) (any, error) {
	index, err := trialIndex(r)
	if err != nil {
		return nil, err
	}
	record, err := s.options.Store.Sweep(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return s.options.Store.ExecutionLog(r.Context(), sweep.TrialID{Sweep: record.ID, Index: index},
		r.URL.Query().Get("execution"))
}

// drawnCurve is a curve as it is drawn: Values are null where they are not finite,
// and Points is how many there are in the store.
type drawnCurve struct {
	Metric string     `json:"metric"`
	Points int        `json:"points"`
	Steps  []int64    `json:"steps"`
	Values []*float64 `json:"values"`
	// NotFinite counts the values that are NaN or infinite.
	NotFinite int `json:"not_finite"`
}

// draw thins a curve to two points a pixel, the smallest and the largest value of
// the steps that fall on it, so that no spike is lost.
func draw(c *sweep.Curve, width int) drawnCurve {
	d := drawnCurve{Metric: c.Metric, Points: len(c.Values), Steps: []int64{}, Values: []*float64{}}
	add := func(i int) {
		d.Steps = append(d.Steps, c.Steps[i])
		v := float64(c.Values[i])
		if math.IsNaN(v) || math.IsInf(v, 0) {
			d.Values = append(d.Values, nil)
			return
		}
		d.Values = append(d.Values, &v)
	}
	for _, v := range c.Values {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			d.NotFinite++
		}
	}
	n := len(c.Values)
	if width < 1 || n <= 2*width {
		for i := range n {
			add(i)
		}
		return d
	}
	first, last := c.Steps[0], c.Steps[n-1]
	for i := 0; i < n; {
		pixel := pixelOf(c.Steps[i], first, last, width)
		low, high, gap := -1, -1, -1
		for ; i < n && pixelOf(c.Steps[i], first, last, width) == pixel; i++ {
			v := float64(c.Values[i])
			switch {
			case math.IsNaN(v) || math.IsInf(v, 0):
				gap = i
			default:
				if low < 0 || c.Values[i] < c.Values[low] {
					low = i
				}
				if high < 0 || c.Values[i] > c.Values[high] {
					high = i
				}
			}
		}
		list := []int{min(low, high), max(low, high)}
		if low == high {
			list = list[1:]
		}
		if gap >= 0 {
			list = append(list, gap)
		}
		previous := -1
		for _, at := range sortedInts(list) {
			if at >= 0 && at != previous {
				add(at)
				previous = at
			}
		}
	}
	return d
}

func sortedInts(list []int) []int {
	for i := 1; i < len(list); i++ {
		for k := i; k > 0 && list[k] < list[k-1]; k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
	return list
}

// pixelOf returns the pixel of a step. It depends on the steps alone.
func pixelOf(step, first, last int64, width int) int {
	if last <= first {
		return 0
	}
	return min(int(float64(step-first)/float64(last-first+1)*float64(width)), width-1)
}
