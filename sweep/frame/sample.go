package frame

import (
	"context"
	"fmt"
	"math"

	"sweep/sweep"
)

// SampleQuery asks for some of the trials that match a filter, to be drawn as lines: up to Limit
// of those among the best Top (a fraction, 1 for all) by a metric, spread evenly in the order of
// their indices, so that equal queries have equal answers.
type SampleQuery struct {
	Filter
	Metric  string
	Goal    string
	Top     float64
	Limit   int
	Columns []string
}

// Sample is an answer: Total trials match the filter, Chosen of them are among the best, and Rows
// are those within the limit. Bound is the metric's value of the last of the best, nil without one.
type Sample struct {
	Total  int64    `json:"total"`
	Chosen int64    `json:"chosen"`
	Bound  *float64 `json:"bound"`
	Rows   []Row    `json:"rows"`
}

// Sample answers a query. With Top below 1, trials without the metric are not among
// the best.
func (f *Frame) Sample(ctx context.Context, q SampleQuery) (*Sample, error) {
	if q.Limit < 1 || q.Limit > 10*MaxRows || !(q.Top > 0 && q.Top <= 1) {
		return nil, fmt.Errorf("limit %d and top %v: expected a limit of 1 to %d trials, and a fraction of 0 to 1",
			q.Limit, q.Top, 10*MaxRows)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, shown, err := f.resolve(q.Filter, named{names: q.Columns})
	if err != nil {
		return nil, err
	}
	answer := &Sample{Rows: []Row{}}
	var best *bestOf
	var columns []*column
	if q.Top < 1 {
		metric, err := f.column(q.Metric, sweep.MetricKind)
		if err != nil {
			return nil, err
		}
		columns = []*column{metric}
		if best, err = f.best(ctx, wanted, metric, q.Top, q.Goal); err != nil {
			return nil, err
		}
		if answer.Total, answer.Chosen = best.total, best.chosen; best.chosen > 0 {
			answer.Bound = &best.bound
		}
	} else {
		if answer.Total, err = f.count(ctx, wanted); err != nil {
			return nil, err
		}
		answer.Chosen = answer.Total
	}
	number, limit := int64(0), int64(q.Limit)
	for b, err := range f.batches(ctx, wanted, columns) {
		if err != nil {
			return nil, err
		}
		for _, i := range b.matches {
			if best != nil && !best.among(b.score(0, i)) {
				continue
			}
			number++
			if answer.Chosen > limit && (number-1)*limit/answer.Chosen == number*limit/answer.Chosen {
				continue
			}
			row, err := f.row(b.base+int64(i), shown)
			if err != nil {
				return nil, err
			}
			answer.Rows = append(answer.Rows, row)
		}
	}
	return answer, nil
}

// bestOf are the best trials by a metric: chosen of the valued ones that have it, of all that match;
// those whose value is not beyond bound. Values are multiplied by sign to be compared, so that
// smaller ones are better.
type bestOf struct {
	total, valued, chosen int64
	sign, bound           float64
}

// among reports whether a trial with a score is one of the best.
func (b *bestOf) among(score float64, ok bool) bool { return ok && b.sign*score <= b.sign*b.bound }

// best finds the bound of the best top of the trials that match a filter and have the metric. Every
// pass over the column divides the range in which the bound must be into a thousand parts, and
// continues with one of them; it keeps nothing but their counts.
func (f *Frame) best(ctx context.Context, wanted *filter, metric *column, top float64, goal string) (*bestOf, error) {
	b := &bestOf{sign: 1}
	if goal == sweep.Maximize {
		b.sign = -1
	}
	b.bound = b.sign * math.Inf(1)
	each := func(do func(v float64)) error {
		b.total = 0
		for batch, err := range f.batches(ctx, wanted, []*column{metric}) {
			if err != nil {
				return err
			}
			b.total += int64(len(batch.matches))
			for _, i := range batch.matches {
				if v, ok := batch.score(0, i); ok {
					do(b.sign * v)
				}
			}
		}
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	err := each(func(v float64) {
		b.valued++
		low, high = min(low, v), max(high, v)
	})
	if err != nil {
		return nil, err
	}
	b.chosen = b.valued
	if b.valued > 0 {
		b.bound = b.sign * high
	}
	want := int64(math.Ceil(top * float64(b.valued)))
	const parts, passes = 1000, 6
	for range passes {
		if !(low < high) || b.chosen == want {
			break
		}
		// Of each part: how many values it has, and the largest of them.
		var counts [parts]int64
		var largest [parts]float64
		before, width := int64(0), (high-low)/parts
		err := each(func(v float64) {
			switch {
			case v < low:
				before++
			case v <= high:
				at := min(int((v-low)/width), parts-1)
				if counts[at] == 0 || v > largest[at] {
					largest[at] = v
				}
				counts[at]++
			}
		})
		if err != nil {
			return nil, err
		}
		for at := range counts {
			if before+counts[at] >= want {
				b.bound, b.chosen = b.sign*largest[at], before+counts[at]
				low, high = max(low, low+float64(at)*width), largest[at]
				break
			}
			before += counts[at]
		}
	}
	return b, nil
}
