package policy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"sweep/sweep"
)

var halvingKind = Kind{
	Name: "halving", Key: StopKey, Compares: true,
	Doc: "by training few epochs first",
	Keys: []Key{
		setting("parameter", sweep.StringType, nil, "The parameter that is the number of epochs or steps; its value "+
			"is that of the last rung."),
		whole("min_iter", 1, math.Inf(1), 1, "The smallest number of epochs or steps of a rung."),
		whole("eta", 2, 1000, DefaultEta, "The factor between rungs: the best 1 in eta points continue, with eta "+
			"times the epochs."),
		whole("cohort", 2, MaxHalving, nil, "How many points are compared; by default the fewest of which one "+
			"reaches the last rung."),
	},
	New:   func() Settings { return &Halving{} },
	Alone: "with halving it is a sweep of its own: submit the file as one; it reuses the results of equal trials",
}

// Halving has trials run in rungs: with few epochs at first, and the better ones of each cohort again with more.
// A cohort are points with consecutive numbers.
type Halving struct {
	defaults
	// Parameter is what grows from rung to rung, such as "epochs".
	Parameter string `json:"parameter"`
	// Rungs are its values, ascending.
	Rungs []int64 `json:"rungs"`
	// Eta is how many points of a rung there are for each of the next one.
	Eta int64 `json:"eta"`
	// Cohort is the number of points in the first rung.
	Cohort int64 `json:"cohort"`
}

// MaxHalving bounds the trials of a halving, all of which are read for each rung, and MaxRungs its rungs, which is
// more than halvings of the largest whole number have.
const (
	MaxHalving = 100_000
	MaxRungs   = 64
)

// NewHalving returns the halving from some value of a parameter to another. A cohort of 0 takes the
// smallest one of which one point comes to the last rung.
func NewHalving(parameter string, from, to, eta, cohort int64) *Halving {
	h := &Halving{Parameter: parameter, Eta: eta, Cohort: cohort}
	for value := to; value >= from && value > 0 && eta > 1; value /= eta {
		h.Rungs = append(h.Rungs, value)
	}
	slices.Reverse(h.Rungs)
	if cohort == 0 {
		h.Cohort = 1
		for range len(h.Rungs) - 1 {
			h.Cohort *= eta
		}
	}
	return h
}

func (*Halving) kind() *Kind { return &halvingKind }

func (h *Halving) varies() string { return h.Parameter }

func (h *Halving) chooses() string {
	return "which points come to the next rungs, with more " + h.Parameter
}

// read finds the parameter, and its largest value.
func (h *Halving) read(values map[string]any, file *File) error {
	from, eta, cohort, name := int64(1), int64(DefaultEta), int64(0), budgetParameter(file)
	set(&from, values["min_iter"])
	set(&eta, values["eta"])
	set(&cohort, values["cohort"])
	set(&name, values["parameter"])
	if name == "" {
		return halvingKind.refused("halving needs the parameter that is the number of epochs or steps, as in " +
			"parameter: epochs")
	}
	if file.selected(file.Spec.Select).By == "" && file.KnowsMetrics() {
		return halvingKind.refused("%s", halvingKind.NeedsMetric())
	}
	to, err := largest(name, file)
	if err != nil || !file.AllSound || to == 0 {
		return err
	}
	*h = *NewHalving(name, from, to, eta, cohort)
	if to/eta < from {
		return halvingKind.refused("halving needs two rungs or more: %s is %d, and the rung before, %d, is below "+
			"min_iter: %d", name, to, to/eta, from)
	}
	return nil
}

// budgetParameter is the parameter that says how long a trial trains: the only one of the file or of the trainer, "" if
// there is none or several.
func budgetParameter(file *File) string {
	if file.Description == nil {
		return ""
	}
	var own, all []string
	for _, s := range file.Description.Parameters {
		if s.Budget {
			all = append(all, s.Name)
			if _, declared := file.Values(s.Name); declared {
				own = append(own, s.Name)
			}
		}
	}
	for _, names := range [][]string{own, all} {
		if len(names) == 1 {
			return names[0]
		}
	}
	return ""
}

// largest is the value of a parameter that is to have one, which is a whole number; 0 if its values are wrong, which
// has been said.
func largest(name string, file *File) (int64, error) {
	var value any
	if values, declared := file.Values(name); declared {
		if values.Len() == 0 {
			return 0, nil
		}
		if values.Len() > 1 || values.Distribution != nil {
			return 0, parameterError(name, "halving varies this parameter: give it the largest value alone")
		}
		value = values.At(0)
	} else if file.Description != nil && file.Description.Parameter(name) != nil {
		value = file.Description.Parameter(name).Default
	} else {
		return 0, &Error{Key: StopKey + ".parameter", Problem: fmt.Sprintf("this sweep has no parameter %.100q", name),
			Nearest: sweep.Nearest(name, file.Names())}
	}
	number, ok := sweep.Number(value)
	if !ok || number < 1 || number != math.Trunc(number) || number > MaxNumber {
		return 0, &sweep.ParameterError{Parameter: name, Value: value,
			Problem: "halving varies this parameter: it must be a whole number above 0"}
	}
	return int64(number), nil
}

// check checks the rungs.
func (h *Halving) check(spec *sweep.Spec) error {
	switch {
	case len(spec.Keep) > 0:
		return halvingKind.refused("cannot be combined with keep: trials of the next rung continue from the " +
			"checkpoints of the one before")
	case h.Eta < 2 || len(h.Rungs) < 2 || h.Rungs[0] < 1 || !slices.IsSorted(h.Rungs) ||
		len(slices.Compact(slices.Clone(h.Rungs))) < len(h.Rungs):
		return halvingKind.refused("needs two rungs or more, each with more %s than the one before", h.Parameter)
	case len(h.Rungs) > MaxRungs:
		return halvingKind.refused("at most %d rungs, not %d", MaxRungs, len(h.Rungs))
	case h.Cohort > MaxNumber:
		return halvingKind.refused("a cohort has at most %d points, not %d", int64(MaxNumber), h.Cohort)
	case h.Cohort < h.Eta:
		return halvingKind.refused("a cohort needs %d points or more, not %d: the best of %d is in the next rung",
			h.Eta, h.Cohort, h.Eta)
	}
	for _, p := range spec.Policies {
		if kind := byName(p.Kind); kind.Search {
			return halvingKind.refused("cannot be combined with method: %s, which needs all results of a generation; "+
				"use %s", kind.Name, Or(Names(MethodKey, func(k *Kind) bool { return k.Search })))
		}
	}
	return sweep.CheckName("halving: parameter", h.Parameter)
}

func (h *Halving) arrange(spec *sweep.Spec, grid *sweep.Grid) (*sweep.Grid, error) {
	l, err := h.ladder(spec, grid)
	if err != nil {
		return nil, err
	}
	last := l.blocks[len(l.blocks)-1]
	return grid.Arrange(last.first+last.points*l.replicates, min(h.Cohort, grid.Count()/l.replicates)*l.replicates,
		l.at), nil
}

// block are the trials of a rung of a cohort: each of points with its replicates next to each other, in
// order of rank, of the first rung in order of the points.
type block struct {
	cohort int64
	rung   int
	// first is the number of its first trial, and generation that of all trials which are written at once.
	first      int64
	points     int64
	generation int64
}

// ladder are the rungs of all cohorts. One generation has the first rung of a cohort, and the next
// rung of each cohort before it that is not at its end.
type ladder struct {
	base       *sweep.Grid
	halving    *Halving
	replicates int64
	blocks     []block
}

// ladder lays out the trials of the points of a grid.
func (h *Halving) ladder(spec *sweep.Spec, base *sweep.Grid) (*ladder, error) {
	l, last := &ladder{base: base, halving: h, replicates: 1}, len(spec.Axes)-1
	for i := range spec.Axes {
		for _, p := range spec.Axes[i].Parameters {
			switch {
			case p.Name == h.Parameter && spec.Axes[i].Len() > 1:
				return nil, halvingKind.refused("%s has %d values: give it the largest one alone", h.Parameter,
					spec.Axes[i].Len())
			case p.Name == sweep.SeedParameter && i == last && (spec.Random == nil || spec.Random.Replicated):
				l.replicates = base.Distinct(i)
			}
		}
	}
	if base.Count()%l.replicates != 0 || l.replicates > 1 && !base.Free(last) {
		return nil, halvingKind.refused("each point needs the same replicates: remove seed from when and exclude, and "+
			"set run_cap to a multiple of %d", l.replicates)
	}
	if base.Count() > MaxHalving {
		return nil, halvingKind.refused("at most %d trials can be in the first rung, not %d", MaxHalving, base.Count())
	}
	l.layOut(base.Count() / l.replicates)
	return l, nil
}

// layOut numbers the trials of some points.
func (l *ladder) layOut(points int64) {
	cohorts := (points + l.halving.Cohort - 1) / l.halving.Cohort
	first, rungs := int64(0), int64(len(l.halving.Rungs))
	for generation := range cohorts + rungs - 1 {
		// Cohorts that are further come first: their trials take longer.
		for rung := rungs - 1; rung >= 0; rung-- {
			cohort := generation - rung
			if cohort < 0 || cohort >= cohorts {
				continue
			}
			size := min(l.halving.Cohort, points-cohort*l.halving.Cohort)
			for range rung {
				size = max(size/l.halving.Eta, 1)
			}
			l.blocks = append(l.blocks, block{cohort, int(rung), first, size, generation})
			first += size * l.replicates
		}
	}
}

// at returns the point of a trial as if points were in the order of their rank.
func (l *ladder) at(index int64) (sweep.Parameters, error) {
	b := l.blocks[sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].first > index })-1]
	point, err := l.base.At(b.cohort*l.halving.Cohort*l.replicates + index - b.first)
	if err != nil {
		return nil, err
	}
	point[l.halving.Parameter] = l.halving.Rungs[b.rung]
	return point, nil
}

func (h *Halving) open(spec *sweep.Spec, description *sweep.Description, grid *sweep.Grid) (Policy, error) {
	plain := *spec
	plain.Policies = slices.DeleteFunc(slices.Clone(spec.Policies), func(p sweep.Policy) bool {
		return p.Kind == halvingKind.Name
	})
	base, err := NewGrid(&plain)
	if err != nil {
		return nil, err
	}
	l, err := h.ladder(spec, base)
	if err != nil {
		return nil, err
	}
	return &halving{grid, l, h.objective(spec, description)}, nil
}

// halving has the best points of each rung of a cohort, one in Eta, be trained again with the next rung's number of
// epochs: successive halving. A generation has the first rung of a cohort and the next rungs of those
// before, so that slots stay busy. The value of a point is the mean over its replicates; one
// without a value is worse than all others and comes to no further rung; of equal points the first is
// better.
//
// K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and hyperparameter optimization,
// AISTATS 2016; L. Li et al., Hyperband, JMLR 18 (2018), which has several first rungs.
type halving struct {
	grid *sweep.Grid
	*ladder
	objective sweep.Select
}

func (h *halving) Generation(written int64) Generation {
	if i := h.from(written); i < len(h.blocks) {
		return Generation{Number: h.blocks[i].generation}
	}
	return Generation{Number: h.blocks[len(h.blocks)-1].generation + 1}
}

func (h *halving) Wants() Wants {
	return Wants{Metric: h.objective.By, Goal: h.objective.Goal, Trials: true}
}

// from is the number of the first block after some trials.
func (h *halving) from(trials int64) int {
	return sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i].first >= trials })
}

// Step returns the generation after some trials, which are all before it.
func (h *halving) Step(ctx context.Context, seen Observations) (step Step, err error) {
	first := h.from(seen.Written)
	if first < len(h.blocks) && h.blocks[first].first != seen.Written {
		return step, fmt.Errorf("%d trials end within a rung, which is written as a whole", seen.Written)
	}
	generation := h.Generation(seen.Written).Number
	for i := first; i < len(h.blocks) && h.blocks[i].generation == generation; i++ {
		if err := ctx.Err(); err != nil {
			return step, err
		}
		b := h.blocks[i]
		if b.rung > 0 {
			step.Next = append(step.Next, h.promoted(b, seen.Trials)...)
			continue
		}
		for k := b.first; k < b.first+b.points*h.replicates; k++ {
			point, err := h.grid.At(k)
			if err != nil {
				return step, err
			}
			step.Next = append(step.Next, Point{Parameters: point})
		}
	}
	return step, nil
}

// promoted returns the trials of a rung after the first one.
func (h *halving) promoted(b block, trials []Trial) (next []Point) {
	before := h.blocks[slices.IndexFunc(h.blocks, func(other block) bool {
		return other.cohort == b.cohort && other.rung == b.rung-1
	})]
	replicates := h.replicates
	type candidate struct {
		first int64
		value float64
	}
	candidates := make([]candidate, before.points)
	for i := range candidates {
		c := candidate{first: before.first + int64(i)*replicates}
		for _, trial := range trials[c.first : c.first+replicates] {
			c.value += trial.Value / float64(replicates)
		}
		candidates[i] = c
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		if math.IsNaN(a.value) || math.IsNaN(b.value) {
			return cmp.Compare(b.value, a.value) // NaN is below all numbers
		}
		return cmp.Compare(a.value, b.value)
	})
	for _, c := range candidates[:b.points] {
		for _, trial := range trials[c.first : c.first+replicates] {
			point := Point{Parameters: trial.Parameters.Clone()}
			point.Parameters[h.halving.Parameter] = h.halving.Rungs[b.rung]
			if math.IsNaN(c.value) {
				point.Skip = fmt.Sprintf("no trial of cohort %d with %s %d is left that has %s", b.cohort+1,
					h.halving.Parameter, h.halving.Rungs[b.rung-1], cmp.Or(h.objective.By, "a metric"))
			}
			next = append(next, point)
		}
	}
	return next
}
