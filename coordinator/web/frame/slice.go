package frame

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"sweep/sweep"
)

// Level is a value of a parameter, or where there are many a range of numbers, both
// ends in the last one; Missing are the trials that do not have the parameter.
type Level struct {
	Value   any      `json:"value"`
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Missing bool     `json:"missing,omitempty"`
}

// levels divides a column's values.
type levels struct {
	list []Level
	// of returns the level of a value.
	of func(value uint64) int
	// Binned says that levels are ranges.
	binned bool
}

const (
	mostLevels = 60
	bins       = 32
)

func (c *column) levels() (*levels, error) {
	l := &levels{}
	if !c.many && len(c.distinct) <= mostLevels {
		places := map[uint64]int{missing: -1}
		for _, value := range c.sorted() {
			places[value] = len(l.list)
			l.list = append(l.list, Level{Value: c.decode(value)})
		}
		l.of = func(value uint64) int {
			if at, ok := places[value]; ok && at >= 0 {
				return at
			}
			return len(l.list) - 1
		}
	} else {
		if !c.numbers {
			return nil,
				fmt.Errorf("%s has more than %d values that are not numbers: choose another parameter, or filter",
					c.name, mostLevels)
		}
		l.binned = true
		scale, back := func(v float64) float64 { return v }, func(v float64) float64 { return v }
		if c.low > 0 && c.high/c.low > 100 {
			scale, back = math.Log, math.Exp
		}
		low, width := scale(c.low), (scale(c.high)-scale(c.low))/bins
		for i := range bins {
			from, to := back(low+float64(i)*width), back(low+float64(i+1)*width)
			l.list = append(l.list, Level{Value: back(low + (float64(i)+0.5)*width), Low: &from, High: &to})
		}
		l.of = func(value uint64) int {
			if isSpecial(value) {
				return bins
			}
			return min(max(int((scale(math.Float64frombits(value))-low)/width), 0), bins-1)
		}
	}
	l.list = append(l.list, Level{Missing: true})
	return l, nil
}

// SliceQuery asks for a metric over one parameter, or two.
type SliceQuery struct {
	Filter
	// By are one or two parameters.
	By     []string
	Metric string
	Goal   string
}

// SliceCell is what the trials at a value of each parameter come to: by state, and
// the metric of those that completed. Levels are places in the answer's.
type SliceCell struct {
	Levels []int            `json:"levels"`
	States map[string]int64 `json:"states"`
	Statistics
}

// Slice is an answer. Levels has the values of each parameter; of cells there are
// those that have trials.
type Slice struct {
	By     []string    `json:"by"`
	Levels [][]Level   `json:"levels"`
	Binned []bool      `json:"binned"`
	Trials int64       `json:"trials"`
	Cells  []SliceCell `json:"cells"`
}

// Slice answers a query.
func (f *Frame) Slice(ctx context.Context, q SliceQuery) (*Slice, error) {
	if len(q.By) != 1 && len(q.By) != 2 {
		return nil, fmt.Errorf("%d parameters given: a slice has one or two", len(q.By))
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, err := f.compile(q.Filter)
	if err != nil {
		return nil, err
	}
	axes, err := f.find(append(slices.Clone(q.By), q.Metric))
	if err != nil {
		return nil, err
	}
	answer := &Slice{By: q.By, Cells: []SliceCell{}}
	var divided []*levels
	size := 1
	for _, c := range axes[:len(q.By)] {
		l, err := c.levels()
		if err != nil {
			return nil, err
		}
		divided = append(divided, l)
		answer.Levels = append(answer.Levels, l.list)
		answer.Binned = append(answer.Binned, l.binned)
		size *= len(l.list)
	}
	gatheredCells := make([]gathered, size)
	err = f.walk(ctx, 0, append(slices.Clone(wanted.columns), axes...),
		func(base int64, list []State, values [][]uint64) bool {
			keys := values[len(wanted.columns):]
			for i, s := range list {
				if !wanted.fits(s, values, i) {
					continue
				}
				answer.Trials++
				at := 0
				for k, l := range divided {
					at = at*len(l.list) + l.of(keys[k][i])
				}
				g := &gatheredCells[at]
				g.counts[s]++
				if value := keys[len(divided)][i]; s == Completed && !isSpecial(value) {
					g.sums.add(math.Float64frombits(value), base+int64(i))
				}
			}
			return true
		})
	if err != nil {
		return nil, err
	}
	for at := range gatheredCells {
		g := &gatheredCells[at]
		if g.count() == 0 {
			continue
		}
		cell := SliceCell{States: map[string]int64{}, Statistics: g.sums.statistics(cmp.Or(q.Goal, sweep.Minimize))}
		for s, n := range g.counts {
			if n > 0 {
				cell.States[State(s).String()] = int64(n)
			}
		}
		cell.Levels = []int{at}
		if len(divided) == 2 {
			n := len(divided[1].list)
			cell.Levels = []int{at / n, at % n}
		}
		answer.Cells = append(answer.Cells, cell)
	}
	return answer, nil
}
