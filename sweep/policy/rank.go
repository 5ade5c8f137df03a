package policy

import (
	"math"
	"math/big"
	"slices"
)

// ranks returns twice the ranks of values from 1 on, so that the mean ranks of ties are whole.
func ranks(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	doubled := make([]int, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			doubled[i] = from + 1 + to
		}
		from = to
	}
	return doubled
}

// Wilcoxon returns the rank sums of the positive and the negative differences, and the two-sided p
// of the signed-rank test: exact, from the distribution over all signs of the observed ranks, ties
// included. Differences of 0 are ranked and then left out (J. W. Pratt, JASA 54 (1959), 655–667).
func Wilcoxon(differences []float64) (plus, minus, p float64) {
	sizes := make([]float64, len(differences))
	for i, d := range differences {
		sizes[i] = math.Abs(d)
	}
	var doubledPlus, doubledMinus int
	var signed []int
	for i, r := range ranks(sizes) {
		switch {
		case differences[i] > 0:
			doubledPlus += r
		case differences[i] < 0:
			doubledMinus += r
		default:
			continue
		}
		signed = append(signed, r)
	}
	// ways[s] is in how many of all choices of signs the positive ranks add up to s.
	ways := make([]big.Int, doubledPlus+doubledMinus+1)
	ways[0].SetInt64(1)
	for _, r := range signed {
		for s := len(ways) - 1; s >= r; s-- {
			ways[s].Add(&ways[s], &ways[s-r])
		}
	}
	var tail big.Int
	for s := range min(doubledPlus, doubledMinus) + 1 {
		tail.Add(&tail, &ways[s])
	}
	share := new(big.Rat).SetFrac(tail.Lsh(&tail, 1), new(big.Int).Lsh(big.NewInt(1), uint(len(signed))))
	p, _ = share.Float64()
	return float64(doubledPlus) / 2, float64(doubledMinus) / 2, min(p, 1)
}

// Friedman returns the statistic of Friedman's test, corrected for ties, and its p by the chi-squared
// distribution; blocks has a row of equally many treatments for each block. Rows of ties alone tell
// nothing: statistic 0, p 1.
func Friedman(blocks [][]float64) (statistic, p float64) {
	n, k := float64(len(blocks)), float64(len(blocks[0]))
	sums := make([]float64, len(blocks[0]))
	var squares float64
	for _, block := range blocks {
		for j, doubled := range ranks(block) {
			rank := float64(doubled) / 2
			sums[j] += rank
			squares += rank * rank
		}
	}
	var between float64
	for _, sum := range sums {
		between += sum * sum
	}
	constant := n * k * (k + 1) * (k + 1) / 4
	if squares == constant {
		return 0, 1
	}
	statistic = (k - 1) * (between - n*constant) / (squares - constant)
	return statistic, chiSquaredTail(statistic, k-1)
}

// chiSquaredTail is the probability above x of the chi-squared distribution: 1 - P(f/2, x/2), by the
// series of the incomplete gamma function or, for a large x, by its continued fraction
// (Abramowitz and Stegun 6.5.29 and 6.5.31, the latter evaluated by Lentz's method).
func chiSquaredTail(x, freedom float64) float64 {
	if x <= 0 {
		return 1
	}
	const steps, enough = 10000, 1e-16
	a := freedom / 2
	x /= 2
	gamma, _ := math.Lgamma(a)
	scale := math.Exp(a*math.Log(x) - x - gamma)
	if x < a+1 {
		term := 1 / a
		sum := term
		for i := 1; i < steps && term > enough*sum; i++ {
			term *= x / (a + float64(i))
			sum += term
		}
		return 1 - scale*sum
	}
	b := x + 1 - a
	c, d := math.Inf(1), 1/b
	f := d
	for i := 1.0; i < steps; i++ {
		an := -i * (i - a)
		b += 2
		d = 1 / (an*d + b)
		c = b + an/c
		f *= c * d
		if math.Abs(c*d-1) < enough {
			break
		}
	}
	return scale * f
}
