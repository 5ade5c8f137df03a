package statistics

import (
	"cmp"
	"slices"
)

// ranks returns the ranks of values, 1 for the smallest; equal values share the mean of theirs. Besides, it
// returns Σ(t³ − t) over the groups of t equal values.
func ranks(values []float64) (ranks []float64, ties float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks = make([]float64, len(values))
	for from := 0; from < len(order); {
		until := from + 1
		for until < len(order) && values[order[until]] == values[order[from]] {
			until++
		}
		for _, i := range order[from:until] {
			ranks[i] = float64(from+1+until) / 2
		}
		t := float64(until - from)
		ties += t * (t*t - 1)
		from = until
	}
	return ranks, ties
}
