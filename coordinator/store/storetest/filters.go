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
// lists of groups and agents read, and that the statement behind the list gives it, too.
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
		result.Summary["trial_index"] = []float64{1 << 53, 1 << 60, 1e-300, 0, -1e17}[i%5]
		if i%4 == 0 {
			result.Labels = &sweep.RunLabels{Name: fmt.Sprint("run ", i%3), Group: "it's", Tags: []string{"a", fmt.Sprint(i % 6)}}
		}
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

	checks := 0
	check := func(query sweep.TrialQuery) {
		t.Helper()
		query.Sweeps = []string{"s1"}
		var got []int64
		err := f.Trials(f.ctx, query, func(r *sweep.TrialRecord) error {
			got = append(got, r.Index)
			return nil
		})
		behind := sweep.Listing{Where: query.Where, OrderBy: query.OrderBy, Descending: query.Descending}
		statement, wrong := f.Statement(f.ctx, "s1", behind)
		var listed []int64
		switch checks++; {
		case wrong != nil:
		case query.OrderBy == "" && checks%3 > 0: // as many take seconds
			listed = got
		default:
			listed = f.listed(statement)
		}
		if (err == nil) != (wrong == nil) || !slices.Equal(got, listed) {
			t.Errorf("%+v:\nthe store has %v (%v)\nthe statement behind it %v (%v)\n%s", query, got, err, listed, wrong,
				statement)
		}
		for name, one := range map[string]*frame.Frame{"rows": rows, "records": records} {
			if name == "records" && slices.ContainsFunc(ungrouped, func(field string) bool { return of(query, field) }) {
				continue
			}
			want, wrong := framed(f.ctx, one, query, int(n))
			if (err == nil) != (wrong == nil) || !slices.Equal(got, want) {
				t.Errorf("%+v:\nthe store has %v (%v)\na frame of %s %v (%v)", query, got, err, name, want, wrong)
			}
		}
	}
	for _, name := range []sweep.Name{"v", "parameter.v", "metric.v", "metric.trial_index"} {
		for _, operator := range append(slices.Clone(sweep.Operators), sweep.Has, sweep.Lacks, "~") {
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
	for operator, want := range map[string][]int64{"=": {0, 1}, sweep.Lacks: {n - 2, n - 1}} { // null is a value
		got, err := framed(f.ctx, rows, sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: "parameter.v",
			Operator: operator}}}, int(n))
		if f.must(err); !slices.Equal(got, want) {
			t.Errorf("v %s null: %v, want %v", operator, got, want)
		}
	}
	for _, operator := range sweep.Operators {
		for _, state := range append(slices.Clone(frame.StateNames[1:]), "none") {
			check(sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: "trial.state", Operator: operator, Value: state}}})
		}
	}
	for _, field := range ungrouped {
		for _, operator := range append(slices.Clone(sweep.Operators), sweep.Has, sweep.Lacks) {
			for _, value := range []any{nil, int64(1), int64(3), 2.5, "run 1", "it's", "a", "5", "A"} {
				check(sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: sweep.FieldKind.Of(field), Operator: operator,
					Value: value}}})
			}
		}
	}
	for _, descending := range []bool{false, true} {
		for _, field := range append([]string{"index", "state"}, ungrouped...) {
			check(sweep.TrialQuery{OrderBy: sweep.FieldKind.Of(field), Descending: descending})
		}
		check(sweep.TrialQuery{OrderBy: "parameter.v", Descending: descending, Where: []sweep.TrialCondition{
			{Name: "even", Operator: "=", Value: true}, {Name: "metric.v", Operator: ">=", Value: 2}}})
	}
	var means []frame.Groups
	for _, one := range []*frame.Frame{rows, records} {
		groups, err := one.Groups(f.ctx, frame.GroupQuery{By: []string{}, Metrics: []string{"metric.trial_index"}, All: true})
		f.must(err)
		means = append(means, *groups)
	}
	if got, want := means[0].Groups[0].Metrics[0], means[1].Groups[0].Metrics[0]; got.N != want.N || *got.Mean != *want.Mean {
		t.Errorf("the mean of %d values is %v, want %v of %d", got.N, *got.Mean, *want.Mean, want.N)
	}
	for s, name := range frame.StateNames[1:] {
		states := []frame.State{frame.State(s + 1), frame.Diverged}
		page, err := rows.Page(f.ctx, frame.Query{Filter: frame.Filter{States: states}, Limit: int(n), Offset: 1})
		f.must(err)
		var want []int64
		for _, row := range page.Rows {
			want = append(want, row.Index)
		}
		statement, err := f.Statement(f.ctx, "s1", sweep.Listing{States: []string{name, "diverged"}, Offset: 1,
			Columns: []sweep.Name{"metric.trial_index", "trial.tag"}, Headings: []string{"trial_index", "tag"}})
		f.must(err)
		if listed := f.listed(statement); !slices.Equal(listed, want) {
			t.Errorf("%s has %v, want %v\n%s", states, listed, want, statement)
		}
	}
}

// ungrouped are the fields that no group is compared by.
var ungrouped = []string{"seconds", "executions", "run_name", "run_group", sweep.TagColumn}

// listed are the trials of a statement.
func (f *fixture) listed(statement string) (list []int64) {
	f.t.Helper()
	f.must(f.Query(f.ctx, statement, func(_ []string, row []any) error {
		list = append(list, row[0].(int64))
		return nil
	}))
	return list
}

// of reports whether a query is about a field.
func of(query sweep.TrialQuery, field string) bool {
	name := sweep.FieldKind.Of(field)
	return query.OrderBy == name || slices.ContainsFunc(query.Where, func(c sweep.TrialCondition) bool {
		return c.Name == name
	})
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
