package optim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
)

const elements = 37

// method makes an optimiser, and a second implementation of its update for one
// parameter, straight from the formulas of PyTorch's documentation (RMSprop with
// Adam's correction).
type method struct {
	name string
	new  func(values, gradients []float64) (Optimizer[float64], error)
	// update returns the new parameter for step t = 1, 2, …; memory starts as 0.
	update func(t int, rate, parameter, gradient float64, memory *[2]float64) float64
}

func methods() []method {
	set := kernel.Float64()
	return []method{
		{
			name: "adam",
			new: func(values, gradients []float64) (Optimizer[float64], error) {
				return NewAdam(set, values, gradients, AdamOptions{Beta1: .8, Beta2: .99, Epsilon: 1e-3})
			},
			update: func(t int, rate, p, g float64, memory *[2]float64) float64 {
				memory[0] = .8*memory[0] + (1-.8)*g
				memory[1] = .99*memory[1] + (1-.99)*g*g
				mean := memory[0] / (1 - math.Pow(.8, float64(t)))
				square := memory[1] / (1 - math.Pow(.99, float64(t)))
				return p - rate*mean/(math.Sqrt(square)+1e-3)
			},
		},
		{
			name: "rmsprop",
			new: func(values, gradients []float64) (Optimizer[float64], error) {
				return NewRMSprop(set, values, gradients, RMSpropOptions{Decay: .95, Epsilon: 1e-3})
			},
			update: func(t int, rate, p, g float64, memory *[2]float64) float64 {
				memory[0] = .95*memory[0] + (1-.95)*g*g
				return p - rate*g/(math.Sqrt(memory[0]/(1-math.Pow(.95, float64(t))))+1e-3)
			},
		},
		{
			name: "momentum",
			new: func(values, gradients []float64) (Optimizer[float64], error) {
				return NewMomentum(set, values, gradients, .9)
			},
			update: func(_ int, rate, p, g float64, memory *[2]float64) float64 {
				memory[0] = .9*memory[0] + g
				return p - rate*memory[0]
			},
		},
		{
			name: "rmsprop as Keras has it",
			new: func(values, gradients []float64) (Optimizer[float64], error) {
				return NewRMSprop(set, values, gradients, RMSpropOptions{Decay: .9, Epsilon: 1e-7, Uncorrected: true})
			},
			update: func(_ int, rate, p, g float64, m *[2]float64) float64 {
				m[0] = .9*m[0] + .1*g*g
				return p - rate*g/(math.Sqrt(m[0])+1e-7)
			},
		},
		{
			name: "gradient descent",
			new: func(values, gradients []float64) (Optimizer[float64], error) {
				return NewMomentum(set, values, gradients, 0)
			},
			update: func(_ int, rate, p, g float64, _ *[2]float64) float64 { return p - rate*g },
		},
	}
}

// problem is random parameters and a source of random gradients.
type problem struct {
	values, gradients []float64
	random            *random.Source
}

func newProblem() *problem {
	p := &problem{values: make([]float64, elements), gradients: make([]float64, elements), random: random.New(1, 2)}
	random.Gaussian(p.values, 1, p.random)
	return p
}

func (p *problem) draw() { random.Gaussian(p.gradients, 1, p.random) }

func TestStep(t *testing.T) {
	for _, m := range methods() {
		t.Run(m.name, func(t *testing.T) {
			p := newProblem()
			o, err := m.new(p.values, p.gradients)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(p.values)
			var memory [elements][2]float64
			schedule := Exponential{Initial: .1, Decay: .9}
			for step := range 30 {
				p.draw()
				gradients := slices.Clone(p.gradients)
				rate := schedule.Rate(step)
				o.Step(rate)
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
	for name, make := range map[string]func(values, gradients []float32) (Optimizer[float32], error){
		"adam": func(values, gradients []float32) (Optimizer[float32], error) {
			return NewAdam(kernel.Float32(), values, gradients, DefaultAdam())
		},
		"rmsprop": func(values, gradients []float32) (Optimizer[float32], error) {
			return NewRMSprop(kernel.Float32(), values, gradients, DefaultRMSprop())
		},
	} {
		values, gradients := []float32{0, 0}, []float32{.37, -12}
		o, err := make(values, gradients)
		if err != nil {
			t.Fatal(err)
		}
		o.Step(.01)
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
			run := func(o Optimizer[float64], p *problem, steps int) {
				for range steps {
					p.draw()
					o.Step(.01)
				}
			}
			p := newProblem()
			o, err := m.new(p.values, p.gradients)
			if err != nil {
				t.Fatal(err)
			}
			run(o, p, 7)
			if o.State().Steps != 7 {
				t.Errorf("%d steps noted of 7", o.State().Steps)
			}
			saved := o.State()
			for i, moment := range saved.Moments {
				saved.Moments[i] = slices.Clone(moment)
			}
			fresh := newProblem()
			restored, err := m.new(fresh.values, fresh.gradients)
			if err != nil {
				t.Fatal(err)
			}
			copy(fresh.values, p.values)
			fresh.random = random.New(5, 5)
			for i, moment := range restored.State().Moments {
				copy(moment, saved.Moments[i])
			}
			restored.SetSteps(saved.Steps)
			p.random = random.New(5, 5)
			run(o, p, 5)
			run(restored, fresh, 5)
			if !slices.Equal(p.values, fresh.values) {
				t.Error("a restored optimiser goes another way")
			}
		})
	}
}

// TestPadding checks that a parameter of zero with a gradient of zero, as
// between the tensors of an arena, stays zero.
func TestPadding(t *testing.T) {
	for _, m := range methods() {
		values, gradients := make([]float64, 2), []float64{1, 0}
		o, err := m.new(values, gradients)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			o.Step(.1)
		}
		if values[0] == 0 || values[1] != 0 {
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

func TestExponential(t *testing.T) {
	s := Exponential{Initial: .01, Decay: .5}
	for epoch, want := range []float64{.01, .005, .0025} {
		if got := s.Rate(epoch); math.Abs(got-want) > 1e-17 {
			t.Errorf("rate of epoch %d is %v, want %v", epoch, got, want)
		}
	}
	if got := (Exponential{Initial: .003, Decay: 1}).Rate(1000); got != .003 {
		t.Errorf("without decay the rate becomes %v", got)
	}
}

func TestBadOptions(t *testing.T) {
	set := kernel.Float32()
	v := make([]float32, 1)
	for name, err := range map[string]error{
		"beta1 1":     second(NewAdam(set, v, v, AdamOptions{Beta1: 1, Beta2: .9, Epsilon: 1})),
		"beta2 -1":    second(NewAdam(set, v, v, AdamOptions{Beta1: 0, Beta2: -1, Epsilon: 1})),
		"epsilon 0":   second(NewAdam(set, v, v, AdamOptions{Beta1: 0, Beta2: .9})),
		"decay NaN":   second(NewRMSprop(set, v, v, RMSpropOptions{Decay: math.NaN(), Epsilon: 1})),
		"epsilon inf": second(NewRMSprop(set, v, v, RMSpropOptions{Decay: .9, Epsilon: math.Inf(1)})),
		"momentum 2":  second(NewMomentum(set, v, v, 2)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Each optimiser finds the bottom of a valley that is a hundred times steeper
// one way than the other.
func ExampleOptimizer() {
	const steepness = 100
	for _, m := range methods() {
		values, gradients := []float64{1, 1}, make([]float64, 2)
		o, err := m.new(values, gradients)
		if err != nil {
			panic(err)
		}
		for epoch := range 2000 {
			gradients[0], gradients[1] = values[0], steepness*values[1]
			o.Step(Exponential{Initial: .01, Decay: .998}.Rate(epoch))
		}
		fmt.Println(m.name, math.Hypot(values[0], values[1]) < .02)
	}
	// Output:
	// adam true
	// rmsprop true
	// momentum true
	// rmsprop as Keras has it true
	// gradient descent true
}
