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
}

// Groups is an [Optimizer] of all tensors of an arena. Tensors of one rule and rate
// that follow one another are a group, which is moved in one loop; one that moves on
// a manifold is a group of its own.
type Groups[F kernel.Float] struct {
	groups  []group[F]
	moments [][]F
	steps   int
}

// group is an optimiser of some tensors, and their factor of the learning rate.
type group[F kernel.Float] struct {
	Optimizer[F]
	rate float64
}

// New returns the optimiser of all tensors of an allocated arena.
func New[F kernel.Float](set *kernel.Set[F], arena *weight.Arena[F], options Options) (*Groups[F], error) {
	g, views := &Groups[F]{}, arena.Views()
	for len(views) > 0 {
		v, end := views[0], len(arena.Values())
		rule := options.rule(v.Rule)
		last := 1
		for last < len(views) && rule != weight.RuleCayley && options.rule(views[last].Rule) == rule &&
			views[last].Rate == v.Rate {
			last++
		}
		if views = views[last:]; len(views) > 0 {
			end = views[0].Offset
		}
		o, err := newOptimizer(set, rule, v, arena.Values()[v.Offset:end], arena.Gradients()[v.Offset:end], &options)
		if err != nil {
			return nil, err
		}
		g.groups = append(g.groups, group[F]{o, v.Rate})
		g.moments = append(g.moments, o.State().Moments...)
	}
	return g, nil
}

// rule is the rule of a tensor that names this one.
func (o *Options) rule(named weight.Rule) weight.Rule {
	if named == weight.RuleTrial {
		return o.Rule
	}
	return named
}

// newOptimizer returns the optimiser by a rule of the tensors that lie in values, of
// which v is the first.
func newOptimizer[F kernel.Float](set *kernel.Set[F], rule weight.Rule, v *weight.View[F], values, gradients []F,
	options *Options) (Optimizer[F], error) {
	if !(v.Rate >= 0 && v.Rate <= math.MaxFloat32) {
		return nil, fmt.Errorf("optim: rate %v of tensor %s: want a finite factor that is not negative", v.Rate, v.Name)
	}
	switch rule {
	case weight.RuleAdam:
		return NewAdam(set, values, gradients, options.Adam)
	case weight.RuleRMSprop:
		return NewRMSprop(set, values, gradients, options.RMSprop)
	case weight.RuleSGD:
		return NewMomentum(set, values, gradients, options.Momentum)
	case weight.RuleCayley:
		return NewCayley(set, v)
	default:
		return nil, fmt.Errorf("optim: unknown rule %q of tensor %s: want %s, %s, %s or %s", rule, v.Name,
			weight.RuleAdam, weight.RuleRMSprop, weight.RuleSGD, weight.RuleCayley)
	}
}

// Step moves each group by its rule, at its part of the rate.
func (g *Groups[F]) Step(rate float64) {
	g.steps++
	for _, member := range g.groups {
		member.Step(rate * member.rate)
	}
}

// State returns the moments of all groups, one after the other.
func (g *Groups[F]) State() State[F] { return State[F]{Steps: g.steps, Moments: g.moments} }

// SetSteps sets the number of steps done.
func (g *Groups[F]) SetSteps(steps int) {
	g.steps = steps
	for _, member := range g.groups {
		member.SetSteps(steps)
	}
}

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
