package coordinator

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
	"sweep/sweep/policy"
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
	s.Spec.Cap, s.Spec.Random = 60, &sweep.Random{Seed: 5, Replicated: true}
	s.Spec.Policies = []sweep.Policy{policy.Of(&policy.Bayes{Batch: 6})}
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

// halvingSubmission halves the points of a random search with two replicates each.
func halvingSubmission() *sweep.Submission {
	s := searchSubmission()
	s.Description.Parameters = append(s.Description.Parameters, sweep.ParameterSchema{Name: "epochs",
		Type: sweep.IntegerType, Default: int64(9)})
	s.Spec.Policies = []sweep.Policy{policy.Of(policy.NewHalving("epochs", 1, 9, 3, 0))}
	return s
}

// raceSubmission has the points x and z run with 8 replicates each.
func raceSubmission() *sweep.Submission {
	s := searchSubmission()
	seeds := s.Spec.Axes[len(s.Spec.Axes)-1]
	seeds.Parameters[0].Values.Range.Count = 8
	s.Spec.Axes = []sweep.Axis{seeds, s.Spec.Axes[0], {Parameters: []sweep.AxisParameter{{Name: "y",
		Values: sweep.Values{List: []any{0.1, 0.3, 0.5, 0.997}}}}}}
	s.Spec.Cap, s.Spec.Random = 0, nil
	s.Spec.Policies = []sweep.Policy{policy.Of(&policy.Race{Confidence: 0.95})}
	return s
}

// kinds are databases and numbers of slots that make no difference to a sweep's trials. With -short, one of them: the
// race detector sees nothing new in the others.
func kinds() []string {
	if testing.Short() {
		return []string{"SQLite, 16"}
	}
	return []string{"SQLite, 1", "SQLite, 4", "SQLite, 16", "Postgres, 4"}
}

// TestSearch runs searches of all kinds with several numbers of slots, on both databases, and ends the coordinator in
// between: each has the same trials.
func TestSearch(t *testing.T) {
	for _, test := range []struct {
		name       string
		submission func() *sweep.Submission
		trials     int
		check      func(t *testing.T, lines []string)
	}{
		{"bayes", searchSubmission, 60, func(t *testing.T, lines []string) {
			near := 0
			for _, line := range lines[40:] {
				if strings.Contains(line, `"x":2,"y":0.`) {
					near++
				}
			}
			if near < 12 {
				t.Errorf("of the last 20 trials %d are near the best", near)
			}
		}},
		{"halving", halvingSubmission, 60 + 20 + 8, func(t *testing.T, lines []string) {
			last := 0
			for _, line := range lines {
				if strings.Contains(line, `"epochs":9,`) {
					last++
				}
			}
			if last != 8 {
				t.Errorf("%d trials have all epochs", last)
			}
		}},
		{"race", raceSubmission, 3 * 4 * 8, func(t *testing.T, lines []string) {
			skipped := 0
			for _, line := range lines {
				if strings.Contains(line, " skipped ") {
					skipped++
				}
				if strings.Contains(line, `"x":2,"y":0.3`) && !strings.Contains(line, " completed ") {
					t.Errorf("the best point is out: %s", line)
				}
			}
			if skipped != 11*3 {
				t.Errorf("%d trials are skipped", skipped)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := ""
			for _, kind := range kinds() {
				got := interrupted(t, kind, test.submission())
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s: other trials:\n%s\nwant\n%s", kind, got, want)
				}
			}
			lines := strings.Split(strings.TrimSpace(want), "\n")
			if len(lines) != test.trials {
				t.Fatalf("%d trials:\n%s", len(lines), want)
			}
			test.check(t, lines)
			if failed := strings.Count(want, " failed "); failed == 0 || failed > test.trials/3 || t.Failed() {
				t.Errorf("%d of all failed:\n%s", failed, want)
			}
		})
	}
}

// interrupted are the trials of a search on a database with a number of slots, whose coordinator ends three times.
func interrupted(t *testing.T, kind string, submission *sweep.Submission) string {
	t.Helper()
	database, number, _ := strings.Cut(kind, ", ")
	slots, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	if database == "Postgres" {
		b.use(postgrestest.Start(t).Database(t))
	}
	c, stop := b.start(Options{Page: 5})
	b.searcher(slots).start()
	id := b.submit(c, submission)
	for _, done := range []int64{7, 20, 40} {
		b.until("some trials to end", func() bool { return b.progress(id).Done() >= done })
		stop()
		c, stop = b.start(Options{Page: 5})
	}
	b.finish(c, id)
	stop()
	return b.found(id)
}
