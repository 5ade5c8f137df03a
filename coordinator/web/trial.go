package web

import (
	"math"
	"net/http"
	"slices"

	"sweep/sweep"
)

// trial tells everything of one trial.
func (s *Server) trial(r *http.Request, record *sweep.SweepRecord) (any, error) {
	id, err := trialOf(r, record.ID)
	if err != nil {
		return nil, err
	}
	q := queryOf(r)
	width := int(q.number("points", 600))
	if q.err != nil {
		return nil, q.err
	}
	ctx := r.Context()
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
	err = s.options.Store.Artifacts(ctx, sweep.ArtifactQuery{Sweep: id.Sweep, Indices: []int64{id.Index}},
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
		"trial":      plainTrial{trial, trial.Result.Plain()},
		"executions": append([]sweep.Execution{}, executions...), "artifacts": artifacts,
		"curves": drawn,
		"points": record.Points(), "metrics": metrics, "objective": objectiveOf(record), "axes": axisNames(record),
		"sweep_state": record.State, "sweep_reason": record.Reason,
	}, nil
}

// plainTrial is a trial as JSON has it.
type plainTrial struct {
	*sweep.TrialRecord
	Result *sweep.PlainResult `json:"result,omitempty"`
}

// executionLog answers the end of an execution's log.
func (s *Server) executionLog(r *http.Request, record *sweep.SweepRecord) (any, error) {
	id, err := trialOf(r, record.ID)
	if err != nil {
		return nil, err
	}
	return s.options.Store.ExecutionLog(r.Context(), id, r.URL.Query().Get("execution"))
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
// the steps that fall on it, so that no spike is lost; and to one of its gaps.
func draw(c *sweep.Curve, width int) drawnCurve {
	n := len(c.Values)
	d := drawnCurve{Metric: c.Metric, Points: n, Steps: []int64{}, Values: []*float64{}}
	for _, v := range c.Values {
		if !isFinite(v) {
			d.NotFinite++
		}
	}
	add := func(i int) {
		d.Steps = append(d.Steps, c.Steps[i])
		if !isFinite(c.Values[i]) {
			d.Values = append(d.Values, nil)
			return
		}
		d.Values = append(d.Values, new(float64(c.Values[i])))
	}
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
			switch v := c.Values[i]; {
			case !isFinite(v):
				gap = i
			case low < 0:
				low, high = i, i
			case v < c.Values[low]:
				low = i
			case v > c.Values[high]:
				high = i
			}
		}
		kept := []int{low, high, gap}
		slices.Sort(kept)
		for _, at := range slices.Compact(kept) {
			if at >= 0 {
				add(at)
			}
		}
	}
	return d
}

func isFinite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// pixelOf returns the pixel of a step. It depends on the steps alone.
func pixelOf(step, first, last int64, width int) int {
	if last <= first {
		return 0
	}
	return min(int(float64(step-first)/float64(last-first+1)*float64(width)), width-1)
}
