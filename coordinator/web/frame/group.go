package frame

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"sweep/sweep"
)

// Statistics are of a metric over trials: how many have it, and what their values
// come to. SD is the sample's, of two values and more.
type Statistics struct {
	N    int64    `json:"n"`
	Mean *float64 `json:"mean"`
	SD   *float64 `json:"sd"`
	Min  *float64 `json:"min"`
	Max  *float64 `json:"max"`
	// Best is the trial with the best value, -1 if there is none.
	Best int64 `json:"best"`
}

// sums gathers Statistics; the mean and the squares are kept as Welford does.
type sums struct {
	n                 int64
	mean, squares     float64
	low, high         float64
	bestLow, bestHigh int64
}

func (s *sums) add(v float64, row int64) {
	if s.n == 0 {
		s.low, s.high, s.bestLow, s.bestHigh = v, v, row, row
	}
	s.n++
	delta := v - s.mean
	s.mean += delta / float64(s.n)
	s.squares += delta * (v - s.mean)
	if v < s.low {
		s.low, s.bestLow = v, row
	}
	if v > s.high {
		s.high, s.bestHigh = v, row
	}
}

func (s *sums) statistics(goal string) Statistics {
	t := Statistics{N: s.n, Best: -1}
	if s.n == 0 {
		return t
	}
	mean, low, high := s.mean, s.low, s.high
	t.Mean, t.Min, t.Max, t.Best = &mean, &low, &high, s.bestLow
	if goal == sweep.Maximize {
		t.Best = s.bestHigh
	}
	if s.n > 1 {
		sd := math.Sqrt(s.squares / float64(s.n-1))
		t.SD = &sd
	}
	return t
}

// best is the best value, by the goal of the metric.
func (s *sums) best(goal string) float64 {
	if goal == sweep.Maximize {
		return s.high
	}
	return s.low
}

// GroupQuery asks for groups of the trials that fit a filter, which agree in some
// parameters.
type GroupQuery struct {
	Filter
	// By are the parameters; Differing of the frame if empty.
	By []string
	// Metrics are the metrics whose statistics the answer has; the goal of each is in
	// Goals, minimize if it is not.
	Metrics []string
	Goals   map[string]string
	// OrderBy is mean, sd, best or count, of the first metric, or one of By.
	OrderBy       string
	Descending    bool
	Offset, Limit int
}

// Group is some trials that agree: the values that they share, how many there are
// by state, and the statistics of the metrics over those that completed and did not
// diverge.
type Group struct {
	Values  []any            `json:"values"`
	First   int64            `json:"first"`
	Count   int64            `json:"count"`
	States  map[string]int64 `json:"states"`
	Metrics []Statistics     `json:"metrics"`
}

// Groups is an answer: how many groups and trials there are, and some of the groups.
type Groups struct {
	By     []string `json:"by"`
	Total  int64    `json:"total"`
	Trials int64    `json:"trials"`
	Groups []Group  `json:"groups"`
}

// MostGroups bounds how many groups are told apart.
const MostGroups = 1_000_000

// Differing returns the parameters of which there are several values, without the
// seed.
func (f *Frame) Differing() (names []string) {
	for _, c := range f.Columns() {
		if c.Kind == "parameter" && c.Varies && c.Name != sweep.SeedParameter {
			names = append(names, c.Name)
		}
	}
	return names
}

// gathered is what is known of a group before its metrics are looked at.
type gathered struct {
	first  int64
	counts [states]int32
	sums   sums
}

// Groups answers a query. Groups are told apart by 64 bits of their values.
func (f *Frame) Groups(ctx context.Context, q GroupQuery) (*Groups, error) {
	if q.Limit < 0 || q.Limit > MostRows || q.Offset < 0 {
		return nil, fmt.Errorf("limit %d and offset %d: expected a limit of 0 to %d groups, and no negative offset",
			q.Limit, q.Offset, MostRows)
	}
	by := q.By
	if by == nil {
		by = f.Differing()
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	wanted, err := f.compile(q.Filter)
	if err != nil {
		return nil, err
	}
	axes, err := f.find(by)
	if err != nil {
		return nil, err
	}
	metrics, err := f.find(q.Metrics)
	if err != nil {
		return nil, err
	}
	answer := &Groups{By: by, Groups: []Group{}}
	if by == nil {
		answer.By = []string{}
	}
	columns := append(append(slices.Clone(wanted.columns), axes...), metrics[:min(1, len(metrics))]...)
	numbers := map[uint64]int32{}
	var groups []gathered
	full := false
	err = f.walk(ctx, 0, columns, func(base int64, list []State, values [][]uint64) bool {
		keys := values[len(wanted.columns):][:len(axes)]
		for i, s := range list {
			if !wanted.fits(s, values, i) {
				continue
			}
			answer.Trials++
			key := hash(keys, i)
			number, known := numbers[key]
			if !known {
				if len(groups) == MostGroups {
					full = true
					return false
				}
				number = int32(len(groups))
				numbers[key] = number
				groups = append(groups, gathered{first: base + int64(i)})
			}
			g := &groups[number]
			g.counts[s]++
			if len(metrics) > 0 && s == Completed {
				if value := values[len(values)-1][i]; !isSpecial(value) {
					g.sums.add(math.Float64frombits(value), base+int64(i))
				}
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if full {
		return nil, fmt.Errorf("there are more than %d groups: group by fewer parameters, or filter", MostGroups)
	}
	answer.Total = int64(len(groups))
	chosen, err := f.chooseGroups(groups, axes, by, q)
	if err != nil {
		return nil, err
	}
	return answer, f.fillGroups(ctx, answer, wanted, axes, metrics, numbers, groups, chosen, q)
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

// chooseGroups returns the numbers of the groups of the page, in order.
func (f *Frame) chooseGroups(groups []gathered, axes []*column, by []string, q GroupQuery) ([]int32, error) {
	goal := sweep.Minimize
	if len(q.Metrics) > 0 && q.Goals[q.Metrics[0]] != "" {
		goal = q.Goals[q.Metrics[0]]
	}
	sign := 1.0
	if q.Descending {
		sign = -1
	}
	var key func(g *gathered) (place, error)
	switch axis := slices.Index(by, q.OrderBy); {
	case axis >= 0:
		order := axes[axis].order()
		key = func(g *gathered) (place, error) {
			_, values, err := f.one(g.first, axes[axis:axis+1])
			if err != nil {
				return place{}, err
			}
			class, k := order(values[0])
			return place{class, sign * k, g.first}, nil
		}
	case q.OrderBy == "count":
		key = func(g *gathered) (place, error) { return place{0, sign * float64(g.count()), g.first}, nil }
	case q.OrderBy == "mean", q.OrderBy == "best", q.OrderBy == "sd":
		key = func(g *gathered) (place, error) {
			s := &g.sums
			if s.n == 0 || q.OrderBy == "sd" && s.n == 1 {
				return place{2, 0, g.first}, nil
			}
			v := map[string]float64{"mean": s.mean, "best": s.best(goal),
				"sd": s.squares / max(1, float64(s.n-1))}[q.OrderBy]
			return place{0, sign * v, g.first}, nil
		}
	case q.OrderBy == "":
		key = func(g *gathered) (place, error) { return place{0, 0, g.first}, nil }
	default:
		return nil, fmt.Errorf("groups are sorted by mean, sd, best, count or one of %v, not by %.100q", by, q.OrderBy)
	}
	all := make([]place, len(groups))
	numbers := make(map[int64]int32, q.Limit)
	for i := range groups {
		var err error
		if all[i], err = key(&groups[i]); err != nil {
			return nil, err
		}
	}
	end := min(min(q.Offset, len(all))+q.Limit, len(all)) // the offset may be any number
	first := places{most: end}
	for _, p := range all {
		first.add(p)
	}
	slices.SortFunc(first.list, comparePlace)
	list := first.list[min(q.Offset, len(first.list)):]
	for _, p := range list {
		numbers[p.row] = -1
	}
	for i := range groups {
		if _, ok := numbers[groups[i].first]; ok {
			numbers[groups[i].first] = int32(i)
		}
	}
	chosen := make([]int32, len(list))
	for i, p := range list {
		chosen[i] = numbers[p.row]
	}
	return chosen, nil
}

func (g *gathered) count() (n int64) {
	for _, c := range g.counts {
		n += int64(c)
	}
	return n
}

// fillGroups looks at the metrics of the chosen groups.
func (f *Frame) fillGroups(ctx context.Context, answer *Groups, wanted *filter, axes, metrics []*column,
	numbers map[uint64]int32, groups []gathered, chosen []int32, q GroupQuery) error {
	placeOf := make(map[int32]int, len(chosen))
	gathered := make([][]sums, len(chosen))
	for i, number := range chosen {
		placeOf[number] = i
		gathered[i] = make([]sums, len(metrics))
		if len(metrics) > 0 {
			gathered[i][0] = groups[number].sums
		}
	}
	if len(metrics) > 1 {
		others := metrics[1:]
		columns := append(append(slices.Clone(wanted.columns), axes...), others...)
		err := f.walk(ctx, 0, columns, func(base int64, list []State, values [][]uint64) bool {
			keys := values[len(wanted.columns):][:len(axes)]
			for i, s := range list {
				if s != Completed || !wanted.fits(s, values, i) {
					continue
				}
				at, ok := placeOf[numbers[hash(keys, i)]]
				if !ok {
					continue
				}
				for k := range others {
					if value := values[len(values)-len(others)+k][i]; !isSpecial(value) {
						gathered[at][k+1].add(math.Float64frombits(value), base+int64(i))
					}
				}
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	for i, number := range chosen {
		g := &groups[number]
		_, values, err := f.one(g.first, axes)
		if err != nil {
			return err
		}
		out := Group{First: g.first, Count: g.count(), States: map[string]int64{}, Values: make([]any, len(values)),
			Metrics: []Statistics{}}
		for k, value := range values {
			out.Values[k] = axes[k].decode(value)
		}
		for s, n := range g.counts {
			if n > 0 {
				out.States[State(s).String()] = int64(n)
			}
		}
		for k := range metrics {
			goal := cmp.Or(q.Goals[q.Metrics[k]], sweep.Minimize)
			out.Metrics = append(out.Metrics, gathered[i][k].statistics(goal))
		}
		answer.Groups = append(answer.Groups, out)
	}
	return nil
}
