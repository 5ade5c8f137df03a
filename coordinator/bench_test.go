package coordinator

import (
	"context"
	"syscall"
	"testing"
	"time"

	"sweep/sweep/wire"
)

// BenchmarkTrials runs trials that do nothing from their submission to their
// recorded results: the broker, the store and the coordinator are real, the
// workers answer at once.
func BenchmarkTrials(b *testing.B) {
	for _, took := range []time.Duration{0, 3 * time.Millisecond} {
		b.Run(took.String(), func(b *testing.B) { benchmarkTrials(b, took) })
	}
}

// benchmarkTrials has trials that take a while, without work.
func benchmarkTrials(b *testing.B, took time.Duration) {
	bench := newBench(b)
	c, stop := bench.start(Options{})
	w := &crew{b: bench, slots: 4}
	if took > 0 {
		w.run = func(ctx context.Context, d *wire.Delivery) error {
			pause(ctx, took)
			return w.report(ctx, d)
		}
	}
	stopWorkers := w.start()
	b.ResetTimer()
	began, busy := time.Now(), cpu(b)
	id := bench.submit(c, submission("bench", 0, int64(b.N)))
	if _, err := c.Wait(b.Context(), id); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "trials/s")
	b.ReportMetric(float64((cpu(b)-busy).Microseconds())/float64(b.N), "cpu-µs/trial")
	stopWorkers()
	stop()
	if p := bench.progress(id); p.Completed != int64(b.N) {
		b.Errorf("progress %+v of %d trials", p, b.N)
	}
}

// cpu is the processor time of this process.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
