package frame_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// pageRows is how many trials a page has.
const pageRows = 4096

// trial is a made-up trial: what a store would hand over.
type trial struct {
	state      sweep.State
	diverged   bool
	parameters map[string]any
	summary    map[string]float64
	name, tags string
}

func (t *trial) row(index int64) *sweep.TrialRow {
	parameters, _ := sweep.CanonicalJSON(t.parameters)
	summary := []byte("{}")
	if t.state == sweep.Completed {
		summary, _ = json.Marshal(t.summary)
	}
	return &sweep.TrialRow{Index: index, State: t.state, Diverged: t.diverged, Parameters: parameters,
		Summary: summary, Seconds: 1, RunName: t.name, Tags: t.tags}
}

// load makes a frame of trials.
func load(t testing.TB, trials []trial) *frame.Frame {
	t.Helper()
	f, err := frame.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	reload(t, f, trials)
	return f
}

func reload(t testing.TB, f *frame.Frame, trials []trial) {
	t.Helper()
	for no := int64(0); no*pageRows < int64(len(trials)); no++ {
		read(t, f, frame.Span{From: no * pageRows, Until: (no + 1) * pageRows}, trials)
	}
}

// read has a frame read the trials of a span.
func read(t testing.TB, f *frame.Frame, span frame.Span, trials []trial) {
	t.Helper()
	err := f.Load(span, func(yield func(*sweep.TrialRow) error) error {
		for i := span.From; i < min(span.Until, int64(len(trials))); i++ {
			if err := yield(trials[i].row(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unfinished returns the spans of n trials that are to be read again.
func unfinished(t testing.TB, f *frame.Frame, n int64, retried bool) []frame.Span {
	t.Helper()
	spans, err := f.Unfinished(0, n, retried)
	if err != nil {
		t.Fatal(err)
	}
	return spans
}

// sameLoaded reports whether two frames have the same trials by their counts.
func sameLoaded(a, b *frame.Frame) bool {
	x, y := a.Loaded(), b.Loaded()
	return x.Counts == y.Counts && x.Rows == y.Rows
}

// grid makes n trials with a bit of everything, over several pages.
func grid(n int) []trial {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]trial, n)
	for i := range list {
		p := map[string]any{
			"lr": []any{0.1, 0.01, 0.001}[i/5%3], "model": []any{"rnn", "lstm"}[i/15%2], "seed": int64(i%5 + 1),
			"epochs": int64(100),
			"mixed":  []any{int64(1), "1", true, 1.5, nil}[i%5],
		}
		if p["model"] == "lstm" {
			p["forget"] = float64(i % 2)
		}
		one := trial{state: sweep.Completed, parameters: p}
		switch i % 11 {
		case 3:
			one.state = sweep.Failed
		case 5:
			one.diverged = true
		case 7:
			one.state = sweep.Pending
		}
		one.summary = map[string]float64{"loss": math.Round(r.Float64()*1000) / 1000, "accuracy": r.Float64()}
		if i%13 == 0 {
			delete(one.summary, "accuracy")
		}
		list[i] = one
	}
	return list
}

// plainly reports whether a trial fits conditions, as simply as can be said.
func (t *trial) value(name string) (any, bool) {
	if v, ok := t.parameters[name]; ok && v != nil {
		return v, true
	}
	if _, is := t.parameters[name]; is {
		return nil, false
	}
	v, ok := t.summary[name]
	return v, ok && t.state == sweep.Completed
}

func TestFilterAndOrder(t *testing.T) {
	t.Parallel()
	trials := grid(9000)
	f := load(t, trials)
	for _, test := range []struct {
		where []sweep.TrialCondition
		fits  func(v any, there bool) bool
		name  string
	}{
		{[]sweep.TrialCondition{{Name: "lr", Operator: "<", Value: 0.05}}, func(v any, there bool) bool {
			return there && v.(float64) < 0.05
		}, "lr"},
		{[]sweep.TrialCondition{{Name: "model", Operator: "=", Value: "rnn"}}, func(v any, there bool) bool {
			return v == "rnn"
		}, "model"},
		{[]sweep.TrialCondition{{Name: "model", Operator: ">=", Value: "m"}}, func(v any, there bool) bool {
			return v == "rnn"
		}, "model"},
		{[]sweep.TrialCondition{{Name: "forget", Operator: sweep.Lacks}}, func(_ any, there bool) bool {
			return !there
		}, "forget"},
		{[]sweep.TrialCondition{{Name: "accuracy", Operator: "!=", Value: nil}}, func(_ any, there bool) bool {
			return there
		}, "accuracy"},
		{[]sweep.TrialCondition{{Name: "mixed", Operator: "=", Value: int64(1)}}, func(v any, _ bool) bool {
			return v == int64(1)
		}, "mixed"},
		{[]sweep.TrialCondition{{Name: "mixed", Operator: "=", Value: "1"}}, func(v any, _ bool) bool {
			return v == "1"
		}, "mixed"},
		{[]sweep.TrialCondition{{Name: "mixed", Operator: "=", Value: true}}, func(v any, _ bool) bool {
			return v == true
		}, "mixed"},
		{[]sweep.TrialCondition{{Name: "mixed", Operator: "!=", Value: int64(1)}}, func(v any, there bool) bool {
			return there && v != int64(1)
		}, "mixed"},
		{[]sweep.TrialCondition{{Name: "mixed", Operator: "!=", Value: "1"}}, func(v any, there bool) bool {
			return there && v != "1"
		}, "mixed"},
	} {
		want := int64(0)
		for i := range trials {
			if v, there := trials[i].value(test.name); test.fits(v, there) {
				want++
			}
		}
		got, err := f.Page(t.Context(), frame.Query{Filter: frame.Filter{Where: test.where}})
		if err != nil || got.Total != want {
			t.Errorf("%v: %d trials, want %d (%v)", test.where, got.Total, want, err)
		}
	}

	for _, descending := range []bool{false, true} {
		order := make([]int64, len(trials))
		for i := range order {
			order[i] = int64(i)
		}
		slices.SortStableFunc(order, func(a, b int64) int {
			x, hasX := trials[a].value("loss")
			y, hasY := trials[b].value("loss")
			switch {
			case hasX != hasY && hasX:
				return -1
			case hasX != hasY:
				return 1
			case !hasX || x == y:
				return 0
			case (x.(float64) < y.(float64)) != descending:
				return -1
			}
			return 1
		})
		for _, offset := range []int64{0, 17, 7000, 8990} {
			got, err := f.Page(t.Context(), frame.Query{OrderBy: "loss", Descending: descending, Offset: offset,
				Limit: 50, Columns: []string{"loss", "model", "mixed", "state"}})
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range got.Rows {
				if want := order[offset+int64(i)]; row.Index != want {
					t.Fatalf("descending %v: place %d is trial %d, want %d", descending, offset+int64(i),
						row.Index, want)
				}
				loss, there := trials[row.Index].value("loss")
				if there && row.Cells[0] != loss || !there && row.Cells[0] != nil {
					t.Errorf("trial %d: loss %v, want %v", row.Index, row.Cells[0], loss)
				}
			}
			if want := min(50, len(trials)-int(offset)); len(got.Rows) != want || got.Total != int64(len(trials)) {
				t.Errorf("%d rows of %d", len(got.Rows), got.Total)
			}
		}
		for _, offset := range []int64{0, 4095, 8990} {
			got, err := f.Page(t.Context(), frame.Query{Descending: descending, Offset: offset, Limit: 20})
			if err != nil {
				t.Fatal(err)
			}
			first := offset
			if descending {
				first = int64(len(trials)) - 1 - offset
			}
			if got.Rows[0].Index != first || len(got.Rows) != min(20, len(trials)-int(offset)) {
				t.Errorf("descending %v, offset %d: %d rows from %d, want them from %d", descending, offset,
					len(got.Rows), got.Rows[0].Index, first)
			}
		}
	}
	if _, err := f.Page(t.Context(), frame.Query{OrderBy: "nothing"}); err == nil {
		t.Error("an unknown column was sorted by")
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	trials := grid(9000)
	f := load(t, trials)
	if got, want := f.Differing(), []string{"forget", "lr", "mixed", "model"}; !slices.Equal(got, want) {
		t.Errorf("differing are %v, want %v", got, want)
	}
	by := []string{"lr", "model"}
	got, err := f.Groups(t.Context(), frame.GroupQuery{By: by, Metrics: []string{"accuracy", "loss"},
		Goals: map[string]string{"accuracy": sweep.Maximize}, OrderBy: "mean", Descending: true, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if got.Total != 6 || len(got.Groups) != 6 || got.Trials != 9000 {
		t.Fatalf("%d groups of %d trials", got.Total, got.Trials)
	}
	last := math.Inf(1)
	for _, g := range got.Groups {
		var values []float64
		counts := map[string]int64{}
		best := int64(-1)
		for i := range trials {
			one := &trials[i]
			if one.parameters["lr"] != g.Values[0] || one.parameters["model"] != g.Values[1] {
				continue
			}
			state := string(one.state)
			if one.diverged {
				state = "diverged"
			}
			counts[state]++
			v, there := one.value("accuracy")
			if !there || one.diverged {
				continue
			}
			if values = append(values, v.(float64)); best < 0 || v.(float64) > trials[best].summary["accuracy"] {
				best = int64(i)
			}
		}
		mean, sd := moments(values)
		m := g.Metrics[0]
		if !reflect.DeepEqual(g.States, counts) || m.N != int64(len(values)) || m.Best != best ||
			math.Abs(*m.Mean-mean) > 1e-12 || math.Abs(*m.SD-sd) > 1e-12 {
			t.Errorf("group %v: %v %+v, want %v, %d values, mean %v, deviation %v, best %d", g.Values, g.States, m,
				counts, len(values), mean, sd, best)
		}
		if *m.Mean > last {
			t.Errorf("group %v is not in its place", g.Values)
		}
		last = *m.Mean
	}
}

func moments(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(values)-1))
}

// TestReload holds a frame that was brought up to date to one that was read at once.
func TestReload(t *testing.T) {
	t.Parallel()
	end := grid(6000)
	begin := slices.Clone(end)
	for i := range begin {
		begin[i].state, begin[i].diverged, begin[i].summary = sweep.Pending, false, nil
	}
	f := load(t, begin[:5000])
	reload(t, f, end)
	fresh := load(t, end)
	if !sameLoaded(f, fresh) {
		t.Errorf("%v, want %v", f.Loaded(), fresh.Loaded())
	}
	q := frame.Query{OrderBy: "accuracy", Limit: 1000, Columns: []string{"index", "state", "accuracy", "loss", "lr",
		"forget", "epochs", "seconds", "executions"}}
	a, err := f.Page(t.Context(), q)
	b, err2 := fresh.Page(t.Context(), q)
	if err != nil || err2 != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("the lists differ: %v %v", err, err2)
	}
	if got := unfinished(t, f, 6000, false); len(got) != 2 { // pending ones are in both
		t.Errorf("unsettled: %v", got)
	}
	for i := range end {
		if end[i].state == sweep.Pending {
			end[i].state = sweep.Completed
		}
	}
	reload(t, f, end)
	if got := unfinished(t, f, 6000, false); len(got) != 0 {
		t.Errorf("unsettled: %v", got)
	}
	if got := unfinished(t, f, 6000, true); len(got) != 2 {
		t.Errorf("unsettled after a retry: %v", got)
	}
}

// TestSpans holds that reading what is unsettled, and nothing else, comes to the same
// as reading everything anew, however trials end.
func TestSpans(t *testing.T) {
	t.Parallel()
	const n = 9000
	end := grid(n)
	for i := range end {
		if end[i].state != sweep.Failed {
			end[i].state = sweep.Completed
		}
	}
	now := slices.Clone(end)
	for i := range now {
		now[i].state, now[i].diverged, now[i].summary = sweep.Pending, false, nil
	}
	f := load(t, now[:700])
	r := rand.New(rand.NewPCG(5, 6))
	known := int64(700)
	for round := 0; ; round++ {
		before := known
		known = min(n, known+r.Int64N(2000))
		low := int64(round) * 700 // a front that moves, with some ahead of it
		for i := range known {
			if i < low || i < low+300 && r.IntN(3) == 0 {
				now[i] = end[i]
			}
		}
		spans := unfinished(t, f, known, false)
		for _, span := range spans {
			if span.From/pageRows != (span.Until-1)/pageRows {
				t.Fatalf("%v is of several pages", span)
			}
			if span.From < min(low-700, before) {
				t.Fatalf("round %d: %v is read again, though all before %d had ended", round, span, low-700)
			}
			read(t, f, span, now[:known])
		}
		fresh := load(t, now[:known])
		if !sameLoaded(f, fresh) {
			t.Fatalf("round %d: %v, want %v", round, f.Loaded(), fresh.Loaded())
		}
		q := frame.Query{OrderBy: "loss", Limit: 1000, Columns: []string{"index", "state", "accuracy", "loss", "lr",
			"mixed", "epochs", "seconds", "executions"}}
		a, err := f.Page(t.Context(), q)
		b, err2 := fresh.Page(t.Context(), q)
		if err != nil || err2 != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("round %d: the lists differ: %v %v", round, err, err2)
		}
		if low > n {
			if len(spans) != 0 && known == n {
				if left := unfinished(t, f, n, false); len(left) > 0 {
					t.Errorf("%v are read for ever", left)
				}
			}
			return
		}
	}
}

func TestSliceSampleImportance(t *testing.T) {
	t.Parallel()
	var trials []trial
	for i := range 4800 {
		lr, width, other := float64(i%4), float64(i/4%5), float64(i/20%3)
		one := trial{state: sweep.Completed, parameters: map[string]any{"lr": lr, "width": width, "other": other,
			"seed": int64(i)}}
		one.summary = map[string]float64{"loss": 10*lr + width}
		if i%100 == 0 {
			one.state = sweep.Failed
		}
		trials = append(trials, one)
	}
	f := load(t, trials)
	s, err := f.Slice(t.Context(), frame.SliceQuery{By: []string{"lr", "width"}, Metric: "loss"})
	if err != nil || len(s.Cells) != 20 || s.Trials != 4800 {
		t.Fatalf("%+v %v", s, err)
	}
	for _, c := range s.Cells {
		want := 10*s.Levels[0][c.Levels[0]].Value.(float64) + s.Levels[1][c.Levels[1]].Value.(float64)
		if *c.Mean != want {
			t.Errorf("cell %v: %v, want %v", c.Levels, *c.Mean, want)
		}
	}
	imp, err := f.Importance(t.Context(), frame.ImportanceQuery{Metric: "loss"})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := f.Importance(t.Context(), frame.ImportanceQuery{Metric: "loss"})
	if !reflect.DeepEqual(imp, again) {
		t.Error("the same question had two answers")
	}
	if imp.Parameters[0].Parameter != "lr" || imp.Parameters[1].Parameter != "width" ||
		imp.Parameters[2].Variance > 1e-3 || imp.Left != 48 {
		t.Errorf("%+v", imp)
	}
	// The ranks are as 5·lr + width: 25·var{0..3} and var{0..4} are 31.25 and 2.
	if got := imp.Parameters[0].Variance; math.Abs(got-31.25/33.25) > 1e-2 {
		t.Errorf("lr explains %v", got)
	}
	// 192 trials have the smallest loss; the 46 others come with all 240 that tie.
	best, err := f.Sample(t.Context(), frame.SampleQuery{Metric: "loss", Top: 0.05, Limit: 100,
		Columns: []string{"lr", "loss"}})
	if err != nil || best.Total != 4800 || best.Chosen != 432 || len(best.Rows) != 100 {
		t.Fatalf("%d of %d, %d drawn: %v", best.Chosen, best.Total, len(best.Rows), err)
	}
	for _, row := range best.Rows {
		if row.Cells[1].(float64) > *best.Bound {
			t.Errorf("trial %d is not among the best", row.Index)
		}
	}
}

// The values by which groups differ select their trials, lists too.
func TestGroupsSelectTheirTrials(t *testing.T) {
	values := []any{int64(1), "a", true, []any{int64(1), "b"}, []any{int64(2)}, map[string]any{"c": 1.5}}
	var trials []trial
	for range 3 {
		for _, v := range values {
			trials = append(trials, trial{state: sweep.Completed, parameters: map[string]any{"p": v}})
		}
	}
	f := load(t, trials)
	groups, err := f.Groups(t.Context(), frame.GroupQuery{By: []string{"p"}, Limit: 100, Members: 12})
	if err != nil || len(groups.Groups) != len(values) {
		t.Fatalf("%+v, %v", groups, err)
	}
	for i, g := range groups.Groups {
		if want := []int64{int64(i) + 6, int64(i) + 12}; !slices.Equal(g.Rows, want) {
			t.Errorf("two of the trials with p %s: %d, want %d", g.Values[0], g.Rows, want)
		}
		for operator, want := range map[string]int{"=": 3, "!=": len(trials) - 3} {
			condition := sweep.TrialCondition{Name: "p", Operator: operator, Value: frame.Stored(g.Values[0])}
			found, err := f.Matching(t.Context(), frame.Filter{Where: []sweep.TrialCondition{condition}}, 100)
			if err != nil || len(found) != want {
				t.Errorf("p %s %s: %v, %v", operator, g.Values[0], found, err)
			}
		}
	}
}

// The best of equal trials are all of them, and their bound is a number.
func TestSampleOfEqualTrials(t *testing.T) {
	for _, n := range []int{1, 20} {
		for _, goal := range []string{sweep.Minimize, sweep.Maximize} {
			trials := make([]trial, n)
			for i := range trials {
				trials[i] = trial{state: sweep.Completed, summary: map[string]float64{"accuracy": 1}}
			}
			best, err := load(t, trials).Sample(t.Context(), frame.SampleQuery{Metric: "accuracy", Goal: goal, Top: 0.1,
				Limit: 100})
			if err != nil || best.Chosen != int64(n) || len(best.Rows) != n || best.Bound == nil || *best.Bound != 1 {
				t.Errorf("%d trials, %s: %+v, %v", n, goal, best, err)
			}
		}
	}
}

// FuzzLoad holds that no stored text can do harm.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":"x\"y","c":[1,{"d":2}],"e":null,"f":true}`), []byte(`{"loss": 0.5}`))
	f.Add([]byte(`{"a":`), []byte(`}`))
	f.Add([]byte(`{"\u0061":1e999}`), []byte(`{"a":-0,"index":1}`))
	f.Fuzz(func(t *testing.T, parameters, summary []byte) {
		fr, err := frame.New(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer fr.Close()
		err = fr.Load(frame.Span{Until: 3}, func(yield func(*sweep.TrialRow) error) error {
			for i := range int64(3) {
				if err := yield(&sweep.TrialRow{Index: i, State: sweep.Completed, Parameters: parameters,
					Summary: summary}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range fr.Columns() {
			names = append(names, c.Name)
		}
		page, err := fr.Page(t.Context(), frame.Query{Columns: names, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(page); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkMillion(b *testing.B) {
	f := load(b, grid(1_000_000))
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"Sort", func() error {
			_, err := f.Page(b.Context(), frame.Query{OrderBy: "loss", Limit: 50, Columns: []string{"lr", "loss"}})
			return err
		}},
		{"Filter", func() error {
			_,
				err := f.Page(b.Context(),
				frame.Query{Filter: frame.Filter{Where: []sweep.TrialCondition{{Name: "lr", Operator: "<", Value: 0.05},
					{Name: "model", Operator: "=", Value: "rnn"}}}, OrderBy: "accuracy", Descending: true, Limit: 50})
			return err
		}},
		{"Groups", func() error {
			_, err := f.Groups(b.Context(), frame.GroupQuery{By: []string{"lr", "model"},
				Metrics: []string{"loss", "accuracy"}, OrderBy: "mean", Limit: 50})
			return err
		}},
		{"Importance", func() error {
			_, err := f.Importance(b.Context(), frame.ImportanceQuery{Metric: "loss"})
			return err
		}},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := step.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("Values", func(b *testing.B) { b.Log(fmt.Sprint(f.Loaded().Rows)) })
}

// TestDivisions holds that a numeric parameter is divided into as many ranges as asked for, evenly
// by value or logarithm, and that every trial is in the range that its value is in.
func TestDivisions(t *testing.T) {
	t.Parallel()
	var trials []trial
	for i := range 41 {
		trials = append(trials, trial{state: sweep.Completed, summary: map[string]float64{"loss": 1},
			parameters: map[string]any{"lr": math.Pow(10, -float64(i)/10), "model": []string{"a", "b"}[i%2]}})
	}
	f := load(t, trials)
	for _, scale := range []string{frame.LogScale, frame.LinearScale} {
		s, err := f.Slice(t.Context(), frame.SliceQuery{By: []string{"lr"}, Metric: "loss",
			Divisions: map[string]frame.Division{"lr": {Bins: 4, Scale: scale}}})
		if err != nil || !s.Binned[0] || len(s.Levels[0]) != 5 {
			t.Fatalf("%s: %+v %v", scale, s, err)
		}
		want := map[string]float64{frame.LogScale: 1e-3, frame.LinearScale: 1e-4 + (1-1e-4)/4}[scale]
		if got := *s.Levels[0][0].High; math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s: the first range ends at %v, want %v", scale, got, want)
		}
		counted := int64(0)
		for _, c := range s.Cells {
			level, n := s.Levels[0][c.Levels[0]], int64(0)
			for _, one := range trials {
				lr := one.parameters["lr"].(float64)
				if lr*(1+1e-12) >= *level.Low && lr*(1-1e-12) <= *level.High {
					n++ // a value on an edge is in both ranges
				}
			}
			if counted += c.N; c.N > n || c.N < n-2 {
				t.Errorf("%s: %v to %v has %d trials, want about %d", scale, *level.Low, *level.High, c.N, n)
			}
		}
		if counted != 41 {
			t.Errorf("%s: %d trials", scale, counted)
		}
	}
	for _, division := range []frame.Division{{Bins: -1}, {Bins: 1000}, {Scale: "cubic"}} {
		if _, err := f.Slice(t.Context(), frame.SliceQuery{By: []string{"lr"}, Metric: "loss",
			Divisions: map[string]frame.Division{"lr": division}}); err == nil {
			t.Errorf("%+v is accepted", division)
		}
	}
	s, err := f.Slice(t.Context(), frame.SliceQuery{By: []string{"model"}, Metric: "loss",
		Divisions: map[string]frame.Division{"model": {Bins: 4}}})
	if err != nil || s.Binned[0] || len(s.Levels[0]) != 3 {
		t.Errorf("texts have ranges: %+v %v", s, err)
	}
}

// Trials are selected by each of their tags, whatever the state, and by their programs' names for them.
func TestLabels(t *testing.T) {
	t.Parallel()
	trials := []trial{
		{state: sweep.Completed, tags: "ab", name: "fox"}, {state: sweep.Running, tags: "a,c"}, {state: sweep.Failed},
		{state: sweep.Pending, tags: "c", name: "fox"},
	}
	for i := range trials {
		trials[i].parameters = map[string]any{"lr": 0.1}
	}
	f := load(t, trials)
	want := func(text string, want ...int64) {
		t.Helper()
		name, operator := sweep.TagColumn, "="
		var value any = text
		switch {
		case text == "null":
			value = nil
		case text == "fox":
			name = "run_name"
		case text[0] == '!':
			operator, value = "!=", text[1:]
		}
		got, err := f.Matching(t.Context(), frame.Filter{Where: []sweep.TrialCondition{{Name: sweep.Name(name), Operator: operator,
			Value: value}}}, 9)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	want("a", 1)
	want("c", 1, 3)
	want("!c", 0, 2)
	want("b")
	want("null", 2)
	want("fox", 0, 3)
	for _, value := range []any{7, "a,c"} {
		if _, err := f.Matching(t.Context(), frame.Filter{Where: []sweep.TrialCondition{{Name: "tag", Operator: "=",
			Value: value}}}, 9); err == nil {
			t.Errorf("tag=%v was accepted", value)
		}
	}
	// Edits are read again, also of trials that have ended.
	trials[0].tags, trials[3].tags = "", "d"
	for _, span := range frame.Around([]int64{3, 0}) {
		read(t, f, span, trials)
	}
	want("ab")
	want("d", 3)
	want("!d", 0, 1, 2)
	if got := frame.Around([]int64{pageRows, 9, 2 * pageRows, pageRows - 1}); !slices.Equal(got, []frame.Span{
		{From: 9, Until: pageRows}, {From: pageRows, Until: pageRows + 1}, {From: 2 * pageRows, Until: 2*pageRows + 1}}) {
		t.Errorf("spans %v", got)
	}
	// A parameter of the name comes first, as in the store.
	trials[1].parameters["tag"] = "c"
	f = load(t, trials)
	want("c", 1)
	want("d")
}
