package statistics

import (
	"math"
	"slices"
)

// Zeros says what Wilcoxon does with differences of 0.
type Zeros int

const (
	// Drop leaves them out.
	Drop Zeros = iota
	// Pratt ranks them with the others; their ranks have no sign.
	Pratt
)

// SignedRanks is the result of Wilcoxon's test.
type SignedRanks struct {
	// Plus and Minus are the sums of the ranks of positive and of negative differences.
	Plus, Minus float64
	// Greater is the probability of such a Plus or a larger one if both signs are equally likely;
	// TwoSided that of such a difference of Plus and Minus or a larger one.
	Greater, TwoSided float64
}

// Wilcoxon compares a and b on the same blocks by the signed ranks of a − b. The probabilities are exact for the
// ranks that occur, tied ones included. Values of a block that are equal to 1e-9 of the larger one have no
// difference, as in Friedman, and differences that are equal to 1e-9 of the largest value of their blocks have the
// same rank. Equal infinities have no difference.
//
// F. Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1 (1945); J. W. Pratt,
// Remarks on zeros and ties in the Wilcoxon signed rank procedures, JASA 54 (1959).
func Wilcoxon(a, b []float64, zeros Zeros) SignedRanks {
	var differences, sizes, tolerances []float64
	for i := range a {
		d, own := 0.0, max(tolerance(a[i]), tolerance(b[i]))
		if equal(a[i], b[i], own) {
			own = 0
		} else {
			d = a[i] - b[i]
		}
		if d != 0 || zeros == Pratt {
			differences, sizes, tolerances = append(differences, d), append(sizes, math.Abs(d)), append(tolerances, own)
		}
	}
	own, _ := ranks(sizes, tolerances)
	var result SignedRanks
	var doubled []int // the ranks of differences with a sign
	for i, d := range differences {
		switch {
		case d > 0:
			result.Plus += own[i]
		case d < 0:
			result.Minus += own[i]
		default:
			continue
		}
		doubled = append(doubled, int(2*own[i]))
	}
	probabilities := signFlips(doubled)
	total := len(probabilities) - 1
	atMost := func(sum int) (p float64) {
		for _, q := range probabilities[:sum+1] {
			p += q
		}
		return p
	}
	result.Greater = min(1, atMost(total-int(2*result.Plus)))
	result.TwoSided = min(1, 2*atMost(int(2*min(result.Plus, result.Minus))))
	return result
}

// signFlips returns the probability of each sum of some of the ranks, if each is in it with probability ½.
func signFlips(ranks []int) []float64 {
	probabilities := []float64{1}
	for _, r := range ranks {
		next := append(slices.Clone(probabilities), make([]float64, r)...)
		for sum, p := range probabilities {
			next[sum+r] += p
		}
		for i := range next {
			next[i] /= 2
		}
		probabilities = next
	}
	return probabilities
}
