package wire_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

func BenchmarkPublishJobs(b *testing.B) {
	w := open(b, wiretest.Start(b), wire.Options{})
	jobs := jobsOf(b.N)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := w.PublishJobs(b.Context(), jobs); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkNextAndDone is a job's way through a slot that trains nothing.
func BenchmarkNextAndDone(b *testing.B) {
	w := open(b, wiretest.Start(b), wire.Options{})
	publish(b, w, jobsOf(b.N)...)
	c := consumer(b, w, "cpu")
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		d, err := c.Next(b.Context())
		if err == nil {
			err = d.Done(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPublishResult(b *testing.B) {
	w := open(b, wiretest.Start(b), wire.Options{})
	e := event(sweep.EventResult, 0)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		e.Execution = wire.NewExecution()
		if err := w.Publish(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCollect fetches and acknowledges results while they are published.
func BenchmarkCollect(b *testing.B) {
	w := open(b, wiretest.Start(b), wire.Options{})
	c := events(b, w)
	b.ReportAllocs()
	b.ResetTimer()
	var wait sync.WaitGroup
	wait.Go(func() {
		for range b.N {
			e := event(sweep.EventResult, 0)
			e.Execution = wire.NewExecution()
			if err := w.Publish(context.Background(), e); err != nil {
				b.Error(err)
				return
			}
		}
	})
	for got := 0; got < b.N && !b.Failed(); {
		batch, err := c.Fetch(b.Context(), 512, 20*time.Millisecond)
		if err == nil {
			err = batch.Ack()
		}
		if err != nil {
			b.Fatal(err)
		}
		got += len(batch.Events)
	}
	wait.Wait()
}
