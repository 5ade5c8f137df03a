package frame

import (
	"context"

	"sweep/sweep"
)

// Read returns a frame of the trials of one sweep that fit a query. It knows some names even if no trial has them.
func Read(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord, q sweep.TrialQuery,
	names ...sweep.Name) (*Frame, error) {
	f, err := New("", record)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if kind, own := name.Parts(); kind == sweep.ParameterKind || kind == sweep.MetricKind {
			f.member(kind, own)
		}
	}
	var p *page
	from := int64(0)
	q.Sweeps, q.OrderBy, q.Descending = []string{record.ID}, "", false
	err = results.Trials(ctx, q, func(t *sweep.TrialRecord) error {
		if p != nil && t.Index >= from+chunk {
			if err := f.save(from, p); err != nil {
				return err
			}
			p = nil
		}
		if p == nil {
			from = t.Index / chunk * chunk
			p = &page{states: make([]State, chunk), values: map[*column][]uint64{}}
		}
		f.record(p, int(t.Index-from), t)
		return nil
	})
	if err == nil && p != nil {
		err = f.save(from, p)
	}
	if err != nil {
		_ = f.Close() // the first error is the one that matters
		return nil, err
	}
	return f, nil
}

// record enters what is compared of a trial.
func (f *Frame) record(p *page, i int, t *sweep.TrialRecord) {
	p.states[i] = stateOf(&sweep.TrialRow{State: t.State, Diverged: t.Result != nil && t.Result.Diverged})
	for name, value := range t.Parameters {
		if raw, err := sweep.CanonicalJSON(value); err == nil { // a stored value has a form
			c := f.member(sweep.ParameterKind, name)
			f.enter(p, i, c, f.encode(c, raw))
		}
	}
	if t.Result != nil {
		for name, value := range t.Result.Summary {
			p.set(f.member(sweep.MetricKind, name), i, number(value))
		}
	}
}
