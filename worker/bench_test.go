package worker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/worker"
)

// BenchmarkTrials measures the way of trials that cost nothing through wire and
// worker with 2 slots, from jobs to collected results, as a coordinator drives
// it: a bounded queue that is filled up, and batches of events.
func BenchmarkTrials(b *testing.B) {
	const (
		window    = 512
		batchWait = 20 * time.Millisecond
	)
	r := newRig(b, succeed)
	w, events := r.wire, r.events
	published, results := 0, 0
	fill := func() {
		if n := min(b.N-published, window-(published-results)); n > window/4 || n == b.N-published {
			page := make([]wire.Job, n)
			for i := range page {
				page[i] = job(int64(published + i))
			}
			if _, err := w.PublishJobs(b.Context(), r.queueName(), page); err != nil {
				b.Fatal(err)
			}
			published += n
		}
	}
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error)
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		done <- worker.New(worker.Options{
			Wire: w, Launcher: r.launcher, Slots: 2, CheckpointDir: b.TempDir(), Logger: slog.New(slog.DiscardHandler),
		}).Run(ctx)
	}()
	pause := time.NewTicker(batchWait)
	defer pause.Stop()
	for results < b.N {
		fill()
		batch, err := events.Fetch(b.Context(), time.Second)
		if err == nil {
			err = batch.Ack()
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range batch.Events {
			if e.Kind == sweep.EventResult {
				results++
			}
		}
		if !batch.Full {
			<-pause.C
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s")
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
