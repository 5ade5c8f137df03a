package storetest

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
)

func testQuarantine(t *testing.T, open func(t *testing.T) sweep.Store) {
	t.Run("Kept", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		event := f.finished(trialID("s1", 1), "x", completed(1, "a"))
		odd := f.finished(sweep.TrialID{Sweep: "nil\x00" + strings.Repeat("é", 1000), Index: math.MinInt64},
			strings.Repeat("x\xff", 10_000), completed(math.NaN(), "\x00"))
		odd.Kind, odd.Worker, odd.Time = "danced\x00", strings.Repeat("w", 10_000), time.Time{}
		odd.Result.Stderr = strings.Repeat("\x00", 2<<20)
		f.must(f.Quarantine(f.ctx, []sweep.Quarantined{
			{Event: event, Problem: "the database does not take it"},
			{Event: odd, Problem: strings.Repeat("\x00", 1<<20)}, {},
		}))
		f.must(f.Quarantine(f.ctx, nil))
		rows := f.rows(
			`SELECT sweep_id, trial_index, execution, kind, worker, error, event FROM quarantine WHERE sweep_id = 's1'`)
		if len(rows) != 1 {
			t.Fatalf("%v", rows)
		}
		var kept sweep.Event
		text, _ := rows[0][6].([]byte)
		if err := json.Unmarshal(text, &kept); err != nil || kept.Result.Digest != "a" ||
			!equalRows([][]any{rows[0][:6]},
				[][]any{{"s1", int64(1), "x", "result", "worker-x", "the database does not take it"}}) {
			t.Errorf("%v %v", rows, err)
		}
		if rows := f.rows(`SELECT count(*), max(length(event)) FROM quarantine`); rows[0][0] != int64(3) ||
			rows[0][1].(int64) > 1<<20 {
			t.Errorf("%v", rows)
		}
		f.wantProgress("s1", sweep.Progress{Pending: 2, Quarantined: 1})
		f.wantSweep("s1", sweep.SweepActive)
	})

	t.Run("Refused", func(t *testing.T) { // whatever gets through, it is kept or refused
		f := newFixture(t, open(t))
		const n = 40
		f.create("s1", n, n)
		long := strings.Repeat("0123456789abcdef", 4096)
		poison := []func(e *sweep.Event){
			func(e *sweep.Event) { e.Result.Curves[0].Metric = long },
			func(e *sweep.Event) { e.Result.Curves[0].Metric = "nul\x00" },
			func(e *sweep.Event) { e.Result.Summary = map[string]float64{long: 1, "\x00": 2, "\xff": 3} },
			func(e *sweep.Event) { e.Execution = long },
			func(e *sweep.Event) { e.Worker = long },
			func(e *sweep.Event) { e.Result.Digest, e.Result.KernelLevel = long, long },
			func(e *sweep.Event) { e.Time = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC) },
			func(e *sweep.Event) { e.Time = time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC) },
			func(e *sweep.Event) { e.Result.Summary[sweep.BestEpochMetric] = math.MaxFloat64 },
			func(e *sweep.Event) { e.Note = long },
		}
		var batch []sweep.Event
		for i := range int64(n) {
			e := f.finished(trialID("s1", i), "x", completed(1, "a"))
			if i%4 == 1 {
				poison[i/4%int64(len(poison))](&e)
			}
			batch = append(batch, e)
		}
		// As the collector does: a batch that is refused is divided.
		var record func(events []sweep.Event) (kept int)
		record = func(events []sweep.Event) int {
			report, err := f.Record(f.ctx, events)
			switch {
			case err == nil:
				return report.Terminal
			case !errors.Is(err, sweep.ErrRefused):
				t.Fatal(err)
			case len(events) == 1:
				f.must(f.Quarantine(f.ctx, []sweep.Quarantined{{Event: events[0], Problem: err.Error()}}))
				return 0
			}
			return record(events[:len(events)/2]) + record(events[len(events)/2:])
		}
		kept := record(batch)
		if kept < n*3/4 {
			t.Errorf("%d of %d events were kept", kept, n)
		}
		f.wantProgress("s1", sweep.Progress{Pending: int64(n - kept), Completed: int64(kept),
			Quarantined: int64(n - kept)})
	})
}
