package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// testNames: parameters, metrics and fields are found by their names, whatever they are, also where they are called
// alike, and t has a column for each.
func testNames(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	s := submission("names")
	s.Description.Metrics, s.Description.Parameters, s.Description.Open = nil, nil, true
	s.Spec.Select.By = "loss"
	long := strings.Repeat("long ", 20)
	parameters := sweep.Parameters{}
	for i, name := range []string{"lr", "loss", "C", "c", "[0]", "$x", `n"q`, "a, b", "p<0.05", `a\b`, "it's", "metric.lr",
		"state", "index", "tag", "1", "Select", "select", long + "1", long + "2", "ü", "Ü", "count", "Count"} {
		list := []any{int64(i), int64(i + 100)}
		parameters[name] = int64(i)
		s.Spec.Axes = append(s.Spec.Axes,
			sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: sweep.Values{List: list}}}})
	}
	mixed := []any{nil, "null", int64(1), "1", true, "true", int64(1<<53 + 1), 0.5}
	s.Spec.Axes = append(s.Spec.Axes,
		sweep.Axis{Parameters: []sweep.AxisParameter{{Name: "mixed", Values: sweep.Values{List: mixed}}}})
	f.makeSweep("s1", s, int64(len(mixed)))
	page := trials("s1", 0, int64(len(mixed)))
	for i := range page {
		page[i].Parameters = parameters.Clone()
		page[i].Parameters["mixed"] = mixed[i]
		page[i].Parameters["lr"] = int64(i)
	}
	f.write("s1", 0, 0, page)
	metrics := []string{"loss", "lr", "C", "D", "d", "maP@[IoU=0.5]", "p<0.05", "acc, top-5", `m"q`, "state", "index",
		"seconds", "best_epoch", "tag", "step", "worker", "trial_index", "metric.lr", "$y", "[1]", long + "1", long + "3"}
	for i := range page {
		result := completed(1, fmt.Sprint(i))
		result.Summary = map[string]float64{}
		for k, name := range metrics {
			result.Summary[name] = float64(1000*k - i)
		}
		f.complete(trialID("s1", int64(i)), result)
	}
	record, err := f.Sweep(f.ctx, "s1")
	f.must(err)
	names := sweep.NamesOf(record)
	for _, name := range metrics {
		if !names.Has(sweep.MetricKind.Of(name)) {
			t.Errorf("the record of the sweep lacks the metric %s", name)
		}
	}
	count := func(where ...sweep.TrialCondition) (n int) {
		t.Helper()
		f.must(f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, Where: where},
			func(*sweep.TrialRecord) error { n++; return nil }))
		return n
	}
	sorted := func(by sweep.Name) (list string) {
		t.Helper()
		for _, limit := range []int{0, 8} {
			list = ""
			f.must(f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: by, Limit: limit},
				func(r *sweep.TrialRecord) error { list += fmt.Sprint(r.Index); return nil }))
		}
		return list
	}
	for k, name := range metrics {
		metric := sweep.MetricKind.Of(name)
		if n := count(sweep.TrialCondition{Name: metric, Operator: ">=", Value: 1000*k - 3}); n != 4 {
			t.Errorf("%s: %d trials", metric, n)
		}
		if list := sorted(metric); list != "76543210" {
			t.Errorf("by %s: %s", metric, list)
		}
	}
	for name, value := range parameters {
		if n := count(sweep.TrialCondition{Name: sweep.ParameterKind.Of(name), Operator: "=", Value: value}); name != "lr" && n != 8 {
			t.Errorf("parameter %s: %d trials", name, n)
		}
	}
	if list := sorted("parameter.lr") + sorted("trial.index") + sorted("lr"); list != "012345670123456701234567" {
		t.Errorf("by lr and by index: %s", list)
	}
	for _, query := range []sweep.TrialQuery{{OrderBy: "trial.nothing"},
		{Where: []sweep.TrialCondition{{Name: "trial.nothing", Operator: "=", Value: 1}}}} {
		if err := f.Trials(f.ctx, query, func(*sweep.TrialRecord) error { return nil }); err == nil {
			t.Errorf("%+v has an answer", query)
		}
	}
	for i, value := range mixed {
		if n := count(sweep.TrialCondition{Name: "parameter.mixed", Operator: "=", Value: value}); n != 1 {
			t.Errorf("mixed = %v (%d): %d trials", value, i, n)
		}
	}
	testNamesOfView(f, parameters, metrics, len(mixed))
}

// testNamesOfView asks for the columns of t.
func testNamesOfView(f *fixture, parameters sweep.Parameters, metrics []string, all int) {
	quoted := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	one := func(sql string) (columns []string, row []any) {
		f.t.Helper()
		f.must(f.QuerySweep(f.ctx, "s1", sql, func(c []string, r []any) error {
			columns, row = append([]string{}, c...), append([]any{}, r...)
			return nil
		}))
		return columns, row
	}
	check := func(name string, want any) {
		f.t.Helper()
		for _, sql := range []string{"SELECT %s FROM t WHERE trial_index = 2", "SELECT t.%s FROM t WHERE trial_index = 2",
			"WITH x AS (SELECT /* \"c\" */ * FROM t) SELECT %s FROM x WHERE trial_index = 2 AND 'C' <> 'c'"} {
			columns, row := one(fmt.Sprintf(sql, quoted(name)))
			if len(row) != 1 || columns[0] != name || fmt.Sprint(row[0]) != fmt.Sprint(want) {
				f.t.Errorf("%s: %v %v, want %v", fmt.Sprintf(sql, quoted(name)), columns, row, want)
			}
		}
	}
	for name, value := range parameters {
		if name != "lr" && name != "metric.lr" {
			check(name, value)
		}
	}
	check("lr", 2)
	fields := []string{"seconds", "trial_index", "worker"}
	for k, name := range metrics {
		want := 1000*k - 2
		switch _, parameter := parameters[name]; {
		case name == "lr":
			check(`metric."lr"`, want)
		case name == "metric.lr":
			check("metric.metric.lr", want)
		case parameter || slices.Contains(fields, name):
			check("metric."+name, want)
		default:
			check(name, want)
		}
	}
	check("trial.state", sweep.Completed)
	for _, sql := range []string{"SELECT [c] FROM t WHERE trial_index = 2", "SELECT `c` FROM t WHERE trial_index = 2"} {
		// SQLite takes these for names, Postgres does not.
		err := f.QuerySweep(f.ctx, "s1", sql, func(columns []string, row []any) error {
			if columns[0] != "c" || fmt.Sprint(row[0]) != fmt.Sprint(parameters["c"]) {
				f.t.Errorf("%s: %v %v", sql, columns, row)
			}
			return nil
		})
		if err != nil && !strings.Contains(err.Error(), "syntax error") {
			f.t.Errorf("%s: %v", sql, err)
		}
	}
	columns, _ := one("SELECT * FROM t")
	seen := map[string]bool{}
	for _, name := range columns {
		if seen[name] {
			f.t.Errorf("two columns are called %s", name)
		}
		seen[name] = true
	}
	for name := range parameters {
		if !seen[name] {
			f.t.Errorf("t has no column %s", name)
		}
	}
	groups := 0
	f.must(f.QuerySweep(f.ctx, "s1", "SELECT mixed, count(*) FROM t GROUP BY mixed", func(_ []string, row []any) error {
		groups++
		return nil
	}))
	if groups != all {
		f.t.Errorf("%d values of several types are %d groups", all, groups)
	}
}
