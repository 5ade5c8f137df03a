package optim

import (
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// Options say what moves the tensors of an arena.
type Options struct {
	// Rule moves the tensors that name none.
	Rule weight.Rule

	// The constants of the rules, of the tensors that name one, too.
	Adam     AdamOptions
	RMSprop  RMSpropOptions
	Momentum float64

	// Decay is λ of the decoupled weight decay of Loshchilov and Hutter (2019), as PyTorch's AdamW has
	// it: θ ← (1 - rate λ) θ before each step, of all tensors but those on a manifold.
	Decay float64
}

// Optimizer moves all tensors of an arena. Tensors of one rule and rate that follow one another
// are a group, which is moved in one loop; one that moves on a manifold is a group of its own.
type Optimizer[F kernel.Float] struct {
	set     *kernel.Set[F]
	decay   float64
	groups  []group[F]
	moments [][]F
	steps   int
}

// group is the rule of some tensors, and their factor of the learning rate.
type group[F kernel.Float] struct {
	rule   rule[F]
	rate   float64
	values []F // nil of a group without weight decay
}

// State is what an [Optimizer] remembers between steps.
type State[F kernel.Float] struct {
	Steps   int   // steps since the start
	Moments [][]F // running averages, each as long as the parameters it is of
}

// New returns the optimiser of all tensors of an allocated arena.
func New[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], options Options) (*Optimizer[F], error) {
	o, views := &Optimizer[F]{set: set, decay: options.Decay}, arena.Views()
	for len(views) > 0 {
		v, end := views[0], len(arena.Values())
		name := options.rule(v.Rule)
		last := 1
		for last < len(views) && name != weight.RuleCayley && options.rule(views[last].Rule) == name &&
			views[last].Rate == v.Rate {
			last++
		}
		if views = views[last:]; len(views) > 0 {
			end = views[0].Offset
		}
		r, err := newRule(set, name, v, arena.Values()[v.Offset:end], arena.Gradients()[v.Offset:end], &options)
		if err != nil {
			return nil, err
		}
		g := group[F]{rule: r, rate: v.Rate}
		if options.Decay > 0 && name != weight.RuleCayley {
			g.values = arena.Values()[v.Offset:end]
		}
		o.groups = append(o.groups, g)
		o.moments = append(o.moments, r.memory()...)
	}
	return o, nil
}

// rule is the rule of a tensor that names this one.
func (o *Options) rule(named weight.Rule) weight.Rule {
	if named == weight.RuleTrial {
		return o.Rule
	}
	return named
}

// newRule returns the rule of that name for the tensors that lie in values, of which v is the first.
func newRule[F kernel.Float](set *kernel.Set[F], name weight.Rule, v *weight.View[F], values, gradients []F,
	options *Options) (rule[F], error) {
	if !(v.Rate >= 0 && v.Rate <= math.MaxFloat32) {
		return nil, fmt.Errorf("optim: rate %v of tensor %s: want a finite factor that is not negative", v.Rate, v.Name)
	}
	switch name {
	case weight.RuleAdam:
		return newAdam(set, values, gradients, options.Adam)
	case weight.RuleRMSprop:
		return newRMSprop(set, values, gradients, options.RMSprop)
	case weight.RuleSGD:
		return newMomentum(set, values, gradients, options.Momentum)
	case weight.RuleCayley:
		return newCayley(set, v)
	default:
		return nil, fmt.Errorf("optim: unknown rule %q of tensor %s: want %s, %s, %s or %s", name, v.Name,
			weight.RuleAdam, weight.RuleRMSprop, weight.RuleSGD, weight.RuleCayley)
	}
}

// Step does one update with the given learning rate from the gradients as they are, each group by
// its rule, at its part of the rate. It does not change the gradients.
func (o *Optimizer[F]) Step(rate float64) {
	o.steps++
	for _, g := range o.groups {
		if g.values != nil {
			o.set.Scale(g.values, F(1-rate*g.rate*o.decay))
		}
		g.rule.step(rate*g.rate, o.steps)
	}
}

// State returns what the optimiser remembers, group after group. The slices are its own: write
// into them, and call SetSteps, to restore a checkpoint.
func (o *Optimizer[F]) State() State[F] { return State[F]{Steps: o.steps, Moments: o.moments} }

// SetSteps sets the number of steps done.
func (o *Optimizer[F]) SetSteps(steps int) { o.steps = steps }

// Footprint returns how many values the optimiser takes that [New] makes of the arena, which
// need not be allocated.
func Footprint[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], options Options) int {
	sum := 0
	for _, v := range arena.Views() {
		if options.rule(v.Rule) == weight.RuleCayley {
			sum += cayleyFootprint(set, v.Rows, v.Cols)
		}
	}
	return sum + Moments(arena, options)
}

// Moments returns how many values of State a checkpoint of that optimiser has.
func Moments[F kernel.Float](arena *weight.Arena[F], options Options) int {
	sum := 0
	for _, v := range arena.Views() {
		switch options.rule(v.Rule) {
		case weight.RuleAdam:
			sum += 2 * v.Rows * v.Cols
		case weight.RuleCayley:
		default:
			sum += v.Rows * v.Cols
		}
	}
	return sum
}
