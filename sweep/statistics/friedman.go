package statistics

import (
	"math"

	"sweep/sweep/portable"
)

// FriedmanTest is the result of Friedman's test.
type FriedmanTest struct {
	// Ranks are the mean ranks of the systems, 1 for the one with the smallest values.
	Ranks []float64
	// ChiSquared is the statistic, corrected for ties; P its probability without a difference.
	ChiSquared, P float64
}

// Friedman compares systems, each with its values on the same blocks. It ranks the systems within each
// block, where values that are equal to 1e-9 of the larger one have the same rank. Without blocks, or if all
// systems are equal on all of them, P is 1.
//
// M. Friedman, The use of ranks to avoid the assumption of normality implicit in the analysis of
// variance, JASA 32 (1937).
func Friedman(systems [][]float64) FriedmanTest {
	k := len(systems)
	result := FriedmanTest{Ranks: make([]float64, k), P: 1}
	if k == 0 || len(systems[0]) == 0 {
		return result
	}
	blocks, ties := float64(len(systems[0])), 0.0
	block, tolerances := make([]float64, k), make([]float64, k)
	for b := range systems[0] {
		for i := range systems {
			block[i], tolerances[i] = systems[i][b], tolerance(systems[i][b])
		}
		own, tied := ranks(block, tolerances)
		ties += tied
		for i := range own {
			result.Ranks[i] += own[i]
		}
	}
	n, squares := float64(k), 0.0
	for i := range result.Ranks {
		deviation := result.Ranks[i] - blocks*(n+1)/2
		squares += float64(deviation * deviation)
		result.Ranks[i] /= blocks
	}
	scale := blocks*n*(n+1) - ties/(n-1)
	if k > 1 && scale > 0 {
		result.ChiSquared = 12 * squares / scale
		result.P = chiSquaredTail(result.ChiSquared, k-1)
	}
	return result
}

// chiSquaredTail is the probability that χ² of some degrees of freedom is above x (M. Abramowitz, I. A. Stegun,
// Handbook of mathematical functions, 26.4.4 and 26.4.5).
func chiSquaredTail(x float64, degrees int) float64 {
	if x <= 0 {
		return 1
	}
	// Each term is its logarithm, which does not underflow.
	half, logarithm := x/2, portable.Log(x/2)
	term, sum := -half, 0.0 // e^(−x/2) (x/2)^i / i!
	first := 1.0
	if degrees%2 == 1 {
		sum = 2 * portable.Normal(-math.Sqrt(x))
		const half2Pi = 0.91893853320467274178                // ln √(2π)
		term = -half + portable.Log(2*math.Sqrt(x)) - half2Pi // 2φ(√x) √x
		logarithm = portable.Log(x)
		first = 3
	}
	for i := range degrees / 2 {
		if term > -700 {
			sum += portable.Exp(term)
		}
		divisor := first + float64(i)
		if degrees%2 == 1 {
			divisor = first + 2*float64(i)
		}
		term += logarithm - portable.Log(divisor)
	}
	return min(sum, 1)
}
