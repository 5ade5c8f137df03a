package progress

import (
	"context"
	"fmt"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// Undecided is what is left of a sweep that was ended early. Its JSON form is what "--progress json" prints.
type Undecided struct {
	// Undecided is how many of the Groups have trials that have not ended. List has the first of them.
	Undecided int              `json:"undecided"`
	Groups    int              `json:"groups"`
	List      []UndecidedGroup `json:"list,omitempty"`
	// Unchosen counts the trials whose points depend on results, and which are in no group yet.
	Unchosen int64 `json:"unchosen,omitempty"`
}

// UndecidedGroup is a group with trials that have not ended.
type UndecidedGroup struct {
	// Parameters are what its trials agree in, nothing if the sweep is one group.
	Parameters sweep.Parameters `json:"parameters"`
	// Done of its Trials have ended. Complete of its Replicates have ended at all of its points.
	Done       int64 `json:"done"`
	Trials     int64 `json:"trials"`
	Complete   int   `json:"complete"`
	Replicates int   `json:"replicates"`
	// Seconds is how long the others take on one slot, 0 if unknown.
	Seconds float64 `json:"core_seconds,omitempty"`
}

// The most groups of Undecided.List, and by how many of its trials the time for a group is estimated.
const maxUndecided, maxEstimated = 10, 16

// gathered is a group while its trials are counted.
type gathered struct {
	UndecidedGroup
	// left are the trials of each replicate that have not ended.
	left []int64
	// estimated trials take seconds.
	estimated int64
	seconds   float64
}

// FindUndecided lists what is left of a sweep, whose record has its submissions. Its memory grows with the groups.
func FindUndecided(ctx context.Context, store Rows, record *sweep.SweepRecord, e *Estimator) (*Undecided, error) {
	u := &Undecided{}
	groups := map[string]*gathered{}
	var order []*gathered
	for i := range record.Grids {
		g := &record.Grids[i]
		if g.Cancelled {
			continue
		}
		spec := &g.Submission.Spec
		add := func(p sweep.Parameters, ended bool) error {
			named := spec.Select.GroupOf(p)
			key, err := named.Canonical()
			if err != nil {
				return err
			}
			group := groups[string(key)]
			if group == nil {
				group = &gathered{UndecidedGroup: UndecidedGroup{Parameters: named}}
				groups[string(key)], order = group, append(order, group)
			}
			group.add(ctx, p, Replicate(spec, p), ended, e)
			return nil
		}
		if err := eachRow(ctx, store, record.ID, g, add); err != nil {
			return nil, err
		}
		unchosen, err := eachUnwritten(ctx, g, add)
		if err != nil {
			return nil, err
		}
		u.Unchosen += unchosen
	}
	u.Groups = len(order)
	for _, group := range order {
		if group.Done == group.Trials {
			continue
		}
		if u.Undecided++; len(u.List) < maxUndecided {
			u.List = append(u.List, group.summary())
		}
	}
	return u, nil
}

// Rows is what FindUndecided needs of a store.
type Rows interface {
	Rows(ctx context.Context, id string, from, until int64, yield func(*sweep.TrialRow) error) error
}

// rowPage is how many rows are read in one transaction.
const rowPage = 10_000

// eachRow calls add for the written trials of a grid.
func eachRow(ctx context.Context, store Rows, id string, g *sweep.GridRecord,
	add func(p sweep.Parameters, ended bool) error) error {
	for from := g.First; from < g.First+g.Cursor; from += rowPage {
		err := store.Rows(ctx, id, from, min(from+rowPage, g.First+g.Cursor), func(row *sweep.TrialRow) error {
			var p sweep.Parameters
			if err := p.UnmarshalJSON(row.Parameters); err != nil {
				return fmt.Errorf("parameters of trial %d: %w", row.Index, err)
			}
			return add(p, row.State.Terminal())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachUnwritten calls add for the trials of a grid that have no rows yet, and returns how many others there are, whose
// points depend on results.
func eachUnwritten(ctx context.Context, g *sweep.GridRecord,
	add func(p sweep.Parameters, ended bool) error) (unchosen int64, err error) {
	if g.Cursor >= g.Points {
		return 0, nil
	}
	grid, err := policy.NewGrid(&g.Submission.Spec)
	if err != nil {
		return 0, err
	}
	known := min(grid.Known(), g.Points)
	for i, point := range grid.All(g.Cursor) {
		if i >= known {
			break
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		resolved, err := g.Submission.Description.Resolve(point)
		if err != nil { // it will fail, in the group that its values say
			resolved = point
		}
		if err := add(resolved, false); err != nil {
			return 0, err
		}
	}
	return g.Points - max(known, g.Cursor), nil
}

// add counts a trial.
func (g *gathered) add(ctx context.Context, p sweep.Parameters, replicate int, ended bool, e *Estimator) {
	for len(g.left) <= replicate {
		g.left = append(g.left, 0)
	}
	if g.Trials++; ended {
		g.Done++
		return
	}
	g.left[replicate]++
	if g.estimated < maxEstimated {
		g.estimated++
		g.seconds += e.Of(ctx, p).Seconds
	}
}

// summary is the group with what follows from its trials.
func (g *gathered) summary() UndecidedGroup {
	u := g.UndecidedGroup
	u.Replicates = len(g.left)
	for u.Complete < u.Replicates && g.left[u.Complete] == 0 {
		u.Complete++
	}
	u.Seconds = g.seconds / float64(g.estimated) * float64(u.Trials-u.Done)
	return u
}

// Replicate is which replicate of its point a trial is, from 0: the position of its seed in the sweep file.
func Replicate(spec *sweep.Spec, p sweep.Parameters) int {
	if seeds := seedsOf(spec); seeds != nil {
		return int(max(seeds.Index(p[sweep.SeedParameter]), 0))
	}
	return 0
}

// maxReplicates bounds what is kept of a group, and how often the trials that are left are gone through.
const maxReplicates = 1000

// seedsOf are the seeds that tell a point's replicates apart, nil where the seed is drawn, goes with another parameter,
// or has more than maxReplicates values.
func seedsOf(spec *sweep.Spec) *sweep.Values {
	if spec.Random != nil && !spec.Random.Replicated {
		return nil
	}
	for i := range spec.Axes {
		parameters := spec.Axes[i].Parameters
		if len(parameters) == 1 && parameters[0].Name == sweep.SeedParameter && spec.Axes[i].Len() <= maxReplicates {
			return &parameters[0].Values
		}
	}
	return nil
}
