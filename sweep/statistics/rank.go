package statistics

import (
	"cmp"
	"math"
	"slices"
)

// precision is by how much of their size two values of a block may differ and still be equal: what rounding makes
// of equal results, and less than any difference that is one.
const precision = 1e-9

// tolerance is by how much a value may differ from an equal one.
func tolerance(x float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return precision * math.Abs(x)
}

// equal reports whether two values are, one of which has the larger tolerance.
func equal(x, y, tolerance float64) bool { return x == y || math.Abs(x-y) <= tolerance }

// ranks returns the ranks of values, 1 for the smallest; equal ones, by the larger of their tolerances, share the
// mean of theirs. Besides, it returns Σ(t³ − t) over the groups of t equal values.
func ranks(values, tolerances []float64) (ranks []float64, ties float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks = make([]float64, len(values))
	for from := 0; from < len(order); {
		until, first := from+1, order[from]
		for until < len(order) && equal(values[order[until]], values[first],
			max(tolerances[order[until]], tolerances[first])) {
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
