package kernel

import (
	"math"
	"testing"
)

// TestBlockwise holds the loops of a softmax in blocks at every level to float64.
func TestBlockwise(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(23)
		for i, cols := range append(sizes, 96, 101) {
			for _, rows := range []int{0, 1, 4, 7, 9} {
				a, d := newField(r, rows, cols, []int{0, 5, 1}[i%3], nan), vectorField(r, cols, canary)
				maxima, sums, factors := vectorField(r, rows, canary), vectorField(r, rows, canary),
					vectorField(r, rows, nan)
				before, beforeSums, beforeMaxima, beforeD := a.clone(), sums.clone(), maxima.clone(), d.clone()

				s.RowMaxima(maxima.Data, a.Matrix)
				maxima.check(t, "RowMaxima")
				s.ExpSums(sums.Data, a.Matrix, maxima.Data)
				sums.check(t, "ExpSums")
				for i := range rows {
					largest, sum := beforeMaxima.Data[i], float64(beforeSums.Data[i])
					for _, x := range before.Row(i) {
						largest = max(largest, x)
					}
					if maxima.Data[i] != largest {
						t.Fatalf("RowMaxima, %d×%d at %d: got %v, want %v", rows, cols, i, maxima.Data[i], largest)
					}
					for j, x := range before.Row(i) {
						e := math.Exp(float64(x) - float64(largest))
						sum += e
						near(t, a.Row(i)[j], e, 4e-7*e, "ExpSums, %d×%d at %d,%d", rows, cols, i, j)
					}
					near(t, sums.Data[i], sum, 1e-6*(1+math.Abs(sum)), "ExpSums, %d×%d at %d", rows, cols, i)
				}

				s.RowWeightedSumsAdd(d.Data, a.Matrix, factors.Data)
				d.check(t, "RowWeightedSumsAdd")
				a.check(t, "the loops of a softmax in blocks")
				for j := range cols {
					sum := float64(beforeD.Data[j])
					for i := range rows {
						sum += float64(factors.Data[i]) * float64(a.Row(i)[j])
					}
					near(t, d.Data[j], sum, 4e-6*(1+math.Abs(sum)), "RowWeightedSumsAdd, %d×%d at %d", rows, cols, j)
				}
			}
		}
	})
}

// A number that is none is in what comes of its row.
func TestBlockwiseNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		for at := range 40 {
			a, m, sums := NewMatrix[float32](1, 40), []float32{0}, []float32{0}
			a.Data[at] = nan
			s.RowMaxima(m, a)
			s.ExpSums(sums, a, m)
			if sums[0] == sums[0] {
				t.Errorf("a sum of exponentials with a NaN at %d is %v", at, sums[0])
			}
		}
	})
}
