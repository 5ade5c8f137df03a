package ledger

import (
	"sweep/sweep"
)

// Class is a class of trials, by the store's number of its sweep and its own.
type Class struct{ Sweep, Number int64 }

// Counts are changes of counters, by class or by the store's number of a sweep.
type Counts[K comparable] map[K]*sweep.Progress

// Of returns those of a class or sweep, to be added to.
func (c Counts[K]) Of(key K) *sweep.Progress {
	if c[key] == nil {
		c[key] = &sweep.Progress{}
	}
	return c[key]
}

// Deltas returns by how much the counters of each class change.
func (l *Ledger) Deltas() Counts[Class] {
	deltas := Counts[Class]{}
	for _, trial := range l.Trials {
		if trial.refused != 0 {
			deltas.Of(trial.Class).Refused += trial.refused
		}
		if trial.loaded == trial.State {
			continue
		}
		delta := deltas.Of(trial.Class)
		Count(delta, trial.loaded, -1)
		Count(delta, trial.State, 1)
		if trial.Diverged {
			delta.Diverged++
		}
	}
	return deltas
}

// Counters are the counters of a sweep, those of the states first, by the names
// of their columns.
var Counters = []struct {
	Name string
	Of   func(p *sweep.Progress) *int64
}{
	{string(sweep.Pending), func(p *sweep.Progress) *int64 { return &p.Pending }},
	{string(sweep.Queued), func(p *sweep.Progress) *int64 { return &p.Queued }},
	{string(sweep.Running), func(p *sweep.Progress) *int64 { return &p.Running }},
	{string(sweep.Completed), func(p *sweep.Progress) *int64 { return &p.Completed }},
	{string(sweep.Failed), func(p *sweep.Progress) *int64 { return &p.Failed }},
	{string(sweep.Cancelled), func(p *sweep.Progress) *int64 { return &p.Cancelled }},
	{string(sweep.Stopped), func(p *sweep.Progress) *int64 { return &p.Stopped }},
	{string(sweep.Skipped), func(p *sweep.Progress) *int64 { return &p.Skipped }},
	{"reused", func(p *sweep.Progress) *int64 { return &p.Reused }},
	{"diverged", func(p *sweep.Progress) *int64 { return &p.Diverged }},
	{"faults", func(p *sweep.Progress) *int64 { return &p.Faults }},
	{"refused", func(p *sweep.Progress) *int64 { return &p.Refused }},
	{"quarantined", func(p *sweep.Progress) *int64 { return &p.Quarantined }},
}

// Columns appends pointers to all counters to a row, in their order.
func Columns(row []any, p *sweep.Progress) []any {
	for _, counter := range Counters {
		row = append(row, counter.Of(p))
	}
	return row
}

// Count adds n to the counter of a state.
func Count(p *sweep.Progress, state sweep.State, n int64) {
	for i := range Counters {
		if Counters[i].Name == string(state) {
			*Counters[i].Of(p) += n
		}
	}
}
