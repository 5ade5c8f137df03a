package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// testColumns checks the methods on columns with one shape.
func testColumns(t *testing.T, s *Set[float32], r *rand.Rand, rows, cols, gap int) {
	a, b := newField(r, rows, cols, gap, nan), newField(r, rows, cols, gap, nan)
	sums, products, d := vectorField(r, cols, canary), vectorField(r, cols, canary), vectorField(r, cols, nan)
	beforeSums, beforeProducts := sums.clone(), products.clone()
	dst := newField(r, rows, cols, gap, canary)
	beforeDst := dst.clone()
	s.ColumnSumsAdd(sums.Data, a.Matrix)
	s.ColumnProductSumsAdd(products.Data, a.Matrix, b.Matrix)
	s.ScaleColumnsAdd(dst.Matrix, d.Data, a.Matrix)
	sums.check(t, "ColumnSumsAdd")
	products.check(t, "ColumnProductSumsAdd")
	dst.check(t, "ScaleColumnsAdd")
	for j := range cols {
		sum, product, magnitude := float64(beforeSums.Data[j]), float64(beforeProducts.Data[j]), 2.0
		for i := range rows {
			x, y := float64(a.Row(i)[j]), float64(b.Row(i)[j])
			sum += x
			product += x * y
			magnitude += math.Abs(x) + math.Abs(x*y)
			near(t, dst.Row(i)[j], float64(beforeDst.Row(i)[j])+x*float64(d.Data[j]), 1e-5,
				"ScaleColumnsAdd %d×%d at %d,%d", rows, cols, i, j)
		}
		tolerance := epsilon * (2 + float64(rows)) * magnitude
		near(t, sums.Data[j], sum, tolerance, "ColumnSumsAdd %d×%d at %d", rows, cols, j)
		near(t, products.Data[j], product, tolerance, "ColumnProductSumsAdd %d×%d at %d", rows, cols, j)
	}
}

func TestColumns(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(3)
		for _, rows := range []int{0, 1, 2, 3, 4, 5, 8, 67} {
			for i, cols := range append(sizes, 129, 150) {
				testColumns(t, s, r, rows, cols, []int{0, 3, 1}[i%3])
			}
		}
	})
}
