package policy

import (
	"cmp"
	"fmt"
	"slices"
)

// Halving runs cohorts of consecutive trials to rungs of growing budgets, and at each rung goes on
// with the best of a cohort. A rung closes when each of the cohort that is still there has a value
// or has failed, so a decision depends on no order of arrival: synchronous successive halving (K.
// Jamieson, A. Talwalkar, Non-stochastic best arm identification and hyperparameter optimization,
// AISTATS 2016).
type Halving struct {
	// Cohort is how many consecutive trials are compared.
	Cohort int
	// Eta is by how much the cohort shrinks at each rung, above 1.
	Eta float64
	// Rungs is how many rungs there are; after the last one a trial is complete.
	Rungs int
}

// Climb is how far a trial is: its values at the rungs that it has reached; smaller is better.
type Climb struct {
	Index  int64
	Values []float64
	// Failed says that there will be no value beyond these.
	Failed bool
}

// Verdicts are the decisions at rungs that have closed.
type Verdicts struct {
	// Next are the trials that go on, with the rung that they go on to.
	Next []Promotion
	// Stops are those that do not; Band is the rung.
	Stops []Stop
}

// Promotion is a trial that goes on to a rung, numbered from 0.
type Promotion struct {
	Index int64
	Rung  int
}

// Judge returns all decisions so far. Trials has the climbs of trials 0 to most - 1; the last cohort
// may be smaller.
func (h *Halving) Judge(trials []Climb, most int) (Verdicts, error) {
	if h.Cohort < 1 || !(h.Eta > 1) || h.Rungs < 1 {
		return Verdicts{}, fmt.Errorf("halving of %d trials at %d rungs by %v: expected at least 1, 1, and above 1",
			h.Cohort, h.Rungs, h.Eta)
	}
	known := make([]*Climb, most)
	for i := range trials {
		if index := trials[i].Index; index < 0 || index >= int64(most) {
			return Verdicts{}, fmt.Errorf("a value of trial %d, where there are %d", index, most)
		}
		known[trials[i].Index] = &trials[i]
	}
	var v Verdicts
	for first := 0; first < most; first += h.Cohort {
		h.judge(known[first:min(first+h.Cohort, most)], &v)
	}
	return v, nil
}

// judge adds the decisions about one cohort, nil for trials of which nothing is known.
func (h *Halving) judge(cohort []*Climb, v *Verdicts) {
	there := slices.Clone(cohort)
	for rung := range h.Rungs - 1 {
		var reached []*Climb
		for _, c := range there {
			switch {
			case c != nil && len(c.Values) > rung:
				reached = append(reached, c)
			case c == nil || !c.Failed:
				return // the rung is open
			}
		}
		slices.SortFunc(reached, func(a, b *Climb) int {
			return cmp.Or(cmp.Compare(a.Values[rung], b.Values[rung]), cmp.Compare(a.Index, b.Index))
		})
		keep := min(max(int(float64(len(there))/h.Eta), 1), len(reached))
		for _, c := range reached[:keep] {
			v.Next = append(v.Next, Promotion{c.Index, rung + 1})
		}
		for _, c := range reached[keep:] {
			v.Stops = append(v.Stops, Stop{c.Index, rung, c.Values[rung], reached[keep-1].Values[rung]})
		}
		there = reached[:keep]
	}
}
