package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/statistics"
)

// Of columns that do not fit, those with the largest rank go; what is left out is named, unless nothing is.
func TestColumns(t *testing.T) {
	t.Parallel()
	c := columns{more: "--wide shows them"}
	c.add(always, "index")
	c.add(2, "lr", "units")
	c.add(1, "loss")
	c.add(3, strings.Repeat("m", 40), "n", strings.Repeat("o", 39))
	c.row("0", "0.1", strings.Repeat("界", 30), "0.25", "1", "9", "3")
	c.row("1", "0.01", "8", "0.5", "4", "9", "6")
	var out, notes strings.Builder
	if err := c.write(&out, &notes); err != nil {
		t.Fatal(err)
	}
	const want = `INDEX  LR    UNITS                                     LOSS  N
0      0.1   界界界界界界界界界界界界界界界界界界界…   0.25  9
1      0.01  8                                         0.5   9`
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(out.String()) {
		if n := ansi.StringWidth(strings.TrimSpace(line)); n > textWidth {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	const left = "columns not shown: mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm, ooooooooooooooooooooooooooooooooooooooo (--wide shows them)\n"
	if notes.String() != left {
		t.Errorf("got %s, want %s", notes.String(), left)
	}
	c.wide = true
	out.Reset()
	notes.Reset()
	if err := c.write(&out, &notes); err != nil || !strings.Contains(out.String(), "OOO") ||
		!strings.Contains(out.String(), strings.Repeat("界", 30)) || notes.Len() > 0 {
		t.Errorf("wide: %v\n%s%s", err, out.String(), notes.String())
	}
}

// Small plots of curves take the room that the numbers leave, and none where there is none.
func TestCurvesFit(t *testing.T) {
	t.Parallel()
	values := make([]float32, 1000)
	for i := range values {
		values[i] = float32(i) * 1.2345e-7
	}
	for _, name := range []string{"loss", strings.Repeat("validation_", 3), strings.Repeat("m", 60)} {
		cmd := &cobra.Command{}
		var out, notes strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(&notes)
		if err := plotCurves(cmd, &sweep.SweepRecord{}, []sweep.Curve{{Metric: name, Values: values}, {Metric: "none"}}); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(out.String(), "█"); has != (len(name) < 60) {
			t.Errorf("%s has a plot: %t", name, has)
		}
		for line := range strings.Lines(out.String()) {
			if n := ansi.StringWidth(strings.TrimSpace(line)); n > textWidth {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
		if len(name) == 60 && !strings.Contains(notes.String(), "(--format json has the points)") {
			t.Errorf("what is left out is not said: %q", notes.String())
		}
	}
}

func TestMeanText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mean, sd float64
		want     string
	}{
		{2.953, 0.1334, "2.95 ± 0.13"},
		{0.3979, 0.171, "0.40 ± 0.17"},
		{0.9999999957, 4.7e-9, "1.000000 ± 4.7e-09"},
		{1234.4, 150.2, "1234 ± 150"},
		{99.96, 0.25, "99.96 ± 0.25"},
		{-12.345, 1.5, "-12.3 ± 1.5"},
		{1.144e-41, 5.1e-43, "1.144e-41 ± 5.1e-43"},
		{4.107e-9, 4.7e-9, "4.1e-09 ± 4.7e-09"},
		{3.456e9, 1.2e7, "3.456e+09 ± 1.2e+07"},
		{0, 0.5, "0.00 ± 0.50"},
		{0.25, 0, "0.25 ± 0"},
	} {
		if got := statistics.MeanText(c.mean, c.sd); got != c.want {
			t.Errorf("%g ± %g: %s, want %s", c.mean, c.sd, got, c.want)
		}
	}
}

// listedTrials reads some trials.
type listedTrials struct {
	sweep.Reader
	list []sweep.Parameters
}

func (l listedTrials) Trials(_ context.Context, _ sweep.TrialQuery, yield func(*sweep.TrialRecord) error) error {
	for i, p := range l.list {
		t := &sweep.TrialRecord{State: sweep.Completed, Result: &sweep.Result{}}
		t.Index, t.Parameters = int64(i), p
		if err := yield(t); err != nil {
			return err
		}
	}
	return nil
}

// Values of different types are different groups, and read differently; equal numbers are one.
func TestGroupsByType(t *testing.T) {
	values := []any{nil, "null", int64(1), "1", true, "true", "[1]", []any{int64(1)}, "plain", "", int64(1 << 60),
		int64(1<<60 + 1), 2.5}
	var trials listedTrials
	for _, value := range values {
		trials.list = append(trials.list, sweep.Parameters{"x": value})
	}
	trials.list = append(trials.list, sweep.Parameters{}, sweep.Parameters{"x": 1.0})
	f, err := frame.ReadColumns(t.Context(), trials, &sweep.SweepRecord{}, sweep.TrialQuery{}, sweep.ParameterKind.Of("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	groups, err := f.GroupBy(t.Context(), frame.Filter{}, []string{"x"}, nil, nil, true)
	if err != nil || len(groups.List) != len(values)+1 {
		t.Fatalf("%d groups: %v", len(groups.List), err)
	}
	seen := map[string]bool{}
	for i, value := range values {
		group := &groups.List[i]
		if got := groups.Parameters(group)["x"]; !sweep.Equal(got, value) {
			t.Errorf("the group of %#v has %#v", value, got)
		}
		text := groupTexts(group)[0]
		if seen[text] || seen["exact "+exactText(value)] || seen["key "+groups.Key(i)] {
			t.Errorf("%#v reads %s, as another value", value, text)
		}
		seen[text], seen["exact "+exactText(value)], seen["key "+groups.Key(i)] = true, true, true
	}
	last := len(values)
	if p := groups.Parameters(&groups.List[last]); len(p) != 0 || seen["key "+groups.Key(last)] {
		t.Errorf("the group of trials without the parameter has %v", p)
	}
	if n := groups.List[2].Count; n != 2 {
		t.Errorf("1 and 1.0 are %d trials", n)
	}
}

// The line of the best trial has the parameters that vary, as far as there is room.
func TestParameterList(t *testing.T) {
	record, p := &sweep.SweepRecord{Grids: make([]sweep.GridRecord, 1)}, sweep.Parameters{"constant": int64(1)}
	for i := range 100 {
		name := fmt.Sprintf("p%02d", i)
		p[name] = int64(i)
		record.Grids[0].Submission.Spec.Axes = append(record.Grids[0].Submission.Spec.Axes, sweep.Axis{
			Parameters: []sweep.AxisParameter{{Name: name, Values: sweep.Values{List: []any{int64(i), int64(1)}}}}})
	}
	p["p00"] = strings.Repeat("x", 1000)
	text := parameterList(record, p, 80)
	if ansi.StringWidth(text) > 80 || !strings.HasPrefix(text, ", p00 xxx") || !strings.Contains(text, "more") {
		t.Errorf("%q", text)
	}
	if text := parameterList(record, sweep.Parameters{"p01": 1.5, "constant": true}, 20); text != ", p01 1.5" {
		t.Errorf("%q", text)
	}
}

// A trial that diverged is no completed one for --state, as in the list, though the store has it for one.
func TestStatesOfLists(t *testing.T) {
	t.Parallel()
	for states, want := range map[string]string{
		"completed": "[completed] [{trial.state != diverged}]", "diverged": "[completed] [{trial.state != completed}]",
		"completed,diverged": "[completed completed] []", "failed": "[failed] []",
		"failed,diverged": "[failed completed] [{trial.state != completed}]",
	} {
		q, err := frame.NamesIn(t.Context(), nil, &sweep.SweepRecord{}).Query(nil, strings.Split(states, ","), "")
		if got := fmt.Sprint(q.States, " ", q.Where); err != nil || got != want {
			t.Errorf("--state %s: %s, %v; want %s", states, got, err, want)
		}
	}
}
