package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/statistics"
)

// gridPoint has the replicates of one point: trials that differ in the seed alone.
type gridPoint struct {
	set        *Set
	model      string
	parameters sweep.Parameters
	// key decides between points that tie.
	key    int64
	trials []*trial // in the order of their arrival
	// baseline is the loss of the best answer that needs no memory.
	baseline float64
}

// trial is what tables need of a completed trial; what is not known is NaN. A diverged
// trial counts as its trainer says, so that a grid point does not win by losing replicates, and is
// never selected as a single trial. The view ucr_table does the same.
type trial struct {
	id         sweep.TrialID
	seed       string
	diverged   bool
	score      float64
	metrics    []float64 // in an order of the table
	parameters int64
}

// reading is how a table reads the completed trials of a frame.
type reading struct {
	choice      sweep.Select
	description *sweep.Description
	// metrics are those of each trial, further those that add reads besides.
	metrics, further []string
	// seeded means that the seed is a parameter of grid points like others.
	seeded bool
}

// read calls add for each trial, in order, with its grid point and metrics. compared says whether it has what decides
// and is not the same as one before, of another sweep.
func (r *reading) read(ctx context.Context, f *frame.Frame,
	add func(p *gridPoint, t *trial, compared bool, summary map[string]float64)) error {
	points, err := r.points(ctx, f)
	if err != nil {
		return err
	}
	once, err := f.Once(ctx)
	if err != nil {
		return err
	}
	metrics := slices.Concat(r.metrics, r.further, []string{r.choice.By, sweep.ParameterCountMetric})
	names := []sweep.Name{sweep.FieldKind.Of("state"), sweep.ParameterKind.Of(sweep.SeedParameter)}
	for _, metric := range metrics {
		names = append(names, sweep.MetricKind.Of(metric))
	}
	summary := map[string]float64{}
	return f.Each(ctx, names, func(row int64, values []any) {
		p := points[row]
		if p == nil {
			return
		}
		clear(summary)
		for i, metric := range metrics {
			if value, has := values[i+2].(float64); has {
				summary[metric] = value
			}
		}
		t := &trial{id: f.Trial(row), seed: fmt.Sprint(frame.Stored(values[1])),
			diverged: values[0] == frame.Diverged.String(), score: r.choice.Diverged(r.description),
			parameters: int64(summary[sweep.ParameterCountMetric])}
		compared := true
		if !t.diverged {
			t.score, compared = summary[r.choice.By]
		}
		for _, name := range r.metrics {
			value, known := summary[name]
			switch {
			case t.diverged:
				value = r.description.Diverged(name, p.parameters)
			case !known:
				value = math.NaN()
			}
			t.metrics = append(t.metrics, value)
		}
		add(p, t, (compared || r.choice.By == "") && once(row), summary)
	})
}

// points returns the grid point of each completed trial, by row.
func (r *reading) points(ctx context.Context, f *frame.Frame) ([]*gridPoint, error) {
	by := []string{}
	for _, c := range f.Columns() {
		if c.Kind == "parameter" && (r.seeded || c.Called() != sweep.SeedParameter) &&
			(f.Sweeps() == 1 || c.Called() != frame.SweepColumn) {
			by = append(by, c.Name)
		}
	}
	completed := frame.Filter{States: []frame.State{frame.Completed, frame.Diverged}}
	groups, err := f.Groups(ctx, frame.GroupQuery{Filter: completed, By: by, All: true, Members: math.MaxInt64})
	if err != nil {
		return nil, err
	}
	points := make([]*gridPoint, f.Loaded().Rows)
	for _, g := range groups.Groups {
		p := &gridPoint{parameters: sweep.Parameters{}}
		for k, value := range g.Values {
			if value != nil {
				p.parameters[groups.Names[k].Own()] = frame.Stored(value)
			}
		}
		object, _ := p.parameters.Canonical() // stored values have a form
		p.key = sweep.PointKey(members(object))
		for _, row := range g.Rows {
			points[row] = p
		}
	}
	return points, nil
}

// members are those of a canonical object, each with a comma after it.
func members(object []byte) []byte {
	inner := object[1 : len(object)-1]
	if len(inner) == 0 {
		return nil
	}
	return append(slices.Clone(inner), ',')
}

// before decides between trials that tie: by their points, then by their seeds.
func (p *gridPoint) before(t *trial, other *gridPoint, than *trial) bool {
	return cmp.Or(cmp.Compare(p.key, other.key), cmp.Compare(len(t.seed), len(than.seed)),
		strings.Compare(t.seed, than.seed)) < 0
}

// votes reports whether the point's trials leave class probabilities.
func (p *gridPoint) votes() bool { return !p.set.LossOnly && p.baseline == 0 }

// bySeed returns the replicates in the order of seeds: sums must not depend on the order of
// arrival.
func (p *gridPoint) bySeed() []*trial {
	return slices.SortedFunc(slices.Values(p.trials), func(a, b *trial) int { return cmp.Compare(a.seed, b.seed) })
}

// momentsOf are those of a metric.
func momentsOf(trials []*trial, metric int) (m statistics.Moments) {
	for _, t := range trials {
		m.Add(t.metrics[metric])
	}
	return m
}
