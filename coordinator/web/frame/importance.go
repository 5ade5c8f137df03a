package frame

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// ImportanceQuery asks how much each parameter matters for a metric.
type ImportanceQuery struct {
	Filter
	Metric string
	Goal   string
	// Top is the fraction of trials that count as the best, 0.1 if 0.
	Top float64
	// Parameters are those that are judged; nil for all that differ but the seed.
	Parameters []string
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
// them count as the best, Left match the filter and have none.
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
	names := q.Parameters
	if names == nil {
		names = f.Differing()
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, columns, err := f.resolve(q.Filter, q.Metric)
	if err != nil {
		return nil, err
	}
	best, err := f.best(ctx, wanted, columns[0], q.Top, q.Goal)
	if err != nil {
		return nil, err
	}
	answer := &Importances{Trials: best.valued, Top: best.chosen, Left: best.total - best.valued,
		Parameters: []Importance{}}
	var axes []*leveled
	for _, name := range names {
		c, err := f.column(name)
		if err != nil {
			return nil, err
		}
		l, err := c.levels(Division{})
		if err != nil {
			answer.Unknown = append(answer.Unknown, name)
			continue
		}
		axes = append(axes, &leveled{c, l, make([]sums, len(l.list)), make([]int64, len(l.list))})
		columns = append(columns, c)
	}
	for b, err := range f.batches(ctx, wanted, columns) {
		if err != nil {
			return nil, err
		}
		for _, i := range b.matches {
			v, ok := b.score(0, i)
			if !ok {
				continue
			}
			top := best.among(v, true)
			for k, axis := range axes {
				at := axis.of(b.values[k+1][i])
				axis.sums[at].add(v, b.base)
				if top {
					axis.top[at]++
				}
			}
		}
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
	slices.SortStableFunc(answer.Parameters, func(a, b Importance) int { return cmp.Compare(b.Variance, a.Variance) })
}

// importance computes a parameter's figures from what its levels came to, without
// the trials that do not have it.
func (l *leveled) importance() (Importance, float64) {
	out := Importance{Parameter: l.column.name}
	var mean, between, squares, divergence float64
	top := int64(0)
	present := l.sums[:len(l.sums)-1]
	for i := range present {
		out.Trials += present[i].N
		top += l.top[i]
		mean += float64(present[i].N) * present[i].Mean
	}
	n := float64(out.Trials)
	mean /= n
	for i := range present {
		s := &present[i]
		if s.N == 0 {
			continue
		}
		out.Levels++
		delta := s.Mean - mean
		between += float64(s.N) * delta * delta
		squares += s.squares
		if top > 0 {
			all, best := float64(s.N)/n, float64(l.top[i])/float64(top)
			ratio := best/all - 1
			divergence += all * ratio * ratio
		}
	}
	if between+squares > 0 {
		out.Variance = between / (between + squares)
	}
	return out, divergence
}
