package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// filterValues are values of a parameter of every type; rows without one have no entry.
var filterValues = []any{nil, "null", int64(1), "1", true, "true", false, 2.5, int64(-3), 1e300, 1e-300, int64(1<<53 + 1),
	int64(1 << 53), 9007199254740993.5, []any{int64(1), "x"}, []any{}, map[string]any{"a": int64(1)}, "", "a", "B", "é", "1.0",
	"[1]", int64(0), 0.1}

// testFilters holds that every condition and order gives the answer of a frame, which is what the dashboard,
// lists of groups and agents read.
func testFilters(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	n := int64(2*len(filterValues) + 2)
	s := submission("filters")
	for name, list := range map[string][]any{"v": filterValues, "even": {true, false}} {
		s.Spec.Axes = append(s.Spec.Axes,
			sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: sweep.Values{List: list}}}})
	}
	f.makeSweep("s1", s, n)
	page := trials("s1", 0, n)
	for i := range page {
		page[i].Parameters = sweep.Parameters{"even": i%2 == 0}
		if i/2 < len(filterValues) {
			page[i].Parameters["v"] = filterValues[i/2]
		}
	}
	f.write("s1", 0, 0, page)
	for i := range n - 3 {
		result := completed(float64(i%7)/4, fmt.Sprint(i))
		result.Summary["v"], result.Seconds = float64(i%5), float64(i%4+1)
		result.Summary[sweep.BestEpochMetric] = float64(i % 3)
		if i%5 == 0 {
			delete(result.Summary, "v")
		}
		switch i % 11 {
		case 3:
			result = &sweep.Result{State: sweep.Failed, Error: "broken"}
		case 5:
			result.Diverged = true
		case 7:
			delete(result.Summary, "v")
			result.NotFinite = []string{"v"}
		}
		f.complete(trialID("s1", i), result)
	}
	record, err := f.Sweep(f.ctx, "s1")
	f.must(err)
	rows, err := frame.New(t.TempDir(), record)
	f.must(err)
	defer func() { f.must(rows.Close()) }()
	f.must(rows.Load(frame.Span{Until: n}, func(yield func(*sweep.TrialRow) error) error {
		return f.Rows(f.ctx, "s1", 0, n, yield)
	}))
	records, err := frame.Read(f.ctx, f.Store, []*sweep.SweepRecord{record}, sweep.TrialQuery{})
	f.must(err)
	defer func() { f.must(records.Close()) }()

	check := func(query sweep.TrialQuery) {
		t.Helper()
		query.Sweeps = []string{"s1"}
		var got []int64
		err := f.Trials(f.ctx, query, func(r *sweep.TrialRecord) error {
			got = append(got, r.Index)
			return nil
		})
		for name, one := range map[string]*frame.Frame{"rows": rows, "records": records} {
			if own := query.OrderBy.Own(); name == "records" && own == "seconds" {
				continue // which no group is compared by
			}
			want, wrong := framed(f.ctx, one, query, int(n))
			if (err == nil) != (wrong == nil) || !slices.Equal(got, want) {
				t.Errorf("%+v:\nthe store has %v (%v)\na frame of %s %v (%v)", query, got, err, name, want, wrong)
			}
		}
	}
	for _, name := range []sweep.Name{"v", "parameter.v", "metric.v"} {
		for _, operator := range append(slices.Clone(sweep.Operators), "~") {
			for _, value := range append(slices.Clone(filterValues), int64(2), 1.0, 2, "b", false, []any{int64(1)}) {
				check(sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: name, Operator: operator, Value: value}}})
			}
		}
		for _, descending := range []bool{false, true} {
			if name == "v" { // which the store takes for the parameter, and who sorts a list for the metric
				continue
			}
			check(sweep.TrialQuery{OrderBy: name, Descending: descending})
		}
	}
	for _, operator := range sweep.Operators {
		for _, state := range append(slices.Clone(frame.StateNames[1:]), "none") {
			check(sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: "trial.state", Operator: operator, Value: state}}})
		}
	}
	for _, descending := range []bool{false, true} {
		check(sweep.TrialQuery{OrderBy: "trial.state", Descending: descending})
		check(sweep.TrialQuery{OrderBy: "trial.seconds", Descending: descending})
		check(sweep.TrialQuery{OrderBy: "parameter.v", Descending: descending, Where: []sweep.TrialCondition{
			{Name: "even", Operator: "=", Value: true}, {Name: "metric.v", Operator: ">=", Value: 2}}})
	}
}

// framed answers a query from a frame.
func framed(ctx context.Context, f *frame.Frame, query sweep.TrialQuery, limit int) (list []int64, err error) {
	page, err := f.Page(ctx, frame.Query{Filter: frame.Filter{Where: query.Where}, OrderBy: string(query.OrderBy),
		Descending: query.Descending, Limit: limit})
	if err != nil {
		return nil, err
	}
	for _, row := range page.Rows {
		list = append(list, row.Index)
	}
	return list, nil
}
