package storetest

import (
	"fmt"
	"testing"
	"time"

	"sweep/sweep"
)

// Bench measures a store as the coordinator uses it; the figures are trials or
// events a second.
func Bench(b *testing.B, open func(b *testing.B) sweep.Store) {
	b.Run("AddTrials", func(b *testing.B) { benchAddTrials(b, open(b), false) })
	b.Run("AddTrialsReuse", func(b *testing.B) { benchAddTrials(b, open(b), true) })
	b.Run("Queue", func(b *testing.B) { benchQueue(b, open(b)) })
	for _, size := range []int{200, 500} {
		b.Run(fmt.Sprint("RecordNoCurves/Batch", size), func(b *testing.B) { benchRecord(b, open(b), size, 0) })
	}
	b.Run("RecordSevenCurves/Batch200", func(b *testing.B) { benchRecord(b, open(b), 200, 7) })
	b.Run("Million", func(b *testing.B) { benchMillion(b, open(b)) })
}

// pageSize is how many trials the dispatcher writes at once.
const pageSize = 1000

func benchTrials(id string, first, n int64) []sweep.Trial {
	page := trials(id, first, n)
	for i := range page {
		page[i].Parameters = sweep.Parameters{
			"dataset": "ItalyPowerDemand", "model": "spectral-rnn", "lr": 0.001, "decay": 0.99, "batch": int64(16), "epochs": int64(1000),
			"hidden": int64(32), "m1": int64(16), "m2": int64(16), "r": 0.1, "order": "pieces", "start": "random", "seed": page[i].Index,
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
	f.must(f.CreateSweep(f.ctx, "s1", s, 1<<40))
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
	f.must(f.CreateSweep(f.ctx, "s1", submission("bench"), 1<<40))
	const window = 200
	var written, queued int64
	for b.Loop() {
		if written < queued+window {
			b.StopTimer()
			f.write("s1", 0, written, benchTrials("s1", written, 20*pageSize))
			written += 20 * pageSize
			b.StartTimer()
		}
		pending, err := f.PendingTrials(f.ctx, "s1", window)
		f.must(err)
		ids := make([]sweep.TrialID, len(pending))
		for i := range pending {
			ids[i] = pending[i].TrialID
		}
		f.must(f.MarkQueued(f.ctx, ids))
		queued += int64(len(ids))
	}
	b.ReportMetric(float64(queued)/b.Elapsed().Seconds(), "trials/s")
}

// benchRecord records batches of pairs (started, result) with curves of a
// thousand points.
func benchRecord(b *testing.B, store sweep.Store, batch, curves int) {
	f := newFixture(b, store)
	f.must(f.CreateSweep(f.ctx, "s1", submission("bench"), 1<<40))
	result := completed(0.25, "d")
	result.Curves = nil
	for c := range curves {
		curve := sweep.Curve{Metric: fmt.Sprint("metric_", c), Steps: make([]int64, 1000), Values: make([]float32, 1000)}
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
		f.must(f.MarkQueued(f.ctx, ids))
		b.StartTimer()
		f.record(events...)
	}
	b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "trials/s")
	b.ReportMetric(2*float64(done)/b.Elapsed().Seconds(), "events/s")
}

// benchMillion measures what must not depend on the number of trials, on a
// sweep of a million, half of them completed.
func benchMillion(b *testing.B, store sweep.Store) {
	f := newFixture(b, store)
	const points = 1000 * pageSize
	f.must(f.CreateSweep(f.ctx, "s1", submission("bench"), 1<<40))
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
	pending, err := f.PendingTrials(f.ctx, "s1", 1000)
	f.must(err)
	for _, p := range pending {
		active = append(active, p.TrialID)
	}
	f.must(f.MarkQueued(f.ctx, active))
	ignore := func(*sweep.TrialRecord) error { return nil }
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"Progress", func() error { _, err := f.Progress(f.ctx, "s1"); return err }},
		{"Sweep", func() error { _, err := f.Sweep(f.ctx, "s1"); return err }},
		{"Pending200", func() error { _, err := f.PendingTrials(f.ctx, "s1", 200); return err }},
		{"Unheard", func() error { _, err := f.Unheard(f.ctx, time.Now(), nil, 100); return err }},
		{"RequeueAndQueue200", func() error {
			if _, err := f.Requeue(f.ctx, active[:200]); err != nil {
				return err
			}
			return f.MarkQueued(f.ctx, active[:200])
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
			return f.MarkQueued(f.ctx, active[:100])
		}},
		{"Trial", func() error { _, err := f.Trial(f.ctx, trialID("s1", points-1)); return err }},
		{"First20", func() error {
			return f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, Limit: 20}, ignore)
		}},
		{"Running", func() error {
			return f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, States: []sweep.State{sweep.Queued, sweep.Running}}, ignore)
		}},
		{"Best20", func() error {
			return f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}, OrderBy: "validation_loss", Limit: 20}, ignore)
		}},
	} {
		b.Run(step.name, func(b *testing.B) {
			for b.Loop() {
				f.must(step.run())
			}
		})
	}
}
