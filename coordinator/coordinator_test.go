package coordinator

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/sweep/sweeptest"
	"sweep/sweep/wire"
)

func TestEndToEnd(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{Window: 32, Page: 50})
	w := &crew{b: b, slots: 2}
	w.start()
	id := b.submit(c, submission("end to end", 0, 200))
	if p := b.finish(c, id); p.Completed != 200 || p.Total() != 200 {
		t.Errorf("progress %+v", p)
	}
	b.check(id, 200)
	if n := w.runs.Load(); n != 200 {
		t.Errorf("%d executions of 200 trials", n)
	}
	trial, err := b.store.Trial(t.Context(), sweep.TrialID{Sweep: id, Index: 1})
	if err != nil {
		t.Fatal(err)
	}
	if trial.DatasetDigest != "digest of one" || trial.Parameters["y"] != 0.5 {
		t.Errorf("trial 1 is not resolved: %+v", trial.Trial)
	}
	want := sweep.NewFingerprint("noop", "1", "digest of one", []byte(`{"x":1,"y":0.5}`))
	if trial.Fingerprint != want {
		t.Errorf("fingerprint %s, want %s", trial.Fingerprint, want)
	}
	b.until("no job and no event left", func() bool {
		jobs, err := b.jobs()
		events, err2 := b.wire.EventCount(t.Context())
		return err == nil && err2 == nil && jobs == 0 && events == 0
	})
}

func TestJobCarriesTheSubmission(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{})
	s := submission("job", 5, 1)
	s.Spec.Limits.Timeout = time.Hour
	b.submit(c, s)
	taken := make(chan *wire.Delivery, 1)
	w := &crew{b: b}
	w.run = func(_ context.Context, d *wire.Delivery) error {
		taken <- d
		return nil
	}
	w.start()
	d := <-taken
	if d.Requirement.Trainer != "noop" || d.Requirement.ResultVersion != "1" || d.Limits != s.Spec.Limits ||
		len(d.Volatile) != 1 || d.Volatile[0] != "seconds" || d.Parameters["x"] != int64(5) {
		t.Errorf("job %+v", d.Job)
	}
}

func TestHugeGridStartsAtOnce(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{Window: 64, Page: 100})
	w := &crew{b: b, slots: 2}
	w.start()
	ctx, cancel := context.WithTimeout(t.Context(), patience) // all of them would take an hour
	defer cancel()
	done, err := c.Submit(ctx, submission("huge", 0, 1_000_000_000), false)
	if err != nil || done.Points != 1_000_000_000 {
		t.Fatalf("Submit: %+v, %v", done, err)
	}
	id, points := done.Sweep, done.Points
	b.until("the first 300 trials are done", func() bool { return b.progress(id).Completed >= 300 })
	record, err := b.store.Sweep(t.Context(), id) // before the cancellation, during which rows may be written
	if err != nil {
		t.Fatal(err)
	}
	if ahead := record.Grids[0].Cursor - b.progress(id).Completed; ahead > 2*windowGrowth*64+2*100 {
		t.Errorf("%d trial rows were written ahead", ahead)
	}
	if _, err := c.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	p := b.progress(id)
	if p.Pending+p.Queued+p.Running != 0 || p.Total() != points {
		t.Errorf("after Cancel: %+v", p)
	}
}

func TestPointsThatDoNotResolveFail(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{Page: 7})
	w := &crew{b: b}
	w.start()
	s := submission("refused", 0, 20)
	limit := 14.0
	s.Description.Parameters[0].Maximum = &limit
	id := b.submit(c, s)
	if p := b.finish(c, id); p.Completed != 15 || p.Failed != 5 {
		t.Errorf("progress %+v", p)
	}
	trial, err := b.store.Trial(t.Context(), sweep.TrialID{Sweep: id, Index: 17})
	if err != nil {
		t.Fatal(err)
	}
	if trial.Result == nil || !strings.Contains(trial.Result.Error, "parameter x = 17") ||
		trial.Parameters["x"] != int64(17) {
		t.Errorf("trial 17: %+v, result %+v", trial.Trial, trial.Result)
	}
	if n := w.runs.Load(); n != 15 {
		t.Errorf("%d executions, want 15", n)
	}
}

func TestJobsThatFitNoMessageFail(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{})
	w := &crew{b: b}
	w.start()
	s := submission("large", 0, 3)
	s.Spec.Axes = append(s.Spec.Axes, sweep.Axis{Parameters: []sweep.AxisParameter{{
		Name: "text", Values: sweep.Values{List: []any{"short", strings.Repeat("long ", 300_000)}},
	}}})
	s.Description.Parameters = append(s.Description.Parameters,
		sweep.ParameterSchema{Name: "text", Type: sweep.StringType, Required: true})
	id := b.submit(c, s)
	if p := b.finish(c, id); p.Completed != 3 || p.Failed != 3 {
		t.Errorf("progress %+v", p)
	}
	trial, err := b.store.Trial(t.Context(), sweep.TrialID{Sweep: id, Index: 1})
	if err != nil {
		t.Fatal(err)
	}
	if trial.Result == nil || !strings.Contains(trial.Result.Error, "max_payload") {
		t.Errorf("trial 1: result %+v", trial.Result)
	}
}

func TestReuse(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{Page: 30, Window: 16})
	w := &crew{b: b, slots: 2}
	w.start()
	first := b.submit(c, submission("first", 0, 100))
	b.finish(c, first)
	again := b.submit(c, submission("again", 50, 100)) // 50 … 149
	if p := b.finish(c, again); p.Completed != 100 || p.Reused != 50 {
		t.Errorf("progress %+v", p)
	}
	b.check(again, 100)
	if n := w.runs.Load(); n != 150 {
		t.Errorf("%d executions, want 150", n)
	}
	whole := b.submit(c, submission("whole", 0, 100)) // ends without a worker
	if p := b.finish(c, whole); p.Reused != 100 {
		t.Errorf("progress %+v", p)
	}
}

func TestExtend(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{})
	w := &crew{b: b, slots: 2}
	w.start()
	id := b.submit(c, submission("extended", 0, 40))
	b.finish(c, id)
	points, err := c.Extend(t.Context(), id, submission("extended", 20, 60)) // 20 … 79
	if err != nil || points != 40 {
		t.Fatalf("Extend: %d points, %v", points, err)
	}
	if p := b.finish(c, id); p.Completed != 80 || p.Reused != 0 {
		t.Errorf("progress %+v", p)
	}
	b.check(id, 80)
	if n := w.runs.Load(); n != 80 {
		t.Errorf("%d executions, want 80", n)
	}
	for _, s := range []*sweep.Submission{submission("same", 0, 40), submission("both", 10, 60)} {
		if points, err := c.Extend(t.Context(), id, s); err != nil || points != 0 {
			t.Errorf("an extension by points that the sweep has: %d points, %v", points, err)
		}
	}
	around := submission("around", 70, 20) // 70 … 89
	around.Key = "once"
	for range 2 { // the request is repeated
		if points, err := c.Extend(t.Context(), id, around); err != nil || points != 10 {
			t.Errorf("an extension by ten more: %d points, %v", points, err)
		}
	}
	told := submission("told", 80, 12) // 80 … 91, as a program chooses them
	told.Key = "told-extended-90-1"
	if points, err := c.Extend(t.Context(), id, told); err != nil || points != 2 {
		t.Errorf("an extension by two more that are told: %d points, %v", points, err)
	}
	twice := submission("twice", 90, 3) // 90 … 92, each twice
	twice.Spec.Axes[0].Parameters[0].Values = sweep.Values{List: []any{int64(90), int64(92), int64(92), int64(91)}}
	if points, err := c.Extend(t.Context(), id, twice); err != nil || points != 1 {
		t.Errorf("an extension by one more that comes twice: %d points, %v", points, err)
	}
	newer := submission("newer", 0, 93)
	newer.Description.ResultVersion, newer.Datasets = "2", map[string]string{`{"x":1}`: "another digest"}
	if points, err := c.Extend(t.Context(), id, newer); err != nil || points != 0 {
		t.Errorf("an extension by the same points of other versions: %d points, %v", points, err)
	}
	if p := b.finish(c, id); p.Completed != 93 {
		t.Errorf("progress %+v", p)
	}
	b.check(id, 93)
	record, err := b.store.Sweep(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	at, err := Locate(t.Context(), record, []sweep.Parameters{{"x": int64(92)}, {"x": int64(5)}, {"x": int64(93)},
		{"x": int64(89)}, {"x": int64(5)}})
	if want := []int64{92, 5, -1, 89, 5}; err != nil || !slices.Equal(at, want) {
		t.Errorf("trials of points: %v, %v; want %v", at, err, want)
	}
	other := submission("other", 0, 1)
	other.Spec.Pool = "gpu"
	if _, err := c.Extend(t.Context(), id, other); err == nil || !strings.Contains(err.Error(), "pool") {
		t.Errorf("extension of another pool: %v", err)
	}
	compared := submission("x", 0, 1)
	compared.Spec.Select = sweep.Select{By: "reward", Goal: sweep.Maximize}
	if _, err := c.Extend(t.Context(), id, compared); err == nil ||
		!strings.Contains(err.Error(), "the extension by reward (maximize)") {
		t.Errorf("another select: %v", err)
	}
	if _, err := c.Extend(t.Context(), "nothing", submission("x", 0, 1)); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("extension of nothing: %v", err)
	}
}

// A sweep has the results of one version of its program.
func TestExtendByAnotherProgram(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := New(Options{Store: b.store})
	program := func(points int64, digest string) *sweep.Submission {
		s := submission("program", 0, points)
		s.Spec.Script = &sweep.Script{Program: "p.py", Command: sweep.DefaultCommand, Directory: "/project"}
		s.Datasets = map[string]string{"{}": digest}
		return s
	}
	id := b.submit(c, program(2, "first"))
	if n, err := c.Extend(t.Context(), id, program(3, "first")); n != 1 || err != nil {
		t.Errorf("by the same program: %d points, %v", n, err)
	}
	if _, err := c.Extend(t.Context(), id, program(4, "edited")); err == nil ||
		!strings.Contains(err.Error(), "the program p.py in /project, or a file that belongs to it, has changed since") {
		t.Errorf("by a program that was edited: %v", err)
	}
}

// Whether a grid has a point takes no walk over its points.
func TestExtendLargeGrid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := New(Options{Store: b.store})
	large := submission("large", 0, 1_000_000_000)
	id := b.submit(c, large)
	for _, test := range []struct{ from, points, want int64 }{
		{999_999_000, 1000, 0}, {999_999_990, 20, 10}, {5, 1, 0}, {1_000_000_005, 10, 5},
	} {
		if n, err := c.Extend(t.Context(), id, submission("more", test.from, test.points)); n != test.want || err != nil {
			t.Errorf("by %d points from %d on: %d are added, %v; want %d", test.points, test.from, n, err, test.want)
		}
	}
	record, err := b.store.Sweep(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	at, err := Locate(t.Context(), record, []sweep.Parameters{{"x": int64(999_999_999)}, {"x": int64(1_000_000_012)},
		{"x": int64(1_000_000_015)}, {"x": int64(0)}})
	if want := []int64{999_999_999, 1_000_000_012, -1, 0}; err != nil || !slices.Equal(at, want) {
		t.Errorf("trials of points: %v, %v; want %v", at, err, want)
	}
}

// An extension of a search adds the draws that follow those of the sweep, with all their replicates.
func TestExtendSearches(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{})
	search := func(points, replicates int64, policies ...sweep.Policy) *sweep.Submission {
		s := submission("search", 0, 1_000_000)
		s.Description.Parameters = append(s.Description.Parameters, sweep.ParameterSchema{Name: sweep.SeedParameter,
			Type: sweep.IntegerType})
		s.Spec.Axes = append(s.Spec.Axes, sweep.Axis{Parameters: []sweep.AxisParameter{{Name: sweep.SeedParameter,
			Values: sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: replicates, Integer: true}}}}})
		s.Spec.Random, s.Spec.Policies = &sweep.Random{Seed: 3, Replicated: true}, policies
		s.Spec.Cap = points * replicates
		return s
	}
	sobol, latin := policy.Of(&policy.Sobol{}), policy.Of(&policy.Latin{})
	for _, test := range []struct {
		name     string
		first    *sweep.Submission
		by       *sweep.Submission
		want     int64
		rejected string
	}{
		{"random", search(10, 2), search(14, 2), 8, ""},
		{"fewer", search(10, 2), search(4, 2), 0, ""},
		{"replicates", search(10, 2), search(10, 3), 10, ""},
		{"both", search(10, 2), search(12, 3), 16, ""},
		{"sobol", search(10, 2, sobol), search(14, 2, sobol), 8, ""},
		{"latin", search(10, 2, latin), search(14, 2, latin), 0, "with another run_cap"},
		{"the same", search(10, 2, latin), search(10, 2, latin), 0, ""},
		{"latin's replicates", search(10, 2, latin), search(10, 3, latin), 10, ""},
	} {
		id := b.submit(c, test.first)
		points, err := c.Extend(t.Context(), id, test.by)
		if points != test.want || (err == nil) != (test.rejected == "") ||
			err != nil && !strings.Contains(err.Error(), test.rejected) {
			t.Errorf("%s: %d points, %v; want %d, %q", test.name, points, err, test.want, test.rejected)
		}
		if points, err := c.Extend(t.Context(), id, test.first); points != 0 || err != nil {
			t.Errorf("%s by itself: %d points, %v", test.name, points, err)
		}
	}
}

func TestSubmitRefuses(t *testing.T) {
	b := newBench(t)
	c := New(Options{Store: b.store, Wire: b.wire, Logger: logger(t)})
	for name, change := range map[string]func(*sweep.Submission){
		"pool":        func(s *sweep.Submission) { s.Spec.Pool = "a.b" },
		"trainer":     func(s *sweep.Submission) { s.Spec.Trainer = "" },
		"no point":    func(s *sweep.Submission) { s.Spec.Axes = nil },
		"given twice": func(s *sweep.Submission) { s.Spec.Axes = append(s.Spec.Axes, s.Spec.Axes[0]) },
		// What no database takes, whatever the client has let through.
		"200": func(s *sweep.Submission) {
			s.Spec.Axes[0].Parameters[0].Name = strings.Repeat("x", 201)
		},
		"UTF-8": func(s *sweep.Submission) { s.Spec.Name = "a\xff" },
		`character '\x00'`: func(s *sweep.Submission) {
			s.Spec.Axes[0].Parameters[0].Values = sweep.Values{List: []any{"a\x00b"}}
		},
		`character '\n'`:       func(s *sweep.Submission) { s.Spec.Name = "a\nb" },
		`character '\u0085'`:   func(s *sweep.Submission) { s.Spec.Requires = map[string]string{"gpu": "a\u0085"} },
		`artifact "\x00"`:      func(s *sweep.Submission) { s.Spec.Artifacts = []string{"\x00"} },
		`metric "loss\x00"`:    func(s *sweep.Submission) { s.Description.Metrics[0].Name = "loss\x00" },
		`parameter "y\x00"`:    func(s *sweep.Submission) { s.Description.Parameters[1].Name = "y\x00" },
		`default value "\x00"`: func(s *sweep.Submission) { s.Description.Parameters[1].Default = "\x00" },
	} {
		s := submission("refused", 0, 3)
		change(s)
		if _, err := c.Submit(t.Context(), s, false); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if sweeps, err := b.store.Sweeps(t.Context()); err != nil || len(sweeps) != 0 {
		t.Errorf("refused submissions were stored: %v %v", sweeps, err)
	}
}

func TestPools(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{Window: 8})
	cpu, gpu := &crew{b: b}, &crew{b: b, pool: "gpu"}
	gpu.start()
	onGPU := submission("gpu", 0, 50)
	onGPU.Spec.Pool = "gpu"
	waiting := b.submit(c, submission("cpu", 1000, 50)) // nobody takes it yet
	id := b.submit(c, onGPU)
	if p := b.finish(c, id); p.Completed != 50 {
		t.Errorf("progress %+v", p)
	}
	if p := b.progress(waiting); p.Done() != 0 {
		t.Errorf("the pool without workers: %+v", p)
	}
	cpu.start()
	b.finish(c, waiting)
	b.check(id, 50)
	b.check(waiting, 50)
	if cpu.runs.Load() != 50 || gpu.runs.Load() != 50 {
		t.Errorf("%d and %d executions, want 50 and 50", cpu.runs.Load(), gpu.runs.Load())
	}
}

// A worker of another pool cannot report on a paused sweep, even if the coordinator has
// been started since: with a result, or with an event that no store takes, which would
// fail its trial.
func TestOtherPoolReportsAfterRestart(t *testing.T) {
	b := newBench(t)
	c, stop := b.start(Options{})
	id := b.submit(c, submission("paused", 0, 10))
	b.until("the trials are written", func() bool {
		left, err := b.store.Backlog(t.Context(), id)
		return err == nil && len(left) == 1 && left[0].Unwritten == 0
	})
	if err := c.Pause(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	stop()
	b.start(Options{})
	result := func(index int64) sweep.Event {
		e := event(sweep.EventResult, sweep.TrialID{Sweep: id, Index: index}, newExecution())
		e.Result = outcome(e.TrialID)
		return e
	}
	bad := result(1)
	bad.Result.WeightsDigest = "\x00"
	other, own := &crew{b: b, pool: "gpu", id: "other"}, &crew{b: b, pool: sweep.DefaultPool, id: "own"}
	if err := other.publish(t.Context(), result(0), bad); err != nil {
		t.Fatal(err)
	}
	if err := own.publish(t.Context(), result(2)); err != nil {
		t.Fatal(err)
	}
	b.until("the result of the own pool's worker is recorded", func() bool { return b.progress(id).Completed > 0 })
	if p := b.progress(id); p.Completed != 1 || p.Failed != 0 {
		t.Errorf("%d trials completed and %d failed, want 1 and 0: the other pool's events are recorded",
			p.Completed, p.Failed)
	}
}

// orderly is a worker of one slot that is there but takes no job before order.
func (b *bench) orderly() (w *crew, order func(c *Coordinator, ids ...string) []string) {
	var runs []string
	w = &crew{b: b, begin: make(chan struct{})}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		runs = append(runs, d.Sweep)
		return w.report(ctx, d)
	}
	stop := w.start()
	return w, func(c *Coordinator, ids ...string) []string {
		b.t.Helper()
		close(w.begin)
		for _, id := range ids {
			b.finish(c, id)
		}
		stop()
		return runs
	}
}

func TestPriorityOvertakesWhatWaits(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{Window: 63})
	_, order := b.orderly()
	low := b.submit(c, submission("low", 0, 100))
	b.until("the first sweep fills the queue", func() bool { return b.progress(low).Queued == 64 })
	urgent := submission("urgent", 1000, 30)
	urgent.Spec.Priority = 5
	high := b.submit(c, urgent)
	b.until("the second sweep is queued", func() bool { return b.progress(high).Queued == 30 })
	runs := order(c, low, high)
	for i, id := range runs[:30] {
		if id != high {
			t.Fatalf("execution %d is of the sweep of low priority", i)
		}
	}
	if len(runs) != 130 {
		t.Errorf("%d executions of 130 trials", len(runs))
	}
	b.check(low, 100)
	b.check(high, 30)
}

func TestSetPriorityActsAtOnce(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{Window: 63})
	_, order := b.orderly()
	first := b.submit(c, submission("first", 0, 50))
	second := b.submit(c, submission("second", 100, 50))
	b.until("both are queued", func() bool { return b.progress(first).Queued+b.progress(second).Queued == 64 })
	if err := c.SetPriority(t.Context(), second, 3); err != nil {
		t.Fatal(err)
	}
	b.until("the second sweep is queued whole", func() bool { return b.progress(second).Queued == 50 })
	for i, id := range order(c, first, second)[:50] {
		if id != second {
			t.Fatalf("execution %d is of the sweep of lower priority", i)
		}
	}
}

func TestFairShare(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{Window: 59})
	_, order := b.orderly()
	first := b.submit(c, submission("first", 0, 200))
	b.until("the first sweep fills the queue", func() bool { return b.progress(first).Queued == 60 })
	second := b.submit(c, submission("second", 1000, 100))
	b.until("they share the queue", func() bool {
		return b.progress(first).Queued == 30 && b.progress(second).Queued == 30
	})
	runs := order(c, first, second)
	count := 0
	for _, id := range runs[:100] {
		if id == second {
			count++
		}
	}
	if count < 40 || count > 60 {
		t.Errorf("the second sweep has %d of the first 100 executions, want about 50", count)
	}
}

func TestPauseAndResume(t *testing.T) {
	b := newBench(t)
	b.useAckWait(patience) // the workers say nothing of what they run
	c, _ := b.start(Options{Window: 30, Lease: time.Second})
	w := &crew{b: b, slots: 2}
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		execution := newExecution()
		if err := w.publish(ctx, event(sweep.EventStarted, d.TrialID, execution)); err != nil {
			return err
		}
		entered <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
			return nil
		}
		result := event(sweep.EventResult, d.TrialID, execution)
		result.Result = outcome(d.TrialID)
		if err := w.publish(ctx, result); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return d.DoubleAck(ctx)
	}
	w.start()
	id := b.submit(c, submission("paused", 0, 100))
	<-entered
	<-entered
	b.until("two trials run", func() bool { return b.progress(id).Running == 2 })
	if err := c.Pause(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	b.until("the others wait for the end of the pause", func() bool {
		p := b.progress(id)
		return p.Queued == 0 && p.Running == 2 && p.Pending == 98
	})
	// Long after, they are still their worker's.
	pause(t.Context(), 3*lookAgain)
	if p := b.progress(id); p.Running != 2 {
		t.Errorf("after a while: %+v", p)
	}
	if err := c.Pause(t.Context(), id); err != nil {
		t.Errorf("paused twice: %v", err)
	}
	close(leave) // those that run end well, and nothing else starts
	b.until("the running trials are done", func() bool { return b.progress(id).Completed == 2 })
	if n := w.runs.Load(); n != 2 {
		t.Errorf("%d executions while paused, want 2", n)
	}
	if err := c.Resume(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	b.finish(c, id)
	b.check(id, 100)
	if n := w.runs.Load(); n != 100 {
		t.Errorf("%d executions of 100 trials", n)
	}
	if err := c.Resume(t.Context(), id); err == nil || !strings.Contains(err.Error(), "finished") {
		t.Errorf("resuming a finished sweep: %v", err)
	}
	if err := c.Pause(t.Context(), id); err == nil || !strings.Contains(err.Error(), "finished") {
		t.Errorf("pausing a finished sweep: %v", err)
	}
}

func TestCancelAndRetry(t *testing.T) {
	b := newBench(t)
	b.useAckWait(patience) // the workers say nothing of what they run
	c, _ := b.start(Options{Window: 32, Page: 50})
	w := &crew{b: b, slots: 2}
	var stuck atomic.Bool
	stuck.Store(true)
	stopped := make(chan string, 10)
	unsubscribe, err := b.wire.Cancellations(func(id string, _ []int64, _ map[int64]wire.Halt) { stopped <- id })
	if err != nil {
		t.Fatal(err)
	}
	defer unsubscribe()
	running := make(chan string, 2)
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		if !stuck.Load() {
			return w.report(ctx, d)
		}
		execution := newExecution()
		if err := w.publish(ctx, event(sweep.EventStarted, d.TrialID, execution)); err != nil {
			return err
		}
		running <- execution
		select {
		case <-ctx.Done():
			return nil
		case id := <-stopped:
			stopped <- id // for the other slot
		}
		released := event(sweep.EventReleased, d.TrialID, execution)
		released.Release = &sweep.Release{Reason: "cancelled"}
		if err := w.publish(ctx, released); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return d.DoubleAck(ctx)
	}
	w.start()
	id := b.submit(c, submission("cancelled", 0, 10_000))
	<-running
	<-running
	b.until("two trials run", func() bool { return b.progress(id).Running == 2 })
	n, err := c.Cancel(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if n < 2 || n > 34 {
		t.Errorf("Cancel stopped %d trials", n)
	}
	if p := b.finish(c, id); p.Cancelled != 10_000 {
		t.Errorf("cancelled: %+v", p)
	}
	if got := <-stopped; got != id {
		t.Errorf("workers were told to stop %s", got)
	}
	stopped <- id
	b.until("no job is left", func() bool {
		jobs, err := b.jobs()
		return err == nil && jobs == 0
	})
	if err := c.Resume(t.Context(), id); err == nil || !strings.Contains(err.Error(), "retry") {
		t.Errorf("resuming a cancelled sweep: %v", err)
	}
	stuck.Store(false)
	trials, err := c.Retry(t.Context(), id)
	if err != nil || trials != 10_000 {
		t.Fatalf("Retry: %d trials, %v", trials, err)
	}
	b.until("500 trials are done", func() bool { return b.progress(id).Completed >= 500 })
	if _, err := c.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenGridPausesItsSweepAlone(t *testing.T) {
	b := newBench(t)
	broken := submission("broken", 0, 10)
	if _, err := b.store.CreateSweep(t.Context(), "broken", broken, 20); err != nil {
		t.Fatal(err)
	}
	c, _ := b.start(Options{})
	w := &crew{b: b}
	w.start()
	id := b.submit(c, submission("sound", 0, 20))
	b.finish(c, id)
	b.check(id, 20)
	var record *sweep.SweepRecord
	b.until("the broken sweep to be paused", func() bool {
		var err error
		record, err = b.store.Sweep(t.Context(), "broken")
		return err == nil && record.State == sweep.SweepPaused
	})
	if !strings.Contains(record.Reason, "the grid ends at point 10") {
		t.Errorf("the broken sweep is %+v", record)
	}
}

func TestFatalErrorEndsRun(t *testing.T) {
	b := newBench(t)
	b.useAckWait(patience) // the worker holds jobs back
	store := newFaulty(b.store)
	c := New(Options{Store: store, Wire: b.wire, Logger: logger(t), Fatal: func(err error) bool {
		return errors.Is(err, syscall.ENOSPC)
	}})
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	sweeptest.Receive(t, "the coordinator to be ready", c.Ready())
	w := &crew{b: b}
	goOn := w.holdBack(100) // so that results are left to record
	stopWorker := w.start()
	id := b.submit(c, submission("full", 0, 1000))
	b.until("some trials are done", func() bool { return b.progress(id).Completed > 10 })
	store.fail("Record", syscall.ENOSPC)
	goOn()
	if err := sweeptest.Receive(t, "the end of Run", ended); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Run: %v", err)
	}
	stopWorker()
	store.fail("Record", nil)
	c, _ = b.start(Options{Exclusive: true})
	w.start()
	b.finish(c, id)
	b.check(id, 1000)
}

func TestNothingIsLeftBehind(t *testing.T) {
	b := newBench(t)
	c, stop := b.start(Options{})
	w := &crew{b: b}
	stopWorker := w.start()
	b.finish(c, b.submit(c, submission("leak", 0, 50)))
	stopWorker()
	stop()
	stacks := make([]byte, 1<<20)
	b.until("the end of all goroutines of the coordinator", func() bool { // that of a heartbeat may come late
		return !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*Coordinator)"))
	})
}
