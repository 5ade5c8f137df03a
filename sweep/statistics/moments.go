package statistics

import (
	"fmt"
	"math"
)

// Moments are of values that come one by one: how many there are, their mean, the sum of their squared distances
// from it (Welford, Technometrics 4, 1962), the smallest and the largest. NaN is no value and left out.
type Moments struct {
	N                       int64
	Mean, Squares, Min, Max float64
}

// MomentsOf returns the moments of a list.
func MomentsOf(values []float64) (m Moments) {
	for _, v := range values {
		m.Add(v)
	}
	return m
}

// Add adds a value.
func (m *Moments) Add(v float64) {
	if v != v {
		return
	}
	if m.N == 0 {
		m.Min, m.Max = v, v
	}
	m.N++
	off := v - m.Mean
	m.Mean += off / float64(m.N)
	m.Squares += float64(off * (v - m.Mean))
	m.Min, m.Max = min(m.Min, v), max(m.Max, v)
}

// SD returns the sample standard deviation, NaN of fewer than two values.
func (m *Moments) SD() float64 {
	if m.N < 2 {
		return math.NaN()
	}
	return math.Sqrt(m.Squares / float64(m.N-1))
}

// MeanText is a mean with its standard deviation: this with two digits, and the mean with as many places.
func MeanText(mean, sd float64) string {
	const places, large = 6, 1e7 // of a number without an exponent
	size := math.Abs(mean)
	if sd <= 0 || math.IsNaN(sd) || math.IsInf(sd, 0) {
		return fmt.Sprintf("%.4g ± %.2g", mean, sd)
	}
	digit := int(math.Floor(math.Log10(sd))) - 1 // the exponent of the last digit that counts
	if max(size, sd) >= large || size != 0 && size < 1e-4 {
		digits := 1
		if size > 0 {
			digits = min(max(int(math.Floor(math.Log10(size)))-digit, 1), places)
		}
		return fmt.Sprintf("%.*e ± %.1e", digits, mean, sd)
	}
	decimals := min(max(-digit, 0), places)
	if -digit > places {
		return fmt.Sprintf("%.*f ± %.1e", decimals, mean, sd)
	}
	return fmt.Sprintf("%.*f ± %.*f", decimals, mean, decimals, sd)
}
