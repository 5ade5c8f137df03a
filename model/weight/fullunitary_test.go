package weight_test

import (
	"math/cmplx"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/optim"
	"sweep/model/random"
	"sweep/model/weight"
)

// TestUnitarySteps: the steps of the real matrix are those of the complex one, with
// G = ∂L/∂Re W + i ∂L/∂Im W of the tensor's own form,
//
//	(I + η/2 A) W' = (I - η/2 A) W      A = G W* - W G*
//
// and keep its form.
func TestUnitarySteps(t *testing.T) {
	const n, rate = 5, .3
	arena := weight.NewArena[float64]()
	u, err := weight.NewFullUnitary(kernel.Float64(), arena, n, 2)
	if err != nil {
		t.Fatal(err)
	}
	arena.Allocate()
	source := random.New(3, 0)
	if err := u.Init(t.Context(), "", source); err != nil {
		t.Fatal(err)
	}
	optimizer, err := optim.New(kernel.Float64(), arena, optim.Options{Rule: weight.RuleSGD})
	if err != nil {
		t.Fatal(err)
	}
	view := arena.View("W")
	for range 20 {
		before := complexOf(t, view.Matrix())
		dw := kernel.NewMatrix[float64](2*n, 2*n)
		random.Gaussian(dw.Data, 1, source)
		arena.ZeroGradients()
		u.Pullback(dw)
		g := complexOf(t, view.GradientMatrix())
		optimizer.Step(rate)
		after := complexOf(t, view.Matrix())
		a := minus(times(g, adjoint(before)), times(before, adjoint(g)))
		half := complex(2*rate/2, 0) // twice the trial's rate
		left, right := mat.NewCDense(n, n, nil), mat.NewCDense(n, n, nil)
		for i := range n {
			for j := range n {
				left.Set(i, j, half*a.At(i, j))
				right.Set(i, j, -half*a.At(i, j))
			}
			left.Set(i, i, left.At(i, i)+1)
			right.Set(i, i, right.At(i, i)+1)
		}
		checkZero(t, "the step's equation", minus(times(left, after), times(right, before)))
		product := times(after, adjoint(after))
		for i := range n {
			product.Set(i, i, product.At(i, i)-1)
		}
		checkZero(t, "W W* - I", product)
	}
}

// complexOf is the complex matrix of a real one of its form.
func complexOf(t *testing.T, m kernel.Matrix[float64]) *mat.CDense {
	t.Helper()
	n := m.Rows / 2
	c := mat.NewCDense(n, n, nil)
	for i := range n {
		for j := range n {
			re, im := m.Row(i)[j], m.Row(n + i)[j]
			if other := complex(m.Row(n + i)[n+j], -m.Row(i)[n+j]); cmplx.Abs(other-complex(re, im)) > 1e-12 {
				t.Fatalf("element %d, %d is %v above and %v below", i, j, complex(re, im), other)
			}
			c.Set(i, j, complex(re, im))
		}
	}
	return c
}

func times(a, b *mat.CDense) *mat.CDense {
	n, _ := a.Dims()
	p := mat.NewCDense(n, n, nil)
	for i := range n {
		for j := range n {
			sum := 0i
			for k := range n {
				sum += a.At(i, k) * b.At(k, j)
			}
			p.Set(i, j, sum)
		}
	}
	return p
}

func minus(a, b *mat.CDense) *mat.CDense {
	n, _ := a.Dims()
	d := mat.NewCDense(n, n, nil)
	for i := range n {
		for j := range n {
			d.Set(i, j, a.At(i, j)-b.At(i, j))
		}
	}
	return d
}

func adjoint(a *mat.CDense) *mat.CDense {
	n, _ := a.Dims()
	c := mat.NewCDense(n, n, nil)
	for i := range n {
		for j := range n {
			c.Set(i, j, cmplx.Conj(a.At(j, i)))
		}
	}
	return c
}

func checkZero(t *testing.T, what string, m *mat.CDense) {
	t.Helper()
	n, _ := m.Dims()
	for i := range n {
		for j := range n {
			if x := cmplx.Abs(m.At(i, j)); !(x < 1e-12) {
				t.Fatalf("%s: element %d, %d is %v, want 0", what, i, j, x)
			}
		}
	}
}
