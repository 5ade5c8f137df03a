package storetest

import (
	"fmt"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"

	"sweep/sweep"
)

// Bench measures a store as the coordinator uses it; the figures are trials or
// events a second. server, if not nil, tells the processor time that the
// database's own processes have used.
func Bench(b *testing.B, open func(b *testing.B) sweep.Store, server func() (time.Duration, error)) {
	for _, size := range []int{100, 500, 2000} {
		b.Run(fmt.Sprint("ShortTrials/Batch", size), func(b *testing.B) { benchShort(b, open(b), size, false, server) })
	}
	b.Run("ShortTrialsStarted/Batch500", func(b *testing.B) { benchShort(b, open(b), 500, true, server) })
	b.Run("AddTrials", func(b *testing.B) { benchAddTrials(b, open(b), false) })
	b.Run("AddTrialsReuse", func(b *testing.B) { benchAddTrials(b, open(b), true) })
	b.Run("Queue", func(b *testing.B) { benchQueue(b, open(b)) })
	for _, size := range []int{200, 500} {
		b.Run(fmt.Sprint("RecordNoCurves/Batch", size), func(b *testing.B) { benchRecord(b, open(b), size, 0) })
	}
	b.Run("RecordSevenCurves/Batch200", func(b *testing.B) { benchRecord(b, open(b), 200, 7) })
	b.Run("FortyMetrics", func(b *testing.B) { benchMetrics(b, open(b)) })
	b.Run("Million", func(b *testing.B) { benchMillion(b, open(b)) })
}

// pageSize is how many trials the dispatcher writes at once.
const pageSize = 1000

func benchTrials(id string, first, n int64) []sweep.Trial {
	page := trials(id, first, n)
	for i := range page {
		page[i].Parameters = sweep.Parameters{
			"dataset": "ItalyPowerDemand", "model": "spectral-rnn", "lr": 0.001, "decay": 0.99, "batch": int64(16),
			"epochs": int64(1000),
			"hidden": int64(32), "m1": int64(16), "m2": int64(16), "r": 0.1, "order": "pieces", "start": "random",
			"seed": page[i].Index,
		}
		page[i].Fingerprint = sweep.NewFingerprint("noop", "1", id, fmt.Append(nil, page[i].Index))
		page[i].DatasetDigest = string(page[i].Fingerprint)
	}
	return page
}

func benchAddTrials(b *testing.B, store sweep.Store, reuse bool) {
	f := newFixture(b, store)
	s := submission("bench")
	s.Reuse = reuse
	f.makeSweep("s1", s, 1<<40)
	var from int64
	for b.Loop() {
		b.StopTimer()
		page := benchTrials("s1", from, pageSize)
		b.StartTimer()
		f.write("s1", 0, from, page)
		from += pageSize
	}
	b.ReportMetric(float64(from)/b.Elapsed().Seconds(), "trials/s")
}

func benchQueue(b *testing.B, store sweep.Store) {
	f := newFixture(b, store)
	f.makeSweep("s1", submission("bench"), 1<<40)
	const window = 200
	var written, queued int64
	for b.Loop() {
		if written < queued+window {
			b.StopTimer()
			f.write("s1", 0, written, benchTrials("s1", written, 20*pageSize))
			written += 20 * pageSize
			b.StartTimer()
		}
		taken, err := f.TakePending(f.ctx, "s1", 0, window)
		f.must(err)
		queued += int64(len(taken))
	}
	b.ReportMetric(float64(queued)/b.Elapsed().Seconds(), "trials/s")
}

// benchShort takes trials that last no time from their row to their result, a
// batch at a time: add, queue, record. Its figures are of one trial: real time,
// processor time of this process and of the server, allocations.
func benchShort(b *testing.B, store sweep.Store, batch int, started bool, server func() (time.Duration, error)) {
	f := newFixture(b, store)
	f.makeSweep("s1", submission("bench"), 1<<40)
	own := func() time.Duration {
		var usage syscall.Rusage
		f.must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	servers := func() (used time.Duration) {
		if server != nil {
			var err error
			used, err = server()
			f.must(err)
		}
		return used
	}
	atServer := -servers()
	var here time.Duration
	allocations := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	var allocated uint64
	var done int64
	events := make([]sweep.Event, 0, 2*batch)
	for b.Loop() {
		b.StopTimer()
		page := benchTrials("s1", done, int64(batch))
		events = events[:0]
		for i := range page {
			execution := fmt.Sprintf("host-%x", page[i].Index)
			if started {
				events = append(events, f.started(page[i].TrialID, execution))
			}
			events = append(events, f.finished(page[i].TrialID, execution, shortResult(page[i].Index)))
		}
		metrics.Read(allocations)
		allocated -= allocations[0].Value.Uint64()
		here -= own()
		b.StartTimer()

		f.write("s1", 0, done, page)
		_, err := f.TakePending(f.ctx, "s1", 0, batch)
		f.must(err)
		f.record(events...)

		b.StopTimer()
		here += own()
		metrics.Read(allocations)
		allocated += allocations[0].Value.Uint64()
		done += int64(batch)
		b.StartTimer()
	}
	b.StopTimer()
	atServer += servers()
	f.wantProgress("s1", sweep.Progress{Pending: 1<<40 - done, Completed: done})
	trial := func(total float64) float64 { return total / float64(done) }
	b.ReportMetric(trial(float64(b.Elapsed().Nanoseconds())), "ns/trial")
	b.ReportMetric(trial(float64(here.Nanoseconds())), "cpu-ns/trial")
	b.ReportMetric(trial(float64(allocated)), "allocs/trial")
	if server != nil {
		b.ReportMetric(trial(float64(atServer.Nanoseconds())), "server-cpu-ns/trial")
	}
}

// shortResult returns a small result: a few metrics, one curve of two points.
func shortResult(index int64) *sweep.Result {
	loss := float64(index%1009) / 1009
	digest := string(sweep.NewFingerprint("result", "", "", fmt.Append(nil, index)))
	return &sweep.Result{
		State: sweep.Completed, Summary: map[string]float64{"validation_loss": loss, "validation_accuracy": 1 - loss,
			"test_accuracy": 0.5, sweep.BestEpochMetric: 1, sweep.ParameterCountMetric: 1506, sweep.FlopsMetric: 1e6},
		WeightsDigest: digest, KernelLevel: "avx512", Seconds: 0.0025, Digest: digest,
		Curves: []sweep.Curve{{Metric: "validation_loss", Steps: []int64{1, 2},
			Values: []float32{float32(loss), float32(loss) / 2}}},
	}
}

// benchRecord records batches of pairs (started, result) with curves of a
// thousand points.
func benchRecord(b *testing.B, store sweep.Store, batch, curves int) {
	f := newFixture(b, store)
	f.makeSweep("s1", submission("bench"), 1<<40)
	result := completed(0.25, "d")
	result.Curves = nil
	for c := range curves {
		curve := sweep.Curve{Metric: fmt.Sprint("metric_", c), Steps: make([]int64, 1000),
			Values: make([]float32, 1000)}
		for i := range curve.Steps {
			curve.Steps[i] = int64(i + 1)
			curve.Values[i] = 1 / float32(i+c+1)
		}
		result.Curves = append(result.Curves, curve)
	}
	events := make([]sweep.Event, 0, batch)
	var written, done int64
	for b.Loop() {
		b.StopTimer()
		if written < done+int64(batch/2) {
			f.write("s1", 0, written, benchTrials("s1", written, 10*pageSize))
			written += 10 * pageSize
		}
		events = events[:0]
		ids := make([]sweep.TrialID, batch/2)
		for i := range ids {
			ids[i] = trialID("s1", done)
			execution := fmt.Sprint("host-", done)
			events = append(events, f.started(ids[i], execution), f.finished(ids[i], execution, result))
			done++
		}
		f.mark(ids)
		b.StartTimer()
		f.record(events...)
	}
	b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "trials/s")
	b.ReportMetric(2*float64(done)/b.Elapsed().Seconds(), "events/s")
}

// benchMetrics sorts a hundred thousand trials by one of forty metrics that no description
// names.
func benchMetrics(b *testing.B, store sweep.Store) {
	f := newFixture(b, store)
	const points, metrics = 100 * pageSize, 40
	s := submission("bench")
	s.Description.Open, s.Description.Metrics = true, nil
	f.makeSweep("s1", s, 1<<40)
	for from := int64(0); from < points; from += pageSize {
		page := benchTrials("s1", from, pageSize)
		f.write("s1", 0, from, page)
		events := make([]sweep.Event, len(page))
		for i := range page {
			result := completed(0, "d")
			result.Curves, result.Summary = nil, map[string]float64{}
			for m := range int64(metrics) {
				result.Summary[fmt.Sprintf("metric_%02d",
					m)] = float64(((page[i].Index+1)*(2*m+7919))%1_000_003) / 1_000_003
			}
			events[i] = f.finished(page[i].TrialID, fmt.Sprint("x", page[i].Index), result)
		}
		f.record(events...)
	}
	for _, descending := range []bool{false, true} {
		b.Run(fmt.Sprint("List50/Descending=", descending), func(b *testing.B) {
			for b.Loop() {
				f.must(f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: "metric_37",
					Descending: descending, Limit: 50},
					func(*sweep.TrialRecord) error { return nil }))
			}
		})
	}
	b.Run("Filter50", func(b *testing.B) {
		for b.Loop() {
			f.must(f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: "metric_37", Limit: 50,
				Where: []sweep.TrialCondition{{Name: "metric_11", Operator: ">", Value: 0.9}}},
				func(*sweep.TrialRecord) error { return nil }))
		}
	})
	for name, q := range map[string]string{
		"SQLSort":   `SELECT * FROM t ORDER BY metric_37 DESC LIMIT 50`,
		"SQLFilter": `SELECT trial_index, metric_37 FROM t WHERE metric_11 > 0.9 ORDER BY metric_37 LIMIT 50`,
		"SQLGroup":  `SELECT trial_index % 7, avg(metric_37) FROM t GROUP BY 1`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f.must(f.QuerySweep(f.ctx, "s1", q, func([]string, []any) error { return nil }))
			}
		})
	}
}

// benchMillion measures what must not depend on the number of trials, on a
// sweep of a million, half of them completed.
func benchMillion(b *testing.B, store sweep.Store) {
	f := newFixture(b, store)
	const points = 1000 * pageSize
	f.makeSweep("s1", submission("bench"), 1<<40)
	for from := int64(0); from < points; from += pageSize {
		page := benchTrials("s1", from, pageSize)
		f.write("s1", 0, from, page)
		if from%(2*pageSize) == 0 {
			events := make([]sweep.Event, len(page))
			for i := range page {
				result := completed(float64(page[i].Index%1009), "d")
				result.Curves = nil
				events[i] = f.finished(page[i].TrialID, fmt.Sprint("x", page[i].Index), result)
			}
			f.record(events...)
		}
	}
	var active []sweep.TrialID
	taken, err := f.TakePending(f.ctx, "s1", 0, 16_000)
	f.must(err)
	for _, p := range taken {
		active = append(active, p.TrialID)
	}
	ignore := func(*sweep.TrialRecord) error { return nil }
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"Progress", func() error { _, err := f.Progress(f.ctx, "s1"); return err }},
		{"Sweep", func() error { _, err := f.Sweep(f.ctx, "s1"); return err }},
		{"Backlog", func() error { _, err := f.Backlog(f.ctx); return err }},
		{"Unheard", func() error { _, err := f.Unheard(f.ctx, time.Now(), nil, 100); return err }},
		{"RequeueAndTake200", func() error {
			if _, err := f.Requeue(f.ctx, active[:200]); err != nil {
				return err
			}
			_, err := f.TakePending(f.ctx, "s1", 0, 200)
			return err
		}},
		{"RequeueAndTake16000", func() error {
			if n, err := f.Requeue(f.ctx, active); err != nil || n != 16_000 {
				return fmt.Errorf("%d put back: %w", n, err)
			}
			_, err := f.TakePending(f.ctx, "s1", 0, 16_000)
			return err
		}},
		{"Record200", func() error {
			var events []sweep.Event
			for _, id := range active[:100] {
				execution := fmt.Sprint(f.clock.UnixNano())
				events = append(events, f.started(id, execution), f.released(id, execution, false, "again"))
			}
			if _, err := f.Record(f.ctx, events); err != nil {
				return err
			}
			_, err := f.TakePending(f.ctx, "s1", 0, 100)
			return err
		}},
		{"Trial", func() error { _, err := f.Trial(f.ctx, trialID("s1", points-1)); return err }},
		{"First20", func() error {
			return f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, Limit: 20}, ignore)
		}},
		{"Running", func() error {
			return f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"},
				States: []sweep.State{sweep.Queued, sweep.Running}}, ignore)
		}},
		{"Best20", func() error {
			return f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: "validation_loss", Limit: 20},
				ignore)
		}},
	} {
		b.Run(step.name, func(b *testing.B) {
			for b.Loop() {
				f.must(step.run())
			}
		})
	}
}
