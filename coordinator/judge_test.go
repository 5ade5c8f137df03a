package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sweep/coordinator/schedule"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/sweep/wire"
)

// A sweep that was deleted after its last marks keeps no other from going on.
func TestDeletedSweepIsNotJudged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	looked := &lookedFor{Store: b.store}
	c, stop := b.start(Options{Store: looked})
	defer stop()
	c.facts.add(schedule.Observed{Sweeps: []string{"deleted"}})
	b.until("the deleted sweep was looked for", func() bool { return looked.deleted.Load() > 0 })
	(&crew{b: b, slots: 1}).start()
	b.finish(c, b.submit(c, submission("other", 1, 6)))
}

// lookedFor counts how often a deleted sweep is read.
type lookedFor struct {
	sweep.Store
	deleted atomic.Int64
}

func (s *lookedFor) Sweep(ctx context.Context, id string) (*sweep.SweepRecord, error) {
	record, err := s.Store.Sweep(ctx, id)
	if id == "deleted" {
		s.deleted.Add(1)
	}
	return record, err
}

// judged is a worker whose trials wait after their second value until they are told to stop, or that they may end.
type judged struct {
	*crew
	mu    sync.Mutex
	halts map[int64]wire.Halt
	// vanish has trials not confirm their stop, as if the worker were killed.
	vanish bool
	finish chan struct{}
	// first are the events of the first trials, which are sent together, so that all are judged together.
	first []sweep.Event
	sent  chan struct{}
}

// send sends the events of a trial; those of the first eight together.
func (j *judged) send(ctx context.Context, events ...sweep.Event) error {
	j.mu.Lock()
	select {
	case <-j.sent:
		j.mu.Unlock()
		return j.publish(ctx, events...)
	default:
	}
	j.first = append(j.first, events...)
	all := j.first
	j.mu.Unlock()
	if len(all) == 16 {
		err := j.publish(ctx, all...)
		close(j.sent)
		return err
	}
	select {
	case <-j.sent:
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (b *bench) judged(slots int) *judged {
	j := &judged{halts: map[int64]wire.Halt{}, finish: make(chan struct{}), sent: make(chan struct{})}
	unsubscribe, err := b.wire.Cancellations(func(_ string, _ []int64, halts map[int64]wire.Halt) {
		j.mu.Lock()
		defer j.mu.Unlock()
		for index, halt := range halts {
			j.halts[index] = halt
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(unsubscribe)
	j.crew = &crew{b: b, slots: slots}
	j.run = func(ctx context.Context, d *wire.Delivery) error {
		execution := newExecution()
		watch := sweep.NewWatch(d.Stop)
		watch.Cut([]sweep.Curve{{Metric: "loss", Steps: []int64{1, 2}, Values: []float32{9, float32(d.Index)}}})
		points := event(sweep.EventPoints, d.TrialID, execution)
		points.Marks = watch.Marks()
		points.Curves = []sweep.Curve{{Metric: "loss", Steps: []int64{1, 2}, Values: []float32{9, float32(d.Index)}}}
		if err := j.send(ctx, event(sweep.EventStarted, d.TrialID, execution), points); err != nil {
			return err
		}
		r := &sweep.Result{State: sweep.Completed, Marks: watch.Marks()}
		for waiting := true; waiting; {
			select {
			case <-j.finish:
				waiting = false
			case <-ctx.Done():
				return ctx.Err()
			default:
				pause(ctx, 5e6)
			}
			j.mu.Lock()
			halt, halted := j.halts[d.Index]
			vanish := j.vanish
			j.mu.Unlock()
			if halted && vanish {
				release := event(sweep.EventReleased, d.TrialID, execution)
				release.Release = &sweep.Release{Reason: "the worker was stopped"}
				if err := j.publish(ctx, release); err != nil {
					return err
				}
				return d.DoubleAck(ctx)
			}
			if halted {
				r.State, r.Error, waiting = sweep.Stopped, halt.Reason, false
			}
		}
		r.Digest = r.ComputeDigest(nil)
		result := event(sweep.EventResult, d.TrialID, execution)
		result.Result = r
		if err := j.publish(ctx, result); err != nil {
			return err
		}
		return d.DoubleAck(ctx)
	}
	return j
}

// judgedBy is by what trials of hyperbandSubmission are stopped.
var judgedBy = &policy.Hyperband{While: byLoss, Bands: []int64{2, 4}, Eta: 4, Strict: true}

func hyperbandSubmission() *sweep.Submission {
	s := submission("hyperband", 1, 8)
	s.Spec.Policies = []sweep.Policy{policy.Of(judgedBy)}
	return s
}

// The coordinator stops the trials that are not among the best quarter at a band, and says why. A decision survives the
// coordinator, and holds for a trial whose worker is lost before it confirms it.
func TestHyperbandStops(t *testing.T) {
	for _, test := range []struct {
		name             string
		postgres, vanish bool
	}{{"SQLite", false, false}, {"Postgres", true, false}, {"worker lost", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			if test.postgres && testing.Short() {
				t.Skip("left out under -short: the race detector would see nothing here that it does not see in SQLite")
			}
			b := newBench(t)
			if test.postgres {
				b.use(postgrestest.Start(t).Database(t))
			}
			c, stop := b.start(Options{})
			j := b.judged(8)
			j.vanish = test.vanish
			j.start()
			id := b.submit(c, hyperbandSubmission())
			b.until("trials to stop", func() bool { return b.progress(id).Stopped >= 3 })
			stop()
			c, stop = b.start(Options{})
			b.until("the others to stop", func() bool { return b.progress(id).Stopped == 5 })
			close(j.finish)
			b.finish(c, id)
			var got []string
			err := b.store.Trials(t.Context(), sweep.TrialQuery{Sweeps: []string{id}}, func(r *sweep.TrialRecord) error {
				got = append(got, fmt.Sprintf("%d %s %s", r.Index, r.State, r.Result.Error))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range got {
				want := fmt.Sprintf("%d completed ", i)
				if i > 2 {
					want = fmt.Sprintf("%d stopped stopped at band 2: loss %d is above ", i, i)
				}
				if !strings.HasPrefix(line, want) || i > 2 && !strings.Contains(line, "the worst of the best 1/4 of ") {
					t.Errorf("%s, want %s…", line, want)
				}
			}
			b.replay(id)
			if test.vanish {
				curves, err := b.store.Curves(t.Context(), sweep.TrialID{Sweep: id, Index: 7})
				if err != nil || len(curves) != 1 || len(curves[0].Steps) != 2 {
					t.Errorf("curves %v, %v", curves, err)
				}
				if r, err := b.store.Trial(t.Context(), sweep.TrialID{Sweep: id, Index: 7}); err != nil ||
					r.Result.Summary["loss"] != 7 {
					t.Errorf("%+v, %v", r.Result, err)
				}
			}
			stop()
		})
	}
}

// replay gives the policy of a sweep what was observed, in its order, and compares what it decides with what was decided.
func (b *bench) replay(id string) {
	b.t.Helper()
	all, err := b.store.Observations(b.t.Context(), id, "loss", true, 0, 8)
	if err != nil {
		b.t.Fatal(err)
	}
	type decision struct {
		trial, at        int64
		value, threshold float64
		trials           int64
		reason           string
	}
	var want []decision
	err = b.store.Query(b.t.Context(), `SELECT trial_index, observation_no, value, threshold, trials, reason
		FROM decisions ORDER BY observation_no, trial_index`, func(_ []string, row []any) error {
		want = append(want, decision{row[0].(int64), row[1].(int64), row[2].(float64), row[3].(float64), row[4].(int64),
			row[5].(string)})
		return nil
	})
	if err != nil || len(want) != 5 {
		b.t.Fatalf("%d decisions, %v", len(want), err)
	}
	policies, err := policy.Watching(hyperbandSubmission())
	if err != nil {
		b.t.Fatal(err)
	}
	var got []decision
	decided := map[int64]bool{}
	for n, o := range all {
		if !slices.ContainsFunc(want, func(d decision) bool { return d.at == o.Number }) {
			continue // nothing was decided by the observations up to this one
		}
		seen := slices.Clone(all[:n+1])
		for i := range seen {
			seen[i].Open = !decided[seen[i].Trial]
		}
		step, err := policies[0].Step(b.t.Context(), policy.Observations{Observed: seen})
		if err != nil {
			b.t.Fatal(err)
		}
		for _, s := range step.Stops {
			got = append(got, decision{s.Index, s.Observation, s.Value, s.Threshold, s.Trials, s.Reason})
			decided[s.Index] = true
		}
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("decided\n%v\nreplayed\n%v", want, got)
	}
}

// All trials of a sweep are compared by one rule: an extension has the same.
func TestExtensionOfHyperband(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := New(Options{Store: b.store})
	for _, test := range []struct {
		name   string
		first  bool
		change func(h *policy.Hyperband)
	}{
		{"another eta", true, func(h *policy.Hyperband) { h.Eta = 2 }},
		{"other bands", true, func(h *policy.Hyperband) { h.Bands = []int64{3} }},
		{"another metric", true, func(h *policy.Hyperband) { h.Metric = "seconds" }},
		{"none", true, func(h *policy.Hyperband) { h.Eta = 0 }},
		{"where there was none", false, func(*policy.Hyperband) {}},
		{"the same", true, nil},
	} {
		first, more := hyperbandSubmission(), hyperbandSubmission()
		if !test.first {
			first.Spec.Policies = nil
		}
		id := b.submit(c, first)
		if test.change != nil {
			changed := *judgedBy
			test.change(&changed)
			if more.Spec.Policies = []sweep.Policy{policy.Of(&changed)}; changed.Eta == 0 {
				more.Spec.Policies = nil
			}
		}
		if _, err := c.Extend(t.Context(), id, more); (err == nil) != (test.change == nil) ||
			err != nil && !strings.Contains(err.Error(), "by one rule") {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
}
