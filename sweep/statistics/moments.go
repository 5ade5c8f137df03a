package statistics

import "math"

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
