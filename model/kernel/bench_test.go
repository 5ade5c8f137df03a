package kernel

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// benchLevels runs a benchmark at every level. run does work of the given number
// of floating-point operations. ns/op is the median over batches of calls, best
// the shortest of them; of-peak is the best's share of the peak of multiply-adds
// measured just before and after, the cores being shared and their clock moving.
func benchLevels(b *testing.B, operations float64, prepare func(s *Set[float32]) (run func())) {
	for _, l := range Levels() {
		s, err := Float32At(l)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(l.String(), func(b *testing.B) {
			run := prepare(s)
			batch := 1
			for elapsed := time.Duration(0); elapsed < 20*time.Microsecond; batch *= 2 {
				start := time.Now()
				for range batch {
					run()
				}
				elapsed = time.Since(start)
			}
			peak := measurePeak(l)
			samples := make([]float64, 0, 1<<16)
			for b.Loop() {
				start := time.Now()
				for range batch {
					run()
				}
				if elapsed := time.Since(start); len(samples) < cap(samples) {
					samples = append(samples, float64(elapsed.Nanoseconds())/float64(batch))
				}
			}
			peak = max(peak, measurePeak(l))
			slices.Sort(samples)
			best := samples[0]
			b.ReportMetric(samples[len(samples)/2], "ns/op")
			b.ReportMetric(best, "best")
			b.ReportMetric(operations/best, "GF/s")
			if peak > 0 {
				b.ReportMetric(operations/best/peak, "of-peak")
			}
		})
	}
}

// benchMatrix is a matrix of random numbers that begins at a page, as large
// allocations do.
func benchMatrix(seed uint64, rows, cols int) Matrix[float32] {
	r := newRand(seed)
	m := Dense(make([]float32, max(rows*cols, 1<<14))[:rows*cols], rows, cols)
	for i := range m.Data {
		m.Data[i] = float32(r.NormFloat64())
	}
	return m
}

func BenchmarkMultiplyActivate(b *testing.B) {
	for _, shape := range [][3]int{{16, 32, 32}, {32, 32, 32}, {64, 32, 32}, {32, 128, 32}, {128, 128, 128}, {128, 512, 128}, {128, 16, 128}, {256, 512, 512}} {
		rows, cols, k := shape[0], shape[1], shape[2]
		b.Run(fmt.Sprintf("%dx%dx%d", rows, cols, k), func(b *testing.B) {
			benchLevels(b, 2*float64(rows*cols*k), func(s *Set[float32]) func() {
				a, w := benchMatrix(1, rows, k), benchMatrix(2, k, cols)
				source, c := benchMatrix(3, rows, cols), benchMatrix(4, rows, cols)
				var packed Packed[float32]
				s.Pack(&packed, w)
				return func() { s.MultiplyActivate(c, a, &packed, source, LeakyReLU, 0.2) }
			})
		})
	}
}

func BenchmarkMultiplyDerivative(b *testing.B) {
	for _, shape := range [][3]int{{16, 32, 32}, {32, 32, 32}, {128, 128, 128}} {
		rows, cols, k := shape[0], shape[1], shape[2]
		b.Run(fmt.Sprintf("%dx%dx%d", rows, cols, k), func(b *testing.B) {
			benchLevels(b, 2*float64(rows*cols*k), func(s *Set[float32]) func() {
				a, w := benchMatrix(1, rows, k), benchMatrix(2, k, cols)
				out, c := benchMatrix(3, rows, cols), benchMatrix(4, rows, cols)
				var packed Packed[float32]
				s.Pack(&packed, w)
				return func() { s.MultiplyDerivative(c, a, &packed, out, LeakyReLU, 0.2) }
			})
		})
	}
}

func BenchmarkMultiplyBias(b *testing.B) {
	for _, shape := range [][3]int{{16 * 251, 32, 1}, {128 * 784, 128, 1}, {16 * 16, 32, 8}} {
		rows, cols, k := shape[0], shape[1], shape[2]
		b.Run(fmt.Sprintf("%dx%dx%d", rows, cols, k), func(b *testing.B) {
			benchLevels(b, 2*float64(rows*cols*k), func(s *Set[float32]) func() {
				a, w := benchMatrix(1, rows, k), benchMatrix(2, k, cols)
				c, bias := benchMatrix(4, rows, cols), make([]float32, cols)
				var packed Packed[float32]
				s.Pack(&packed, w)
				b.SetBytes(4 * int64(rows*cols))
				return func() { s.MultiplyBias(c, a, &packed, bias) }
			})
		})
	}
}

func BenchmarkTransposedAdd(b *testing.B) {
	for _, shape := range [][3]int{{32, 32, 16}, {32, 32, 256}, {32, 32, 4016}, {1, 32, 4016}, {128, 128, 128}, {128, 128, 10000}, {128, 512, 1280}, {512, 512, 512}} {
		rows, cols, k := shape[0], shape[1], shape[2]
		b.Run(fmt.Sprintf("%dx%dx%d", rows, cols, k), func(b *testing.B) {
			benchLevels(b, 2*float64(rows*cols*k), func(s *Set[float32]) func() {
				a, d, c := benchMatrix(1, k, rows), benchMatrix(2, k, cols), benchMatrix(3, rows, cols)
				return func() { s.TransposedAdd(c, a, d) }
			})
		})
	}
}

// BenchmarkSubnormal is a product of subnormal numbers, which must not take much
// longer than that of normal ones.
func BenchmarkSubnormal(b *testing.B) {
	for _, factor := range []float32{1, 1e-40} {
		b.Run(fmt.Sprint(factor), func(b *testing.B) {
			benchLevels(b, 2*128*128*128, func(s *Set[float32]) func() {
				a, w, c := benchMatrix(1, 128, 128), benchMatrix(2, 128, 128), benchMatrix(3, 128, 128)
				for i := range a.Data {
					a.Data[i] *= factor
				}
				var packed Packed[float32]
				s.Pack(&packed, w)
				return func() { s.MultiplyDerivative(c, a, &packed, w, LeakyReLU, 0.2) }
			})
		})
	}
}
