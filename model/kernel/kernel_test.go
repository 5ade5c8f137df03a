package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// eachLevel runs test with the float32 set of every level of this machine.
func eachLevel(t *testing.T, test func(t *testing.T, s *Set[float32])) {
	t.Helper()
	for _, l := range Levels() {
		s, err := Float32At(l)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(l.String(), func(t *testing.T) { test(t, s) })
	}
}

// sizes are lengths at which loops change their ways: none, one, round the
// vectors of every level, two vectors and a rest.
var sizes = []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 35, 63, 64, 67}

// canary stands where nothing may be written; gaps where nothing may be read hold NaN.
const canary = 12345

var nan = float32(math.NaN())

// field is a matrix in the middle of an allocation whose other elements are watched.
type field struct {
	Matrix[float32]
	all   []float32
	guard float32
	first int
}

const margin = 40

// newField is a rows×cols matrix of normal random numbers with gap unused
// elements after each row; all unused elements hold guard.
func newField(r *rand.Rand, rows, cols, gap int, guard float32) *field {
	stride := cols + gap
	f := &field{all: make([]float32, rows*stride+2*margin), guard: guard, first: margin}
	for i := range f.all {
		f.all[i] = guard
	}
	f.Matrix = Matrix[float32]{Data: f.all[margin : margin+rows*stride], Rows: rows, Cols: cols, Stride: stride}
	if rows > 0 { // a view may end with its last element
		f.Data = f.Data[: (rows-1)*stride+cols : (rows-1)*stride+cols]
	}
	for i := range rows {
		for j := range f.Row(i) {
			f.Row(i)[j] = float32(r.NormFloat64())
		}
	}
	return f
}

// check fails the test if an element outside the matrix has changed.
func (f *field) check(t *testing.T, name string) {
	t.Helper()
	for i, v := range f.all {
		at := i - f.first
		inside := at >= 0 && at < f.Rows*f.Stride && at%max(f.Stride, 1) < f.Cols
		if !inside && math.Float32bits(v) != math.Float32bits(f.guard) {
			t.Fatalf("%s: element %d outside the matrix was written: %v", name, at, v)
		}
	}
}

// clone is a copy of the matrix alone.
func (f *field) clone() Matrix[float32] { return clone(f.Matrix) }

func clone[F Float](m Matrix[F]) Matrix[F] {
	c := Dense(make([]F, m.Rows*m.Cols), m.Rows, m.Cols)
	for i := range m.Rows {
		copy(c.Row(i), m.Row(i))
	}
	return c
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// vectorField is a field of one row.
func vectorField(r *rand.Rand, n int, guard float32) *field { return newField(r, 1, n, 0, guard) }

// near fails the test, which the format names, unless got is within tolerance of want.
func near(t *testing.T, got float32, want, tolerance float64, format string, args ...any) {
	if !(math.Abs(float64(got)-want) <= tolerance) {
		t.Helper() // here, as it costs more than the rest
		t.Fatalf("%s: got %v, want %v ± %.2g", fmt.Sprintf(format, args...), got, want, tolerance)
	}
}

const epsilon = 1.0 / (1 << 23) // the spacing of float32 at 1

func TestLevelNames(t *testing.T) {
	for _, l := range []Level{Plain, AVX2, AVX512} {
		got, err := ParseLevel(l.String())
		if err != nil || got != l {
			t.Errorf("ParseLevel(%q) = %v, %v", l.String(), got, err)
		}
	}
	if _, err := ParseLevel("sse"); err == nil {
		t.Error("ParseLevel(sse): no error")
	}
	if got := Level(9).String(); got != "Level(9)" {
		t.Errorf("Level(9).String() = %q", got)
	}
}

func TestActivationNames(t *testing.T) {
	for _, a := range []Activation{Linear, ReLU, LeakyReLU, Tanh} {
		got, err := ParseActivation(a.String())
		if err != nil || got != a {
			t.Errorf("ParseActivation(%q) = %v, %v", a.String(), got, err)
		}
	}
	if _, err := ParseActivation("gelu"); err == nil {
		t.Error("ParseActivation(gelu): no error")
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		value string
		best  Level
		want  Level
		ok    bool
	}{
		{"", AVX512, AVX512, true},
		{"", Plain, Plain, true},
		{"plain", AVX512, Plain, true},
		{"avx2", AVX512, AVX2, true},
		{"avx512", AVX512, AVX512, true},
		{"avx512", AVX2, AVX2, false},
		{"AVX2", AVX512, AVX512, false},
		{"neon", Plain, Plain, false},
	} {
		got, err := choose(c.value, c.best)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("choose(%q, %v) = %v, %v", c.value, c.best, got, err)
		}
	}
}

func TestFloat32AtUnsupported(t *testing.T) {
	_, err := Float32At(detected + 1)
	want := fmt.Sprintf("kernel level %v cannot run on this machine: its highest is %v", detected+1, detected)
	if err == nil || err.Error() != want {
		t.Errorf("Float32At(%v): error %v, want %v", detected+1, err, want)
	}
}

func TestMatrix(t *testing.T) {
	m := Matrix[float32]{Data: []float32{1, 2, 0, 3, 4, 0, 5, 6}, Rows: 3, Cols: 2, Stride: 3}
	if got := fmt.Sprint(m.Row(1)); got != "[3 4]" {
		t.Errorf("Row(1) = %s", got)
	}
	s := m.Slice(1, 3)
	if s.Rows != 2 || fmt.Sprint(s.Row(1)) != "[5 6]" {
		t.Errorf("Slice(1, 3) = %v", s)
	}
	if s := m.Slice(3, 3); s.Rows != 0 {
		t.Errorf("Slice(3, 3) has %d rows", s.Rows)
	}
}

func TestPanics(t *testing.T) {
	s := Float32()
	m := func(rows, cols int) Matrix[float32] { return Dense(make([]float32, rows*cols), rows, cols) }
	var b, other Packed[float32]
	s.Pack(&b, m(3, 4))
	Float64().Pack(new(Packed[float64]), Matrix[float64]{})
	plain32.Pack(&other, m(3, 4))
	other.width++
	for name, f := range map[string]func(){
		"dense": func() { Dense(make([]float32, 5), 2, 3) },
		"stride": func() {
			s.ColumnSumsAdd(make([]float32, 3), Matrix[float32]{Data: make([]float32, 9), Rows: 1, Cols: 3, Stride: 2})
		},
		"slice":      func() { x := m(2, 2); x.Slice(1, 3) },
		"inner":      func() { s.Multiply(m(2, 4), m(2, 4), &b) },
		"outer":      func() { s.Multiply(m(2, 3), m(2, 3), &b) },
		"packed":     func() { s.Multiply(m(2, 4), m(2, 3), &other) },
		"bias":       func() { s.PackBias(&other, m(3, 4), make([]float32, 3)) },
		"no bias":    func() { s.MultiplyBias(m(2, 4), m(2, 3), &b) },
		"diagonal":   func() { s.MultiplySum(m(2, 4), Sum[float32]{H: m(2, 4), D: make([]float32, 3)}) },
		"source":     func() { s.MultiplySum(m(2, 4), Sum[float32]{A: m(2, 3), B: &b, H: m(2, 3)}) },
		"activation": func() { s.MultiplyActivate(m(2, 4), Sum[float32]{A: m(2, 3), B: &b}, 9, 0) },
		"slope":      func() { s.MultiplyActivate(m(2, 4), Sum[float32]{A: m(2, 3), B: &b}, LeakyReLU, 1.5) },
		"out":        func() { s.MultiplyDerivative(m(2, 4), Sum[float32]{A: m(2, 3), B: &b}, m(1, 4), Linear, 0) },
		"transposed": func() { s.TransposedAdd(m(3, 4), m(5, 3), m(6, 4), nil) },
		"steps":      func() { s.TransposedAddPacked(m(3, 4), m(5, 3), &b, nil) },
		"sums":       func() { s.ColumnSumsAdd(make([]float32, 2), m(3, 3)) },
		"exp":        func() { s.Exp(make([]float32, 2), make([]float32, 3)) },
		"activate":   func() { s.Activate(make([]float32, 2), make([]float32, 2), 9, 0) },
		"labels":     func() { s.SoftmaxCrossEntropy(Matrix[float32]{}, m(2, 3), []int{0}, 1) },
		"label":      func() { s.SoftmaxCrossEntropy(Matrix[float32]{}, m(2, 3), []int{0, 3}, 1) },
		"negative":   func() { s.SoftmaxCrossEntropy(Matrix[float32]{}, m(2, 3), []int{-1, 0}, 1) },
		"dlogits":    func() { s.SoftmaxCrossEntropy(m(3, 3), m(2, 3), []int{0, 0}, 1) },
		"lstm":       func() { s.LSTMForward(m(2, 16), m(2, 4), m(2, 3), 2, &b, m(2, 3), &b) },
		"gru":        func() { s.GRUGates(m(2, 4), m(2, 2), m(2, 3)) },
		"modrelu":    func() { s.ModReLU(m(2, 4), m(2, 4), make([]float32, 3), 1e-5) },
		"adam": func() {
			s.Adam(make([]float32, 2), make([]float32, 3), make([]float32, 2), make([]float32, 2), 1, 1, 1, 1, 1)
		},
		"reflect":  func() { s.ReflectLeft(m(2, 2), make([]float32, 3)) },
		"pullback": func() { s.ReflectLeftBackward(m(2, 2), m(2, 2), make([]float32, 2), make([]float32, 1)) },
		"dot":      func() { s.Dot(make([]float32, 2), make([]float32, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if _, ok := recover().(string); !ok {
					t.Error("no panic with a message")
				}
			}()
			f()
		})
	}
}
