package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"

	"sweep/coordinator/store"
	"sweep/sweep"
	"sweep/sweep/progress"
)

func someProgress() *progress.Snapshot {
	return &progress.Snapshot{
		Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Sweep: "s1", Name: "ucr", State: sweep.SweepActive,
		Done: 412, Total: 1200,
		Counts: sweep.Progress{Pending: 784, Queued: 2, Running: 2, Completed: 408, Failed: 4, Diverged: 3, Refused: 2},
		Share:  0.3, Seconds: 125, Rate: 3.21, Left: 3700,
		Running: []progress.Running{
			{Index: 412, Label: "CBF, lstm", Step: 150, Steps: 600, Seconds: 20, Left: 60,
				Metric: "validation_loss", Value: new(0.2)},
			{Index: 413, Label: "心臟, rnn", Seconds: 3},
		},
		Failures: []progress.Cause{{Reason: "out of memory", Count: 3}, {Reason: "timed out", Count: 1}},
		Refusals: []progress.Cause{{Reason: "no data set CBF", Count: 2}},
		BestBy:   "validation_loss", Best: []progress.Best{{Group: "CBF, lstm", Index: 17, Value: 0.0123},
			{Group: "Coffee, rnn", Index: 8, Value: 0.5}},
	}
}

func TestLiveLines(t *testing.T) {
	const want = `ucr  412/1200 trials  ████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░  30 %
  405 completed · 2 running · 4 failed · 3 diverged · 2 refused
  2m05s so far · 3.21 trials/s · about 1h01m left
  failed   3 × out of memory
           1 × timed out
  refused  2 × no data set CBF
  running  trial 412    CBF, lstm     20s  ██▌░░░░░░░ 150/600, 1m00s left  validation_loss 0.2
           trial 413    心臟, rnn      3s
  best     CBF, lstm    validation_loss 0.0123  trial 17
           Coffee, rnn  validation_loss 0.5  trial 8`
	if got := strings.Join(liveLines(someProgress(), 100, 24), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// It never overflows a terminal: a line that wraps would spoil the next picture.
	for width := 1; width < 120; width += 7 {
		for height := 1; height < 20; height++ {
			lines := liveLines(someProgress(), width, height)
			if len(lines) > max(height, 4)-1 {
				t.Fatalf("%d lines in a terminal of %d", len(lines), height)
			}
			for _, line := range lines {
				if ansi.StringWidth(line) > max(width, 20)-1 {
					t.Fatalf("a line of %d columns in a terminal of %d: %s", ansi.StringWidth(line), width, line)
				}
			}
		}
	}
	waits := someProgress()
	waits.State, waits.Reason = sweep.SweepWaiting, "no worker offers gpu=a100"
	if got := strings.Join(liveLines(waits, 100, 24), "\n"); !strings.Contains(got,
		"waits: no worker offers gpu=a100") {
		t.Errorf("a sweep that waits does not say so:\n%s", got)
	}
}

func TestPlainLine(t *testing.T) {
	const want = "ucr  412/1200 done, 30 % · 2 running · 4 failed (out of memory) · 3 diverged · 2 refused (no data set " +
		"CBF) · 3.21 trials/s · 1h01m left · trial 412 at 150/600, validation_loss 0.2 · best validation_loss 0.0123 (CBF, lstm)"
	if got := plainLine(someProgress()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	paused := &progress.Snapshot{Name: "x", Total: 5, Done: 1, Share: 0.2, State: sweep.SweepPaused, Reason: "a\nb"}
	if got := plainLine(paused); got != "x  1/5 done, 20 % · paused: a" {
		t.Errorf("got %q", got)
	}
	for _, c := range []struct {
		done    int64
		share   float64
		seconds int
		due     bool
	}{{412, 0.3, 1, false}, {413, 0.305, 1, false}, {412, 0.31, 1, true}, {412, 0.3, 29, false}, {412, 0.3, 30, true},
		{412, 0.29, 1, false}, {411, 0.29, 1, true}} {
		now := someProgress()
		now.Done, now.Share, now.Time = c.done, c.share, now.Time.Add(time.Duration(c.seconds)*time.Second)
		if got := lineDue(someProgress(), now); got != c.due {
			t.Errorf("%d done after %d s: a line is due: %v, want %v", c.done, c.seconds, got, c.due)
		}
	}
	for rate, want := range map[float64]string{3: "3 trials/s", 0.05: "3 trials/min", 0.001: "3.6 trials/h"} {
		if got := rateText(rate); got != want {
			t.Errorf("%g trials a second: %s, want %s", rate, got, want)
		}
	}
}

// pictured is what a terminal shows of what is written to it.
func pictured(text string) string {
	lines, row, column := [][]rune{nil}, 0, 0
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; r {
		case '\r':
			column = 0
		case '\n':
			column = 0
			if row++; row == len(lines) {
				lines = append(lines, nil)
			}
		case '\x1b':
			n := 0
			for i += 2; runes[i] >= '0' && runes[i] <= '9'; i++ {
				n = 10*n + int(runes[i]-'0')
			}
			switch runes[i] {
			case 'A':
				row -= n
			case 'J':
				lines = lines[:row+1]
				lines[row] = lines[row][:min(column, len(lines[row]))]
			case 'K':
				lines[row] = lines[row][:min(column, len(lines[row]))]
			}
		default:
			lines[row] = append(lines[row][:min(column, len(lines[row]))],
				append([]rune{r}, lines[row][min(column+1, len(lines[row])):]...)...)
			column++
		}
	}
	var all []string
	for _, line := range lines {
		all = append(all, string(line))
	}
	return strings.Join(all, "\n")
}

// What is written while lines are drawn stands above them, and what follows the
// last picture starts clean.
func TestConsole(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&out)
	c.draw([]string{"a 1", "b 1", "c 1"})
	fmt.Fprintln(c, "a note")
	c.draw([]string{"a 2", "b 2"})
	if got, want := pictured(out.String()), "a note\na 2\nb 2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	fmt.Fprint(c, "half")
	fmt.Fprintln(c, " a line")
	c.draw([]string{"a 3"})
	c.draw(nil)
	fmt.Fprintln(c, "the end")
	if got := pictured(out.String()); !strings.HasSuffix(got, " a line\nthe end\n") || strings.Contains(got, "a 3") {
		t.Errorf("got %q", got)
	}
	out.Reset()
	c.asJSON = true
	fmt.Fprint(c, "one \"<\"\ntwo\n")
	if got, want := out.String(), "{\"message\":\"one \\\"<\\\"\"}\n{\"message\":\"two\"}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProgressModes: every line of JSON is an object, the last of them the end;
// quiet says nothing before the summary; what there is none of is refused.
func TestProgressModes(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := write(t, home, "noop.yaml", "trainer: noop\nreplicates: 20\nparameters: {x: {values: [1, 2]}, "+
		"milliseconds: {value: 5}}\n")
	_, stderr, code := output(t, home, "run", file, "--progress", "json")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	var last progress.Snapshot
	for line := range strings.Lines(stderr) {
		var s progress.Snapshot
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if s.Sweep != "" {
			last = s
		}
	}
	if last.Done != 40 || last.Total != 40 || last.Share != 1 || last.State != sweep.SweepFinished {
		t.Errorf("the last line: %+v", last)
	}
	// A run that is over before anybody looked is shown once.
	results, record := latest(t, home)
	defer func() { _ = results.Close() }()
	over, end := context.WithCancel(t.Context())
	end()
	for mode, want := range map[string]string{progressPlain: "40/40 done", progressTTY: "40/40 trials",
		progressJSON: `"done":40`} {
		var out bytes.Buffer
		newProgressView(results, record, newConsole(&out), mode).watch(over)
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%s shows %q", mode, out.String())
		}
	}
	c := commands{t, home}
	c.run(0, []string{"40 completed"}, "watch", "--progress", "plain")
	c.run(0, []string{"\x1b[", "/40 trials"}, "run", file, "--fresh", "--progress", "tty")
	if _, stderr, _ = output(t, home, "run", file, "--fresh", "--progress", "quiet"); strings.Count(stderr, "\n") != 1 {
		t.Errorf("quiet says more than the summary:\n%s", stderr)
	}
	c.run(exitUsage, []string{"expected one of auto, tty, plain, json, quiet"}, "run", file, "--progress", "loud")
	c.run(exitUsage, []string{"exclude each other"}, "run", file, "--progress", "json", "--quiet")
	c.run(exitUsage, []string{"uses no cluster"}, "run", file, "--nats", "nats://127.0.0.1:1")
	c.run(exitUsage, []string{"--watch"}, "submit", file, "--progress", "json", "--nats", "nats://127.0.0.1:1")
}

// latest opens the database of runs, which the caller closes, and reads the last sweep.
func latest(t *testing.T, home string) (sweep.Store, *sweep.SweepRecord) {
	t.Helper()
	results, err := store.Open(t.Context(), filepath.Join(home, "sweep.db"))
	if err != nil {
		t.Fatal(err)
	}
	record, err := results.Sweep(t.Context(), "latest")
	if err != nil {
		t.Fatal(err)
	}
	return results, record
}

// slowCounts is a store whose counts take their time.
type slowCounts struct{ sweep.Store }

func (s slowCounts) Progress(ctx context.Context, id string) (sweep.Progress, error) {
	select {
	case <-time.After(20 * time.Second):
		return s.Store.Progress(ctx, id)
	case <-ctx.Done():
		return sweep.Progress{}, ctx.Err()
	}
}

// TestLastLookIsPatient: the end of a run is shown on a machine whose queries are slow.
func TestLastLookIsPatient(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := write(t, home, "noop.yaml", "trainer: noop\nparameters: {x: {value: 1}}\n")
	if _, stderr, code := output(t, home, "run", file); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	synctest.Test(t, func(t *testing.T) {
		results, record := latest(t, home)
		defer func() { _ = results.Close() }()
		over, end := context.WithCancel(t.Context())
		end()
		var out bytes.Buffer
		newProgressView(slowCounts{results}, record, newConsole(&out), progressJSON).watch(over)
		if strings.Count(out.String(), `"done":1`) != 1 {
			t.Errorf("it shows %q", out.String())
		}
	})
}

// TestLogsOfARun: the log of a trial that runs under "sweep run" is there while it
// runs, and followed to its end.
func TestLogsOfARun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"train.sh": "echo begins\nwhile [ ! -e \"$GATE\" ]; do sleep 0.05; done\necho ends\n",
		"s.yaml":   "program: train.sh\ncommand: [sh, \"${program}\"]\nparameters: {x: {value: 1}}\n",
	})
	gate := filepath.Join(dir, "gate")
	run := program(t, home, "run", filepath.Join(dir, "s.yaml"))
	run.Env = append(run.Env, "GATE="+gate)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = run.Process.Kill()
			_ = run.Wait()
		}
	}()
	c := commands{t, home}
	await(t, "the log of the trial that runs", func() bool {
		stdout, _, _ := output(t, home, "logs", "latest", "0")
		return strings.Contains(stdout, "begins")
	})
	follower := program(t, home, "logs", "-f", "latest", "0")
	var followed bytes.Buffer
	follower.Stdout = &followed
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "gate", "")
	if err := follower.Wait(); err != nil {
		t.Error(err)
	}
	if got := followed.String(); got != "begins\nends\n" {
		t.Errorf("followed %q", got)
	}
	err := run.Wait()
	ended = true
	if err != nil {
		t.Error(err)
	}
	c.run(0, []string{"begins\nends"}, "logs", "latest", "0")
	if left, err := filepath.Glob(filepath.Join(home, "run.socket")); err != nil || len(left) > 0 {
		t.Errorf("the run leaves %v, %v", left, err)
	}
}
