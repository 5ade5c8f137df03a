// Package storetest is the conformance suite of sweep.Store: every rule that a
// store must keep is tested here, once for all databases, one file a topic. A
// store's own test opens it and calls Run; its benchmarks call Bench. Tests of what reads
// a store call Open, and Add to it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"sweep/coordinator/store"
	"sweep/sweep"
	"sweep/sweep/paper/archive"
)

// concurrent are the topics in which several do something at a time.
var concurrent = []string{"Requests", "Retention", "Concurrency", "SlowReaders", "LongLists"}

// Run tests the store of a kind of database. address makes a new, empty database
// and returns its address; copied makes a copy of one that nobody has open, which is
// quicker than the schema.
func Run(t *testing.T, address func(t *testing.T) string, copied func(t *testing.T, address string) string) {
	empty := address(t)
	s, err := store.Open(context.Background(), empty, archive.Views())
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var copying sync.Mutex
	open := func(t *testing.T) sweep.Store {
		copying.Lock()
		defer copying.Unlock()
		return openStore(t, store.Open, copied(t, empty))
	}
	topics := []struct {
		name string
		test func(t *testing.T, open func(t *testing.T) sweep.Store)
	}{
		{"Sweeps", testSweeps},
		{"Expansion", testExpansion},
		{"Dispatch", testDispatch},
		{"Classes", testClasses},
		{"Waiting", testWaiting},
		{"Requests", testRequests},
		{"Record", testRecord},
		{"Release", testRelease},
		{"Refusal", testRefusal},
		{"Losses", testLosses},
		{"Increments", testIncrements},
		{"Quarantine", testQuarantine},
		{"Cancel", testCancel},
		{"Budget", testBudget},
		{"Errors", testErrors},
		{"Judging", testJudging},
		{"Annotations", testAnnotations},
		{"Reuse", testReuse},
		{"Retention", testRetention},
		{"Artifacts", testArtifacts},
		{"Keep", testKeep},
		{"Lineages", testLineages},
		{"Executions", testExecutions},
		{"ImpliedExecutions", testImplied},
		{"Stopping", testStopping},
		{"Decisions", testDecisions},
		{"Some", testSome},
		{"Reading", testReading},
		{"Rows", testRows},
		{"Selection", testSelection},
		{"Filters", testFilters},
		{"Names", testNames},
		{"Query", testQuery},
		{"Metrics", testMetrics},
		{"Views", testViews},
		{"AbsentMetrics", testAbsentMetrics},
		{"Groups", testGroups},
		{"Counters", testCounters},
		{"Concurrency", testConcurrency},
		{"SlowReaders", testSlowReaders},
		{"LongLists", testLongLists},
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			if testing.Short() && !slices.Contains(concurrent, topic.name) {
				t.Skip("left out under -short: the race detector has nothing to find")
			}
			t.Parallel()
			topic.test(t, open)
		})
	}
	t.Run("Leading", func(t *testing.T) {
		t.Parallel()
		testLeading(t, address, func(t *testing.T) string {
			copying.Lock()
			defer copying.Unlock()
			return copied(t, empty)
		})
	})
}

// openStore opens a store, by store.Open or store.Connect, and closes it when the
// test ends.
func openStore(t testing.TB, by func(ctx context.Context, address string, views ...string) (sweep.Store, error),
	address string) sweep.Store {
	t.Helper()
	s, err := by(context.Background(), address, archive.Views())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fixture is a store with what tests do to it; every method fails the test on
// an error.
type fixture struct {
	t testing.TB
	sweep.Store
	ctx context.Context
	// clock is the time of events, which ticks with each.
	clock time.Time
}

func newFixture(t testing.TB, store sweep.Store) *fixture {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // what hangs ends with the tests' own time
	t.Cleanup(cancel)
	return &fixture{t: t, Store: store, ctx: ctx, clock: time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)}
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// submission returns a submission with a little of everything in it.
func submission(name string) *sweep.Submission {
	low := 0.5
	return &sweep.Submission{
		Spec: sweep.Spec{
			Name: name, Description: "naïve “test”", Trainer: "noop", Pool: "cpu", Priority: 3,
			Axes: []sweep.Axis{{Parameters: []sweep.AxisParameter{{Name: "lr",
				Values: sweep.Values{List: []any{0.001, int64(1), "x"}}}}}},
			Limits: sweep.Limits{Timeout: time.Minute, Attempts: 3, Points: 1000},
		},
		Source: "name: " + name + "\n",
		Description: sweep.Description{
			Name: "noop", Version: "1", ResultVersion: "1",
			Parameters: []sweep.ParameterSchema{{Name: "lr", Type: sweep.NumberType, Default: 0.001, Minimum: &low},
				{Name: "both", Type: sweep.AnyType}},
			Metrics: []sweep.MetricSchema{{Name: "loss", Goal: "minimize", Curve: true}},
		},
		Datasets: map[string]string{`{"dataset":"CBF"}`: "d1"},
		Flops:    1e12,
		Reuse:    true,
	}
}

// makeSweep creates a sweep.
func (f *fixture) makeSweep(id string, s *sweep.Submission, points int64) {
	f.t.Helper()
	made, err := f.CreateSweep(f.ctx, id, s, points)
	f.must(err)
	if made != id {
		f.t.Fatalf("sweep %s was made instead of %s", made, id)
	}
}

// mark moves pending trials to queued, and returns which were: it takes all of
// their sweeps, and puts the others back.
func (f *fixture) mark(ids []sweep.TrialID) (marked []sweep.TrialID) {
	f.t.Helper()
	sweeps := []string{""}
	for _, id := range ids {
		sweeps = append(sweeps, id.Sweep)
	}
	backlogs, err := f.Backlog(f.ctx, sweeps...)
	f.must(err)
	var others []sweep.TrialID
	for _, b := range backlogs {
		for _, class := range b.Classes {
			taken, err := f.TakePending(f.ctx, b.Sweep, class.Class, int(class.Pending))
			f.must(err)
			for i := range taken {
				if slices.Contains(ids, taken[i].TrialID) {
					marked = append(marked, taken[i].TrialID)
				} else {
					others = append(others, taken[i].TrialID)
				}
			}
		}
	}
	_, err = f.Requeue(f.ctx, others)
	f.must(err)
	return marked
}

// putBack puts queued and running trials back to pending.
func (f *fixture) putBack(ids ...sweep.TrialID) {
	f.t.Helper()
	trials := make([]sweep.Heard, len(ids))
	for i, id := range ids {
		trials[i].TrialID = id
	}
	_, err := f.RequeueUnheard(f.ctx, trials)
	f.must(err)
}

// pending returns the first pending trials of a sweep.
func (f *fixture) pending(id string, limit int) []sweep.Trial {
	f.t.Helper()
	var all []sweep.Trial
	query := sweep.TrialQuery{Sweeps: []string{id}, States: []sweep.State{sweep.Pending}, Limit: limit}
	f.must(f.Trials(f.ctx, query, func(r *sweep.TrialRecord) error {
		all = append(all, r.Trial)
		return nil
	}))
	return all
}

// create makes a sweep of points trials, the first written of which have rows.
func (f *fixture) create(id string, points, written int64) {
	f.t.Helper()
	f.makeSweep(id, submission("name-"+id), points)
	f.write(id, 0, 0, trials(id, 0, written))
}

func (f *fixture) write(id string, ordinal int, from int64, trials []sweep.Trial) int {
	f.t.Helper()
	reused, err := f.AddTrials(f.ctx, id, ordinal, from, trials, nil)
	f.must(err)
	return reused
}

// trials returns n trials from index first on, each with parameters and a
// fingerprint of its own.
func trials(id string, first, n int64) []sweep.Trial {
	page := make([]sweep.Trial, n)
	for i := range page {
		index := first + int64(i)
		page[i] = sweep.Trial{
			TrialID:       sweep.TrialID{Sweep: id, Index: index},
			Parameters:    sweep.Parameters{"lr": float64(index+1) / 1000, "model": "rnn", "seed": index},
			Fingerprint:   sweep.Fingerprint(fmt.Sprintf("%s-%d", id, index)),
			DatasetDigest: "d1",
		}
	}
	return page
}

func trialID(id string, index int64) sweep.TrialID { return sweep.TrialID{Sweep: id, Index: index} }

func (f *fixture) event(kind sweep.EventKind, id sweep.TrialID, execution string) sweep.Event {
	f.clock = f.clock.Add(time.Millisecond)
	return sweep.Event{Kind: kind, TrialID: id, Execution: execution, Worker: "worker-" + execution, Time: f.clock}
}

func (f *fixture) started(id sweep.TrialID, execution string) sweep.Event {
	return f.event(sweep.EventStarted, id, execution)
}

func (f *fixture) finished(id sweep.TrialID, execution string, result *sweep.Result) sweep.Event {
	e := f.event(sweep.EventResult, id, execution)
	e.Result = result
	return e
}

func (f *fixture) released(id sweep.TrialID, execution string, charged bool, reason string) sweep.Event {
	e := f.event(sweep.EventReleased, id, execution)
	e.Release = &sweep.Release{Charged: charged, Reason: reason, Stderr: "stderr of " + reason}
	return e
}

// completed returns a result with every field set.
func completed(loss float64, digest string) *sweep.Result {
	return &sweep.Result{
		State: sweep.Completed,
		Summary: map[string]float64{"validation_loss": loss, "validation_accuracy": 0.75, "test_accuracy": 0.5,
			"train_loss": 0.1 + loss},
		WeightsDigest: "weights-" + digest, KernelLevel: "avx512", Seconds: 0.25, Digest: digest,
		Curves: []sweep.Curve{
			{Metric: "train_loss", Steps: []int64{1, 2, 4}, Values: []float32{3, 2, 1}},
			{Metric: "validation_loss", Steps: []int64{1, 2, 4}, Values: []float32{3.5, 2.5, 1.5}},
		},
	}
}

// record applies events and returns the report.
func (f *fixture) record(events ...sweep.Event) sweep.RecordReport {
	f.t.Helper()
	report, err := f.Record(f.ctx, events)
	f.must(err)
	return report
}

// complete runs a trial to its end.
func (f *fixture) complete(id sweep.TrialID, result *sweep.Result) {
	f.t.Helper()
	execution := fmt.Sprintf("x-%v", id)
	f.record(f.started(id, execution), f.finished(id, execution, result))
}

func (f *fixture) trial(id sweep.TrialID) *sweep.TrialRecord {
	f.t.Helper()
	record, err := f.Trial(f.ctx, id)
	f.must(err)
	return record
}

func (f *fixture) sweep(reference string) *sweep.SweepRecord {
	f.t.Helper()
	record, err := f.Sweep(f.ctx, reference)
	f.must(err)
	return record
}

func (f *fixture) wantState(id sweep.TrialID, want sweep.State) {
	f.t.Helper()
	if got := f.trial(id).State; got != want {
		f.t.Fatalf("trial %v is %s, want %s", id, got, want)
	}
}

func (f *fixture) wantSweep(id string, want sweep.SweepState) {
	f.t.Helper()
	if got := f.sweep(id).State; got != want {
		f.t.Fatalf("sweep %s is %s, want %s", id, got, want)
	}
}

// wantProgress compares a sweep's progress, and its counters with a count of its rows.
func (f *fixture) wantProgress(id string, want sweep.Progress) {
	f.t.Helper()
	got, err := f.Progress(f.ctx, id)
	f.must(err)
	if got != want {
		f.t.Fatalf("progress of %s is %+v, want %+v", id, got, want)
	}
	f.checkCounters(id)
}

// rows runs a query and returns its rows.
func (f *fixture) rows(sql string) [][]any {
	f.t.Helper()
	var all [][]any
	f.must(f.Query(f.ctx, sql, func(_ []string, row []any) error {
		all = append(all, row)
		return nil
	}))
	return all
}

// wantRows compares the answer to a query.
func (f *fixture) wantRows(sql string, want ...[]any) {
	f.t.Helper()
	if got := f.rows(sql); !reflect.DeepEqual(got, want) {
		f.t.Errorf("%s\nanswers %v, want %v", sql, got, want)
	}
}

// checkCounters compares Progress with a count of the rows.
func (f *fixture) checkCounters(id string) {
	f.t.Helper()
	got, err := f.Progress(f.ctx, id)
	f.must(err)
	var want sweep.Progress
	counts := map[string]*int64{
		"pending": &want.Pending, "queued": &want.Queued, "running": &want.Running,
		"completed": &want.Completed, "failed": &want.Failed, "cancelled": &want.Cancelled,
		"stopped": &want.Stopped, "skipped": &want.Skipped,
	}
	for _, row := range f.rows(`SELECT state, count(*), sum(CASE WHEN diverged THEN 1 ELSE 0 END),
		count(reused_from_index)
			FROM results WHERE sweep_id = '` + id + `' GROUP BY state`) {
		*counts[row[0].(string)] += row[1].(int64)
		want.Diverged += row[2].(int64)
		want.Reused += row[3].(int64)
	}
	for _, g := range f.sweep(id).Grids {
		if g.Cancelled {
			want.Cancelled += g.Points - g.Cursor
		} else {
			want.Pending += g.Points - g.Cursor
		}
	}
	want.Faults = f.rows(`SELECT count(*) FROM reproducibility_faults AS f
		JOIN trials AS t USING (trial_no) JOIN sweeps AS s USING (sweep_no)
		WHERE s.sweep_id = '` + id + `'`)[0][0].(int64)
	want.Refused = f.rows(`SELECT CAST(coalesce(sum(refusals), 0) AS bigint) FROM refusals WHERE sweep_id = '` + id +
		`'`)[0][0].(int64)
	if want.Quarantined = got.Quarantined; got != want {
		f.t.Fatalf("counters of %s say %+v, the rows %+v", id, got, want)
	}
	wrong := f.rows(
		`SELECT c.class_no, c.pending, c.queued, c.running FROM classes AS c JOIN sweeps AS s USING (sweep_no)
		WHERE s.sweep_id = '` + id + `' AND (
			c.pending <> (SELECT count(*) FROM trials AS t
			WHERE t.sweep_no = c.sweep_no AND t.class_no = c.class_no AND t.state = 'pending') OR
			c.queued  <> (SELECT count(*) FROM trials AS t
			WHERE t.sweep_no = c.sweep_no AND t.class_no = c.class_no AND t.state = 'queued') OR
			c.running <> (SELECT count(*) FROM trials AS t
			WHERE t.sweep_no = c.sweep_no AND t.class_no = c.class_no AND t.state = 'running'))`)
	if len(wrong) > 0 {
		f.t.Fatalf("the counters of classes of %s differ from the rows: %v", id, wrong)
	}
}

func wantError(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error %v, want one that is %q", err, target)
	}
}
