package storetest

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"sweep/sweep"
)

// testMetrics holds that every metric of a trainer sorts and filters, however many there
// are and whether its description names them, and that t has them all.
func testMetrics(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	s := submission("open")
	s.Description.Open = true
	s.Description.Metrics = []sweep.MetricSchema{
		{Name: "reward", Goal: "maximize", Summary: true}, {Name: "size", Summary: true},
		{Name: "lr", Goal: "minimize", Summary: true},
	}
	s.Spec.Axes = []sweep.Axis{
		{Parameters: []sweep.AxisParameter{{Name: "lr", Values: sweep.Values{List: []any{0.1, int64(1)}}}}},
		{Parameters: []sweep.AxisParameter{{Name: "model", Values: sweep.Values{List: []any{"rnn", int64(1)}}}}},
		{Parameters: []sweep.AxisParameter{{Name: "deep", Values: sweep.Values{List: []any{true, false}}}}},
		{Parameters: []sweep.AxisParameter{{Name: "it's", Values: sweep.Values{List: []any{int64(7)}}}}},
	}
	const trialsOf, metrics = 5, 40
	f.makeSweep("s1", s, trialsOf)
	f.makeSweep("s2", s, 1)
	page := trials("s1", 0, trialsOf)
	for i := range page {
		page[i].Parameters = sweep.Parameters{"lr": math.Ldexp(0.5, -i), "model": "rnn", "deep": i%2 == 0,
			"it's": int64(7)}
	}
	page[1].Parameters = sweep.Parameters{"lr": int64(1), "model": int64(1), "deep": true, "it's": int64(7)}
	f.write("s1", 0, 0, page)
	f.write("s2", 0, 0, trials("s2", 0, 1))
	// Metric m of trial i is (i·(m+2)) mod 5: 0, the order of the trials, or another one.
	value := func(i, m int) float64 { return float64(i * (m + 2) % 5) }
	report := func(i, from, to int) {
		result := completed(float64(i), fmt.Sprint(i))
		result.Summary["reward"], result.Summary["size"], result.Summary["lr"] = float64(10-i), 100, 3
		for m := from; m < to; m++ {
			result.Summary[fmt.Sprintf("Metric %02d", m)] = value(i, m)
		}
		f.complete(trialID("s1", int64(i)), result)
	}
	report(0, 0, metrics/2)
	for i := 1; i < trialsOf-1; i++ {
		report(i, 0, metrics)
	}
	f.complete(trialID("s2", 0), &sweep.Result{State: sweep.Completed,
		Summary: map[string]float64{"Metric 39": 1, "alone": 2}})

	list := func(q sweep.TrialQuery) string {
		t.Helper()
		q.Sweeps = append(q.Sweeps, "s1")
		var all []string
		f.must(f.Trials(f.ctx, q, func(r *sweep.TrialRecord) error {
			all = append(all, strings.TrimPrefix(r.String(), "s1/"))
			return nil
		}))
		return strings.Join(all, " ")
	}
	for m := range metrics {
		name := fmt.Sprintf("Metric %02d", m)
		with, without := []int{1, 2, 3}, "0 4"
		if m < metrics/2 {
			with, without = []int{0, 1, 2, 3}, "4"
		}
		rising := make([]string, 5)
		for _, i := range with { // m+2 is a multiple of 5, and all values are 0, or they differ
			if (m+2)%5 == 0 {
				rising[i] = fmt.Sprint(i)
			} else {
				rising[int(value(i, m))] = fmt.Sprint(i)
			}
		}
		want := strings.Join(strings.Fields(strings.Join(rising, " ")), " ")
		if got := list(sweep.TrialQuery{OrderBy: sweep.MetricKind.Of(name)}); got != want+" "+without {
			t.Errorf("by %s: %s, want %s %s", name, got, want, without)
		}
		first := strings.Fields(want)
		if got := list(sweep.TrialQuery{OrderBy: sweep.MetricKind.Of(name), Limit: 1, After: new(trialID("s1", int64(first[0][0]-'0')))}); got != first[1] {
			t.Errorf("by %s after %s: %s, want %s", name, first[0], got, first[1])
		}
		if got := list(sweep.TrialQuery{OrderBy: sweep.MetricKind.Of(name),
			Where: []sweep.TrialCondition{{Name: sweep.Name(name), Operator: ">=", Value: 0}}}); got != want {
			t.Errorf("by %s, those that have it: %s, want %s", name, got, want)
		}
	}
	if got := list(sweep.TrialQuery{OrderBy: "size", Descending: true,
		Where: []sweep.TrialCondition{{Name: "reward", Operator: "<", Value: 9},
			{Name: "Metric 39", Operator: "!=", Value: 4}}}); got != "2 3" {
		t.Errorf("by a fact: %s", got)
	}
	if got := list(sweep.TrialQuery{Sweeps: []string{"s2"}, OrderBy: "Metric 39"}); got != "1 s2/0 2 3 0 4" {
		t.Errorf("of two sweeps: %s", got)
	}

	rows := func(sql string) (columns []string, all [][]any) {
		t.Helper()
		f.must(f.QuerySweep(f.ctx, "s1", sql, func(c []string, row []any) error {
			columns, all = c, append(all, row)
			return nil
		}))
		return columns, all
	}
	columns, all := rows(`SELECT * FROM t ORDER BY trial_index`)
	names := strings.Join(columns, ",")
	for _, part := range []string{"trial_index,state,", ",lr,model,", ",deep,it's,", ",metric.lr,", ",reward,",
		",Metric 00,Metric 01,"} {
		if !strings.Contains(names+",", part) {
			t.Errorf("columns %s lack %s", names, part)
		}
	}
	if len(all) != trialsOf {
		t.Errorf("%d rows", len(all))
	}
	for sql, want := range map[string][]any{
		`SELECT count(*), sum("Metric 39"), avg(lr), max("metric.lr") FROM t WHERE deep`:                                                  {int64(4), value(1, 39) + value(2, 39), (0.5 + 1 + 0.125 + 0.03125) / 4, 3.0},
		`SELECT model, "it's", size, reward FROM t WHERE trial_index = 1`:                                                                 {"1", int64(7), 100.0, 9.0},
		"  with best AS (SELECT min(reward) AS x FROM t)\nSELECT trial_index FROM t, best WHERE t.reward = x":                             {int64(3)},
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT count(*) FROM t JOIN n ON i = trial_index`:    {int64(3)},
		"-- the best\n/* of\nall */ with/**/best AS (SELECT min(reward) AS x FROM t)\nSELECT trial_index FROM t, best WHERE t.reward = x": {int64(3)},
		"/* all */WITH --\nRECURSIVE\tn(i) AS (SELECT 1) SELECT count(*) FROM t JOIN n ON i = trial_index":                                {int64(1)},
		"-- all\nSELECT count(*) FROM t -- of them":                                                                                       {int64(trialsOf)},
		`WITH"best"AS (SELECT min(reward) AS x FROM t) SELECT trial_index FROM t, best WHERE t.reward = x`:                                {int64(3)},
	} {
		if _, got := rows(sql); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: %#v, want %#v", sql, got, want)
		}
	}
	wantError(t, f.QuerySweep(f.ctx, "nil", `SELECT 1`, nil), sweep.ErrNotFound)
	if err := f.QuerySweep(f.ctx, "s1", `DELETE FROM t`, nil); err == nil {
		t.Error("a statement that writes was taken")
	}
}
