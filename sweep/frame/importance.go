package frame

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"sweep/sweep"
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
// that completed with the metric; of a parameter that exists under a condition, from
// the trials that have it. A level is a value of the parameter or, of numbers with more
// than min(12, √trials) values, a range with about equally many trials. Both figures are 0
// unless they exceed what chance gives a parameter without effect, and what chance gives
// is subtracted.
type Importance struct {
	Parameter string `json:"parameter"`
	Own       string `json:"-"` // what the parameter is called, without its kind
	// Variance is the part of the variance of the metric's ranks that the parameter alone explains
	// (the main effect of functional ANOVA, Hutter, Hoos and Leyton-Brown 2014, on the trials
	// themselves rather than on a forest), as ε² (Kelley 1935). Ranks, because one metric of 1e4 among
	// metrics of 1 would be all of the variance.
	Variance float64 `json:"variance"`
	// Share is the parameter's share of what all parameters set apart the best trials
	// from the others: the Pearson divergence of its levels among the best from its
	// levels among all (PED-ANOVA, Watanabe, Bansal and Hutter 2023), over the sum of
	// all parameters' divergences.
	Share float64 `json:"share"`
	// Trials have the parameter; Levels are compared. Binned says that levels are ranges, and Values how many
	// values there are in all, -1 if there are more than a thousand.
	Trials int64 `json:"trials"`
	Values int   `json:"-"`
	Levels int   `json:"levels"`
	Binned bool  `json:"binned,omitempty"`
	// Few says that there are fewer than five trials a level: too few to tell, so both figures are 0.
	Few bool `json:"few,omitempty"`
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

const (
	// maxRanges bounds the ranges that the numbers of a parameter are divided into.
	maxRanges = 12
	// fewestTrials is how many trials a level needs.
	fewestTrials = 5
	// sampled is how many values of a column are kept to divide it.
	sampled = 4096
	// normalQuantile is that of 99 %: a figure must exceed 99 of 100 of those of parameters without effect.
	normalQuantile = 2.3263
)

// part is what the trials of a level come to: how many there are, how many of the best, and
// the sums of their ranks, which are from -1/2 to 1/2, and of the squares of those.
type part struct {
	n, top       int64
	sum, squares float64
}

func (p *part) merge(other part) {
	p.n, p.top, p.sum, p.squares = p.n+other.n, p.top+other.top, p.sum+other.sum, p.squares+other.squares
}

// judged is a parameter in the making of its importance.
type judged struct {
	column *column
	// values are a sample of a parameter with so many numbers that they are divided before they are counted.
	values *sample
	// of returns the part of a value, -1 of a missing one.
	of    func(value uint64) int
	parts []part
	// ordered is how many of the first parts are numbers, in their order.
	ordered int
	binned  bool
}

// sample keeps some of a sequence of values, each with the same probability (Vitter's algorithm R).
type sample struct {
	n      int64
	values []float64
	random *rand.Rand
}

func newSample() *sample { return &sample{random: rand.New(rand.NewPCG(1, 2))} } // equal queries have equal answers

func (s *sample) add(v float64) {
	s.n++
	if len(s.values) < sampled {
		s.values = append(s.values, v)
	} else if at := s.random.Int64N(s.n); at < sampled {
		s.values[at] = v
	}
}

// ranks returns the rank of a value among those of the sample, from -1/2 to 1/2, equal values having equal ranks.
func (s *sample) ranks() func(v float64) float64 {
	slices.Sort(s.values)
	var distinct, middle []float64
	for i := 0; i < len(s.values); {
		end := i + 1
		for end < len(s.values) && s.values[end] == s.values[i] {
			end++
		}
		distinct = append(distinct, s.values[i])
		middle = append(middle, float64(i+end)/float64(2*len(s.values))-0.5)
		i = end
	}
	return func(v float64) float64 {
		return middle[min(sort.SearchFloat64s(distinct, v), len(distinct)-1)]
	}
}

// fewRanges is how many numbers of so many trials are compared as they are.
func fewRanges(trials int64) int { return max(2, min(maxRanges, int(math.Sqrt(float64(trials))))) }

// ranges is into how many ranges more numbers are divided: fewer, which show a small effect from fewer trials.
func ranges(trials int64) int {
	return max(3, min(maxRanges, int(math.Ceil(math.Sqrt(float64(trials))/2))))
}

// chiSquared returns the quantile of 99 % of χ² (Wilson and Hilferty 1931), within a hundredth.
func chiSquared(freedom float64) float64 {
	v := 2 / (9 * freedom)
	return freedom * math.Pow(1-v+normalQuantile*math.Sqrt(v), 3)
}

// divide divides the numbers of the sample into ranges with about equally many values.
func (j *judged) divide() {
	slices.Sort(j.values.values)
	var edges []float64
	for i, n := 1, ranges(j.values.n); i < n; i++ {
		edge := j.values.values[len(j.values.values)*i/n]
		if edge > j.values.values[0] && (len(edges) == 0 || edge > edges[len(edges)-1]) {
			edges = append(edges, edge)
		}
	}
	j.parts = make([]part, len(edges)+1)
	j.binned = true
	j.of = func(value uint64) int {
		if isSpecial(value) {
			return -1
		}
		v := math.Float64frombits(value)
		return sort.Search(len(edges), func(i int) bool { return edges[i] > v })
	}
}

// judge prepares a parameter; nil if it has too many values that are no numbers.
func (c *column) judge() *judged {
	j := &judged{column: c}
	if c.many || len(c.distinct) > maxLevels {
		if !c.numbers {
			return nil
		}
		j.values = newSample()
		return j
	}
	places := map[uint64]int{}
	for at, value := range c.sorted() {
		places[value] = at
		if !isSpecial(value) {
			j.ordered = at + 1
		}
	}
	j.parts = make([]part, len(places))
	j.of = func(value uint64) int {
		if at, ok := places[value]; ok {
			return at
		}
		return -1
	}
	return j
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
	wanted, columns, err := f.resolve(q.Filter, named{sweep.MetricKind, []string{q.Metric}},
		named{sweep.ParameterKind, names})
	if err != nil {
		return nil, err
	}
	best, err := f.best(ctx, wanted, columns[0], q.Top, q.Goal)
	if err != nil {
		return nil, err
	}
	answer := &Importances{Trials: best.valued, Top: best.chosen, Left: best.total - best.valued,
		Parameters: []Importance{}}
	var axes []*judged
	for _, c := range columns[1:] {
		if j := c.judge(); j != nil {
			axes = append(axes, j)
		} else {
			answer.Unknown = append(answer.Unknown, f.labels([]*column{c})...)
		}
	}
	if best.valued == 0 {
		return answer, nil
	}
	rank, err := f.sampleAxes(ctx, wanted, columns[0], axes)
	if err != nil {
		return nil, err
	}
	columns = columns[:1:1]
	for _, axis := range axes {
		columns = append(columns, axis.column)
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
			one := part{n: 1, sum: rank(v)}
			one.squares = one.sum * one.sum
			if best.among(v, true) {
				one.top = 1
			}
			for k, axis := range axes {
				if at := axis.of(b.values[k+1][i]); at >= 0 {
					axis.parts[at].merge(one)
				}
			}
		}
	}
	answer.rank(axes)
	for i := range answer.Parameters {
		one := &answer.Parameters[i]
		one.Own, one.Parameter = one.Parameter, f.names.Label(sweep.ParameterKind.Of(one.Parameter))
	}
	return answer, nil
}

// sampleAxes divides the parameters of many numbers, and returns the rank of a metric.
func (f *Frame) sampleAxes(ctx context.Context, wanted *filter, metric *column,
	axes []*judged) (func(v float64) float64, error) {
	scores, columns := newSample(), []*column{metric}
	var many []*judged
	for _, axis := range axes {
		if axis.values != nil {
			many = append(many, axis)
			columns = append(columns, axis.column)
		}
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
			scores.add(v)
			for k, axis := range many {
				if value := b.values[k+1][i]; !isSpecial(value) {
					axis.values.add(math.Float64frombits(value))
				}
			}
		}
	}
	for _, axis := range many {
		if axis.values.n > 0 {
			axis.divide()
		} else {
			axis.of = func(uint64) int { return -1 }
		}
	}
	return scores.ranks(), nil
}

// rank fills in the parameters, the most important first.
func (answer *Importances) rank(axes []*judged) {
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

// compared returns the parts that have trials, neighbouring numbers merged where there are too many of them.
func (j *judged) compared() (parts []part, all part, binned bool) {
	ordered := 0
	var numbers part
	for at, p := range j.parts {
		if all.merge(p); p.n > 0 && at < j.ordered {
			ordered++
			numbers.merge(p)
		}
	}
	bins := ranges(numbers.n)
	merges := ordered > fewRanges(numbers.n)
	before, last := int64(0), -1
	for at, p := range j.parts {
		if p.n == 0 {
			continue
		}
		if !merges || at >= j.ordered {
			parts = append(parts, p)
			continue
		}
		bin := int((2*before + p.n) * int64(bins) / (2 * numbers.n)) // that of the middle one of its trials
		before += p.n
		if bin == last {
			parts[len(parts)-1].merge(p)
			continue
		}
		last = bin
		parts = append(parts, p)
	}
	return parts, all, merges || j.binned
}

// importance computes a parameter's figures from what its levels came to, without
// the trials that do not have it.
func (j *judged) importance() (out Importance, divergence float64) {
	parts, all, binned := j.compared()
	out = Importance{Parameter: j.column.name, Trials: all.n, Values: len(j.column.distinct), Levels: len(parts),
		Binned: binned, Few: all.n < fewestTrials*int64(len(parts))}
	if j.column.many {
		out.Values = -1
	}
	if out.Few || out.Levels < 2 {
		return out, 0
	}
	n, k, top := float64(all.n), float64(len(parts)), float64(all.top)
	middle := all.sum * all.sum / n
	between := -middle
	for _, p := range parts {
		between += p.sum * p.sum / float64(p.n)
		if all.top > 0 {
			share := float64(p.n) / n
			ratio := float64(p.top)/top/share - 1
			divergence += share * ratio * ratio
		}
	}
	// Of a parameter without effect, both are about χ² with k-1 degrees of freedom, the divergence that of a
	// sample without replacement.
	threshold := chiSquared(k - 1)
	if squares := all.squares - middle; squares > 1e-12*n && between/squares > threshold/(n-1) {
		out.Variance = 1 - (1-between/squares)*(n-1)/(n-k)
	}
	chance := (n - top) / (top * (n - 1))
	if all.top == 0 || divergence <= chance*threshold {
		return out, 0
	}
	return out, divergence - chance*(k-1)
}
