package sweep

import (
	"fmt"
	"iter"
	"slices"
	"sort"
)

// Halving has trials run in rungs: with few epochs at first, and the better ones of each cohort again with more.
// A cohort are points with consecutive numbers. Package policy chooses the better ones.
type Halving struct {
	// Parameter is what grows from rung to rung, such as "epochs".
	Parameter string `json:"parameter"`
	// Rungs are its values, ascending.
	Rungs []int64 `json:"rungs"`
	// Eta is how many points of a rung there are for each of the next one.
	Eta int64 `json:"eta"`
	// Cohort is the number of points in the first rung.
	Cohort int64 `json:"cohort"`
}

// DefaultEta is that of Halving and Hyperband; MostHalving bounds its trials, all of which are read for each rung, and
// MostRungs its rungs, which is more than halvings of the largest whole number have.
const (
	DefaultEta  = 3
	MostHalving = 100_000
	MostRungs   = 64
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

// HalvingError says why a sweep cannot be halved.
type HalvingError struct{ Problem string }

// Error implements error.
func (e *HalvingError) Error() string { return "halving: " + e.Problem }

// Block are the trials of a rung of a cohort: each of Points with its replicates next to each other, in
// order of rank, of the first rung in order of the points.
type Block struct {
	Cohort int64
	Rung   int
	// First is the number of its first trial, and Generation that of all trials which are written at once.
	First      int64
	Points     int64
	Generation int64
}

// ladder are the rungs of all cohorts. One generation has the first rung of a cohort, and the next
// rung of each cohort before it that is not at its end.
type ladder struct {
	base       *Grid
	halving    *Halving
	replicates int64
	blocks     []Block
}

// newHalvedGrid is NewGrid for a spec with Halving.
func newHalvedGrid(spec *Spec) (*Grid, error) {
	h := spec.Halving
	refused := func(format string, arguments ...any) error {
		return &HalvingError{fmt.Sprintf(format, arguments...)}
	}
	switch {
	case spec.Race != nil:
		return nil, refused("goes with no race: both decide which trials run")
	case spec.Random != nil && spec.Random.Bayes != nil:
		return nil, refused("goes with method: grid, random or sobol; bayes needs all results of a generation")
	case len(spec.Keep) > 0:
		return nil, refused("goes with no keep: trials of the next rung continue from the checkpoints of the one " +
			"before")
	case h.Eta < 2 || len(h.Rungs) < 2 || h.Rungs[0] < 1 || !slices.IsSorted(h.Rungs) ||
		len(slices.Compact(slices.Clone(h.Rungs))) < len(h.Rungs):
		return nil, refused("needs two rungs or more, each with more %s than the one before", h.Parameter)
	case len(h.Rungs) > MostRungs:
		return nil, refused("at most %d rungs, not %d", MostRungs, len(h.Rungs))
	case h.Cohort > mostValues:
		return nil, refused("a cohort has at most %d points, not %d", int64(mostValues), h.Cohort)
	case h.Cohort < h.Eta:
		return nil, refused("a cohort needs %d points or more, not %d: the best of %d is in the next rung", h.Eta,
			h.Cohort, h.Eta)
	}
	plain := *spec
	plain.Halving = nil
	base, err := NewGrid(&plain)
	if err != nil {
		return nil, err
	}
	l := &ladder{base: base, halving: h, replicates: 1}
	for i := range spec.Axes {
		for _, p := range spec.Axes[i].Parameters {
			switch {
			case p.Name == h.Parameter && spec.Axes[i].Len() > 1:
				return nil, refused("%s has %d values: give it the largest one alone", h.Parameter, spec.Axes[i].Len())
			case p.Name == SeedParameter && i == len(spec.Axes)-1 && (spec.Random == nil || spec.Random.Replicated):
				l.replicates = base.axes[i].length
			}
		}
	}
	if base.count%l.replicates != 0 || l.replicates > 1 && base.axes[len(base.axes)-1].constrained {
		return nil, refused("each point needs the same replicates: remove seed from when and exclude, and set run_cap "+
			"to a multiple of %d", l.replicates)
	}
	if base.count > MostHalving {
		return nil, refused("at most %d trials can be in the first rung, not %d", MostHalving, base.count)
	}
	l.layOut(base.count / l.replicates)
	last := l.blocks[len(l.blocks)-1]
	count := last.First + last.Points*l.replicates
	return &Grid{ladder: l, count: count, total: count, product: count,
		known: min(h.Cohort, base.count/l.replicates) * l.replicates, removed: base.removed}, nil
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
			l.blocks = append(l.blocks, Block{cohort, int(rung), first, size, generation})
			first += size * l.replicates
		}
	}
}

// at returns the point of a trial as if points were in the order of their rank.
func (l *ladder) at(index int64) (Parameters, error) {
	b := l.blocks[sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].First > index })-1]
	point, err := l.base.At(b.Cohort*l.halving.Cohort*l.replicates + index - b.First)
	if err != nil {
		return nil, err
	}
	point[l.halving.Parameter] = l.halving.Rungs[b.Rung]
	return point, nil
}

// Replicates is the number of trials of a point of a grid with Spec.Halving, and Blocks yields their rungs.
func (g *Grid) Replicates() int64 { return g.ladder.replicates }

// Blocks yields the rungs of all cohorts of a grid with Spec.Halving in order.
func (g *Grid) Blocks() iter.Seq2[int, Block] { return slices.All(g.ladder.blocks) }
