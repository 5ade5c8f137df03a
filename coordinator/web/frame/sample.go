package frame

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sweep/sweep"
)

// SampleQuery asks for some of the trials that fit a filter, to be drawn as lines:
// of those among the best Top (a fraction, 1 for all) by a metric as many as Limit,
// spread evenly over them in the order of their indices, so that the same question
// has the same answer.
type SampleQuery struct {
	Filter
	Metric  string
	Goal    string
	Top     float64
	Limit   int
	Columns []string
}

// Sample is an answer: Total trials fit the filter, Chosen of them are among the
// best, and Rows are those that fit into the limit. Bound is the metric's value of
// the last of the best, nil without one.
type Sample struct {
	Total  int64    `json:"total"`
	Chosen int64    `json:"chosen"`
	Bound  *float64 `json:"bound"`
	Rows   []Row    `json:"rows"`
}

// Sample answers a query. With Top below 1, trials without the metric are not among
// the best.
func (f *Frame) Sample(ctx context.Context, q SampleQuery) (*Sample, error) {
	if q.Limit < 1 || q.Limit > 10*MostRows || !(q.Top > 0 && q.Top <= 1) {
		return nil, fmt.Errorf("limit %d and top %v: expected a limit of 1 to %d trials, and a fraction of 0 to 1",
			q.Limit, q.Top, 10*MostRows)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, err := f.compile(q.Filter)
	if err != nil {
		return nil, err
	}
	shown, err := f.find(q.Columns)
	if err != nil {
		return nil, err
	}
	columns := slices.Clone(wanted.columns)
	if q.Top < 1 {
		metric, err := f.column(q.Metric)
		if err != nil {
			return nil, err
		}
		columns = append(columns, metric)
	}
	best, err := f.best(ctx, wanted, columns, q)
	if err != nil {
		return nil, err
	}
	answer := &Sample{Total: best.total, Chosen: best.chosen, Rows: []Row{}}
	if q.Top < 1 && best.chosen > 0 {
		answer.Bound = &best.bound
	}
	number := int64(0)
	var failed error
	err = f.walk(ctx, 0, columns, func(base int64, list []State, values [][]uint64) bool {
		for i, s := range list {
			if !wanted.fits(s, values, i) || q.Top < 1 && !best.among(s, values[len(values)-1][i]) {
				continue
			}
			take := best.chosen <= int64(q.Limit) ||
				number*int64(q.Limit)/best.chosen != (number+1)*int64(q.Limit)/best.chosen
			number++
			if !take {
				continue
			}
			_, values, err := f.one(base+int64(i), shown)
			if failed = err; err != nil {
				return false
			}
			r := Row{Index: base + int64(i), State: s.String(), Cells: make([]any, len(values))}
			for k, value := range values {
				r.Cells[k] = shown[k].decode(value)
			}
			answer.Rows = append(answer.Rows, r)
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return answer, err
}

// bestOf are the best trials by a metric: those whose value is not beyond bound.
type bestOf struct {
	total, chosen int64
	sign, bound   float64
}

func (b *bestOf) among(s State, value uint64) bool {
	return s == Completed && !isSpecial(value) && b.sign*math.Float64frombits(value) <= b.sign*b.bound
}

// best finds the bound of the best. Every pass over the column divides the range in
// which the bound must be into a thousand parts, and goes on with one of them; it
// keeps nothing but their counts.
func (f *Frame) best(ctx context.Context, wanted *filter, columns []*column, q SampleQuery) (*bestOf, error) {
	b := &bestOf{sign: 1}
	if q.Goal == sweep.Maximize {
		b.sign = -1
	}
	b.bound = b.sign * math.Inf(1)
	each := func(do func(v float64)) error {
		b.total = 0
		return f.walk(ctx, 0, columns, func(_ int64, list []State, values [][]uint64) bool {
			for i, s := range list {
				if !wanted.fits(s, values, i) {
					continue
				}
				b.total++
				if q.Top == 1 {
					continue
				}
				if value := values[len(values)-1][i]; s == Completed && !isSpecial(value) {
					do(b.sign * math.Float64frombits(value))
				}
			}
			return true
		})
	}
	valued, low, high := int64(0), math.Inf(1), math.Inf(-1)
	err := each(func(v float64) {
		valued++
		low, high = min(low, v), max(high, v)
	})
	if err != nil {
		return nil, err
	}
	if b.chosen = b.total; q.Top == 1 {
		return b, nil
	}
	b.chosen = valued
	want := int64(math.Ceil(q.Top * float64(valued)))
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
