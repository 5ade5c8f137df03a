package policy

import (
	"fmt"
	"math"
)

// Race drops grid points whose replicates cannot win any more. After each seed that all remaining
// points have run it tests over the seeds so far: if Friedman's test finds a difference, those that
// Wilcoxon's exact test finds worse than the best one are dropped, and their further replicates
// skipped. The tests of the pairs are not corrected for their number, as in F-race (M. Birattari et
// al., A racing algorithm for configuring metaheuristics, GECCO 2002), which has Conover's test there.
type Race struct {
	// Confidence is 1 minus the level of the tests, between 0 and 1.
	Confidence float64
}

// Drop is a grid point that is dropped, with what led to it.
type Drop struct {
	Point int
	// Seeds is the number of seeds over which the points were compared.
	Seeds int
	// Best is the point with the smallest mean rank then; Friedman and Wilcoxon are the tests' p.
	Best               int
	Friedman, Wilcoxon float64
}

// Judge returns all points that are dropped so far, in order. Values has those of each point by seed;
// a smaller one is better, +Inf stands for a failed trial, and NaN for one that has not ended.
// Seeds count in their order: a later one does not before all points that remain have the earlier.
func (r *Race) Judge(values [][]float64) ([]Drop, error) {
	if !(r.Confidence > 0 && r.Confidence < 1) {
		return nil, fmt.Errorf("a race with confidence %v: expected a number between 0 and 1", r.Confidence)
	}
	remaining := make([]int, len(values))
	for i := range remaining {
		remaining[i] = i
	}
	var drops []Drop
	for seeds := 1; len(remaining) > 1; seeds++ {
		blocks := make([][]float64, seeds)
		for s := range blocks {
			for _, point := range remaining {
				if s >= len(values[point]) || math.IsNaN(values[point][s]) {
					return drops, nil
				}
				blocks[s] = append(blocks[s], values[point][s])
			}
		}
		_, p := Friedman(blocks)
		if p >= 1-r.Confidence {
			continue
		}
		best := bestRank(blocks)
		var kept []int
		for k, point := range remaining {
			differences := make([]float64, seeds)
			for s := range differences {
				differences[s] = difference(blocks[s][k], blocks[s][best])
			}
			plus, minus, pair := Wilcoxon(differences)
			if k != best && plus > minus && pair < 1-r.Confidence {
				drops = append(drops, Drop{point, seeds, remaining[best], p, pair})
			} else {
				kept = append(kept, point)
			}
		}
		remaining = kept
	}
	return drops, nil
}

// difference is a - b; two failed trials are equal.
func difference(a, b float64) float64 {
	if a == b {
		return 0
	}
	return a - b
}

// bestRank is the first treatment with the smallest sum of ranks.
func bestRank(blocks [][]float64) int {
	sums := make([]int, len(blocks[0]))
	for _, block := range blocks {
		for j, doubled := range ranks(block) {
			sums[j] += doubled
		}
	}
	best := 0
	for j := range sums {
		if sums[j] < sums[best] {
			best = j
		}
	}
	return best
}
