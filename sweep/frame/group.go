package frame

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sweep/sweep"
	"sweep/sweep/statistics"
)

// Statistics are of a metric over the trials that have it, N of them. SD is the sample standard
// deviation, nil for fewer than two values.
type Statistics struct {
	N    int64    `json:"n"`
	Mean *float64 `json:"mean"`
	SD   *float64 `json:"sd"`
	Min  *float64 `json:"min"`
	Max  *float64 `json:"max"`
	// Best is the trial with the best value, -1 if there is none.
	Best int64 `json:"best"`
}

// BestBy returns the best value, nil if there is none; the smallest is the best unless the goal is another.
func (s *Statistics) BestBy(goal string) *float64 {
	if goal == sweep.Maximize {
		return s.Max
	}
	return s.Min
}

// sums gathers Statistics.
type sums struct {
	statistics.Moments
	low, high int64 // the trials that have the smallest and the largest value
}

func (s *sums) add(v float64, row int64) {
	if s.N == 0 || v < s.Min {
		s.low = row
	}
	if s.N == 0 || v > s.Max {
		s.high = row
	}
	s.Add(v)
}

func (s *sums) statistics(goal string) Statistics {
	t := Statistics{N: s.N, Best: -1}
	if s.N > 1 {
		t.SD = new(s.SD())
	}
	if s.N > 0 {
		t.Mean, t.Min, t.Max = new(s.Mean), new(s.Min), new(s.Max)
		_, t.Best = s.best(goal)
	}
	return t
}

// best returns the best value and its trial; the smallest is the best unless the goal is another.
func (s *sums) best(goal string) (float64, int64) {
	if goal == sweep.Maximize {
		return s.Max, s.high
	}
	return s.Min, s.low
}

// GroupQuery asks for groups of the trials that match a filter: those that agree in some
// parameters.
type GroupQuery struct {
	Filter
	// By are the parameters; Differing of the frame if nil.
	By []string
	// Metrics are the metrics whose statistics the answer has; the goal of each is in
	// Goals, minimize if it is not.
	Metrics []string
	Goals   map[string]string
	// OrderBy is mean, sd, best or count, of the first metric, or one of By.
	OrderBy       string
	Descending    bool
	Offset, Limit int
	// All asks for all groups, whatever Limit is.
	All bool
	// Members is how many trials are asked for: equally many of each group, one at least, spread evenly.
	Members int64
}

// Group is some trials that agree: the values that they share (nil for a parameter that they do not have, whose place
// is among Missing, null as JSON for one that is null), the first of them, how many there are, in all and by state, and
// the statistics of the metrics over those that completed and did not diverge.
type Group struct {
	Values  []any            `json:"values"`
	Missing []int            `json:"missing,omitempty"`
	First   int64            `json:"first"`
	Count   int64            `json:"count"`
	States  map[string]int64 `json:"states"`
	Metrics []Statistics     `json:"metrics"`
	Rows    []int64          `json:"-"` // the members that are asked for
}

// Groups is an answer: how many groups and trials there are, and some of the groups.
type Groups struct {
	By     []string     `json:"by"`
	Names  []sweep.Name `json:"-"` // those of By, with their kinds
	Total  int64        `json:"total"`
	Trials int64        `json:"trials"`
	Groups []Group      `json:"groups"`
}

// MaxGroups bounds how many groups are told apart.
const MaxGroups = 1_000_000

// Differing returns the parameters of which there are several values, without the
// seed.
func (f *Frame) Differing() []string {
	names := []string{}
	for _, c := range f.Columns() {
		if c.Kind == "parameter" && c.Varies && c.Called() != sweep.SeedParameter {
			names = append(names, c.Called())
		}
	}
	return names
}

// gathered is what is known of a group: its trials by state, and the sums of one metric.
type gathered struct {
	first  int64
	counts [states]int32
	sums   sums
}

func (g *gathered) count() (n int64) {
	for _, c := range g.counts {
		n += int64(c)
	}
	return n
}

// states returns how many trials there are in each state that any is in.
func (g *gathered) states() map[string]int64 {
	counts := map[string]int64{}
	for s, n := range g.counts {
		if n > 0 {
			counts[State(s).String()] = int64(n)
		}
	}
	return counts
}

// Groups answers a query. Groups are told apart by 64 bits of their values.
func (f *Frame) Groups(ctx context.Context, q GroupQuery) (*Groups, error) {
	if q.All {
		q.Limit = MaxGroups
	} else if q.Limit < 0 || q.Limit > MaxRows || q.Offset < 0 {
		return nil, fmt.Errorf("limit %d and offset %d: expected a limit of 0 to %d groups, and no negative offset",
			q.Limit, q.Offset, MaxRows)
	}
	if q.By == nil {
		q.By = f.Differing()
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, columns, err := f.resolve(q.Filter, named{sweep.ParameterKind, q.By}, named{sweep.MetricKind, q.Metrics})
	if err != nil {
		return nil, err
	}
	axes, metrics := columns[:len(q.By)], columns[len(q.By):]
	answer := &Groups{By: f.labels(axes), Groups: []Group{}}
	for _, c := range axes {
		answer.Names = append(answer.Names, c.id())
	}
	numbers := map[uint64]int32{}
	var groups []gathered
	var shared []uint64 // the values of each group in the axes
	for b, err := range f.batches(ctx, wanted, columns[:min(len(axes)+1, len(columns))]) {
		if err != nil {
			return nil, err
		}
		answer.Trials += int64(len(b.matches))
		for _, i := range b.matches {
			key := hash(b.values[:len(axes)], i)
			number, known := numbers[key]
			if !known {
				if len(groups) == MaxGroups {
					return nil, fmt.Errorf("there are more than %d groups: group by fewer parameters, or filter",
						MaxGroups)
				}
				number = int32(len(groups))
				numbers[key] = number
				groups = append(groups, gathered{first: b.base + int64(i)})
				for k := range axes {
					shared = append(shared, b.values[k][i])
				}
			}
			g := &groups[number]
			g.counts[b.states[i]]++
			if len(metrics) > 0 {
				if v, ok := b.score(len(axes), i); ok {
					g.sums.add(v, b.base+int64(i))
				}
			}
		}
	}
	answer.Total = int64(len(groups))
	chosen, err := f.chooseGroups(groups, axes, shared, q)
	if err != nil {
		return nil, err
	}
	sums, err := f.sumGroups(ctx, wanted, axes, metrics, q.Members, numbers, groups, chosen)
	if err != nil {
		return nil, err
	}
	for i, number := range chosen {
		g := &groups[number]
		out := Group{Values: make([]any, len(axes)), First: g.first, Count: g.count(), States: g.states(),
			Metrics: []Statistics{}, Rows: sums[i].rows}
		for k, c := range axes {
			if out.Values[k] = c.shared(shared[int(number)*len(axes)+k]); out.Values[k] == nil {
				out.Missing = append(out.Missing, k)
			}
		}
		for k, name := range q.Metrics {
			out.Metrics = append(out.Metrics, sums[i].metrics[k].statistics(q.Goals[name]))
		}
		answer.Groups = append(answer.Groups, out)
	}
	return answer, nil
}

// shared returns a value as groups have it: null as JSON, and nil if there is none.
func (c *column) shared(value uint64) any {
	if value == c.null && value != missing {
		return json.RawMessage("null")
	}
	return c.decode(value)
}

// hash mixes the values of a row.
func hash(keys [][]uint64, i int) uint64 {
	h := uint64(0x9E3779B97F4A7C15)
	for _, k := range keys {
		h ^= k[i]
		h *= 0xBF58476D1CE4E5B9
		h ^= h >> 29
		h *= 0x94D049BB133111EB
		h ^= h >> 32
	}
	return h
}

// chooseGroups returns the numbers of the groups of the page, in order. Groups are numbered by
// their first trials, which decide between equal ones.
func (f *Frame) chooseGroups(groups []gathered, axes []*column, shared []uint64, q GroupQuery) ([]int32, error) {
	axis := max(slices.Index(q.By, q.OrderBy), slices.Index(f.labels(axes), q.OrderBy))
	var order func(value uint64) (class int8, key float64)
	if axis >= 0 {
		order = axes[axis].order()
	} else if !slices.Contains([]string{"", "count", "mean", "best", "sd"}, q.OrderBy) {
		return nil, fmt.Errorf("groups are sorted by mean, sd, best, count or one of %v, not by %.100q", q.By,
			q.OrderBy)
	}
	goal := ""
	if len(q.Metrics) > 0 {
		goal = q.Goals[q.Metrics[0]]
	}
	first := places{most: min(min(q.Offset, len(groups))+q.Limit, len(groups))} // the offset may be any number
	for i := range groups {
		s := &groups[i].sums
		p := place{row: int64(i)}
		switch {
		case axis >= 0:
			p.class, p.key = order(shared[i*len(axes)+axis])
		case q.OrderBy == "":
		case q.OrderBy == "count":
			p.key = float64(groups[i].count())
		case s.N == 0 || q.OrderBy == "sd" && s.N == 1:
			p.class = 2
		case q.OrderBy == "mean":
			p.key = s.Mean
		case q.OrderBy == "best":
			p.key, _ = s.best(goal)
		default:
			p.key = s.Squares / float64(s.N-1)
		}
		if q.Descending {
			p.key = -p.key
		}
		first.add(p)
	}
	var chosen []int32
	for _, p := range first.from(q.Offset) {
		chosen = append(chosen, int32(p.row))
	}
	return chosen, nil
}

// summed are the sums of the metrics of a group, and members of it; seen counts all that were met.
type summed struct {
	metrics []sums
	rows    []int64
	seen    int64
}

// sumGroups returns what is known of chosen groups, the sums of the first metric as they were gathered, and up to most
// members of all.
func (f *Frame) sumGroups(ctx context.Context, wanted *filter, axes, metrics []*column, most int64,
	numbers map[uint64]int32, groups []gathered, chosen []int32) ([]summed, error) {
	placeOf := make(map[int32]int, len(chosen))
	list := make([]summed, len(chosen))
	for i, number := range chosen {
		placeOf[number] = i
		list[i].metrics = make([]sums, len(metrics))
		if len(metrics) > 0 {
			list[i].metrics[0] = groups[number].sums
		}
	}
	if len(metrics) < 2 && most == 0 {
		return list, nil
	}
	each := max(1, most/int64(max(1, len(chosen))))
	for b, err := range f.batches(ctx, wanted, slices.Concat(axes, metrics[min(1, len(metrics)):])) {
		if err != nil {
			return nil, err
		}
		for _, i := range b.matches {
			number := numbers[hash(b.values[:len(axes)], i)]
			at, ok := placeOf[number]
			if !ok {
				continue
			}
			s := &list[at]
			if n := groups[number].count(); most > 0 && (n <= each || s.seen*each/n != (s.seen+1)*each/n) {
				s.rows = append(s.rows, b.base+int64(i))
			}
			s.seen++
			for k := 1; k < len(metrics); k++ {
				if v, ok := b.score(len(axes)+k-1, i); ok {
					s.metrics[k].add(v, b.base+int64(i))
				}
			}
		}
	}
	return list, nil
}
