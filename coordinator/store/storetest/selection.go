package storetest

import (
	"fmt"
	"strings"
	"testing"

	"sweep/sweep"
)

func testSelection(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	const page = 8
	f.makeSweep("s1", submission("one"), page)
	f.create("s2", 1, 1)
	parameters := []sweep.Parameters{
		0: {"lr": 0.001, "model": "rnn", "m1": int64(16), "flag": true, "both": "parameter"},
		1: {"lr": 0.01, "model": "lstm", "flag": false, "both": "parameter"},
		2: {"lr": int64(1), "model": "ornn", "m1": int64(8), "list": []any{int64(1), "x"}},
		3: {"lr": "1", "model": "Rnn", "m1": nil},
		4: {"lr": 1e-10, "model": "rnn'; DROP TABLE trials; --", "a.b": int64(1)},
		5: {"lr": -2.5, "model": "zzz", `we"ird\$name'`: "yes", "mapping": map[string]any{"a": int64(1)}},
		6: {},
		7: {"lr": 1e300, "model": "énfin"},
	}
	trials := trials("s1", 0, page)
	for i := range trials {
		trials[i].Parameters = parameters[i]
	}
	f.write("s1", 0, 0, trials)
	for i, loss := range []float64{0.5, 0.25, 4} {
		result := completed(loss, fmt.Sprint(i))
		result.Summary["both"] = loss
		result.Seconds = float64(3 - i)
		result.Summary[sweep.ParameterCountMetric], result.Summary[sweep.BestEpochMetric] = float64(100+i), float64(i)
		f.complete(trialID("s1", int64(i)), result)
	}
	f.complete(trialID("s1", 3), &sweep.Result{State: sweep.Completed, Diverged: true})
	f.complete(trialID("s1", 4), &sweep.Result{State: sweep.Failed, Error: "broken"})
	f.mark([]sweep.TrialID{trialID("s1", 5)})

	list := func(query sweep.TrialQuery) (string, error) {
		var all []string
		err := f.Trials(f.ctx, query, func(r *sweep.TrialRecord) error {
			name := fmt.Sprint(r.Index)
			if r.Sweep != "s1" {
				name = r.String()
			}
			all = append(all, name)
			return nil
		})
		return strings.Join(all, " "), err
	}
	where := func(conditions ...any) sweep.TrialQuery {
		q := sweep.TrialQuery{Sweeps: []string{"s1"}}
		for i := 0; i < len(conditions); i += 3 {
			q.Where = append(q.Where, sweep.TrialCondition{Name: sweep.Name(conditions[i].(string)),
				Operator: conditions[i+1].(string), Value: conditions[i+2]})
		}
		return q
	}
	order := func(by sweep.Name, descending bool, limit int) sweep.TrialQuery {
		return sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: by, Descending: descending, Limit: limit}
	}
	for _, test := range []struct {
		query sweep.TrialQuery
		want  string
	}{
		{sweep.TrialQuery{}, "0 1 2 3 4 5 6 7 s2/0"},
		{sweep.TrialQuery{Descending: true}, "s2/0 7 6 5 4 3 2 1 0"},
		{sweep.TrialQuery{Sweeps: []string{"s2", "s1"}, Limit: 2}, "0 1"},
		{sweep.TrialQuery{States: []sweep.State{sweep.Completed, sweep.Failed}}, "0 1 2 3 4"},
		{sweep.TrialQuery{States: []sweep.State{sweep.Queued}}, "5"},

		{where("lr", "=", 0.001), "0"},
		{where("lr", "=", 1), "2"},
		{where("lr", "=", 1.0), "2"},
		{where("lr", "=", "1"), "3"},
		{where("lr", "!=", 1), "0 1 3 4 5 7"},
		{where("lr", "<", 0.01), "0 4 5"},
		{where("lr", "<=", 0.01), "0 1 4 5"},
		{where("lr", ">", 0.01), "2 7"},
		{where("lr", ">=", 1), "2 7"},
		{where("lr", "<", "2"), "3"},
		{where("lr", "=", nil), ""},
		{where("lr", sweep.Lacks, nil), "6"},
		{where("parameter.m1", "=", nil), "3"},
		{where("lr", "!=", nil), "0 1 2 3 4 5 7"},
		{where("m1", "=", nil), "1 3 4 5 6 7"},
		{where("m1", "!=", 16), "2"},
		{where("model", "=", "rnn"), "0"},
		{where("model", "<", "a"), "3"}, // by code point, whatever the database's language
		{where("model", ">=", "z"), "5 7"},
		{where("model", "=", "rnn'; DROP TABLE trials; --"), "4"},
		{where("flag", "=", true), "0"},
		{where("flag", "!=", true), "1"},
		{where("flag", "=", 1), ""},
		{where("list", "=", []any{1, "x"}), "2"},
		{where("list", "!=", []any{1}), "2"},
		{where("mapping", "=", map[string]any{"a": 1}), "5"},
		{where("a.b", "=", 1), "4"},
		{where(`we"ird\$name'`, "=", "yes"), "5"},
		{where("both", "=", "parameter"), "0 1"},
		{where("both", "=", 4), "2"},
		{where("validation_loss", "<", 1, "model", "!=", "lstm"), "0"},
		{where("validation_loss", ">", 0), "0 1 2"},
		{where("nil", "=", 1), ""},
		{where("index", ">=", 6), "6 7"},
		{where("state", "=", "completed", "diverged", "=", false), "0 1 2"},
		{where("diverged", "=", true), "3"},
		{where("diverged", "!=", false), "3"},
		{where("seconds", ">=", 2), "0 1"},
		{where("parameter_count", "=", 102), "2"},
		{where("error", "=", "broken"), "4"},
		{where("worker", "=", "worker-x-s1/1"), "1"},
		{where("executions", "=", 0), "5 6 7"},
		{where("refusals", ">", 0), ""},

		{order("", true, 3), "7 6 5"},
		{order("index", true, 3), "7 6 5"},
		{order("validation_loss", false, 0), "1 0 2 3 4 5 6 7"},
		{order("validation_loss", true, 0), "2 0 1 3 4 5 6 7"},
		{order("lr", false, 0), "5 4 0 1 2 7 3 6"}, // numbers before texts
		{order("lr", true, 0), "3 7 2 1 0 4 5 6"},
		{order("m1", false, 3), "2 0 1"},
		{order("both", false, 4), "2 0 1 3"},
		{order("seconds", false, 3), "2 1 0"},
		{where("seconds", "=", 0), ""}, // not known
		{order("parameter_count", true, 2), "2 1"},
		{order("best_epoch", true, 2), "2 1"},
		{order("nil", false, 2), "0 1"},
		{order("model", false, 0), "3 1 2 0 4 5 7 6"},
	} {
		got, err := list(test.query)
		if err != nil || got != test.want {
			t.Errorf("%+v:\n got %q (%v)\nwant %q", test.query, got, err, test.want)
		}
	}
	for _, query := range []sweep.TrialQuery{
		where("lr", "LIKE", "x"),
		where("lr", "= 1 OR 1 =", 1),
		where("lr", "", 1),
		where("lr", "<", nil),
		where("lr", "<", []any{1}),
		where("lr", "=", struct{}{}),
	} {
		if got, err := list(query); err == nil {
			t.Errorf("%+v was taken: %q", query.Where, got)
		}
	}

	// A list in pages is the whole list, in any order.
	for _, by := range []sweep.Name{"", "validation_loss", "test_accuracy", "seconds", "state", "worker", "diverged", "lr",
		"both", "model", "nil"} {
		for _, descending := range []bool{false, true} {
			for _, states := range [][]sweep.State{nil, {sweep.Completed, sweep.Failed}} {
				whole := sweep.TrialQuery{OrderBy: by, Descending: descending, States: states}
				want, err := list(whole)
				f.must(err)
				var pages []string
				page := whole
				page.Limit = 2
				for {
					var last *sweep.TrialID
					f.must(f.Trials(f.ctx, page, func(r *sweep.TrialRecord) error { last = &r.TrialID; return nil }))
					if last == nil {
						break
					}
					text, err := list(page)
					f.must(err)
					pages = append(pages, text)
					page.After = last
				}
				if got := strings.Join(pages, " "); got != want {
					t.Errorf("by %q, descending %v, %v: the pages are %q, the list %q", by, descending,
						states, got, want)
				}
			}
		}
	}
	missing := trialID("s1", 1000)
	for _, by := range []sweep.Name{"", "validation_loss", "lr"} {
		err := f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: by, After: &missing},
			func(*sweep.TrialRecord) error { return nil })
		wantError(t, err, sweep.ErrNotFound)
	}

	testOwnNames(t, f, list)
}

// testOwnNames: a parameter that is called as a column of trials means itself, in its own
// sweep.
func testOwnNames(t *testing.T, f *fixture, list func(query sweep.TrialQuery) (string, error)) {
	own := submission("own")
	own.Spec.Axes = append(own.Spec.Axes, sweep.Axis{Parameters: []sweep.AxisParameter{{Name: "index"}}})
	own.Description.Parameters = append(own.Description.Parameters, sweep.ParameterSchema{Name: "state"})
	f.makeSweep("s3", own, 3)
	rows := trials("s3", 0, 3)
	for i := range rows {
		rows[i].Parameters = sweep.Parameters{"index": int64(-i), "state": fmt.Sprintf("NY%d", i%2),
			"seconds": int64(7)}
	}
	f.write("s3", 0, 0, rows)
	for _, test := range []struct {
		query sweep.TrialQuery
		want  string
	}{
		{sweep.TrialQuery{OrderBy: "index"}, "s3/2 s3/1 s3/0"},
		{sweep.TrialQuery{OrderBy: "index", Descending: true, Limit: 2}, "s3/0 s3/1"},
		{sweep.TrialQuery{OrderBy: "state"}, "s3/0 s3/2 s3/1"},
		{sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: "state", Operator: "=", Value: "NY1"}}}, "s3/1"},
		{sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: "index", Operator: "<", Value: 0}}}, "s3/1 s3/2"},
		{sweep.TrialQuery{Where: []sweep.TrialCondition{{Name: "seconds", Operator: "!=", Value: nil}}}, ""},
		{sweep.TrialQuery{States: []sweep.State{sweep.Pending}}, "s3/0 s3/1 s3/2"},
	} {
		test.query.Sweeps = []string{"s3"}
		if got, err := list(test.query); err != nil || got != test.want {
			t.Errorf("%+v: %q, %v, want %q", test.query, got, err, test.want)
		}
	}
}
