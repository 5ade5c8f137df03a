package weight

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sweep/model/kernel"
)

// maker declares a matrix in an arena.
type maker[F kernel.Float] struct {
	name string
	n    int
	new  func(set *kernel.Set[F], arena *Arena[F]) (Matrix[F], error)
}

func dense[F kernel.Float](n int) maker[F] {
	return maker[F]{fmt.Sprintf("dense,n=%d", n), n, func(_ *kernel.Set[F], a *Arena[F]) (Matrix[F], error) { return NewDense(a, n) }}
}

func householder[F kernel.Float](n, m int) maker[F] {
	return maker[F]{fmt.Sprintf("householder,n=%d,m=%d", n, m), n, func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
		return NewHouseholder(set, a, n, m)
	}}
}

func spectral[F kernel.Float](n, m1, m2 int, radius float64) maker[F] {
	return maker[F]{fmt.Sprintf("svd,n=%d,m=%d+%d", n, m1, m2), n, func(set *kernel.Set[F], a *Arena[F]) (Matrix[F], error) {
		return NewSVD(set, a, n, SVDOptions{Left: m1, Right: m2, Radius: radius, Center: 1})
	}}
}

// makers are matrices of many shapes.
func makers[F kernel.Float]() []maker[F] {
	var ms []maker[F]
	for _, n := range []int{1, 2, 5, 16, 33} {
		ms = append(ms, dense[F](n))
		half := (n + 1) / 2
		for _, m := range []int{1, half, n} {
			ms = append(ms, householder[F](n, m), spectral[F](n, m, m, .3), spectral[F](n, m, half, .3), spectral[F](n, 1, m, 0))
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
	if err := matrix.Start(start, NewRandom(seed, 0)); err != nil {
		t.Fatal(err)
	}
	return matrix, arena
}

func square[F kernel.Float](n int) kernel.Matrix[F] { return kernel.Dense(make([]F, n*n), n, n) }

// value returns W in double precision.
func value[F kernel.Float](matrix Matrix[F]) *mat.Dense {
	n := matrix.Size()
	w := square[F](n)
	matrix.Value(w)
	d := mat.NewDense(n, n, nil)
	for i := range n {
		for j, x := range w.Row(i) {
			d.Set(i, j, float64(x))
		}
	}
	return d
}

// TestPullback holds all gradients of Σ C∘W, for a random C, against central
// differences.
func TestPullback(t *testing.T) {
	for _, m := range makers[float64]() {
		t.Run(m.name, func(t *testing.T) {
			matrix, arena := m.make(t, kernel.Float64(), "", 3)
			random := NewRandom(4, 0)
			Gaussian(arena.Values(), 1, random)
			c, w, dw := square[float64](m.n), square[float64](m.n), square[float64](m.n)
			Gaussian(c.Data, 1, random)
			sum := func() float64 {
				matrix.Value(w)
				sum := 0.0
				for i, x := range w.Data {
					sum += x * c.Data[i]
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
		if !ok {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			random := NewRandom(4, 0)
			Gaussian(arena.Values(), 1, random)
			if views := arena.Views(); len(views) > 4 {
				clear(views[1].Value) // a zero reflector
			}
			n, k := m.n, low.Rank()
			d := make([]float64, n)
			left, right := newMatrix[float64](n, k), newMatrix[float64](n, k)
			low.Factors(d, left, right)
			var w mat.Dense
			w.Mul(mat.NewDense(n, k, left.Data), mat.NewDense(n, k, right.Data).T())
			for i, x := range d {
				w.Set(i, i, w.At(i, i)+x)
			}
			if want := value(matrix); !mat.EqualApprox(&w, want, 1e-12) {
				t.Fatalf("the factors make\n%v\nwant\n%v", mat.Formatted(&w), mat.Formatted(want))
			}

			dw := square[float64](n)
			Gaussian(dw.Data, 1, random)
			g := mat.NewDense(n, n, slices.Clone(dw.Data))
			matrix.Pullback(dw)
			want := slices.Clone(arena.Gradients())
			arena.ZeroGradients()
			dleft, dright, dd := newMatrix[float64](n, k), newMatrix[float64](n, k), make([]float64, n)
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
	matrix, arena := householder[float32](7, 3).make(t, kernel.Float32(), "", 1)
	clear(arena.Values())
	matrix.Project()
	if w := value(matrix); !mat.Equal(w, identity(7)) {
		t.Errorf("reflectors of zero length make\n%v", mat.Formatted(w))
	}
	dw := square[float32](7)
	Gaussian(dw.Data, 1, NewRandom(1, 1))
	matrix.Pullback(dw)
	for i, g := range arena.Gradients() {
		if g != 0 || arena.Values()[i] != 0 {
			t.Fatalf("element %d: value %v, gradient %v, want 0", i, arena.Values()[i], g)
		}
	}
}

func identity(n int) *mat.Dense {
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
	n := matrix.Size()
	random := NewRandom(11, 0)
	first, second := make([]float32, len(arena.Values())), make([]float32, len(arena.Values()))
	dw := square[float32](n)
	pull := make([]float32, n*n)
	Gaussian(pull, 1, random)
	for step := 1; step <= 400; step++ {
		matrix.Value(square[float32](n))
		arena.ZeroGradients()
		Gaussian(dw.Data, 1, random)
		set.Axpy(dw.Data, 1, pull)
		matrix.Pullback(dw)
		correct := func(beta float64) float64 { return 1 - math.Pow(beta, float64(step)) }
		set.Adam(arena.Values(), arena.Gradients(), first, second, float32(.05/correct(.9)), .9, .999, float32(1/math.Sqrt(correct(.999))), 1e-8)
		if project {
			matrix.Project()
		}
		if step%50 == 0 {
			check(step)
		}
	}
}

// TestSingularValues checks that W has the singular values that it claims, and
// that they stay in [σ*-r, σ*+r], while an optimiser moves its parameters far.
func TestSingularValues(t *testing.T) {
	const radius = .25
	for _, m := range []maker[float32]{
		spectral[float32](8, 8, 8, radius), spectral[float32](32, 16, 16, radius),
		spectral[float32](33, 1, 20, radius), spectral[float32](17, 17, 2, radius),
		householder[float32](32, 16), householder[float32](9, 9), dense[float32](12),
	} {
		for _, project := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s,project=%v", m.name, project), func(t *testing.T) {
				matrix, arena := m.make(t, kernel.Float32(), "", 5)
				farthest := 0.0
				wander(t, matrix, arena, project, func(step int) {
					var svd mat.SVD
					w := value(matrix)
					if !svd.Factorize(w, mat.SVDNone) {
						t.Fatal("no decomposition")
					}
					want := svd.Values(nil)
					got := matrix.SingularValues(nil)
					slices.Sort(want)
					slices.Sort(got)
					for i := range want {
						if math.Abs(got[i]-want[i]) > 1e-5*max(1, want[i]) {
							t.Fatalf("step %d: singular value %d is %v, the matrix says %v", step, i, want[i], got[i])
						}
					}
					margin := SpectralMargin(want)
					farthest = max(farthest, margin)
					switch any(matrix).(type) {
					case *SVD[float32]:
						if margin > radius+1e-5 {
							t.Fatalf("step %d: singular values are %v from 1", step, margin)
						}
					case *Householder[float32]:
						var product mat.Dense
						product.Mul(w.T(), w)
						if !mat.EqualApprox(&product, identity(m.n), 1e-5) {
							t.Fatalf("step %d: W is not orthogonal", step)
						}
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

func TestSpectralMargin(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{1, 1}, 0}, {[]float64{.5, 1.25}, .5}, {[]float64{.875, 1.25}, .25}} {
		if got := SpectralMargin(c.values); got != c.want {
			t.Errorf("SpectralMargin(%v) = %v, want %v", c.values, got, c.want)
		}
	}
	if got := SpectralMargin([]float64{math.NaN(), 2}); !math.IsNaN(got) {
		t.Errorf("a NaN is lost: %v", got)
	}
}

// TestReach is theorem 2 (and theorem 1 on the way): with n reflectors on
// either side, parameters exist for any given matrix.
func TestReach(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 21} {
		var target mat.Dense
		data := make([]float64, n*n)
		Gaussian(data, 1, NewRandom(uint64(n), 6))
		target.CloneFrom(mat.NewDense(n, n, data))
		var svd mat.SVD
		if !svd.Factorize(&target, mat.SVDFull) {
			t.Fatal("no decomposition")
		}
		var u, v mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		values := svd.Values(nil)
		center := values[0]

		arena := NewArena[float64]()
		matrix, err := NewSVD(kernel.Float64(), arena, n, SVDOptions{Left: n, Right: n, Radius: 1.5 * center, Center: center})
		if err != nil {
			t.Fatal(err)
		}
		arena.Allocate()
		setReflectors(arena, "u", &u)
		setReflectors(arena, "v", &v)
		hat := arena.View("sigma_hat").Value
		for i, s := range values {
			f := (s-center)/(3*center) + .5
			hat[i] = math.Log(f / (1 - f))
		}
		if w := value(matrix); !mat.EqualApprox(w, &target, 1e-12*float64(n)) {
			t.Errorf("n=%d: W is\n%v\nwant\n%v", n, mat.Formatted(w), mat.Formatted(&target))
		}
	}
}

// setReflectors sets u_n, …, u_1 such that their product is q: Householder's
// triangularisation, in which each reflector turns a column into +e, so that
// the triangle of an orthogonal matrix is the identity.
func setReflectors(arena *Arena[float64], letter string, q *mat.Dense) {
	n, _ := q.Dims()
	rest := mat.DenseCopyOf(q)
	for k := range n {
		u := arena.View(fmt.Sprintf("%s%d", letter, n-k)).Value
		for i := range u {
			u[i] = rest.At(k+i, k)
		}
		u[0] -= 1
		norm := 0.0
		for _, x := range u {
			norm += x * x
		}
		if norm < 1e-28 {
			clear(u)
			continue
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
}

func TestStarts(t *testing.T) {
	set := kernel.Float32()
	t.Run("gaussian", func(t *testing.T) {
		const n = 60
		_, arena := dense[float32](n).make(t, set, StartGaussian, 2)
		if variance := set.SumSquares(arena.Values()) / (n * n); math.Abs(variance*n-1) > .1 {
			t.Errorf("variance times n is %v", variance*n)
		}
	})
	for _, c := range []struct {
		maker    maker[float32]
		start    Start
		identity bool
	}{
		{dense[float32](9), StartIdentity, true},
		{dense[float32](9), StartOrthogonal, false},
		{householder[float32](9, 4), StartRandom, false},
		{householder[float32](9, 4), StartNearIdentity, true},
		{householder[float32](9, 5), StartNearIdentity, false},
		{spectral[float32](9, 4, 4, .1), StartRandom, false},
		{spectral[float32](9, 5, 5, .1), StartNearIdentity, true},
		{spectral[float32](9, 3, 9, .1), StartNearIdentity, true},
		{spectral[float32](9, 7, 1, .1), StartNearIdentity, true},
		{spectral[float32](9, 2, 3, .1), StartNearIdentity, false},
	} {
		t.Run(c.maker.name+","+string(c.start), func(t *testing.T) {
			matrix, arena := c.maker.make(t, set, c.start, 2)
			checkUnit(t, arena)
			w := value(matrix)
			var product mat.Dense
			product.Mul(w.T(), w)
			if !mat.EqualApprox(&product, identity(9), 1e-6) {
				t.Error("W is not orthogonal")
			}
			if got := mat.EqualApprox(w, identity(9), 1e-6); got != c.identity {
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
	for _, m := range makers[float32]() {
		matrix, arena := m.make(t, set, "", 4)
		_, named := m.make(t, set, matrix.Starts()[0], 4)
		if !slices.Equal(arena.Values(), named.Values()) {
			t.Errorf("%s: the usual start is not the first", m.name)
		}
		err := matrix.Start("nearly", NewRandom(1, 1))
		var unknown *StartError
		if !errors.As(err, &unknown) || unknown.Start != "nearly" || len(unknown.Known) == 0 {
			t.Errorf("%s: an unknown start gives %v", m.name, err)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for _, m := range []maker[float32]{
		dense[float32](0), dense[float32](-1),
		householder[float32](4, 0), householder[float32](4, 5), householder[float32](0, 0),
		spectral[float32](4, 0, 1, .1), spectral[float32](4, 1, 5, .1), spectral[float32](4, 5, 1, .1),
		spectral[float32](4, 1, 1, -.1), spectral[float32](4, 1, 1, math.NaN()), spectral[float32](4, 1, 1, math.Inf(1)),
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
		matrix, arena := dense[float64](5).make(t, kernel.Float64(), "", 1)
		arena.Values()[7] = bad
		got := matrix.SingularValues(nil)
		if len(got) != 5 || !math.IsNaN(SpectralMargin(got)) {
			t.Errorf("with an entry %v the singular values are %v", bad, got)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, m := range makers[float32]() {
		matrix, _ := m.make(t, kernel.Float32(), "", 1)
		w, dw := square[float32](m.n), square[float32](m.n)
		if allocations := testing.AllocsPerRun(10, func() {
			matrix.Value(w)
			matrix.Pullback(dw)
			matrix.Project()
		}); allocations != 0 {
			t.Errorf("%s: %v allocations a step", m.name, allocations)
		}
	}
}

func BenchmarkMatrix(b *testing.B) {
	for _, m := range []maker[float32]{
		dense[float32](32), householder[float32](32, 16), spectral[float32](32, 16, 16, .1), spectral[float32](128, 16, 16, .1),
	} {
		matrix, _ := m.make(b, kernel.Float32(), "", 1)
		w, dw := square[float32](m.n), square[float32](m.n)
		Gaussian(dw.Data, 1, NewRandom(1, 1))
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
