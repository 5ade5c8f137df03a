package frame

import (
	"cmp"
	"context"
	"fmt"
	"math"

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
	// binned says that levels are ranges.
	binned bool
}

const (
	maxLevels = 60
	// defaultBins is how many ranges a parameter of many numbers is divided into, maxBins how many
	// may be asked for.
	defaultBins = 32
	maxBins     = 100
)

// Division says how a numeric parameter is divided: into Bins ranges however few values it has, 0
// for a value each unless they are many; evenly by logarithm or value, as Scale says (LogScale,
// LinearScale), or by their range if it is empty.
type Division struct {
	Bins  int
	Scale string
}

// The scales of a parameter.
const (
	LogScale    = "log"
	LinearScale = "linear"
)

// check refuses a division that cannot be made.
func (d Division) check(name string) error {
	if d.Bins < 0 || d.Bins > maxBins {
		return fmt.Errorf("bins of %s: expected 1 to %d, got %d", name, maxBins, d.Bins)
	}
	if d.Scale != "" && d.Scale != LogScale && d.Scale != LinearScale {
		return fmt.Errorf("scale of %s: expected %s or %s, got %.40q", name, LogScale, LinearScale, d.Scale)
	}
	return nil
}

// inLogs reports whether the numbers of a column are divided by their logarithms.
func (d Division) inLogs(c *column) bool {
	return c.low > 0 && (d.Scale == LogScale || d.Scale == "" && c.high/c.low > 100)
}

func (c *column) levels(d Division) (*levels, error) {
	l := &levels{binned: c.many || len(c.distinct) > maxLevels || d.Bins > 0 && c.low < c.high && len(c.entries) == 0}
	bins := cmp.Or(d.Bins, defaultBins)
	switch {
	case !l.binned:
		places := map[uint64]int{}
		for _, value := range c.sorted() {
			places[value] = len(l.list)
			l.list = append(l.list, Level{Value: c.decode(value)})
		}
		l.of = func(value uint64) int {
			if at, ok := places[value]; ok {
				return at
			}
			return len(l.list) - 1
		}
	case !c.numbers:
		return nil, fmt.Errorf("%s has more than %d values that are not numbers: choose another parameter, or filter",
			c.name, maxLevels)
	default:
		scale, back := func(v float64) float64 { return v }, func(v float64) float64 { return v }
		if d.inLogs(c) {
			scale, back = math.Log, math.Exp
		}
		low, width := scale(c.low), (scale(c.high)-scale(c.low))/float64(bins)
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
	// By are one or two parameters, and Divisions say how each is divided, by default if it is not
	// there.
	By        []string
	Divisions map[string]Division
	Metric    string
	Goal      string
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
	wanted, columns, err := f.resolve(q.Filter, named{sweep.ParameterKind, q.By},
		named{sweep.MetricKind, []string{q.Metric}})
	if err != nil {
		return nil, err
	}
	answer := &Slice{By: f.labels(columns[:len(q.By)]), Cells: []SliceCell{}}
	var divided []*levels
	size := 1
	for i, c := range columns[:len(q.By)] {
		division := q.Divisions[q.By[i]]
		if err := division.check(c.name); err != nil {
			return nil, err
		}
		l, err := c.levels(division)
		if err != nil {
			return nil, err
		}
		divided = append(divided, l)
		answer.Levels = append(answer.Levels, l.list)
		answer.Binned = append(answer.Binned, l.binned)
		size *= len(l.list)
	}
	cells := make([]gathered, size)
	for b, err := range f.batches(ctx, wanted, columns) {
		if err != nil {
			return nil, err
		}
		answer.Trials += int64(len(b.matches))
		for _, i := range b.matches {
			at := 0
			for k, l := range divided {
				at = at*len(l.list) + l.of(b.values[k][i])
			}
			g := &cells[at]
			g.counts[b.states[i]]++
			if v, ok := b.score(len(divided), i); ok {
				g.sums.add(v, b.base+int64(i))
			}
		}
	}
	for at := range cells {
		g := &cells[at]
		if g.count() == 0 {
			continue
		}
		cell := SliceCell{Levels: []int{at}, States: g.states(), Statistics: g.sums.statistics(q.Goal)}
		if len(divided) == 2 {
			n := len(divided[1].list)
			cell.Levels = []int{at / n, at % n}
		}
		answer.Cells = append(answer.Cells, cell)
	}
	return answer, nil
}
