package frame

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// ImportanceQuery asks how much each parameter matters for a metric.
type ImportanceQuery struct {
	Filter
	Metric string
	Goal   string
	// Top is the fraction of trials that count as the best, 0.1 if 0.
	Top float64
}

// Importance is what a parameter matters. Both figures are computed from all trials
// that completed with the metric, by level (see Level), without chance; of a
// parameter that exists under a condition, from the trials that have it.
type Importance struct {
	Parameter string `json:"parameter"`
	// Variance is the part of the metric's variance that the parameter alone explains:
	// the variance of the means at its values over that of the trials (the main effect
	// of functional ANOVA, Hutter, Hoos and Leyton-Brown 2014, on the grid itself
	// rather than on a forest).
	Variance float64 `json:"variance"`
	// Share is the parameter's share of what all parameters set apart the best trials
	// from the others: the Pearson divergence of its values among the best from its
	// values among all (PED-ANOVA, Watanabe, Bansal and Hutter 2023), over the sum of
	// all parameters' divergences.
	Share float64 `json:"share"`
	// Trials have the parameter; Levels are its values among them.
	Trials int64 `json:"trials"`
	Levels int   `json:"levels"`
}

// Importances is an answer, the most important first: Trials have the metric, Top of
// them count as the best, Left fit the filter and have none.
type Importances struct {
	Trials     int64        `json:"trials"`
	Top        int64        `json:"top"`
	Left       int64        `json:"left"`
	Parameters []Importance `json:"parameters"`
	// Unknown are parameters of too many values that are no numbers.
	Unknown []string `json:"unknown,omitempty"`
}

// leveled is a parameter in the making of its importance.
type leveled struct {
	column *column
	*levels
	sums []sums
	top  []int64
}

// Importance answers a query.
func (f *Frame) Importance(ctx context.Context, q ImportanceQuery) (*Importances, error) {
	if q.Top == 0 {
		q.Top = 0.1
	}
	if !(q.Top > 0 && q.Top < 1) {
		return nil, fmt.Errorf("top is %v: expected a fraction between 0 and 1", q.Top)
	}
	names := f.Differing()
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, err := f.compile(q.Filter)
	if err != nil {
		return nil, err
	}
	metric, err := f.column(q.Metric)
	if err != nil {
		return nil, err
	}
	best, err := f.best(ctx, wanted, append(slices.Clone(wanted.columns), metric),
		SampleQuery{Top: q.Top, Goal: q.Goal})
	if err != nil {
		return nil, err
	}
	answer := &Importances{Top: best.chosen, Parameters: []Importance{}}
	var axes []*leveled
	columns := slices.Clone(wanted.columns)
	for _, name := range names {
		c := f.byName[name]
		l, err := c.levels()
		if err != nil {
			answer.Unknown = append(answer.Unknown, name)
			continue
		}
		axes = append(axes, &leveled{c, l, make([]sums, len(l.list)), make([]int64, len(l.list))})
		columns = append(columns, c)
	}
	columns = append(columns, metric)
	err = f.walk(ctx, 0, columns, func(base int64, list []State, values [][]uint64) bool {
		metrics := values[len(values)-1]
		for i, s := range list {
			if !wanted.fits(s, values, i) {
				continue
			}
			if s != Completed || isSpecial(metrics[i]) {
				answer.Left++
				continue
			}
			answer.Trials++
			v, top := math.Float64frombits(metrics[i]), best.among(s, metrics[i])
			for k, axis := range axes {
				at := axis.of(values[len(wanted.columns)+k][i])
				axis.sums[at].add(v, base)
				if top {
					axis.top[at]++
				}
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	answer.rank(axes)
	return answer, nil
}

// rank fills in the parameters, the most important first.
func (answer *Importances) rank(axes []*leveled) {
	total := 0.0
	for _, axis := range axes {
		one, divergence := axis.importance()
		if one.Levels < 2 {
			continue // it is there with one value or not at all, as other parameters have it
		}
		total += divergence
		one.Share = divergence
		answer.Parameters = append(answer.Parameters, one)
	}
	for i := range answer.Parameters {
		if total > 0 {
			answer.Parameters[i].Share /= total
		}
	}
	slices.SortStableFunc(answer.Parameters, func(a, b Importance) int {
		return comparePlace(place{key: -a.Variance}, place{key: -b.Variance})
	})
}

// importance computes a parameter's figures from what its levels came to, without
// the trials that do not have it.
func (l *leveled) importance() (Importance, float64) {
	out := Importance{Parameter: l.column.name}
	var mean, squares float64
	var n, top int64
	present := l.sums[:len(l.sums)-1]
	for i := range present {
		n += present[i].n
		top += l.top[i]
		mean += float64(present[i].n) * present[i].mean
	}
	out.Trials = n
	if n == 0 {
		return out, 0
	}
	mean /= float64(n)
	between := 0.0
	divergence := 0.0
	for i := range present {
		s := &present[i]
		if s.n == 0 {
			continue
		}
		out.Levels++
		delta := s.mean - mean
		between += float64(s.n) * delta * delta
		squares += s.squares
		if top > 0 {
			all, best := float64(s.n)/float64(n), float64(l.top[i])/float64(top)
			ratio := best/all - 1
			divergence += all * ratio * ratio
		}
	}
	if between+squares > 0 {
		out.Variance = between / (between + squares)
	}
	return out, divergence
}
