package kernel

import "time"

// MeasurePeak is the number of floating-point operations a second of nothing
// but multiply-adds on one thread at a level: the best of several short runs, a
// few milliseconds in all. It is what speeds are given as shares of, and 0 at
// the plain level.
func MeasurePeak(l Level) float64 {
	if l == Plain || l > detected {
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
	return 2 * chains * float64(k.lanes) * rounds / best.Seconds()
}
