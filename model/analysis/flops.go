package analysis

import "fmt"

// maxUnits bounds what Flops is asked for: its vectors take n(m1 + m2) numbers some times over.
const maxUnits = 4096

// Flops returns the floating point operations of Algorithm 1 for one vector of n coordinates and
// one time step, forward and back, counted while it runs: with m1 reflectors of U and, if m2 is
// not 0, a diagonal and m2 reflectors of V; norms and products are KeepNorms and KeepProducts of
// [Reflectors]. With m1 = 1 and m2 = 0 that is Hprod(h, u_n) and Hgrad(h, u_n, g).
func Flops(n, m1, m2 int, norms, products bool) (forward, backward int, err error) {
	if n < 1 || n > maxUnits {
		return 0, 0, fmt.Errorf("n = %d: expected 1 to %d units", n, maxUnits)
	}
	if m1 < 1 || m1 > n {
		return 0, 0, fmt.Errorf("m1 = %d: expected 1 to n = %d reflectors", m1, n)
	}
	if m2 < 0 || m2 > n {
		return 0, 0, fmt.Errorf("m2 = %d: expected 0 to n = %d reflectors", m2, n)
	}
	r := &Reflectors{KeepNorms: norms, KeepProducts: products}
	r.U, r.UGradient = triangle(n, m1), triangle(n, m1)
	if m2 > 0 {
		r.V, r.VGradient = triangle(n, m2), triangle(n, m2)
		r.Sigma, r.Slope, r.HatGradient = ones(n), ones(n), ones(n)
	}
	r.Forward(ones(n))
	forward = r.Operations
	r.Backward(ones(n))
	return forward, r.Operations - forward, nil
}

// triangle is m vectors of n, n - 1, … coordinates.
func triangle(n, m int) [][]float64 {
	vectors := make([][]float64, m)
	for i := range vectors {
		vectors[i] = ones(n - i)
	}
	return vectors
}

// ones is a vector of n ones: the operations do not depend on the numbers.
func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}
