package coordinator

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// searchSubmission is a search by results of 30 points with two replicates each.
func searchSubmission() *sweep.Submission {
	s := submission("search", 1, 3)
	s.Spec.Axes = append(s.Spec.Axes,
		sweep.Axis{Parameters: []sweep.AxisParameter{{Name: "y", Values: sweep.Values{
			Distribution: &sweep.Distribution{Kind: sweep.UniformDistribution, High: 1}}}}},
		sweep.Axis{Parameters: []sweep.AxisParameter{{Name: sweep.SeedParameter, Values: sweep.Values{
			Range: &sweep.Range{Start: 1, Step: 1, Count: 2, Integer: true}}}}})
	s.Description.Parameters = append(s.Description.Parameters, sweep.ParameterSchema{Name: "seed",
		Type: sweep.IntegerType, Default: int64(1)})
	s.Spec.Cap, s.Spec.Random = 60, &sweep.Random{Seed: 5, Replicated: true, Bayes: &sweep.Bayes{Batch: 6}}
	s.Spec.Select = sweep.Select{By: "loss", Goal: sweep.Maximize}
	return s
}

// searchOutcome depends on the parameters alone: it is best at x = 2 and y = 0.3, and some trials fail.
func searchOutcome(p sweep.Parameters) *sweep.Result {
	x, y := p["x"].(int64), p["y"].(float64)
	r := &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"loss": -math.Abs(float64(x-2)) -
		math.Abs(y-0.3) + float64(p["seed"].(int64))/100}}
	if int64(y*1000)%7 == 3 {
		r = &sweep.Result{State: sweep.Failed, Error: "it fails"}
	}
	r.Digest = r.ComputeDigest(nil)
	return r
}

// searcher is a worker that reports the outcomes of a search, in an order that depends on the slots.
func (b *bench) searcher(slots int) *crew {
	w := &crew{b: b, slots: slots}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		pause(ctx, time.Duration(d.Index*7%5)*time.Millisecond)
		execution := newExecution()
		started, result := event(sweep.EventStarted, d.TrialID, execution), event(sweep.EventResult, d.TrialID, execution)
		result.Result = searchOutcome(d.Parameters)
		if err := w.publish(ctx, started, result); err != nil {
			return err
		}
		return d.DoubleAck(ctx)
	}
	return w
}

// found are the trials of a sweep with all that must not depend on slots.
func (b *bench) found(id string) string {
	b.t.Helper()
	var text strings.Builder
	err := b.store.Trials(b.t.Context(), sweep.TrialQuery{Sweeps: []string{id}}, func(t *sweep.TrialRecord) error {
		parameters, err := t.Parameters.Canonical()
		fmt.Fprintf(&text, "%d %s %s %s\n", t.Index, t.State, parameters, t.Result.Digest)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return text.String()
}

// A search has the same trials with any number of slots, on both databases, and if the coordinator ends in
// between. They are near the best point in the end.
func TestSearch(t *testing.T) {
	want := ""
	for _, kind := range []string{"SQLite, 1", "SQLite, 4", "SQLite, 16", "Postgres, 4"} {
		var b *bench
		var slots int
		database := kind[:strings.Index(kind, ",")]
		if _, err := fmt.Sscanf(kind[len(database):], ", %d", &slots); err != nil {
			t.Fatal(err)
		}
		if b = newBench(t); database == "Postgres" {
			b.use(postgrestest.Start(t).Database(t))
		}
		c, stop := b.start(Options{Page: 5})
		b.searcher(slots).start()
		id := b.submit(c, searchSubmission())
		for _, done := range []int64{7, 20, 40} {
			b.until("some trials to end", func() bool { return b.progress(id).Done() >= done })
			stop()
			c, stop = b.start(Options{Page: 5})
		}
		b.finish(c, id)
		got := b.found(id)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: other trials:\n%s\nwant\n%s", kind, got, want)
		}
		stop()
	}
	lines := strings.Split(strings.TrimSpace(want), "\n")
	if len(lines) != 60 {
		t.Fatalf("%d trials", len(lines))
	}
	near, failed := 0, strings.Count(want, " failed ")
	for _, line := range lines[40:] {
		if strings.Contains(line, `"x":2,"y":0.`) {
			near++
		}
	}
	if near < 12 || failed == 0 || failed > 20 {
		t.Errorf("of the last 20 trials %d are near the best, and %d of all failed:\n%s", near, failed, want)
	}
}
