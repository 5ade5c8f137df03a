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

// Halving has the best points of each rung of a cohort, one in Eta, be trained again with the next rung's number of
// epochs: successive halving. A generation has the first rung of a cohort and the next rungs of those
// before, so that slots stay busy. The value of a point is the mean over its replicates; one
// without a value is worse than all others and comes to no further rung; of equal points the first is
// better.
//
// K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and hyperparameter optimization,
// AISTATS 2016; L. Li et al., Hyperband, JMLR 18 (2018), which has several first rungs.
type Halving struct {
	grid      *sweep.Grid
	halving   *sweep.Halving
	objective sweep.Select
	blocks    []sweep.Block
}

// NewHalving returns the halving of a spec with Halving. The description is that of its trainer.
func NewHalving(spec *sweep.Spec, description *sweep.Description) (*Halving, error) {
	grid, err := sweep.NewGrid(spec)
	if err != nil {
		return nil, err
	}
	if spec.Halving == nil {
		return nil, fmt.Errorf("sweep %s has no halving", spec.Name)
	}
	h := &Halving{grid: grid, halving: spec.Halving, objective: spec.Select.Filled(description)}
	for _, b := range grid.Blocks() {
		h.blocks = append(h.blocks, b)
	}
	return h, nil
}

// TakesStopped reports whether values of trials that were stopped early count.
func (h *Halving) TakesStopped() bool { return false }

// Objective is the metric by which points are compared.
func (h *Halving) Objective() sweep.Select { return h.objective }

// Generation is the number of the generation after some trials, from 0.
func (h *Halving) Generation(trials int64) int64 {
	if i := h.from(trials); i < len(h.blocks) {
		return h.blocks[i].Generation
	}
	return h.blocks[len(h.blocks)-1].Generation + 1
}

// from is the number of the first block after some trials.
func (h *Halving) from(trials int64) int {
	return sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i].First >= trials })
}

// Next returns the generation after some trials, which are all before it.
func (h *Halving) Next(ctx context.Context, trials []Trial) ([]Point, error) {
	var next []Point
	first := h.from(int64(len(trials)))
	if first < len(h.blocks) && h.blocks[first].First != int64(len(trials)) {
		return nil, fmt.Errorf("%d trials end within a rung, which is written as a whole", len(trials))
	}
	generation := h.Generation(int64(len(trials)))
	for i := first; i < len(h.blocks) && h.blocks[i].Generation == generation; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := h.blocks[i]
		if b.Rung > 0 {
			next = append(next, h.promoted(b, trials)...)
			continue
		}
		for k := b.First; k < b.First+b.Points*h.grid.Replicates(); k++ {
			point, err := h.grid.At(k)
			if err != nil {
				return nil, err
			}
			next = append(next, Point{Parameters: point})
		}
	}
	return next, nil
}

// promoted returns the trials of a rung after the first one.
func (h *Halving) promoted(b sweep.Block, trials []Trial) (next []Point) {
	before := h.blocks[slices.IndexFunc(h.blocks, func(other sweep.Block) bool {
		return other.Cohort == b.Cohort && other.Rung == b.Rung-1
	})]
	replicates := h.grid.Replicates()
	type candidate struct {
		first int64
		value float64
	}
	candidates := make([]candidate, before.Points)
	for i := range candidates {
		c := candidate{first: before.First + int64(i)*replicates}
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
	for _, c := range candidates[:b.Points] {
		for _, trial := range trials[c.first : c.first+replicates] {
			point := Point{Parameters: trial.Parameters.Clone()}
			point.Parameters[h.halving.Parameter] = h.halving.Rungs[b.Rung]
			if math.IsNaN(c.value) {
				point.Skip = fmt.Sprintf("no trial of cohort %d with %s %d is left that has %s", b.Cohort+1,
					h.halving.Parameter, h.halving.Rungs[b.Rung-1], cmp.Or(h.objective.By, "a metric"))
			}
			next = append(next, point)
		}
	}
	return next
}
