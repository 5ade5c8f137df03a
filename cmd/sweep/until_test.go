package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/progress"
)

func TestParseUntil(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 11, 27, 22, 30, 15, 0, zone)
	for text, want := range map[string]string{
		"09:00":                "2026-11-28T09:00:00+02:00",
		"9:00":                 "2026-11-28T09:00:00+02:00",
		"22:30":                "2026-11-28T22:30:00+02:00",
		"22:30:16":             "2026-11-27T22:30:16+02:00",
		"23:00":                "2026-11-27T23:00:00+02:00",
		"8h":                   "2026-11-28T06:30:15+02:00",
		"1h30m":                "2026-11-28T00:00:15+02:00",
		"2026-11-28T09:00":     "2026-11-28T09:00:00+02:00",
		"2026-12-01 07:15":     "2026-12-01T07:15:00+02:00",
		"2026-11-28T09:00:00Z": "2026-11-28T11:00:00+02:00",
		"2026-11-27T22:30":     "has passed: it is 2026-11-27T22:30",
		"2025-11-28T09:00":     "has passed",
		"-3h":                  "has passed",
		"0s":                   "has passed",
		"24:00":                `--until "24:00": expected a time of day`,
		"9":                    "as in 09:00, 2026-11-28T09:00 or 8h",
		"tomorrow":             "as in 09:00",
		"2026-11-31T09:00":     "as in 09:00",
	} {
		got, err := parseUntil(text, now)
		if answer := got.In(zone).Format(time.RFC3339); err == nil && answer != want {
			t.Errorf("%s is %s, want %s", text, answer, want)
		} else if err != nil && (!strings.Contains(err.Error(), want) || exitCode(err) != exitUsage) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestForecastText(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 22, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		trials  int64
		seconds float64
		hours   float64
		want    string
	}{
		{1200, 120, 8, "about 960 of 1200 trials fit before 06:00: all take about 10h00m"},
		{1200, 60, 8, "1200 trials should fit before 06:00: about 5h00m"},
		{1, 60, 8, "1 trial should fit before 06:00: about 1m00s"},
		{3, 7200, 0.25, "none of 3 trials fits before 22:15: one takes about 2h00m"},
		{1200, 0, 30, "how many of 1200 trials fit before 2026-11-29 04:00 is not known until one has run here"},
		{0, 10, 0.1, "0 trials should fit before 22:06:00: less than a second"},
	} {
		at := now.Add(time.Duration(c.hours * float64(time.Hour)))
		if got := forecastText(c.trials, c.seconds, 4, at, now); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestWriteUndecided(t *testing.T) {
	t.Parallel()
	group := func(data, model string, done int64, complete int, seconds float64) progress.UndecidedGroup {
		return progress.UndecidedGroup{Parameters: sweep.Parameters{"dataset": data, "model": model}, Done: done, Trials: 40,
			Complete: complete, Replicates: 5, Seconds: seconds}
	}
	u := &progress.Undecided{Undecided: 14, Groups: 20, Unchosen: 1, List: []progress.UndecidedGroup{
		group("CBF", "lstm", 39, 4, 600), group("Adiac", "rnn", 0, 0, 4000), group("Adiac", "gru", 8, 1, 0)}}
	var out, notes bytes.Buffer
	if err := writeUndecided(&out, &notes, u, []string{"dataset", "model"}, 4); err != nil {
		t.Fatal(err)
	}
	want := `undecided: 14 of 20 groups
DATASET  MODEL  TRIALS DONE  REPLICATES COMPLETE  TIME LEFT
CBF      lstm   39 of 40     4 of 5               about 10m00s
Adiac    rnn    0 of 40      0 of 5               about 16m40s
Adiac    gru    8 of 40      1 of 5               unknown
`
	if out.String() != want || notes.String() != "11 groups more\n"+
		"1 trial more, whose points depend on results that are missing\n" {
		t.Errorf("%s%s", out.String(), notes.String())
	}
}

// A deadline ends a run as an interruption does, before its first trial and while one runs, and the run lists the
// undecided groups. The same command resumes with the remaining first replicates, and the results equal those of a run
// without a deadline.
func TestUntil(t *testing.T) {
	fullOnly(t)
	dir := folder(t, map[string]string{
		"p.sh": "for a; do case $a in --x=*) x=${a#--x=};; esac; done\n" +
			"if [ $x = 2 ] && [ ! -e go ]; then touch runs; while :; do sleep 0.05; done; fi\n" +
			"echo \"{\\\"y\\\": $x}\" >> \"$SWEEP_EVENTS\"\n",
		"s.yaml": "command: [sh, p.sh, '${args}']\nreplicates: 2\nselect: {by: y, goal: minimize, group: [x]}\n" +
			"parameters: {x: {values: [1, 2]}}\n",
	})
	home, file := t.TempDir(), filepath.Join(dir, "s.yaml")
	const order = "SELECT trial_index FROM trials ORDER BY started_at"
	const all = "SELECT trial_index, state, digest FROM results ORDER BY 1"
	run := func(deadline func(context.Context, time.Time) (context.Context, context.CancelFunc), args ...string) (stdout,
		stderr string, code int) {
		t.Helper()
		own := withDeadline
		withDeadline = deadline
		defer func() { withDeadline = own }()
		var out, errs bytes.Buffer
		args = append([]string{"run", file, "--home", home, "--store", filepath.Join(home, "sweep.db"), "--slots", "1",
			"--until", "8h"}, args...)
		code = execute(t.Context(), args, strings.NewReader(""), &out, &errs)
		return out.String(), errs.String(), code
	}
	want := func(got string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("no %q in:\n%s", part, got)
			}
		}
	}

	stdout, stderr, code := run(func(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
		return context.WithDeadline(ctx, time.Now().Add(-time.Hour))
	})
	if code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	want(stderr, "how many of 4 trials fit before ", "sweep: stopped at the deadline: 0 of 4 trials are done; run the same "+
		"command again to resume")
	want(stdout, "undecided: 2 of 2 groups\n", "\n1  0 of 2 ", "\n2  0 of 2 ")

	_, stderr, code = run(func(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			await(t, "the second point", func() bool { _, err := os.Stat(filepath.Join(dir, "runs")); return err == nil })
			cancel()
		}()
		return ctx, cancel
	}, "--progress", "json")
	if code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	want(stderr, "stopped at the deadline: 1 of 4 trials are done",
		`{"undecided":2,"groups":2,"list":[{"parameters":{"x":1},"done":1,"trials":2,"complete":1,"replicates":2,`,
		`{"parameters":{"x":2},"done":0,"trials":2,"complete":0,"replicates":2,`)

	write(t, dir, "go", "")
	stdout, stderr, code = run(withDeadline)
	if code != 0 || strings.Contains(stdout, "undecided") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	want(stderr, "3 trials should fit before ", "4 completed")
	if got, _, _ := output(t, home, "sql", order, "--format", "csv"); got != "trial_index\n0\n2\n1\n3\n" {
		t.Errorf("order: %s", got)
	}
	plain := t.TempDir()
	if _, stderr, code := output(t, plain, "run", file, "--quiet"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	got, _, _ := output(t, home, "sql", all, "--format", "csv")
	if same, _, _ := output(t, plain, "sql", all, "--format", "csv"); got != same || strings.Count(got, "completed") != 4 {
		t.Errorf("results:\n%s\nwant\n%s", got, same)
	}
}
