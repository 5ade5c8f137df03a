package weight

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/random"
)

// These tests hold the matrices to what Zhang, Lei, Dhillon (2018) and the SGORNN paper prove of
// them. Theorems 1, 2 and 4 are in TestReach.

// TestProposition1: every matrix is a product of reflectors and an upper triangle. Its diagonal is
// nonnegative; the paper says positive, which needs a nonsingular matrix.
func TestProposition1(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for _, rank := range []int{0, (n + 1) / 2, n} {
			// A product of n × rank and rank × n, 0 for rank 0.
			b, left, right := mat.NewDense(n, n, nil), mat.NewDense(n, max(rank, 1), nil), mat.NewDense(max(rank, 1), n, nil)
			if rank > 0 {
				source := random.New(uint64(100*n+rank), 1)
				random.Gaussian(left.RawMatrix().Data, 1, source)
				random.Gaussian(right.RawMatrix().Data, 1, source)
				b.Mul(left, right)
			}
			matrix, arena := householder[float64](n, n, n).make(t, kernel.Float64(), "", 1)
			r := triangularise(b, n, func(k int) []float64 { return arena.View(fmt.Sprintf("u%d", n-k)).Value })
			for i := range n {
				for j := range i {
					if math.Abs(r.At(i, j)) > 1e-12 {
						t.Errorf("n %d, rank %d: R[%d, %d] = %g below the diagonal", n, rank, i, j, r.At(i, j))
					}
				}
				if r.At(i, i) < -1e-12 || rank == n && r.At(i, i) <= 0 {
					t.Errorf("n %d, rank %d: R[%d, %d] = %g", n, rank, i, i, r.At(i, i))
				}
			}
			var product mat.Dense
			if product.Mul(value(matrix), r); !mat.EqualApprox(&product, b, 1e-12*float64(n)) {
				t.Errorf("n %d, rank %d: Q R is\n%v\nwant\n%v", n, rank, mat.Formatted(&product), mat.Formatted(b))
			}
		}
	}
}

// TestTheorem3: n reflectors, however they are divided among U and V, reach every orthogonal matrix,
// by equations 18 to 21. The paper has v_t = 0 from k1+k2-2 on, where v_{k1+k2-2} is a_1: it is 0 from
// k1+k2-1 on.
func TestTheorem3(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for _, sign := range []float64{1, -1} {
			a := mat.NewDense(n, n, Orthogonal(n, n, random.New(uint64(n), 2)))
			for i := range n {
				a.Set(i, 0, sign*a.At(i, 0)) // both components of O(n): one of them has a_1 ≠ 0
			}
			for k1 := 1; k1 <= n; k1++ {
				for k2 := 1; k2 <= n && k1+k2 <= n+2; k2++ {
					matrix, arena := spectral[float64](n, n, n-k1+1, n-k2+1, 0).make(t, kernel.Float64(), "", 1)
					if k2 >= k1-1 {
						splitReflectors(arena, a, "u", k1, "v", k2)
					} else {
						splitReflectors(arena, mat.DenseCopyOf(a.T()), "v", k2, "u", k1)
					}
					if w := value(matrix); !mat.EqualApprox(w, a, 1e-12*float64(n)) {
						t.Errorf("n %d, k1 %d, k2 %d: W is\n%v\nwant\n%v", n, k1, k2, mat.Formatted(w), mat.Formatted(a))
					}
				}
			}
		}
	}
}

// splitReflectors gives the reflectors of a from the own-th on to one side, and the shorter ones, longer
// by zeros in front, to the other, which has those from the rest-th on.
func splitReflectors(arena *Arena[float64], a *mat.Dense, side string, own int, other string, rest int) {
	n, _ := a.Dims()
	reflectors := make([][]float64, n+1)
	for k := range reflectors {
		reflectors[k] = make([]float64, k)
	}
	triangularise(a, n, func(k int) []float64 { return reflectors[n-k] })
	for k := own; k <= n; k++ {
		copy(arena.View(fmt.Sprintf("%s%d", side, k)).Value, reflectors[k])
	}
	for k := rest; k <= n; k++ {
		clear(arena.View(fmt.Sprintf("%s%d", other, k)).Value)
	}
	for k := 1; k < own; k++ {
		at := rest + own - k - 1
		copy(arena.View(fmt.Sprintf("%s%d", other, at)).Value[at-k:], reflectors[k])
	}
}

// TestLemma1: the first columns of a product of reflectors do not depend on the short ones. They are one
// more than the paper says, min(n-k1, n-k2) + 1, which theorem 4 needs.
func TestLemma1(t *testing.T) {
	const n = 9
	var products []*mat.Dense // of the reflectors v_n … v_k
	for m := 1; m <= n; m++ {
		matrix, arena := householder[float64](n, n, m).make(t, kernel.Float64(), "", 1)
		for _, v := range arena.Views() {
			random.Gaussian(v.Value, 1, random.New(uint64(len(v.Value)), 3))
		}
		products = append(products, value(matrix))
	}
	for k1 := 1; k1 <= n; k1++ {
		for k2 := k1 + 1; k2 <= n; k2++ {
			first, second := products[n-k1], products[n-k2]
			same := 0
			for same < n && mat.EqualApprox(first.ColView(same), second.ColView(same), 1e-14) {
				same++
			}
			if want := min(n-k1, n-k2) + 1; same != want {
				t.Errorf("k %d and %d: %d columns are the same, want %d", k1, k2, same, want)
			}
		}
	}
}

// TestRotationsLipschitz is equation 34 of the SGORNN paper, ‖φ(Θ + Δ) - φ(Θ)‖ ≤ k ‖Δ‖, and the partial
// derivatives of corollary 1: the angles change U at most by the sum over the k rotations of their largest
// change.
func TestRotationsLipschitz(t *testing.T) {
	for _, n := range []int{2, 4, 6, 16, 34} {
		matrix, arena := rotations[float64](n).make(t, kernel.Float64(), "", 1)
		theta := arena.View("theta")
		random.Gaussian(theta.Value, 2, random.New(uint64(n), 1))
		at := slices.Clone(theta.Value)
		before := value(matrix)
		for i, size := range []float64{1e-6, 1e-3, .1, 1, 10} {
			delta := mat.NewDense(theta.Rows, theta.Cols, nil)
			random.Gaussian(delta.RawMatrix().Data, size, random.New(uint64(i), 4))
			for j, d := range delta.RawMatrix().Data {
				theta.Value[j] = at[j] + d
			}
			var change mat.Dense
			change.Sub(value(matrix), before)
			bound := float64(RotationSteps(n)) * spectralNorm(delta)
			if got := spectralNorm(&change); !(got <= bound*(1+1e-9)) {
				t.Errorf("n %d, Δ of %g: U changes by %g, at most %g is proved", n, size, got, bound)
			}
		}
		bound := float64(RotationSteps(n)) * math.Sqrt(float64(n)) // M_φ, at most 4 √h log2 h
		if most := 4 * math.Sqrt(float64(n)) * math.Log2(float64(n)); bound > most {
			t.Errorf("n %d: M_φ %g, at most %g is proved", n, bound, most)
		}
		for j := range at {
			copy(theta.Value, at)
			theta.Value[j] += 1e-6
			var change mat.Dense
			change.Sub(value(matrix), before)
			change.Scale(1e6, &change)
			if got := math.Max(mat.Max(&change), -mat.Min(&change)); got > bound {
				t.Fatalf("n %d: a derivative by an angle is %g, at most %g is proved", n, got, bound)
			}
		}
	}
	// The bound is reached to first order: two equal rotations of one plane.
	arena := NewArena[float64]()
	matrix, err := NewRotations(kernel.Float64(), arena, 2, [][]int{{0, 1}, {0, 1}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	arena.Allocate()
	const delta = 1e-4
	before := value(matrix)
	for i := range arena.View("theta").Value {
		arena.View("theta").Value[i] = delta
	}
	var change mat.Dense
	change.Sub(value(matrix), before)
	if got := spectralNorm(&change); math.Abs(got/(2*delta)-1) > 1e-6 {
		t.Errorf("two rotations by %g change U by %g, want twice as much", delta, got)
	}
}

// spectralNorm is the largest singular value.
func spectralNorm(m mat.Matrix) float64 {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return math.NaN()
	}
	return svd.Values(nil)[0]
}
