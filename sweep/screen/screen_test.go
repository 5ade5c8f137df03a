package screen

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"sweep/coordinator/store/storetest"
	"sweep/sweep"
)

var update = flag.Bool("update", false, "write the screens anew")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// database has a sweep of forty trials, some of them done, one running, one failed,
// and a small one.
func database(t *testing.T) sweep.Store {
	t.Helper()
	submission := &sweep.Submission{
		Spec: sweep.Spec{
			Name: "nets", Trainer: "test", Pool: "cpu", Limits: sweep.Limits{Attempts: 1, Points: 1000},
			Axes: []sweep.Axis{{Parameters: []sweep.AxisParameter{{Name: "model",
				Values: sweep.Values{List: []any{"rnn", "lstm"}}}}},
				{Parameters: []sweep.AxisParameter{{Name: "lr", Values: sweep.Values{List: []any{0.1, 0.01}}}}}},
			Select: sweep.Select{By: "loss", Goal: sweep.Minimize},
		},
		Description: sweep.Description{Name: "test", Version: "1", ResultVersion: "1",
			Metrics: []sweep.MetricSchema{{Name: "loss", Goal: sweep.Minimize, Curve: true, Summary: true}}},
	}
	var trials []sweep.Trial
	for i := range int64(40) {
		trials = append(trials, sweep.Trial{
			TrialID: sweep.TrialID{Sweep: "20260301-120000-nets", Index: i},
			Parameters: sweep.Parameters{"model": []string{"rnn", "lstm"}[i%2], "lr": []float64{0.1, 0.01}[i/2%2],
				"epochs": int64(100), "note": "evil \x1b[31m\ntext"},
			Fingerprint: sweep.Fingerprint(fmt.Sprintf("%064d", i)),
		})
	}
	curve := sweep.Curve{Metric: "loss"}
	other := sweep.Curve{Metric: "rate"}
	for step := int64(1); step <= 50; step++ {
		curve.Steps, curve.Values = append(curve.Steps, step), append(curve.Values, 5/float32(step))
		other.Steps, other.Values = append(other.Steps, step), append(other.Values, float32(step))
	}
	var events []sweep.Event
	event := func(i int64, kind sweep.EventKind, change func(e *sweep.Event)) {
		e := sweep.Event{Kind: kind, TrialID: sweep.TrialID{Sweep: "20260301-120000-nets", Index: i},
			Execution: fmt.Sprint("e", i), Worker: "node1", Time: noon}
		if change != nil {
			change(&e)
		}
		events = append(events, e)
	}
	for i := range int64(20) {
		event(i, sweep.EventResult, func(e *sweep.Event) {
			e.Result = &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"loss": float64((i*7)%20) + 1},
				Seconds: float64(i), Curves: []sweep.Curve{curve}, Digest: "d"}
		})
	}
	event(20, sweep.EventResult, func(e *sweep.Event) {
		e.Result = &sweep.Result{State: sweep.Failed, Error: "no memory\nat all"}
	})
	event(21, sweep.EventStarted, nil)
	event(21, sweep.EventPoints, func(e *sweep.Event) { e.Curves = []sweep.Curve{curve, other} })
	s := storetest.Open(t)
	nets := storetest.Example{ID: "20260301-120000-nets", Submission: submission, Trials: trials, Queued: 30,
		Events: events}
	nets.Add(t, s)
	small := *submission
	small.Spec.Name = "small"
	if _, err := s.CreateSweep(t.Context(), "20260301-130000-small", &small, 3); err != nil {
		t.Fatal(err)
	}
	return s
}

// drive runs the model as Bubble Tea would, one message after the other.
type drive struct {
	t *testing.T
	m *model
}

func newDrive(t *testing.T, o Options) *drive {
	o.Now = func() time.Time { return noon.Add(90 * time.Second) }
	d := &drive{t, newModel(t.Context(), o)}
	d.m.width, d.m.height = 90, 20
	d.do(d.m.ask())
	return d
}

// do runs a command and gives its message to the model.
func (d *drive) do(cmd tea.Cmd) {
	d.t.Helper()
	if cmd == nil {
		return
	}
	msg := cmd()
	if _, quit := msg.(tea.QuitMsg); quit {
		return
	}
	_, next := d.m.Update(msg)
	d.do(next)
}

var keys = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "pgdown": {Code: tea.KeyPgDown},
	"pgup": {Code: tea.KeyPgUp},
}

func (d *drive) press(names ...string) {
	d.t.Helper()
	for _, name := range names {
		key, ok := keys[name]
		if !ok {
			key = tea.KeyPressMsg{Code: rune(name[0]), Text: name}
		}
		_, cmd := d.m.Update(key)
		d.do(cmd)
	}
}

var (
	escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")
	dates   = regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d`)
)

// shows compares the screen with a golden file; the line of the cursor has a mark.
func (d *drive) shows(name string) {
	d.t.Helper()
	lines := d.m.lines()
	if len(lines) != d.m.height {
		d.t.Errorf("%s: %d lines on a screen of %d", name, len(lines), d.m.height)
	}
	var text []string
	for _, line := range lines {
		mark := " "
		if strings.Contains(line, reverseOn) {
			mark = ">"
		}
		bare := escapes.ReplaceAllString(line, "")
		if n := len([]rune(bare)); n > d.m.width || strings.ContainsAny(bare, "\x1b\n") {
			d.t.Errorf("%s: a line of %d characters on a screen of %d: %q", name, n, d.m.width, bare)
		}
		text = append(text, strings.TrimRight(mark+dates.ReplaceAllString(bare, "2026-03-01 12:00"), " "))
	}
	got := strings.Join(text, "\n") + "\n"
	golden := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		d.t.Fatal(err)
	}
	if got != string(want) {
		d.t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

// A walk through all pages; the screens are in testdata.
func TestScreens(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "epoch %d\tloss %d\x1b[31m\n", i, 40-i)
	}
	d := newDrive(t, Options{
		Store: database(t),
		Workers: func(context.Context) ([]Worker, error) {
			return []Worker{{Name: "node1", State: "working", Pool: "cpu", Slots: 2,
				Runs: []sweep.TrialID{{Sweep: "20260301-120000-nets", Index: 21}}, Refused: 1},
				{Name: "node2", State: "broken", Pool: "cpu", Slots: 4, Reason: "the disk is full"}}, nil
		},
		Log: func(_ context.Context, id sweep.TrialID) (string, error) { return text.String(), nil },
	})
	d.shows("sweeps")
	d.press("w")
	d.shows("workers")
	d.press("w", "down")
	d.press("enter")
	d.shows("trials")
	d.press("s")
	d.shows("trials-by-index")
	d.press("s", "pgdown", "down", "down")
	d.shows("trials-second-page")
	d.press("pgup", "f")
	d.shows("trials-running")
	d.press("enter")
	d.shows("trial-running")
	d.press("right", "y")
	d.shows("trial-other-metric")
	d.press("o")
	d.shows("log")
	d.press("up", "up", "up")
	d.shows("log-above")
	d.press("esc", "esc", "f", "f", "enter")
	d.shows("trial-failed")
}

// Pages follow each other without a gap, whatever the order.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, sort := range []bool{false, true} {
		d := newDrive(t, Options{Store: database(t), Sweep: "20260301-120000-nets"})
		if sort {
			d.press("s")
		}
		seen := map[int64]bool{}
		for range 5 {
			shown := strings.Join(d.m.lines(), "\n")
			for _, trial := range d.m.trials {
				if !strings.Contains(shown, fmt.Sprintf("%d  ", trial.Index)) {
					t.Errorf("trial %d is loaded and not shown", trial.Index)
				}
				seen[trial.Index] = true
			}
			if !d.m.more {
				break
			}
			d.press("pgdown")
		}
		if len(seen) != 40 {
			t.Errorf("%d of 40 trials were shown", len(seen))
		}
	}
}

// Whatever the size of the terminal, nothing overflows it; keys where nothing is to
// be done do nothing; an error is told and the next look tries again.
func TestScreenHolds(t *testing.T) {
	t.Parallel()
	s := database(t)
	fails := true
	d := newDrive(t, Options{Store: s, Sweep: "20260301-120000-nets",
		Log: func(context.Context, sweep.TrialID) (string, error) {
			if fails {
				return "", errors.New("no worker\nanswers")
			}
			return "words\n", nil
		}})
	for _, size := range []tea.WindowSizeMsg{{Width: 20, Height: 5}, {Width: 33, Height: 7},
		{Width: 200, Height: 60}, {}} {
		_, cmd := d.m.Update(size)
		d.do(cmd)
		for _, key := range []string{"down", "up", "pgup", "G", "g", "pgdown", "pgup", "enter", "right", "left", "y",
			"o", "up", "down", "esc", "esc", "esc", "w", "enter", "down", "w", "enter", "x"} {
			d.press(key)
			for _, line := range d.m.lines() {
				if n := len([]rune(escapes.ReplaceAllString(line, ""))); n > d.m.width {
					t.Fatalf("after %s: a line of %d characters on a screen of %v: %q", key, n, size, line)
				}
			}
			if n := len(d.m.lines()); n != d.m.height {
				t.Fatalf("after %s: %d lines on a screen of %v", key, n, size)
			}
		}
		d.press("esc", "esc")
		d.m.cursor[sweepsPage] = 1
		d.press("enter")
	}
	d = newDrive(t, Options{Store: s, Sweep: "20260301-120000-nets", Log: d.m.options.Log})
	d.press("enter", "o")
	if last := d.m.lines()[d.m.height-1]; !strings.Contains(last, "no worker") || strings.Contains(last, "answers") {
		t.Errorf("an error is not told: %q", last)
	}
	fails = false
	_, cmd := d.m.Update(tickMsg{})
	if cmd == nil {
		t.Fatal("no look after a second")
	}
	d.do(d.m.ask())
	if d.m.err != nil || !reflect.DeepEqual(d.m.log, []string{"words"}) {
		t.Errorf("after the error: %v, %q", d.m.err, d.m.log)
	}
	// An answer to an earlier question changes nothing.
	_, _ = d.m.Update(answer{asked: d.m.asked - 1, err: errors.New("late")})
	if d.m.err != nil {
		t.Error("a late answer was taken")
	}
}

// The whole program: it starts, draws, and ends by its key.
func TestRun(t *testing.T) {
	t.Parallel()
	in, keyboard, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	defer func() { _ = keyboard.Close() }()
	if _, err := keyboard.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Run(t.Context(), Options{Store: database(t), Input: in, Output: &out}); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}
