package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// answers is a store that answers with rows of trials, and that trials of all groups have taken some time.
type answers struct {
	sweep.Reader
	rows  []sweep.TrialRow
	taken []any
}

func (a answers) Rows(_ context.Context, _ string, from, until int64, yield func(*sweep.TrialRow) error) error {
	for i := max(from, 0); i < min(until, int64(len(a.rows))); i++ {
		if err := yield(&a.rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a answers) Query(_ context.Context, _ string, yield func([]string, []any) error) error {
	return yield(nil, a.taken)
}

func values(list ...any) sweep.Values { return sweep.Values{List: list} }

func axis(name string, list ...any) sweep.Axis {
	return sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: values(list...)}}}
}

// record is a sweep of two models, rates and three seeds: 12 trials, of which some have rows.
func record(written int64) *sweep.SweepRecord {
	spec := sweep.Spec{Name: "s", Axes: []sweep.Axis{axis("model", "a", "b"), axis("lr", int64(1), int64(2)),
		axis(sweep.SeedParameter, int64(7), int64(8), int64(9))}, Select: sweep.Select{Group: []string{"model"}}}
	description := sweep.Description{Name: "t", Parameters: []sweep.ParameterSchema{{Name: "model", Type: sweep.StringType},
		{Name: "lr", Type: sweep.NumberType}, {Name: sweep.SeedParameter, Type: sweep.IntegerType}}}
	return &sweep.SweepRecord{ID: "s1", Grids: []sweep.GridRecord{{Points: 12, Cursor: written,
		Submission: sweep.Submission{Spec: spec, Description: description}}}}
}

func TestFindUndecided(t *testing.T) {
	for _, c := range []struct {
		name string
		// states of written trials, by their first letters
		states string
		want   string
	}{
		{"nothing is written", "", `{"undecided":2,"groups":2,"list":[` +
			`{"parameters":{"model":"a"},"done":0,"trials":6,"complete":0,"replicates":3,"core_seconds":12},` +
			`{"parameters":{"model":"b"},"done":0,"trials":6,"complete":0,"replicates":3,"core_seconds":12}]}`},
		{"the first replicates of one model", "cpps", `{"undecided":2,"groups":2,"list":[` +
			`{"parameters":{"model":"a"},"done":2,"trials":6,"complete":1,"replicates":3,"core_seconds":8},` +
			`{"parameters":{"model":"b"},"done":0,"trials":6,"complete":0,"replicates":3,"core_seconds":12}]}`},
		{"one is decided", "ccccfcsccrqp", `{"undecided":1,"groups":2,"list":[` +
			`{"parameters":{"model":"b"},"done":3,"trials":6,"complete":0,"replicates":3,"core_seconds":6}]}`},
		{"all", "cccccccccccc", `{"undecided":0,"groups":2}`},
	} {
		r := record(int64(len(c.states)))
		grid, err := sweep.NewGrid(&r.Grids[0].Submission.Spec)
		if err != nil {
			t.Fatal(err)
		}
		a := answers{taken: []any{int64(3), nil, 6.0}}
		states := map[rune]sweep.State{'c': sweep.Completed, 'f': sweep.Failed, 's': sweep.Skipped, 'p': sweep.Pending,
			'q': sweep.Queued, 'r': sweep.Running}
		for i, state := range c.states {
			point, err := grid.At(int64(i))
			if err != nil {
				t.Fatal(err)
			}
			text, err := point.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			a.rows = append(a.rows, sweep.TrialRow{Index: int64(i), State: states[state], Parameters: text})
		}
		e, err := NewEstimator(t.Context(), a, r, nil, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		u, err := FindUndecided(t.Context(), a, r, e)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(u); string(got) != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// Points that depend on results are in no group: they are counted.
func TestUndecidedSearch(t *testing.T) {
	r := record(0)
	g := &r.Grids[0]
	g.Submission.Spec.Random = &sweep.Random{Replicated: true}
	g.Submission.Spec.Policies = []sweep.Policy{policy.Of(&policy.Bayes{Batch: 5})}
	g.Submission.Spec.Cap, g.Points = 60, 60
	a := answers{taken: []any{int64(0), nil, nil}}
	e, err := NewEstimator(t.Context(), a, r, nil, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	u, err := FindUndecided(t.Context(), a, r, e)
	if err != nil || u.Unchosen != 30 || u.Groups < 1 || u.List[0].Seconds != 0 || u.List[0].Replicates != 3 {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestEstimator(t *testing.T) {
	r := record(0)
	flops := func(_ context.Context, p sweep.Parameters) float64 { return 100 * float64(p["lr"].(int64)) }
	e, err := NewEstimator(t.Context(), answers{taken: []any{int64(0), nil, nil}}, r, flops, 150, 50)
	if err != nil {
		t.Fatal(err)
	}
	id := func(i int) sweep.TrialID { return sweep.TrialID{Sweep: "s1", Index: int64(i)} }
	trial := func(model string, lr int64) sweep.Parameters { return sweep.Parameters{"model": model, "lr": lr} }
	run := func(i int, p sweep.Parameters, result sweep.Result) {
		e.Begin(id(i), e.Of(t.Context(), p))
		e.End(id(i), &result)
	}
	want := func(when string, a, b, mean float64) {
		t.Helper()
		for _, c := range []struct {
			what      string
			got, want float64
		}{{"a", e.Of(t.Context(), trial("a", 2)).Seconds, a}, {"b", e.Of(t.Context(), trial("b", 1)).Seconds, b},
			{"mean", e.Mean(), mean}} {
			if math.Abs(c.got-c.want) > 1e-9 {
				t.Errorf("%s: %s takes %g, want %g", when, c.what, c.got, c.want)
			}
		}
	}
	want("before", 4, 2, 3) // by the speed in earlier sweeps
	for i, result := range []sweep.Result{{State: sweep.Failed, Seconds: 99}, {State: sweep.Stopped, Seconds: 99},
		{State: sweep.Completed, Diverged: true, Seconds: 99}, {State: sweep.Completed}} {
		run(i, trial("a", 1), result)
	}
	want("ended early", 4, 2, 3)
	run(4, trial("a", 1), sweep.Result{State: sweep.Completed, Seconds: 10})
	want("one of a", 20, 10, 15)
	run(5, trial("b", 2), sweep.Result{State: sweep.Completed, Seconds: 2})
	want("one of each", 20, 1, 150*12.0/300)
	e.End(id(5), &sweep.Result{State: sweep.Completed, Seconds: 1000}) // nobody waits for it
	want("repeated", 20, 1, 150*12.0/300)

	// Without costs every trial counts the same, beginning with those of the sweep before the start.
	if e, err = NewEstimator(t.Context(), answers{taken: []any{int64(4), nil, 8.0}}, r, nil, 0, 0); err != nil {
		t.Fatal(err)
	}
	want("resumed", 2, 2, 2)
	run(6, trial("b", 1), sweep.Result{State: sweep.Completed, Seconds: 7})
	want("without costs", 3, 7, 3)
	if fmt.Sprint(len(e.running)) != "0" {
		t.Errorf("%d trials are awaited", len(e.running))
	}
}
