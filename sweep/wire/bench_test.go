package wire_test

import (
	"fmt"
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
	if _, err := w.PublishJobs(b.Context(), queue("cpu"), jobs); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkNextAndDone is a job's way through a slot that trains nothing, with
// as many jobs in the queue as a coordinator keeps there: the server looks
// through all of them for a pool's next one.
func BenchmarkNextAndDone(b *testing.B) {
	const window = 512
	w := open(b, wiretest.Start(b), wire.Options{})
	jobs := jobsOf(window)
	c := consumer(b, w, "cpu")
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		if n%(window/2) == 0 {
			b.StopTimer()
			if _, err := w.PublishJobs(b.Context(), queue("cpu"), jobs); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		d, err := take(b.Context(), c)
		if err == nil {
			err = d.DoubleAck(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPublishResult publishes the results of trials without and with curves
// of a usual size.
func BenchmarkPublishResult(b *testing.B) {
	for _, points := range []int{0, 1000} {
		b.Run(fmt.Sprintf("7x%d", points), func(b *testing.B) {
			w := open(b, wiretest.Start(b), wire.Options{})
			e := event(sweep.EventResult, 0)
			e.Result.Curves = nil
			for i := range 7 {
				e.Result.Curves = append(e.Result.Curves, curve(fmt.Sprint("metric", i), points))
			}
			b.ReportAllocs()
			for b.Loop() {
				e.Execution = wire.NewExecution()
				if err := w.Publish(b.Context(), "cpu", "w1", e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCollect fetches and acknowledges results that are there already.
func BenchmarkCollect(b *testing.B) {
	w := open(b, wiretest.Start(b), wire.Options{})
	c := events(b, w)
	e := event(sweep.EventResult, 0)
	for range b.N {
		e.Execution = wire.NewExecution()
		if err := w.Publish(b.Context(), "cpu", "w1", e); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for got := 0; got < b.N; {
		batch, err := c.Fetch(b.Context(), 20*time.Millisecond)
		if err == nil {
			err = batch.Ack()
		}
		if err != nil {
			b.Fatal(err)
		}
		got += len(batch.Events)
	}
}
