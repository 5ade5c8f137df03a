package frame

import (
	"context"
	"math"

	"sweep/sweep"
)

// Read returns a frame of the trials of one sweep that fit a query. It knows some names even if no trial has them.
func Read(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord, q sweep.TrialQuery,
	names ...sweep.Name) (*Frame, error) {
	return read(ctx, results, record, q, false, names)
}

// ReadColumns is Read of these parameters and metrics alone.
func ReadColumns(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord, q sweep.TrialQuery,
	names ...sweep.Name) (*Frame, error) {
	return read(ctx, results, record, q, true, names)
}

func read(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord, q sweep.TrialQuery, only bool,
	names []sweep.Name) (*Frame, error) {
	f, err := New("", record)
	if err != nil {
		return nil, err
	}
	var columns []*column // nil for all
	for _, name := range names {
		if kind, own := name.Parts(); kind == sweep.ParameterKind || kind == sweep.MetricKind {
			if c := f.member(kind, own); only {
				columns = append(columns, c)
			}
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
		f.record(p, int(t.Index-from), t, columns)
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

// record enters what is compared of a trial: some columns, or all.
func (f *Frame) record(p *page, i int, t *sweep.TrialRecord, columns []*column) {
	p.states[i] = stateOf(&sweep.TrialRow{State: t.State, Diverged: t.Result != nil && t.Result.Diverged})
	if columns != nil {
		for _, c := range columns {
			if c.kind == sweep.MetricKind {
				if t.Result != nil {
					if value, ok := t.Result.Summary[c.name]; ok {
						p.set(c, i, number(value))
					}
				}
			} else if value, ok := t.Parameters[c.name]; ok {
				f.parameter(p, i, c, value)
			}
		}
		return
	}
	for name, value := range t.Parameters {
		f.parameter(p, i, f.member(sweep.ParameterKind, name), value)
	}
	if t.Result != nil {
		for name, value := range t.Result.Summary {
			p.set(f.member(sweep.MetricKind, name), i, number(value))
		}
	}
}

// parameter enters a parameter's value.
func (f *Frame) parameter(p *page, i int, c *column, value any) {
	const exact = 1 << 53
	switch v := value.(type) {
	case int64:
		if -exact < v && v < exact {
			f.enter(p, i, c, number(float64(v)))
			return
		}
	case float64:
		if v != 0 && math.Abs(v) < exact { // 0 has two forms
			f.enter(p, i, c, number(v))
			return
		}
	}
	if raw, err := sweep.CanonicalJSON(value); err == nil { // a stored value has a form
		f.enter(p, i, c, f.encode(c, raw))
	}
}
