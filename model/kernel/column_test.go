package kernel

import (
	"fmt"
	"math"
	"testing"
)

func TestColumns(t *testing.T) {
	eachLevel(t, func(t *testing.T, s *Set[float32]) {
		r := newRand(3)
		for _, rows := range []int{0, 1, 2, 3, 4, 5, 8, 67} {
			for _, cols := range append(sizes, 129, 150) {
				a, b := newField(r, rows, cols, 3, nan), newField(r, rows, cols, 2, nan)
				sums, products, d := vectorField(r, cols, canary), vectorField(r, cols, canary), vectorField(r, cols, nan)
				beforeSums, beforeProducts := sums.clone(), products.clone()
				dst := newField(r, rows, cols, 1, canary)
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
						near(t, fmt.Sprintf("ScaleColumnsAdd %d×%d at %d,%d", rows, cols, i, j), dst.Row(i)[j],
							float64(beforeDst.Row(i)[j])+x*float64(d.Data[j]), 1e-5)
					}
					tolerance := epsilon * (2 + float64(rows)) * magnitude
					near(t, fmt.Sprintf("ColumnSumsAdd %d×%d at %d", rows, cols, j), sums.Data[j], sum, tolerance)
					near(t, fmt.Sprintf("ColumnProductSumsAdd %d×%d at %d", rows, cols, j), products.Data[j], product, tolerance)
				}
			}
		}
	})
}
