package frame

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"sweep/sweep"
)

// SweepColumn names the sweep of trials of several, as if it were a parameter.
const SweepColumn = "sweep"

// readSweep is a sweep that was Read: its first row is that of the trial.
type readSweep struct {
	sweep.TrialID
	trainer string
}

// Read returns a frame of the trials of sweeps that fit a query. It knows some names even if no trial has them.
func Read(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord, q sweep.TrialQuery,
	names ...sweep.Name) (*Frame, error) {
	return read(ctx, results, records, q, false, names)
}

// ReadColumns is Read of these parameters and metrics alone.
func ReadColumns(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord, q sweep.TrialQuery,
	names ...sweep.Name) (*Frame, error) {
	return read(ctx, results, []*sweep.SweepRecord{record}, q, true, names)
}

func read(ctx context.Context, results sweep.Reader, records []*sweep.SweepRecord, q sweep.TrialQuery, only bool,
	names []sweep.Name) (f *Frame, err error) {
	if f, err = New("", records...); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first error is the one that matters
		}
	}()
	var columns []*column // nil for all
	for _, name := range names {
		if kind, own := name.Parts(); kind == sweep.ParameterKind || kind == sweep.MetricKind {
			if c := f.member(kind, own); only {
				columns = append(columns, c)
			}
		}
	}
	q.OrderBy, q.Descending = "", false
	for _, record := range records {
		first := (f.loaded.Rows + chunk - 1) / chunk * chunk
		f.sweeps = append(f.sweeps, readSweep{sweep.TrialID{Sweep: record.ID, Index: first}, record.Trainer})
		title := record.Name
		if slices.ContainsFunc(records, func(r *sweep.SweepRecord) bool { return r != record && r.Name == title }) {
			title = record.ID
		}
		var p *page
		from := first
		q.Sweeps = []string{record.ID}
		err = results.Trials(ctx, q, func(t *sweep.TrialRecord) error {
			row := first + t.Index
			if p != nil && row >= from+chunk {
				if err := f.save(from, p); err != nil {
					return err
				}
				p = nil
			}
			if p == nil {
				from = row / chunk * chunk
				p = &page{states: make([]State, chunk), values: map[*column][]uint64{}}
			}
			f.record(p, int(row-from), t, columns)
			if len(records) > 1 {
				f.parameter(p, int(row-from), f.member(sweep.ParameterKind, SweepColumn), title)
			}
			return nil
		})
		if err == nil && p != nil {
			err = f.save(from, p)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// Sweeps is of how many sweeps a frame was Read.
func (f *Frame) Sweeps() int { return len(f.sweeps) }

// Trial returns the trial of a row of a frame that was Read.
func (f *Frame) Trial(row int64) sweep.TrialID {
	of := f.sweepOf(row)
	return sweep.TrialID{Sweep: of.Sweep, Index: row - of.Index}
}

func (f *Frame) sweepOf(row int64) *readSweep {
	at := len(f.sweeps) - 1
	for f.sweeps[at].Index > row {
		at--
	}
	return &f.sweeps[at]
}

// Once returns what tells, of a frame that was Read, whether a row is the first that it is called with of those that
// are one trial: they have one trainer and, sweep aside, the same parameters.
func (f *Frame) Once(ctx context.Context) (func(row int64) bool, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var columns []*column
	for own, c := range f.members[sweep.ParameterKind] {
		if own != SweepColumn || len(f.sweeps) == 1 {
			columns = append(columns, c)
		}
	}
	all, err := f.compile(Filter{})
	if err != nil {
		return nil, err
	}
	keys := make([]uint64, f.loaded.Rows)
	for b, err := range f.batches(ctx, all, columns) {
		if err != nil {
			return nil, err
		}
		for _, i := range b.matches {
			keys[b.base+int64(i)] = hash(b.values, i)
		}
	}
	type identity struct {
		trainer string
		key     uint64
	}
	met := map[identity]bool{}
	return func(row int64) bool {
		one := identity{f.sweepOf(row).trainer, keys[row]}
		again := met[one]
		met[one] = true
		return !again
	}, nil
}

// Cells returns the values of a column by row, as in a Group; all are nil if there is no such column.
func (f *Frame) Cells(ctx context.Context, name sweep.Name) ([]any, error) {
	cells := make([]any, f.Loaded().Rows)
	err := f.Each(ctx, []sweep.Name{name}, func(row int64, values []any) { cells[row] = values[0] })
	return cells, err
}

// Each calls yield for each trial, in order, with its values of columns, as Cells returns them. They are overwritten by
// those of the next trial.
func (f *Frame) Each(ctx context.Context, names []sweep.Name, yield func(row int64, values []any)) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	columns := make([]*column, len(names))
	for k, name := range names {
		if columns[k] = f.byName[name]; columns[k] == nil {
			columns[k] = &column{constant: missing, null: missing}
		}
	}
	wanted, err := f.compile(Filter{})
	if err != nil {
		return err
	}
	values := make([]any, len(names))
	for b, err := range f.batches(ctx, wanted, columns) {
		if err != nil {
			return err
		}
		for _, i := range b.matches {
			for k, c := range columns {
				values[k] = c.shared(b.values[k][i])
			}
			yield(b.base+int64(i), values)
		}
	}
	return nil
}

// Stored returns a value of a Group or of Cells, other than nil, as parameters have it.
func Stored(value any) any {
	switch v := value.(type) {
	case float64:
		if whole := int64(v); float64(whole) == v && math.Abs(v) < 1<<53 {
			return whole
		}
	case json.RawMessage:
		if decoded, err := sweep.DecodeValue(v); err == nil {
			return decoded
		}
	}
	return value
}

// record enters what is compared of a trial: some columns, or all.
func (f *Frame) record(p *page, i int, t *sweep.TrialRecord, columns []*column) {
	p.states[i] = stateOf(&sweep.TrialRow{State: t.State, Diverged: t.Result != nil && t.Result.Diverged})
	var summary map[string]float64
	if t.Result != nil {
		summary = t.Result.Summary
	}
	for _, c := range columns {
		if value, ok := t.Parameters[c.name]; ok && c.kind == sweep.ParameterKind {
			f.parameter(p, i, c, value)
		} else if value, ok := summary[c.name]; ok && c.kind == sweep.MetricKind {
			p.set(c, i, number(value))
		}
	}
	if columns != nil {
		return
	}
	for name, value := range t.Parameters {
		f.parameter(p, i, f.member(sweep.ParameterKind, name), value)
	}
	for name, value := range summary {
		p.set(f.member(sweep.MetricKind, name), i, number(value))
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
