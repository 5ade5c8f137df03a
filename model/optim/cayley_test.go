package optim

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// orthogonal is weight.SetOrthogonal of rows × cols float64, row-major.
func orthogonal(rows, cols int, source *random.Source) []float64 {
	w := kernel.NewMatrix[float64](rows, cols)
	if err := weight.SetOrthogonal(context.Background(), kernel.Float64(), w, source); err != nil {
		panic(err)
	}
	return w.Data
}

// orthonormal returns an arena with one tensor of orthonormal columns.
func orthonormal[F kernel.Float](n, p int) *weight.View[F] {
	arena := weight.NewArena[F]()
	v := arena.Declare("U", n, p)
	arena.Allocate()
	for i, x := range orthogonal(n, p, random.New(3, 1)) {
		v.Value[i] = F(x)
	}
	return v
}

// dense copies a matrix in double precision.
func dense[F kernel.Float](rows, cols int, values []F) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	for i, x := range values {
		m.Set(i/cols, i%cols, float64(x))
	}
	return m
}

// fromOrthonormal is the largest element of UᵀU - I.
func fromOrthonormal[F kernel.Float](v *weight.View[F]) float64 {
	u := dense(v.Rows, v.Cols, v.Value)
	var gram mat.Dense
	gram.Mul(u.T(), u)
	farthest := 0.0
	for i := range v.Cols {
		gram.Set(i, i, gram.At(i, i)-1)
	}
	for _, x := range gram.RawMatrix().Data {
		farthest = max(farthest, math.Abs(x))
	}
	return farthest
}

// TestCayley holds a step to the equation, (I + η/2 A)⁻¹ (I - η/2 A) U, at small
// rates and at such that turn far.
func TestCayley(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {2, 1}, {5, 5}, {7, 3}, {6, 3}, {32, 32}, {33, 33}, {70, 70}, {65, 33},
		{90, 40}, {100, 2}, {200, 37}, {7, 1}} {
		for _, rate := range []float64{1e-3, .1, 3} {
			n, p := shape[0], shape[1]
			t.Run(fmt.Sprintf("%d×%d,rate=%v", n, p, rate), func(t *testing.T) {
				v := orthonormal[float64](n, p)
				c, err := newCayley(kernel.Float64(), v)
				if err != nil {
					t.Fatal(err)
				}
				if want := 5*p < n; c.thin != want {
					t.Errorf("Woodbury's form is taken: %v, want %v", c.thin, want)
				}
				random.Gaussian(v.Gradient, 1, random.New(4, 0))
				u, g := dense(n, p, v.Value), dense(n, p, v.Gradient)
				var a, m, left, right, minus, want mat.Dense
				a.Mul(g, u.T())
				m.Mul(u, g.T())
				a.Sub(&a, &m)
				identity := mat.NewDiagDense(n, nil)
				for i := range n {
					identity.SetDiag(i, 1)
				}
				a.Scale(rate/2, &a)
				left.Add(identity, &a)
				minus.Sub(identity, &a)
				right.Mul(&minus, u)
				if err := want.Solve(&left, &right); err != nil {
					t.Fatal(err)
				}
				c.step(rate, 1)
				if got := dense(n, p, v.Value); !mat.EqualApprox(got, &want, 1e-10) {
					t.Errorf("a step leads to\n%.4v\nwant\n%.4v", mat.Formatted(got), mat.Formatted(&want))
				}
				if far := fromOrthonormal(v); far > 1e-11 {
					t.Errorf("columns are %v from orthonormal", far)
				}
			})
		}
	}
}

// TestCayleyLong: a thousand steps in single precision leave the columns orthonormal,
// without any other help.
func TestCayleyLong(t *testing.T) {
	t.Parallel()
	for _, shape := range [][2]int{{40, 40}, {70, 70}, {110, 20}} {
		v := orthonormal[float32](shape[0], shape[1])
		c, err := newCayley(kernel.Float32(), v)
		if err != nil {
			t.Fatal(err)
		}
		source := random.New(5, 0)
		for range 1000 {
			random.Gaussian(v.Gradient, 1, source)
			c.step(.01, 1)
		}
		if far := fromOrthonormal(v); far > 1e-5 {
			t.Errorf("after 1000 steps the columns of %v are %v from orthonormal", shape, far)
		}
	}
}

// TestCayleyDescends finds the orthogonal matrix that is nearest to another one.
func TestCayleyDescends(t *testing.T) {
	v := orthonormal[float64](12, 12)
	target := orthogonal(12, 12, random.New(9, 9))
	if mat.Det(dense(12, 12, v.Value))*mat.Det(dense(12, 12, target)) < 0 {
		for i := range 12 {
			target[i] = -target[i] // no path leads from a rotation to a reflection
		}
	}
	c, err := newCayley(kernel.Float64(), v)
	if err != nil {
		t.Fatal(err)
	}
	before := math.Inf(1)
	for step := range 2000 {
		distance := 0.0
		for i, x := range v.Value {
			v.Gradient[i] = x - target[i]
			distance += v.Gradient[i] * v.Gradient[i]
		}
		if distance > before+1e-20 {
			t.Fatalf("step %d leads away, from %v to %v", step, before, distance)
		}
		before = distance
		c.step(.1, 1)
	}
	if before > 1e-6 {
		t.Errorf("the distance is still %v", before)
	}
}

func TestCayleyAllocatesNothing(t *testing.T) {
	for _, shape := range [][2]int{{70, 70}, {50, 9}} {
		v := orthonormal[float32](shape[0], shape[1])
		c, err := newCayley(kernel.Float32(), v)
		if err != nil {
			t.Fatal(err)
		}
		step := func() { c.step(.1, 1) }
		step()
		if n := testing.AllocsPerRun(5, step); n != 0 {
			t.Errorf("a step of %v allocates %v times", shape, n)
		}
	}
}

func BenchmarkCayley(b *testing.B) {
	for _, shape := range [][2]int{{32, 32}, {128, 128}, {512, 512}, {512, 128}, {512, 100}, {128, 32}, {512, 32}} {
		b.Run(fmt.Sprintf("%dx%d", shape[0], shape[1]), func(b *testing.B) {
			v := orthonormal[float32](shape[0], shape[1])
			c, err := newCayley(kernel.Float32(), v)
			if err != nil {
				b.Fatal(err)
			}
			random.Gaussian(v.Gradient, 1, random.New(1, 1))
			for b.Loop() {
				c.step(1e-4, 1)
			}
		})
	}
}
