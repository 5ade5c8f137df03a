package ledger

import (
	"cmp"
	"slices"

	"sweep/sweep"
)

// Spending is what a batch of events used of a budget: trials that ran to an end, less those that go on after all, and
// the time of executions that ended: of those that a cancellation ended, when they report it.
type Spending struct{ Budget, Trials, Milliseconds int64 }

// Spending returns what the events used of each budget, by its key.
func (l *Ledger) Spending() (list []Spending) {
	used := map[int64]*Spending{}
	of := func(trial *Trial) *Spending {
		if used[trial.Budget] == nil {
			used[trial.Budget] = &Spending{Budget: trial.Budget}
		}
		return used[trial.Budget]
	}
	for _, trial := range l.Trials {
		switch before, now := trial.loaded.Terminal(), trial.State.Terminal(); {
		case trial.Budget == 0:
		case !before && now:
			of(trial).Trials++
		case before && !now && trial.loaded == sweep.Failed: // a charge was taken back
			of(trial).Trials--
		}
	}
	for _, e := range l.Executions {
		if e.Trial.Budget != 0 && e.unended && !e.EndedAt.IsZero() && !e.unreported() {
			of(e.Trial).Milliseconds += max(e.EndedAt.Sub(e.StartedAt).Milliseconds(), 0)
		}
	}
	for _, s := range used {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Spending) int { return cmp.Compare(a.Budget, b.Budget) })
	return list
}
