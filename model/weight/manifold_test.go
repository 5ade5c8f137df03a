package weight_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/optim"
	"sweep/model/random"
	"sweep/model/weight"
)

// TestThousandSteps trains each matrix towards random targets, by its own rules and
// Adam, for a thousand steps: the singular values are where they are said to be, and
// those of an orthogonal matrix are one. It is the property that the papers are about,
// and rounding must not wear it off.
func TestThousandSteps(t *testing.T) {
	const n, radius, tolerance = 24, .2, 1e-5
	set := kernel.Float32()
	factorized := func(clip bool) func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
		return func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewFactorized(set, a, n, n, weight.FactorizedOptions{Radius: radius, Center: 1, Clip: clip,
				Penalty: .01, Rate: 1})
		}
	}
	for _, c := range []struct {
		name   string
		margin float64 // largest |σ - 1|
		make   func(a *weight.Arena[float32]) (weight.Matrix[float32], error)
	}{
		{"rotations (vprnn, sgornn)", 0, func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewRotations(set, a, n, nil, 1)
		}},
		{"householder (ornn, sgornn)", 0, func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewHouseholder(set, a, n, n, 10)
		}},
		{"exponential (sgornn)", 0, func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewExponential(a, n)
		}},
		{"unitary (urnn)", 0, func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewUnitary(set, a, n/2, 1)
		}},
		{"full unitary (fc-urnn)", 0, func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewFullUnitary(set, a, n/2, 1)
		}},
		{"spectral, clipped (spectral-rnn)", radius, func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewSVD(set, a, n, n, weight.SVDOptions{Left: 10, Right: 10, Radius: radius, Center: 1,
				Clip: true})
		}},
		{"spectral with r = 0", 0, func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewSVD(set, a, n, n, weight.SVDOptions{Left: 10, Right: 10, Center: 1})
		}},
		{"spectral (spectral-rnn)", radius, func(a *weight.Arena[float32]) (weight.Matrix[float32], error) {
			return weight.NewSVD(set, a, n, n, weight.SVDOptions{Left: 10, Right: 10, Radius: radius, Center: 1})
		}},
		{"factorized", radius, factorized(false)},
		{"factorized, clipped", radius, factorized(true)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			arena := weight.NewArena[float32]()
			matrix, err := c.make(arena)
			if err != nil {
				t.Fatal(err)
			}
			arena.Allocate()
			source := random.New(8, 0)
			if err := matrix.Init(context.Background(), "", source); err != nil {
				t.Fatal(err)
			}
			optimizer, err := optim.New(set, arena,
				optim.Options{Rule: weight.RuleAdam, Adam: optim.AdamOptions{Beta1: .9, Beta2: .999, Epsilon: 1e-8}})
			if err != nil {
				t.Fatal(err)
			}
			start := snapshot(matrix)
			w, target := kernel.Dense(make([]float32, n*n), n, n), make([]float32, n*n)
			for step := range 1000 {
				if step%100 == 0 {
					random.Gaussian(target, .5, source)
				}
				matrix.Value(w)
				arena.ZeroGradients()
				set.Axpy(w.Data, -1, target)
				matrix.Pullback(w)
				optimizer.Step(.02)
				matrix.Constrain(.02)
			}
			end := snapshot(matrix)
			var svd mat.SVD
			if !svd.Factorize(end, mat.SVDNone) {
				t.Fatal("no decomposition")
			}
			farthest := 0.0
			for _, sigma := range svd.Values(nil) {
				farthest = max(farthest, math.Abs(sigma-1))
			}
			if farthest > c.margin+tolerance {
				t.Errorf("singular values are up to %v from 1, want %v", farthest, c.margin)
			}
			if c.margin > 0 && farthest < c.margin/2 {
				t.Errorf("singular values moved by %v only: the test proves nothing", farthest)
			}
			start.Sub(start, end)
			if moved := mat.Norm(start, 2); moved < 1 {
				t.Errorf("W moved by %v only: the test proves nothing", moved)
			}
			for _, name := range []string{"U", "V"} {
				if v := arena.View(name); v != nil {
					if far := fromOrthogonal(v); far > tolerance {
						t.Errorf("%s is %v from orthogonal", name, far)
					}
				}
			}
		})
	}
}

// TestProject: the mean of two matrices with orthonormal columns goes to its polar factor,
// the nearest matrix of that kind; where columns cancel or depend on each other, to one
// that is near.
func TestProject(t *testing.T) {
	set, source := kernel.Float32(), random.New(4, 0)
	for _, shape := range [][2]int{{1, 1}, {7, 7}, {40, 40}, {30, 9}, {9, 30}} {
		for _, c := range []struct {
			name    string
			share   float64 // of another factor
			scale   float64
			cancels bool // a column
			unique  bool // there is one nearest matrix
		}{
			{"unchanged", 0, 1, false, true}, {"mean", .3, 1, false, true}, {"large", .3, 50, false, true},
			{"small", .3, 1e-4, false, true}, {"a column cancels", .3, 1, true, false},
			{"all cancels", .3, 0, false, false},
		} {
			arena := weight.NewArena[float32]()
			matrix, err := weight.NewFactorized(set, arena, shape[0], shape[1],
				weight.FactorizedOptions{Radius: .1, Center: 1, Clip: true, Rate: 1})
			if err != nil {
				t.Fatal(err)
			}
			arena.Allocate()
			if err := matrix.Init(context.Background(), weight.StartOrthogonal, source); err != nil {
				t.Fatal(err)
			}
			arena.View("sigma").Value[0] = 3
			want := map[string]*mat.Dense{}
			for _, name := range []string{"U", "V"} {
				v := arena.View(name)
				other := weight.Orthogonal(v.Rows, v.Cols, source)
				m := mat.NewDense(v.Rows, v.Cols, nil)
				for i, x := range v.Value {
					v.Value[i] = float32(c.scale * ((1-c.share)*float64(x) + c.share*other[i]))
					if c.cancels && i%v.Cols == 0 {
						v.Value[i] = 0
					}
					m.Set(i/v.Cols, i%v.Cols, float64(v.Value[i]))
				}
				var svd mat.SVD
				if !svd.Factorize(m, mat.SVDThin) {
					t.Fatal("no decomposition")
				}
				var left, right mat.Dense
				svd.UTo(&left)
				svd.VTo(&right)
				m.Mul(&left, right.T())
				want[name] = m
			}
			matrix.Project()
			for name, polar := range want {
				v := arena.View(name)
				if far := fromOrthogonal(v); far > 1e-5 {
					t.Errorf("%v, %s: %s is %v from orthogonal", shape, c.name, name, far)
				}
				farthest := 0.0
				for i, x := range v.Value {
					farthest = max(farthest, math.Abs(float64(x)-polar.At(i/v.Cols, i%v.Cols)))
				}
				if c.unique && farthest > 1e-4 {
					t.Errorf("%v, %s: %s is %v from its polar factor", shape, c.name, name, farthest)
				}
			}
			if sigma := arena.View("sigma").Value[0]; sigma != 1.1 {
				t.Errorf("%v, %s: σ is %v, want it clipped to 1.1", shape, c.name, sigma)
			}
		}
	}
}

// snapshot is W in double precision.
func snapshot(matrix weight.Matrix[float32]) *mat.Dense {
	rows, cols := matrix.Shape()
	w := kernel.Dense(make([]float32, rows*cols), rows, cols)
	matrix.Value(w)
	d := mat.NewDense(rows, cols, nil)
	for i, x := range w.Data {
		d.Set(i/cols, i%cols, float64(x))
	}
	return d
}

// fromOrthogonal is the largest element of VᵀV - I.
func fromOrthogonal(v *weight.View[float32]) float64 {
	m := mat.NewDense(v.Rows, v.Cols, nil)
	for i, x := range v.Value {
		m.Set(i/v.Cols, i%v.Cols, float64(x))
	}
	var gram mat.Dense
	gram.Mul(m.T(), m)
	farthest := 0.0
	for i := range v.Cols {
		for j := range v.Cols {
			want := 0.0
			if i == j {
				want = 1
			}
			farthest = max(farthest, math.Abs(gram.At(i, j)-want))
		}
	}
	return farthest
}

// ExampleFactorized clips a singular value.
func ExampleFactorized() {
	arena := weight.NewArena[float64]()
	matrix, err := weight.NewFactorized(kernel.Float64(), arena, 2, 2,
		weight.FactorizedOptions{Radius: .5, Center: 1, Clip: true, Penalty: 2, Rate: 1})
	if err != nil {
		panic(err)
	}
	arena.Allocate()
	if err := matrix.Init(context.Background(), weight.StartIdentity, nil); err != nil {
		panic(err)
	}
	sigma := arena.View("sigma").Value
	sigma[0], sigma[1] = 3, 1.25
	matrix.Constrain(.01)
	matrix.Value(kernel.NewMatrix[float64](2, 2))
	fmt.Println(sigma, matrix.Penalty())
	// Output: [1.5 1.25] 0.625
}
