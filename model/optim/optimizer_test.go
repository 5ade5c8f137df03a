package optim

import (
	"slices"
	"strings"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

func testOptions(rule weight.Rule) Options {
	return Options{Rule: rule, Adam: usualAdam, RMSprop: usualRMSprop, Momentum: .9}
}

// mixture is an arena whose tensors ask for different rules and rates.
func mixture() *weight.Arena[float64] {
	arena := weight.NewArena[float64]()
	for _, v := range []weight.View[float64]{
		{Name: "a", Rows: 3, Cols: 5, Rate: 1},
		{Name: "b", Rows: 1, Cols: 7, Rate: 1},
		{Name: "c", Rows: 2, Cols: 2, Rate: .5},
		{Name: "u", Rows: 4, Cols: 4, Rate: .1, Rule: weight.RuleCayley},
		{Name: "v", Rows: 4, Cols: 4, Rate: .1, Rule: weight.RuleCayley},
		{Name: "d", Rows: 1, Cols: 9, Rate: 1, Rule: weight.RuleSGD},
		{Name: "e", Rows: 1, Cols: 3, Rate: 1, Rule: weight.RuleAdam},
		{Name: "f", Rows: 1, Cols: 3, Rate: 0},
		{Name: "g", Rows: 5, Cols: 5, Rate: 2, Rule: weight.RuleRMSprop},
	} {
		declared := arena.Declare(v.Name, v.Rows, v.Cols)
		declared.Rule, declared.Rate = v.Rule, v.Rate
	}
	arena.Allocate()
	source := random.New(6, 0)
	for _, v := range arena.Views() {
		if v.Rule == weight.RuleCayley {
			copy(v.Value, orthogonal(v.Rows, v.Cols, source))
		} else {
			random.Gaussian(v.Value, 1, source)
		}
	}
	return arena
}

// draw sets random gradients, but none between the tensors.
func draw(arena *weight.Arena[float64], source *random.Source) {
	for _, v := range arena.Views() {
		random.Gaussian(v.Gradient, 1, source)
	}
}

// TestGroups compares each tensor with one that a rule of its own moves.
func TestGroups(t *testing.T) {
	arena, alone := mixture(), mixture()
	groups, err := New(kernel.Float64(), arena, testOptions(weight.RuleAdam))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(groups.groups); got != 8 { // a and b are one
		t.Errorf("%d groups", got)
	}
	own := map[string]rule[float64]{}
	for _, v := range alone.Views() {
		name := v.Rule
		if name == weight.RuleTrial {
			name = weight.RuleAdam
		}
		options := testOptions("")
		if own[v.Name], err = newRule(kernel.Float64(), name, v, v.Value, v.Gradient, &options); err != nil {
			t.Fatal(err)
		}
	}
	before := slices.Clone(arena.View("f").Value)
	first, second := random.New(7, 0), random.New(7, 0)
	for step := range 20 {
		draw(arena, first)
		draw(alone, second)
		groups.Step(.02)
		for _, v := range alone.Views() {
			own[v.Name].step(.02*v.Rate, step+1)
		}
	}
	if !slices.Equal(arena.Values(), alone.Values()) {
		t.Error("tensors in groups go other ways than alone")
	}
	if !slices.Equal(before, arena.View("f").Value) {
		t.Error("a tensor of rate 0 moves")
	}
	if groups.State().Steps != 20 {
		t.Errorf("%d steps noted of 20", groups.State().Steps)
	}
}

// TestOneGroup: tensors that ask for nothing are moved in one loop, to the same bits
// as without groups.
func TestOneGroup(t *testing.T) {
	make := func() *weight.Arena[float32] {
		arena := weight.NewArena[float32]()
		for _, name := range []string{"a", "b", "c"} {
			arena.Declare(name, 3, 7)
		}
		arena.Allocate()
		return arena
	}
	for _, rule := range []weight.Rule{weight.RuleAdam, weight.RuleRMSprop, weight.RuleSGD} {
		arena, whole := make(), make()
		groups, err := New(kernel.Float32(), arena, testOptions(rule))
		if err != nil {
			t.Fatal(err)
		}
		options := testOptions("")
		one, err := newRule(kernel.Float32(), rule, whole.Views()[0], whole.Values(), whole.Gradients(), &options)
		if err != nil {
			t.Fatal(err)
		}
		source := random.New(1, 1)
		for step := range 10 {
			for i, v := range arena.Views() {
				random.Gaussian(v.Gradient, 1, source)
				copy(whole.Views()[i].Gradient, v.Gradient)
			}
			groups.Step(.01)
			one.step(.01, step+1)
		}
		if len(groups.groups) != 1 || !slices.Equal(arena.Values(), whole.Values()) {
			t.Errorf("%s: %d groups, or other bits", rule, len(groups.groups))
		}
	}
}

// TestGroupsState: restored groups go on as those that were saved, and after a reset
// they are as new.
func TestGroupsState(t *testing.T) {
	set := kernel.Float64()
	arena, other := mixture(), mixture()
	groups, err := New(set, arena, testOptions(weight.RuleRMSprop))
	if err != nil {
		t.Fatal(err)
	}
	restored, err := New(set, other, testOptions(weight.RuleRMSprop))
	if err != nil {
		t.Fatal(err)
	}
	source := random.New(2, 0)
	run := func(g *Optimizer[float64], arena *weight.Arena[float64], source *random.Source) {
		for range 6 {
			draw(arena, source)
			g.Step(.05)
		}
	}
	run(groups, arena, source)
	copy(other.Values(), arena.Values())
	for i, moment := range groups.State().Moments {
		copy(restored.State().Moments[i], moment)
	}
	restored.SetSteps(groups.State().Steps)
	run(groups, arena, random.New(3, 0))
	run(restored, other, random.New(3, 0))
	if !slices.Equal(arena.Values(), other.Values()) {
		t.Error("restored groups go another way")
	}
}

func TestBadGroups(t *testing.T) {
	for _, c := range []struct {
		view weight.View[float64]
		want string
	}{
		{weight.View[float64]{Rows: 2, Cols: 2, Rate: -1}, "rate -1 of tensor x"},
		{weight.View[float64]{Rows: 2, Cols: 2, Rate: 1, Rule: "newton"}, `unknown rule "newton" of tensor x`},
		{weight.View[float64]{Rows: 2, Cols: 3, Rate: 1, Rule: weight.RuleCayley}, "tensor x of 2 × 3"},
	} {
		arena := weight.NewArena[float64]()
		v := arena.Declare("x", c.view.Rows, c.view.Cols)
		v.Rule, v.Rate = c.view.Rule, c.view.Rate
		arena.Allocate()
		if _, err := New(kernel.Float64(), arena, testOptions(weight.RuleAdam)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// TestDecay: a step with weight decay is one without it from parameters that were multiplied by 1 - rate λ before, of each
// tensor at its own rate; on a manifold there is none. For plain gradient descent that is θ - rate (g + λ θ).
func TestDecay(t *testing.T) {
	const rate, decay = .03, .7
	for _, rule := range []weight.Rule{weight.RuleAdam, weight.RuleRMSprop, weight.RuleSGD} {
		arena, before := mixture(), mixture()
		options := testOptions(rule)
		plain, err := New(kernel.Float64(), before, options)
		if err != nil {
			t.Fatal(err)
		}
		options.Decay = decay
		decayed, err := New(kernel.Float64(), arena, options)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 3 {
			draw(arena, random.New(7, 0))
			copy(before.Gradients(), arena.Gradients())
			for _, v := range before.Views() {
				for i := range v.Value {
					if v.Rule != weight.RuleCayley {
						v.Value[i] *= 1 - rate*v.Rate*decay
					}
				}
			}
			plain.Step(rate)
			decayed.Step(rate)
			for i, v := range arena.Views() {
				if !slices.Equal(v.Value, before.Views()[i].Value) {
					t.Errorf("%s, step %d, tensor %s: %v, want %v", rule, step, v.Name, v.Value, before.Views()[i].Value)
				}
			}
		}
	}
}
