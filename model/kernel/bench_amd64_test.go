package kernel

import (
	"testing"
	"time"
)

// measurePeak is the number of floating-point operations a second, in 1e9, of
// nothing but multiply-adds at a level: the best of several short runs.
func measurePeak(l Level) float64 {
	if l == Plain {
		return 0
	}
	k := assemblies[l]
	const rounds, chains = 100_000, 12
	best := time.Duration(1 << 62)
	for range 10 {
		start := time.Now()
		k.peak(rounds)
		best = min(best, time.Since(start))
	}
	return 2 * chains * float64(k.lanes) * rounds / float64(best.Nanoseconds())
}

func BenchmarkPeak(b *testing.B) {
	for _, l := range Levels()[1:] {
		b.Run(l.String(), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(measurePeak(l), "GF/s")
			}
		})
	}
}
