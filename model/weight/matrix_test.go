package weight

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
	"sweep/model/random"
)

// maker declares a matrix in an arena.
type maker[F kernel.Float] struct {
	name       string
	rows, cols int
	new        func(set *kernel.Set[F], arena *Arena[F]) (Matrix[F], error)
}

func dense[F kernel.Float](rows, cols int) maker[F] {
	return maker[F]{fmt.Sprintf("dense,%d×%d", rows, cols), rows, cols,
		func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
			return NewDense(set, a, "W", rows, cols)
		}}
}

func parseval[F kernel.Float](rows, cols int) maker[F] {
	return maker[F]{fmt.Sprintf("parseval,%d×%d", rows, cols), rows, cols,
		func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
			return NewParseval(set, a, "W", rows, cols, .3)
		}}
}

func householder[F kernel.Float](rows, cols, m int) maker[F] {
	return maker[F]{fmt.Sprintf("householder,%d×%d,m=%d", rows, cols, m), rows, cols,
		func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
			return NewHouseholder(set, a, rows, cols, m)
		}}
}

func spectral[F kernel.Float](rows, cols, m1, m2 int, radius float64) maker[F] {
	return maker[F]{fmt.Sprintf("svd,%d×%d,m=%d+%d", rows, cols, m1, m2), rows, cols,
		func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
			return NewSVD(set, a, rows, cols, SVDOptions{Left: m1, Right: m2, Radius: radius, Center: 1})
		}}
}

// byFrames is an SVD that is formed as large ones that are not square are.
func byFrames[F kernel.Float](rows, cols, m1, m2 int, radius float64) maker[F] {
	m := spectral[F](rows, cols, m1, m2, radius)
	m.name += ",by frames"
	of := m.new
	m.new = func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
		matrix, err := of(set, a)
		if err == nil {
			matrix.(*SVD[F]).byFrames = true
		}
		return matrix, err
	}
	return m
}

func rotations[F kernel.Float](n int) maker[F] {
	return maker[F]{fmt.Sprintf("rotations,n=%d", n), n, n, func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
		return NewRotations(set, a, n, nil, 3)
	}}
}

func exponential[F kernel.Float](n int) maker[F] {
	return maker[F]{fmt.Sprintf("exponential,n=%d", n), n, n, func(_ *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
		return NewExponential(a, n)
	}}
}

func factorized[F kernel.Float](rows, cols int, clip bool, penalty float64) maker[F] {
	return maker[F]{fmt.Sprintf("factorized,%d×%d,clip=%v,penalty=%v", rows, cols, clip, penalty), rows, cols,
		func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
			return NewFactorized(set, a, rows, cols, FactorizedOptions{Radius: .3, Center: 1, Clip: clip,
				Penalty: penalty, Rate: 1})
		}}
}

func unitary[F kernel.Float](n int) maker[F] {
	return maker[F]{fmt.Sprintf("unitary,n=%d", n), 2 * n, 2 * n,
		func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) { return NewUnitary(set, a, n, 3) }}
}

func fullUnitary[F kernel.Float](n int) maker[F] {
	return maker[F]{fmt.Sprintf("full unitary,n=%d", n), 2 * n, 2 * n,
		func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) { return NewFullUnitary(set, a, n, 1) }}
}

// Orthogonal is SetOrthogonal of rows × cols float64, row-major.
func Orthogonal(rows, cols int, source *random.Source) []float64 {
	w := kernel.NewMatrix[float64](rows, cols)
	if err := SetOrthogonal(context.Background(), kernel.Float64(), w, source); err != nil {
		panic(err)
	}
	return w.Data
}

// makers are matrices of many shapes.
func makers[F kernel.Float]() []maker[F] {
	var ms []maker[F]
	for _, n := range []int{1, 2, 5, 16, 33} {
		ms = append(ms, dense[F](n, n), factorized[F](n, n, false, 0), factorized[F](n, n, true, .7))
		half := (n + 1) / 2
		for _, m := range []int{1, half, n} {
			ms = append(ms, householder[F](n, n, m), spectral[F](n, n, m, m, .3), spectral[F](n, n, m, half, .3),
				spectral[F](n, n, 1, m, 0))
		}
	}
	ms = append(ms, rotations[F](2), rotations[F](6), rotations[F](16), rotations[F](34), exponential[F](2),
		exponential[F](9), unitary[F](1), unitary[F](5), unitary[F](8), fullUnitary[F](1),
		parseval[F](1, 1), parseval[F](5, 5), parseval[F](7, 4),
		fullUnitary[F](6))
	for _, shape := range [][2]int{{1, 4}, {4, 1}, {3, 5}, {5, 3}, {16, 33}, {33, 16}} {
		rows, cols := shape[0], shape[1]
		ms = append(ms, dense[F](rows, cols), factorized[F](rows, cols, false, .7))
		for _, m := range []int{1, (max(rows, cols) + 1) / 2, max(rows, cols)} {
			ms = append(ms, householder[F](rows, cols, m), spectral[F](rows, cols, min(m, rows), min(m, cols), .3),
				byFrames[F](rows, cols, min(m, rows), min(m, cols), .3))
		}
	}
	return ms
}

// make returns the matrix at a start, and its arena.
func (m maker[F]) make(t testing.TB, set *kernel.Set[F], start Start, seed uint64) (Matrix[F], *Arena[F]) {
	t.Helper()
	arena := NewArena[F]()
	matrix, err := m.new(set, arena)
	if err != nil {
		t.Fatal(err)
	}
	arena.Allocate()
	if err := matrix.Init(context.Background(), start, random.New(seed, 0)); err != nil {
		t.Fatal(err)
	}
	return matrix, arena
}

func zeros[F kernel.Float](m maker[F]) kernel.Matrix[F] { return kernel.NewMatrix[F](m.rows, m.cols) }

// value returns W in double precision.
func value[F kernel.Float](matrix Matrix[F]) *mat.Dense {
	w := formed(matrix)
	d := mat.NewDense(w.Rows, w.Cols, nil)
	for i := range w.Rows {
		for j, x := range w.Row(i) {
			d.Set(i, j, float64(x))
		}
	}
	return d
}

// formed is W.
func formed[F kernel.Float](matrix Matrix[F]) kernel.Matrix[F] {
	w := kernel.NewMatrix[F](matrix.Shape())
	matrix.Value(w)
	return w
}

// An SVD formed by frames is the one formed by reflectors, at every level, with as many
// reflectors as need blocks, one of them zero.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, shape := range [][4]int{{70, 131, 70, 66}, {131, 70, 129, 3}, {5, 200, 1, 5}} {
		rows, cols, m1, m2 := shape[0], shape[1], shape[2], shape[3]
		for _, level := range kernel.Levels() {
			set, err := kernel.Float32At(level)
			if err != nil {
				t.Fatal(err)
			}
			var values, gradients [2][]float32
			for i, m := range []maker[float32]{spectral[float32](rows, cols, m1, m2, .3),
				byFrames[float32](rows, cols, m1, m2, .3)} {
				matrix, arena := m.make(t, set, "", 5)
				matrix.(*SVD[float32]).byFrames = i == 1
				random.Gaussian(arena.View("sigma_hat").Value, 1, random.New(6, 0))
				if m1 > 1 {
					clear(arena.Views()[1].Value)
				}
				w, dw := zeros(m), zeros(m)
				for range 2 { // nothing is left from the first time
					clear(arena.Gradients())
					matrix.Value(w)
					random.Gaussian(dw.Data, 1, random.New(7, 0))
					matrix.Pullback(dw)
				}
				values[i], gradients[i] = w.Data, slices.Clone(arena.Gradients())
			}
			for what, pair := range map[string][2][]float32{"W": values, "gradients": gradients} {
				for i, want := range pair[0] {
					if got := pair[1][i]; !(math.Abs(float64(got-want)) < 3e-5*(1+math.Abs(float64(want)))) {
						t.Fatalf("%v, %d × %d: element %d of %s is %v by frames, %v by reflectors", level, rows, cols,
							i, what, got, want)
					}
				}
			}
		}
	}
}

// TestPullback holds all gradients of Σ C∘W, for a random C, against central
// differences.
func TestPullback(t *testing.T) {
	for _, m := range makers[float64]() {
		t.Run(m.name, func(t *testing.T) {
			matrix, arena := m.make(t, kernel.Float64(), "", 3)
			source := random.New(4, 0)
			random.Gaussian(arena.Values(), 1, source)
			c, w, dw := zeros(m), zeros(m), zeros(m)
			random.Gaussian(c.Data, 1, source)
			sum := func() float64 {
				matrix.Value(w)
				sum := 0.0
				for i, x := range w.Data {
					sum += x * c.Data[i]
				}
				if penalised, ok := matrix.(interface{ Penalty() float64 }); ok {
					sum += penalised.Penalty()
				}
				return sum
			}
			sum()
			// Gradients are added to what is there.
			const there = 1.5
			for _, v := range arena.Views() {
				for i := range v.Gradient {
					v.Gradient[i] = there
				}
			}
			copy(dw.Data, c.Data)
			matrix.Pullback(dw)
			for _, v := range arena.Views() {
				largest, difference := 1e-2, 0.0
				for i := range v.Value {
					const h = 1e-5
					old := v.Value[i]
					v.Value[i] = old + h
					above := sum()
					v.Value[i] = old - h
					below := sum()
					v.Value[i] = old
					want := (above - below) / (2 * h)
					largest = max(largest, math.Abs(want))
					difference = max(difference, math.Abs(want-(v.Gradient[i]-there)))
				}
				if relative := difference / largest; !(relative < 1e-6) {
					t.Errorf("gradient of %s: relative error %.2g", v.Name, relative)
				}
			}
		})
	}
}

// TestFactors holds the factors to Value, and their gradients to Pullback: if L
// Rᵀ + diag(d) is W, then G = ∂L/∂W gives dL = G R, dR = Gᵀ L and dd = diag(G).
func TestFactors(t *testing.T) {
	for _, m := range makers[float64]() {
		matrix, arena := m.make(t, kernel.Float64(), "", 3)
		low, ok := matrix.(LowRank[float64])
		if !ok || m.rows != m.cols {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			source := random.New(4, 0)
			random.Gaussian(arena.Values(), 1, source)
			if views := arena.Views(); len(views) > 4 {
				clear(views[1].Value) // a zero reflector
			}
			n, k := m.rows, low.Rank()
			d := make([]float64, n)
			left, right := kernel.NewMatrix[float64](n, k), kernel.NewMatrix[float64](n, k)
			low.Factors(d, left, right)
			var w mat.Dense
			w.Mul(mat.NewDense(n, k, left.Data), mat.NewDense(n, k, right.Data).T())
			for i, x := range d {
				w.Set(i, i, w.At(i, i)+x)
			}
			if want := value(matrix); !mat.EqualApprox(&w, want, 1e-12) {
				t.Fatalf("the factors make\n%v\nwant\n%v", mat.Formatted(&w), mat.Formatted(want))
			}

			dw := zeros(m)
			random.Gaussian(dw.Data, 1, source)
			g := mat.NewDense(n, n, slices.Clone(dw.Data))
			matrix.Pullback(dw)
			want := slices.Clone(arena.Gradients())
			arena.ZeroGradients()
			dleft, dright, dd := kernel.NewMatrix[float64](n, k), kernel.NewMatrix[float64](n, k), make([]float64, n)
			mat.NewDense(n, k, dleft.Data).Mul(g, mat.NewDense(n, k, right.Data))
			mat.NewDense(n, k, dright.Data).Mul(g.T(), mat.NewDense(n, k, left.Data))
			for i := range dd {
				dd[i] = g.At(i, i)
			}
			low.PullbackFactors(dd, dleft, dright)
			largest := 0.0
			for _, x := range want {
				largest = max(largest, math.Abs(x))
			}
			for i, x := range arena.Gradients() {
				if math.Abs(x-want[i]) > 1e-11*max(1, largest) {
					t.Fatalf("gradient %d is %v, want %v", i, x, want[i])
				}
			}
		})
	}
}

// TestZeroReflector checks that u = 0 means the identity, with no gradient.
func TestZeroReflector(t *testing.T) {
	matrix, arena := householder[float32](7, 7, 3).make(t, kernel.Float32(), "", 1)
	clear(arena.Values())
	matrix.Constrain(0)
	if w := value(matrix); !mat.Equal(w, eye(7)) {
		t.Errorf("reflectors of zero length make\n%v", mat.Formatted(w))
	}
	dw := kernel.NewMatrix[float32](7, 7)
	random.Gaussian(dw.Data, 1, random.New(1, 1))
	matrix.Pullback(dw)
	for i, g := range arena.Gradients() {
		if g != 0 || arena.Values()[i] != 0 {
			t.Fatalf("element %d: value %v, gradient %v, want 0", i, arena.Values()[i], g)
		}
	}
}

func eye(n int) *mat.Dense {
	d := mat.NewDense(n, n, nil)
	for i := range n {
		d.Set(i, i, 1)
	}
	return d
}

// wander takes Adam steps with random gradients of W and calls check now and
// then.
func wander(t *testing.T, matrix Matrix[float32], arena *Arena[float32], project bool, check func(step int)) {
	t.Helper()
	set := kernel.Float32()
	source := random.New(11, 0)
	first, second := make([]float32, len(arena.Values())), make([]float32, len(arena.Values()))
	w, dw := kernel.NewMatrix[float32](matrix.Shape()), kernel.NewMatrix[float32](matrix.Shape())
	pull := make([]float32, len(dw.Data))
	random.Gaussian(pull, 1, source)
	for step := 1; step <= 400; step++ {
		matrix.Value(w)
		arena.ZeroGradients()
		random.Gaussian(dw.Data, 1, source)
		set.Axpy(dw.Data, 1, pull)
		matrix.Pullback(dw)
		correct := func(beta float64) float64 { return 1 - math.Pow(beta, float64(step)) }
		set.Adam(arena.Values(), arena.Gradients(), first, second, float32(.05/correct(.9)), .9, .999,
			float32(1/math.Sqrt(correct(.999))), 1e-8)
		if project {
			matrix.Constrain(0)
		}
		if step%50 == 0 {
			check(step)
		}
	}
}

// TestSpectralMargin checks the margin of W, by its factors, too, and that singular
// values stay in [σ*-r, σ*+r], while an optimiser moves its parameters
// far.
func TestSpectralMargin(t *testing.T) {
	const radius = .25
	for _, m := range []maker[float32]{
		spectral[float32](8, 8, 8, 8, radius), spectral[float32](32, 32, 16, 16, radius),
		spectral[float32](33, 33, 1, 20, radius), spectral[float32](17, 17, 17, 2, radius),
		spectral[float32](9, 20, 9, 9, radius), spectral[float32](20, 9, 9, 9, radius),
		householder[float32](32, 32, 16), householder[float32](9, 9, 9), householder[float32](9, 4, 4),
		householder[float32](4, 9, 9),
		dense[float32](12, 12), dense[float32](5, 12), dense[float32](12, 5),
		rotations[float32](32), rotations[float32](10), exponential[float32](12),
	} {
		for _, project := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s,project=%v", m.name, project), func(t *testing.T) {
				matrix, arena := m.make(t, kernel.Float32(), "", 5)
				farthest := 0.0
				wander(t, matrix, arena, project, func(step int) {
					w := value(matrix)
					want := decomposedMargin(w)
					got, err := Margin(t.Context(), kernel.Float32(), formed(matrix))
					if err != nil || math.Abs(got-want) > 1e-5*max(1, want) {
						t.Fatalf("step %d: the margin is %v (%v), want %v", step, got, err, want)
					}
					if low, ok := any(matrix).(LowRank[float32]); ok && m.rows == m.cols {
						got, err := factorsMargin(t.Context(), low)
						if err != nil || math.Abs(got-want) > 1e-5*max(1, want) {
							t.Fatalf("step %d: by its factors the margin is %v (%v), want %v", step, got, err, want)
						}
					}
					farthest = max(farthest, want)
					switch any(matrix).(type) {
					case *SVD[float32]:
						if want > radius+1e-5 {
							t.Fatalf("step %d: singular values are %v from 1", step, want)
						}
					case *Householder[float32], *Rotations[float32], *Exponential[float32]:
						checkOrthogonal(t, w, 1e-5)
					}
				})
				if _, ok := any(matrix).(*SVD[float32]); ok && farthest < radius/2 {
					t.Errorf("singular values moved by %v only: the test proves nothing", farthest)
				}
				if project {
					checkUnit(t, arena)
				}
			})
		}
	}
}

// factorsMargin is the margin by the factors of W.
func factorsMargin(ctx context.Context, matrix LowRank[float32]) (float64, error) {
	n, _ := matrix.Shape()
	d, left, right := make([]float32, n), kernel.NewMatrix[float32](n, matrix.Rank()),
		kernel.NewMatrix[float32](n, matrix.Rank())
	matrix.Factors(d, left, right)
	return FactorsMargin(ctx, kernel.Float32(), d, left, right)
}

// checkOrthogonal checks that the shorter of w's rows and columns are orthonormal.
func checkOrthogonal(t *testing.T, w *mat.Dense, tolerance float64) {
	t.Helper()
	rows, cols := w.Dims()
	var product mat.Dense
	if rows < cols {
		product.Mul(w, w.T())
	} else {
		product.Mul(w.T(), w)
	}
	if !mat.EqualApprox(&product, eye(min(rows, cols)), tolerance) {
		t.Error("W is not orthogonal")
	}
}

// TestLanczosMargin holds the estimate for large dense matrices to a full
// decomposition.
func TestLanczosMargin(t *testing.T) {
	source := random.New(1, 0)
	for _, shape := range [][2]int{{65, 65}, {150, 150}, {300, 300}, {70, 200}, {200, 70}} {
		rows, cols := shape[0], shape[1]
		orthogonal := Orthogonal(rows, cols, source)
		for name, matrix := range map[string]struct {
			scale     float64 // of an orthogonal matrix
			noise     float64 // standard deviation of what is added to each element
			tolerance float64 // of the margin, relative
		}{
			"orthogonal":    {1, 0, 0},
			"a little off":  {1, .05 / math.Sqrt(float64(cols)), .02},
			"gaussian":      {0, 1 / math.Sqrt(float64(cols)), .08},
			"small":         {0, .3 / math.Sqrt(float64(cols)), .05},
			"large":         {3, 1 / math.Sqrt(float64(cols)), .01},
			"zero":          {0, 0, 0},
			"a half":        {.5, 0, 1e-6},
			"one direction": {0, 0, 1e-6},
		} {
			w := kernel.NewMatrix[float32](rows, cols)
			random.Gaussian(w.Data, matrix.noise, source)
			for i := range w.Data {
				w.Data[i] += float32(matrix.scale * orthogonal[i])
			}
			if name == "one direction" {
				w.Data[0] = 4
			}
			dense := mat.NewDense(rows, cols, nil)
			for i, x := range w.Data {
				dense.Set(i/cols, i%cols, float64(x))
			}
			want := decomposedMargin(dense)
			got, err := Margin(t.Context(), kernel.Float32(), w)
			if err != nil || got > want+1e-5 || got < want*(1-matrix.tolerance)-1e-5 {
				t.Errorf("%s, %d × %d: margin %v (%v), want %v or a little less", name, rows, cols, got, err, want)
			}
		}
	}
	for _, m := range []maker[float32]{householder[float32](100, 100, 7), spectral[float32](100, 100, 5, 9, .2)} {
		matrix, arena := m.make(t, kernel.Float32(), "", 1)
		if sigma := arena.View("sigma_hat"); sigma != nil {
			random.Gaussian(sigma.Value, 1, source)
		}
		want := decomposedMargin(value(matrix))
		got, err := factorsMargin(t.Context(), matrix.(LowRank[float32]))
		if err != nil || got > want+1e-5 || got < .98*want-1e-5 {
			t.Errorf("%s, by its factors: margin %v (%v), want %v or a little less", m.name, got, err, want)
		}
		arena.Values()[3] = float32(math.NaN())
		if got, err := factorsMargin(t.Context(), matrix.(LowRank[float32])); err != nil || !math.IsNaN(got) {
			t.Errorf("%s, with a NaN: margin %v (%v)", m.name, got, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	matrix, _ := dense[float32](100, 100).make(t, kernel.Float32(), "", 1)
	if _, err := Margin(cancelled, kernel.Float32(), formed(matrix)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled estimate returns %v", err)
	}
}

// checkUnit checks that all reflectors have unit length.
func checkUnit(t *testing.T, arena *Arena[float32]) {
	t.Helper()
	for _, v := range arena.Views() {
		if v.Name[0] != 'u' && v.Name[0] != 'v' {
			continue
		}
		sum := 0.0
		for _, x := range v.Value {
			sum += float64(x) * float64(x)
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Errorf("reflector %s has squared length %v", v.Name, sum)
		}
	}
}

// TestReach is theorems 2 and 4 (and theorem 1 on the way): with as many
// reflectors on either side as there are singular values, parameters exist for any
// given matrix.
func TestReach(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {2, 2}, {3, 3}, {8, 8}, {21, 21}, {2, 5}, {5, 2}, {1, 7}, {7, 1},
		{12, 30}, {30, 12}} {
		rows, cols := shape[0], shape[1]
		k := min(rows, cols)
		target := mat.NewDense(rows, cols, nil)
		random.Gaussian(target.RawMatrix().Data, 1, random.New(uint64(rows), 6))
		var svd mat.SVD
		if !svd.Factorize(target, mat.SVDFull) {
			t.Fatal("no decomposition")
		}
		var u, v mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		values := svd.Values(nil)
		center := values[0]

		arena := NewArena[float64]()
		matrix, err := NewSVD(kernel.Float64(), arena, rows, cols, SVDOptions{Left: k, Right: k, Radius: 1.5 * center,
			Center: center})
		if err != nil {
			t.Fatal(err)
		}
		arena.Allocate()
		setReflectors(arena, "u", &u, k)
		setReflectors(arena, "v", &v, k)
		hat := arena.View("sigma_hat").Value
		for i, s := range values {
			f := (s-center)/(3*center) + .5
			hat[i] = math.Log(f / (1 - f))
		}
		// There are none to spare: lengths of reflectors apart there are as many
		// parameters as elements.
		if free := arena.Count() - 2*k; free != rows*cols {
			t.Errorf("%d × %d: %d parameters count", rows, cols, free)
		}
		if w := value(matrix); !mat.EqualApprox(w, target, 1e-12*float64(max(rows, cols))) {
			t.Errorf("%d × %d: W is\n%v\nwant\n%v", rows, cols, mat.Formatted(w), mat.Formatted(target))
		}
	}
}

// setReflectors sets the count longest reflectors such that so many columns of their product are
// those of the orthogonal q.
func setReflectors(arena *Arena[float64], letter string, q *mat.Dense, count int) {
	n, _ := q.Dims()
	triangularise(q, count, func(k int) []float64 { return arena.View(fmt.Sprintf("%s%d", letter, n-k)).Value })
}

// triangularise is proposition 1, Householder's triangularisation: it writes the count longest
// reflectors, the k-th into reflector(k), such that H_1 … H_n b = R, and returns R. Each reflector turns
// a column x into +‖x‖ e, so that the triangle of an orthogonal matrix is the identity.
func triangularise(b *mat.Dense, count int, reflector func(k int) []float64) *mat.Dense {
	n, _ := b.Dims()
	rest := mat.DenseCopyOf(b)
	for k := range count {
		u, below := reflector(k), 0.0
		for i := range u {
			u[i] = rest.At(k+i, k)
			if i > 0 {
				below += u[i] * u[i]
			}
		}
		if length := math.Sqrt(u[0]*u[0] + below); u[0] > 0 {
			u[0] = -below / (u[0] + length) // u[0] - length without its rounding
		} else {
			u[0] -= length
		}
		norm := u[0]*u[0] + below
		if norm == 0 {
			continue // the identity
		}
		for j := range n {
			dot := 0.0
			for i, x := range u {
				dot += x * rest.At(k+i, j)
			}
			for i, x := range u {
				rest.Set(k+i, j, rest.At(k+i, j)-2*dot/norm*x)
			}
		}
	}
	return rest
}

func TestStarts(t *testing.T) {
	set := kernel.Float32()
	t.Run("gaussian", func(t *testing.T) {
		const n = 60
		_, arena := dense[float32](n, n).make(t, set, StartGaussian, 2)
		if variance := set.SumSquares(arena.Values()) / (n * n); math.Abs(variance*n-1) > .1 {
			t.Errorf("variance times n is %v", variance*n)
		}
	})
	for _, c := range []struct {
		maker    maker[float32]
		start    Start
		identity bool
	}{
		{dense[float32](9, 9), StartIdentity, true},
		{dense[float32](9, 9), StartOrthogonal, false},
		{householder[float32](9, 9, 4), StartRandom, false},
		{householder[float32](9, 9, 4), StartNearIdentity, true},
		{householder[float32](9, 9, 5), StartNearIdentity, false},
		{rotations[float32](8), StartUniform, false},
		{factorized[float32](9, 9, false, 0), StartOrthogonal, false},
		{factorized[float32](9, 9, true, 0), StartIdentity, true},
		{spectral[float32](9, 9, 4, 4, .1), StartRandom, false},
		{spectral[float32](9, 9, 5, 5, .1), StartNearIdentity, true},
		{spectral[float32](9, 9, 3, 9, .1), StartNearIdentity, true},
		{spectral[float32](9, 9, 7, 1, .1), StartNearIdentity, true},
		{spectral[float32](9, 9, 2, 3, .1), StartNearIdentity, false},
	} {
		t.Run(c.maker.name+","+string(c.start), func(t *testing.T) {
			matrix, arena := c.maker.make(t, set, c.start, 2)
			checkUnit(t, arena)
			w := value(matrix)
			checkOrthogonal(t, w, 1e-6)
			if got := mat.EqualApprox(w, eye(9), 1e-6); got != c.identity {
				t.Errorf("W is the identity: %v, want %v", got, c.identity)
			}
			_, same := c.maker.make(t, set, c.start, 2)
			if !slices.Equal(arena.Values(), same.Values()) {
				t.Error("one seed gives two starts")
			}
			_, other := c.maker.make(t, set, c.start, 3)
			if c.start != StartIdentity && slices.Equal(arena.Values(), other.Values()) {
				t.Error("two seeds give one start")
			}
		})
	}
	t.Run("uniform angles", func(t *testing.T) {
		_, arena := rotations[float64](64).make(t, kernel.Float64(), StartUniform, 2)
		angles := arena.Values()
		largest, sum := 0., 0.
		for _, angle := range angles {
			largest, sum = max(largest, math.Abs(angle)), sum+angle*angle
		}
		if variance := sum / float64(len(angles)); largest > .05 || math.Abs(variance/(.05*.05/3)-1) > .1 {
			t.Errorf("angles up to %v with the variance %v", largest, variance)
		}
	})
	for _, shape := range [][2]int{{4, 9}, {9, 4}} {
		matrix, _ := dense[float32](shape[0], shape[1]).make(t, set, StartOrthogonal, 2)
		checkOrthogonal(t, value(matrix), 1e-6)
	}
	for _, m := range makers[float32]() {
		matrix, arena := m.make(t, set, "", 4)
		err := matrix.Init(context.Background(), "nearly", random.New(1, 1))
		var unknown *StartError
		if !errors.As(err, &unknown) || unknown.Start != "nearly" || len(unknown.Known) == 0 {
			t.Fatalf("%s: an unknown start gives %v", m.name, err)
		}
		_, named := m.make(t, set, unknown.Known[0], 4)
		if !slices.Equal(arena.Values(), named.Values()) {
			t.Errorf("%s: the usual start is not the first", m.name)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for _, m := range []maker[float32]{
		dense[float32](0, 1), dense[float32](1, -1), rotations[float32](5), rotations[float32](0),
		exponential[float32](1),
		factorized[float32](0, 3, false, 0), factorized[float32](3, 3, false, -1),
		factorized[float32](3, 3, true, math.NaN()),
		householder[float32](4, 4, 0), householder[float32](4, 4, 5), householder[float32](0, 0, 0),
		householder[float32](0, 3, 1), householder[float32](3, 0, 1),
		spectral[float32](4, 4, 0, 1, .1), spectral[float32](4, 4, 1, 5, .1), spectral[float32](4, 4, 5, 1, .1),
		spectral[float32](3, 4, 4, 1, .1),
		spectral[float32](4, 3, 1, 4, .1), spectral[float32](0, 3, 1, 1, .1),
		spectral[float32](4, 4, 1, 1, -.1), spectral[float32](4, 4, 1, 1, math.NaN()),
		spectral[float32](4, 4, 1, 1, math.Inf(1)),
	} {
		arena := NewArena[float32]()
		if _, err := m.new(kernel.Float32(), arena); err == nil {
			t.Errorf("%s: no error", m.name)
		}
		if len(arena.Views()) != 0 {
			t.Errorf("%s: a refused matrix left tensors in the arena", m.name)
		}
	}
}

// TestDenseNotFinite checks that a diverged matrix is told, not decomposed.
func TestDenseNotFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		for _, n := range []int{5, 100} {
			matrix, arena := dense[float64](n, n).make(t, kernel.Float64(), "", 1)
			arena.Values()[7] = bad
			if got, err := Margin(t.Context(), kernel.Float64(), formed(matrix)); err != nil || !math.IsNaN(got) {
				t.Errorf("with an entry %v the margin is %v (%v)", bad, got, err)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, m := range makers[float32]() {
		matrix, _ := m.make(t, kernel.Float32(), "", 1)
		if _, ok := matrix.(*Exponential[float32]); ok {
			continue // gonum's exponential allocates
		}
		w, dw := zeros(m), zeros(m)
		if allocations := testing.AllocsPerRun(10, func() {
			matrix.Value(w)
			matrix.Pullback(dw)
			matrix.Constrain(0)
		}); allocations != 0 {
			t.Errorf("%s: %v allocations a step", m.name, allocations)
		}
	}
}

func BenchmarkMatrix(b *testing.B) {
	for _, m := range []maker[float32]{
		dense[float32](32, 32), householder[float32](32, 32, 16), spectral[float32](32, 32, 16, 16, .1),
		spectral[float32](128, 128, 16, 16, .1),
	} {
		matrix, _ := m.make(b, kernel.Float32(), "", 1)
		w, dw := zeros(m), zeros(m)
		random.Gaussian(dw.Data, 1, random.New(1, 1))
		b.Run("value/"+m.name, func(b *testing.B) {
			for b.Loop() {
				matrix.Value(w)
			}
		})
		b.Run("value+pullback/"+m.name, func(b *testing.B) {
			for b.Loop() {
				matrix.Value(w)
				matrix.Pullback(dw)
			}
		})
	}
}

// A large start is orthogonal to rounding too, whichever side is the shorter, the same
// each time, and ends with its context.
func TestLargeOrthogonalStart(t *testing.T) {
	set := kernel.Float32()
	for _, shape := range [][2]int{{700, 700}, {530, 600}, {600, 530}, {512, 512}} {
		w, again := kernel.NewPadded[float32](shape[0], shape[1]), kernel.NewPadded[float32](shape[0], shape[1])
		for _, m := range []kernel.Matrix[float32]{w, again} {
			if err := SetOrthogonal(t.Context(), set, m, random.New(1, 2)); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(w.Data, again.Data) {
			t.Errorf("%v: a second start from the same seed differs", shape)
		}
		dense := mat.NewDense(shape[0], shape[1], nil)
		for i := range w.Rows {
			for j, x := range w.Row(i) {
				dense.Set(i, j, float64(x))
			}
		}
		checkOrthogonal(t, dense, 3e-6)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, n := range []int{100, 700} {
		if err := SetOrthogonal(ended, set, kernel.NewMatrix[float32](n, n), random.New(1, 2)); !errors.Is(err,
			context.Canceled) {
			t.Errorf("size %d: %v, want %v", n, err, context.Canceled)
		}
		if err := SetGaussian(ended, make([]float32, n), 1, random.New(1, 2)); !errors.Is(err, context.Canceled) {
			t.Errorf("size %d: %v, want %v", n, err, context.Canceled)
		}
	}
	// Small ones have the bits of the plain algorithm.
	small := kernel.NewMatrix[float32](40, 30)
	if err := SetOrthogonal(t.Context(), set, small, random.New(1, 2)); err != nil {
		t.Fatal(err)
	}
	for i, x := range Orthogonal(40, 30, random.New(1, 2)) {
		if small.Data[i] != float32(x) {
			t.Fatalf("element %d is %v, want %v", i, small.Data[i], x)
		}
	}
}
