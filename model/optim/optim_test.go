package optim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

const elements = 37

// The constants that the authors of Adam suggest, and usual ones of RMSprop.
var (
	usualAdam    = AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	usualRMSprop = RMSpropOptions{Decay: 0.9, Epsilon: 1e-8}
)

// method is an optimiser, and a second implementation of its update for one
// parameter, straight from the formulas of PyTorch's documentation (RMSprop with
// Adam's correction).
type method struct {
	name    string
	options Options
	// update returns the new parameter for step t = 1, 2, …; memory starts as 0.
	update func(t int, rate, parameter, gradient float64, memory *[2]float64) float64
}

func methods() []method {
	return []method{
		{
			name:    "adam",
			options: Options{Rule: weight.RuleAdam, Adam: AdamOptions{Beta1: .8, Beta2: .99, Epsilon: 1e-3}},
			update: func(t int, rate, p, g float64, memory *[2]float64) float64 {
				memory[0] = .8*memory[0] + (1-.8)*g
				memory[1] = .99*memory[1] + (1-.99)*g*g
				mean := memory[0] / (1 - math.Pow(.8, float64(t)))
				square := memory[1] / (1 - math.Pow(.99, float64(t)))
				return p - rate*mean/(math.Sqrt(square)+1e-3)
			},
		},
		{
			name:    "rmsprop",
			options: Options{Rule: weight.RuleRMSprop, RMSprop: RMSpropOptions{Decay: .95, Epsilon: 1e-3}},
			update: func(t int, rate, p, g float64, memory *[2]float64) float64 {
				memory[0] = .95*memory[0] + (1-.95)*g*g
				return p - rate*g/(math.Sqrt(memory[0]/(1-math.Pow(.95, float64(t))))+1e-3)
			},
		},
		{
			name:    "momentum",
			options: Options{Rule: weight.RuleSGD, Momentum: .9},
			update: func(_ int, rate, p, g float64, memory *[2]float64) float64 {
				memory[0] = .9*memory[0] + g
				return p - rate*memory[0]
			},
		},
		{
			name: "rmsprop as Keras has it",
			options: Options{Rule: weight.RuleRMSprop,
				RMSprop: RMSpropOptions{Decay: .9, Epsilon: 1e-7, Uncorrected: true}},
			update: func(_ int, rate, p, g float64, m *[2]float64) float64 {
				m[0] = .9*m[0] + .1*g*g
				return p - rate*g/(math.Sqrt(m[0])+1e-7)
			},
		},
		{
			name:    "gradient descent",
			options: Options{Rule: weight.RuleSGD},
			update:  func(_ int, rate, p, g float64, _ *[2]float64) float64 { return p - rate*g },
		},
	}
}

// problem is parameters and a source of random gradients, and their optimiser.
type problem[F kernel.Float] struct {
	values, gradients []F
	random            *random.Source
	*Optimizer[F]
}

func newProblem[F kernel.Float](t *testing.T, set *kernel.Set[F], options Options, values ...F) *problem[F] {
	t.Helper()
	arena := weight.NewArena[F]()
	v := arena.Declare("x", 1, len(values))
	arena.Allocate()
	copy(v.Value, values)
	o, err := New(set, arena, options)
	if err != nil {
		t.Fatal(err)
	}
	return &problem[F]{v.Value, v.Gradient, random.New(5, 5), o}
}

// randomProblem is one of random parameters.
func randomProblem(t *testing.T, options Options) *problem[float64] {
	t.Helper()
	p := newProblem(t, kernel.Float64(), options, make([]float64, elements)...)
	p.random = random.New(1, 2)
	random.Gaussian(p.values, 1, p.random)
	return p
}

func (p *problem[F]) draw() { random.Gaussian(p.gradients, 1, p.random) }

func TestStep(t *testing.T) {
	for _, m := range methods() {
		t.Run(m.name, func(t *testing.T) {
			p := randomProblem(t, m.options)
			want := slices.Clone(p.values)
			var memory [elements][2]float64
			for step := range 30 {
				p.draw()
				gradients := slices.Clone(p.gradients)
				rate := .1 * math.Pow(.9, float64(step))
				p.Step(rate)
				for i := range want {
					want[i] = m.update(step+1, rate, want[i], gradients[i], &memory[i])
					if math.Abs(want[i]-p.values[i]) > 1e-12 {
						t.Fatalf("step %d: parameter %d is %v, want %v", step+1, i, p.values[i], want[i])
					}
				}
				if !slices.Equal(p.gradients, gradients) {
					t.Fatalf("step %d changes the gradients", step+1)
				}
			}
		})
	}
}

// TestFirstStepFloat32 checks the first step of Adam and RMSprop, which is the
// rate times the sign of the gradient: a bias correction that is not that of β as
// the loop rounds it is off by 2e-5.
func TestFirstStepFloat32(t *testing.T) {
	for name, options := range map[string]Options{
		"adam":    {Rule: weight.RuleAdam, Adam: usualAdam},
		"rmsprop": {Rule: weight.RuleRMSprop, RMSprop: usualRMSprop},
	} {
		p := newProblem(t, kernel.Float32(), options, 0, 0)
		copy(p.gradients, []float32{.37, -12})
		p.Step(.01)
		values := p.values
		for i, want := range []float64{-.01, .01} {
			if math.Abs(float64(values[i])-want) > 1e-6*.01 {
				t.Errorf("%s: parameter %d goes to %v, want %v", name, i, values[i], want)
			}
		}
	}
}

// TestState checks that a reset optimiser is a new one, and that a restored one
// goes on as the one that was saved, to the bit.
func TestState(t *testing.T) {
	for _, m := range methods() {
		t.Run(m.name, func(t *testing.T) {
			run := func(p *problem[float64], steps int) {
				for range steps {
					p.draw()
					p.Step(.01)
				}
			}
			p := randomProblem(t, m.options)
			run(p, 7)
			saved := p.State()
			if saved.Steps != 7 {
				t.Errorf("%d steps noted of 7", saved.Steps)
			}
			restored := newProblem(t, kernel.Float64(), m.options, p.values...)
			for i, moment := range restored.State().Moments {
				copy(moment, saved.Moments[i])
			}
			restored.SetSteps(saved.Steps)
			p.random = random.New(5, 5)
			run(p, 5)
			run(restored, 5)
			if !slices.Equal(p.values, restored.values) {
				t.Error("a restored optimiser continues differently")
			}
		})
	}
}

// TestPadding checks that a parameter of zero with a gradient of zero, as
// between the tensors of an arena, stays zero.
func TestPadding(t *testing.T) {
	for _, m := range methods() {
		p := newProblem(t, kernel.Float64(), m.options, 0, 0)
		p.gradients[0] = 1
		for range 3 {
			p.Step(.1)
		}
		if values := p.values; values[0] == 0 || values[1] != 0 {
			t.Errorf("%s: parameters become %v", m.name, values)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		gradients []float32
		limit     float64
		norm      float64
		want      []float32
	}{
		{[]float32{3, 4}, 1, 5, []float32{.6, .8}},
		{[]float32{3, 4}, 5, 5, []float32{3, 4}},
		{[]float32{3, 4}, 0, 5, []float32{3, 4}},
		{[]float32{0, 0}, 1, 0, []float32{0, 0}},
		// Squares beyond the range of float32.
		{[]float32{3e30, 4e30}, 10, 5e30, []float32{6, 8}},
	} {
		got := slices.Clone(c.gradients)
		norm := Clip(kernel.Float32(), got, c.limit)
		if math.Abs(norm-c.norm) > 1e-6*c.norm {
			t.Errorf("Clip(%v, %v) = %v, want %v", c.gradients, c.limit, norm, c.norm)
		}
		for i := range got {
			if math.Abs(float64(got[i]-c.want[i])) > 1e-6*math.Abs(float64(c.want[i])) {
				t.Errorf("Clip(%v, %v) leaves %v, want %v", c.gradients, c.limit, got, c.want)
			}
		}
	}
	infinite := []float32{1, float32(math.Inf(1))}
	if norm := Clip(kernel.Float32(), infinite, 1); !math.IsInf(norm, 1) || infinite[0] != 1 {
		t.Errorf("of infinite gradients the norm is %v and %v is left", norm, infinite)
	}
	undefined := []float32{1, float32(math.NaN())}
	if norm := Clip(kernel.Float32(), undefined, 1); !math.IsNaN(norm) || undefined[0] != 1 {
		t.Errorf("of undefined gradients the norm is %v and %v is left", norm, undefined)
	}
}

func TestBadOptions(t *testing.T) {
	for name, options := range map[string]Options{
		"beta1 1":     {Rule: weight.RuleAdam, Adam: AdamOptions{Beta1: 1, Beta2: .9, Epsilon: 1}},
		"beta2 -1":    {Rule: weight.RuleAdam, Adam: AdamOptions{Beta1: 0, Beta2: -1, Epsilon: 1}},
		"epsilon 0":   {Rule: weight.RuleAdam, Adam: AdamOptions{Beta1: 0, Beta2: .9}},
		"decay NaN":   {Rule: weight.RuleRMSprop, RMSprop: RMSpropOptions{Decay: math.NaN(), Epsilon: 1}},
		"epsilon inf": {Rule: weight.RuleRMSprop, RMSprop: RMSpropOptions{Decay: .9, Epsilon: math.Inf(1)}},
		"momentum 2":  {Rule: weight.RuleSGD, Momentum: 2},
	} {
		arena := weight.NewArena[float32]()
		arena.Declare("x", 1, 1)
		arena.Allocate()
		if _, err := New(kernel.Float32(), arena, options); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Each optimiser finds the bottom of a valley that is a hundred times steeper
// one way than the other.
func ExampleOptimizer() {
	const steepness = 100
	for _, m := range methods() {
		arena := weight.NewArena[float64]()
		v := arena.Declare("x", 1, 2)
		arena.Allocate()
		v.Value[0], v.Value[1] = 1, 1
		o, err := New(kernel.Float64(), arena, m.options)
		if err != nil {
			panic(err)
		}
		for epoch := range 2000 {
			v.Gradient[0], v.Gradient[1] = v.Value[0], steepness*v.Value[1]
			o.Step(.01 * math.Pow(.998, float64(epoch)))
		}
		fmt.Println(m.name, math.Hypot(v.Value[0], v.Value[1]) < .02)
	}
	// Output:
	// adam true
	// rmsprop true
	// momentum true
	// rmsprop as Keras has it true
	// gradient descent true
}
