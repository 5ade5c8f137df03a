package coordinator

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/sweep/wire"
)

// byLoss stops trials whose loss is large.
var byLoss = policy.While{Metric: "loss", Goal: sweep.Minimize}

// stoppedSubmission is a grid of 20 points with two replicates, in generations of 4 points.
func stoppedSubmission() *sweep.Submission {
	s := submission("stopped", 1, 20)
	s.Spec.Axes = append(s.Spec.Axes, sweep.Axis{Parameters: []sweep.AxisParameter{{Name: sweep.SeedParameter,
		Values: sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: 2, Integer: true}}}}})
	s.Description.Parameters = append(s.Description.Parameters, sweep.ParameterSchema{Name: "seed",
		Type: sweep.IntegerType, Default: int64(1)})
	s.Spec.Policies = []sweep.Policy{policy.Of(&policy.Median{While: byLoss, Batch: 4, StartupTrials: 4, WarmupSteps: 1})}
	return s
}

// reported are the samples of a trial, which depend on its parameters alone.
func reported(p sweep.Parameters) sweep.Curve {
	c := sweep.Curve{Metric: "loss"}
	level := math.Mod(float64(p["x"].(int64))*0.37, 1) + float64(p["seed"].(int64))/50
	for i := range int64(6) {
		c.Steps = append(c.Steps, 10*(i+1))
		c.Values = append(c.Values, float32(level+1/float64(i+1)))
	}
	return c
}

// trainer is a worker that applies the rules of its jobs, in an order that depends on the slots. Every
// seventh trial fails.
func (b *bench) trainer(slots int) *crew {
	w := &crew{b: b, slots: slots}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		pause(ctx, time.Duration(d.Index*7%5)*time.Millisecond)
		watch, r := sweep.NewWatch(d.Stop), &sweep.Result{State: sweep.Completed}
		batch, reason := watch.Cut([]sweep.Curve{reported(d.Parameters)})
		if r.Curves = batch; reason != "" {
			r.State, r.Error = sweep.Stopped, reason
		}
		if r.Marks = watch.Marks(); d.Parameters["x"].(int64)%7 == 3 {
			r = &sweep.Result{State: sweep.Failed, Error: "it fails"}
		}
		if n := len(batch[0].Values); r.State != sweep.Failed {
			r.Summary = map[string]float64{"loss": float64(batch[0].Values[n-1])}
		}
		r.Digest = r.ComputeDigest(nil)
		execution := newExecution()
		started, result := event(sweep.EventStarted, d.TrialID, execution), event(sweep.EventResult, d.TrialID, execution)
		result.Result = r
		if err := w.publish(ctx, started, result); err != nil {
			return err
		}
		return d.DoubleAck(ctx)
	}
	return w
}

// reasons are the trials of a sweep with why they ended.
func (b *bench) reasons(id string) (list []string) {
	b.t.Helper()
	err := b.store.Trials(b.t.Context(), sweep.TrialQuery{Sweeps: []string{id}}, func(t *sweep.TrialRecord) error {
		list = append(list, fmt.Sprintf("%d %s %s", t.Index, t.State, t.Result.Error))
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// expected are the reasons that follow from the samples alone: those of each generation from the values of all before.
func expected() (list []string) {
	s := stoppedSubmission()
	grid, err := sweep.NewGrid(&s.Spec)
	if err != nil {
		panic(err)
	}
	var before, now [][]float32
	for i, p := range grid.All(0) {
		if i%8 == 0 {
			before, now = append(before, now...), nil
		}
		curve, state, reason := reported(p), sweep.Completed, ""
		reached := len(curve.Values)
		for at := 1; at < reached && state == sweep.Completed; at++ { // position 1 is warmup
			var values []float64
			for _, other := range before {
				if at < len(other) {
					values = append(values, float64(other[at]))
				}
			}
			best := slices.Min(curve.Values[:at+1])
			slices.Sort(values)
			if n := len(values); n >= 4 && float64(best) > (values[(n-1)/2]+values[n/2])/2 {
				state, reached = sweep.Stopped, at+1
				reason = fmt.Sprintf("stopped at value %d, step %d: the best loss up to there, %s, is above %.9g, the median of "+
					"%d trials before generation %d", reached, curve.Steps[at], sweep.ShortFloat(best),
					(values[(n-1)/2]+values[n/2])/2, n, i/8+1)
			}
		}
		if p["x"].(int64)%7 == 3 {
			state, reason = sweep.Failed, "it fails"
		} else {
			now = append(now, curve.Values[:reached])
		}
		list = append(list, fmt.Sprintf("%d %s %s", i, state, reason))
	}
	return list
}

// The same trials are stopped, at the same values and for the same reasons, with any number of slots, on both databases,
// if the coordinator ends in between, and if a trial is run again.
func TestMedianStops(t *testing.T) {
	want := ""
	for _, kind := range kinds() {
		var b *bench
		var slots int
		database := kind[:strings.Index(kind, ",")]
		if _, err := fmt.Sscanf(kind[len(database):], ", %d", &slots); err != nil {
			t.Fatal(err)
		}
		if b = newBench(t); database == "Postgres" {
			b.use(postgrestest.Start(t).Database(t))
		}
		c, stop := b.start(Options{Page: 5}) // less than a generation
		b.trainer(slots).start()
		id := b.submit(c, stoppedSubmission())
		for _, done := range []int64{3, 10, 25} {
			b.until("some trials to end", func() bool { return b.progress(id).Done() >= done })
			stop()
			c, stop = b.start(Options{Page: 5})
		}
		b.finish(c, id)
		// A retried trial ends as before, by the rule of its generation.
		if n, err := c.Retry(t.Context(), id); err != nil || n == 0 {
			t.Fatalf("Retry: %d, %v", n, err)
		}
		b.finish(c, id)
		if got, want := b.reasons(id), expected(); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		got := b.found(id)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: other trials:\n%s\nwant\n%s", kind, got, want)
		}
		if p := b.progress(id); p.Stopped < 8 || p.Completed < 8 || p.Failed != 6 {
			t.Errorf("%+v", p)
		}
		// The same file again reuses what ran to its end, and stops the same trials.
		again := b.submit(c, stoppedSubmission())
		b.finish(c, again)
		if p := b.progress(again); p.Reused != b.progress(id).Completed {
			t.Errorf("reused: %+v", p)
		}
		if got, want := b.reasons(again), expected(); !slices.Equal(got, want) {
			t.Errorf("%s, again:\n%s\nwant\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		stop()
	}
}
