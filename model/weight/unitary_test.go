package weight

import (
	"math"
	"math/cmplx"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/random"
)

// TestUnitary holds the matrix to the product of its factors, each written out by its definition,
// the Fourier transform by its sums.
func TestUnitary(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 12} {
		arena := NewArena[float64]()
		u, err := NewUnitary(kernel.Float64(), arena, n, 7)
		if err != nil {
			t.Fatal(err)
		}
		arena.Allocate()
		random.Gaussian(arena.Values(), 1, random.New(5, 0)) // reflections of any length
		w := kernel.NewMatrix[float64](2*n, 2*n)
		u.Value(w)

		parameter := func(name string) []float64 { return arena.View(name).Value }
		matrix := func(element func(i, j int) complex128) *mat.CDense {
			m := mat.NewCDense(n, n, nil)
			for i := range n {
				for j := range n {
					m.Set(i, j, element(i, j))
				}
			}
			return m
		}
		one := func(is bool) complex128 {
			if is {
				return 1
			}
			return 0
		}
		diagonal := func(name string) *mat.CDense {
			return matrix(func(i, j int) complex128 { return one(i == j) * cmplx.Exp(complex(0, parameter(name)[i])) })
		}
		reflection := func(name string) *mat.CDense {
			v, sum := make([]complex128, n), 0.0
			for i := range v {
				v[i] = complex(parameter(name)[i], parameter(name)[n+i])
				sum += real(v[i])*real(v[i]) + imag(v[i])*imag(v[i])
			}
			return matrix(func(i, j int) complex128 { return one(i == j) - complex(2/sum, 0)*v[i]*cmplx.Conj(v[j]) })
		}
		fourier := func(sign float64) *mat.CDense {
			return matrix(func(i, j int) complex128 {
				return cmplx.Exp(complex(0, sign*2*math.Pi*float64(i*j)/float64(n))) / complex(math.Sqrt(float64(n)), 0)
			})
		}
		order := random.New(7, random.Turns).Permutation(n)
		turn := matrix(func(i, j int) complex128 { return one(order[i] == j) })
		want := matrix(func(i, j int) complex128 { return one(i == j) })
		for _, factor := range []*mat.CDense{diagonal("d1"), fourier(-1), reflection("r1"), turn, diagonal("d2"),
			fourier(1), reflection("r2"), diagonal("d3")} {
			want = matrix(func(i, j int) (sum complex128) {
				for k := range n {
					sum += factor.At(i, k) * want.At(k, j)
				}
				return sum
			})
		}
		for i := range n {
			for j := range n {
				x := want.At(i, j)
				for _, c := range []struct{ got, want float64 }{
					{w.Row(i)[j], real(x)}, {w.Row(i)[n+j], -imag(x)}, {w.Row(n + i)[j], imag(x)},
					{w.Row(n + i)[n+j], real(x)},
				} {
					if !(math.Abs(c.got-c.want) < 1e-13) {
						t.Fatalf("n = %d: element %d, %d is %v, want %v", n, i, j, c.got, x)
					}
				}
			}
		}
	}
}
