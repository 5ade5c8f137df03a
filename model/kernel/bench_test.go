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
			peak := MeasurePeak(l) / 1e9
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
			peak = max(peak, MeasurePeak(l)/1e9)
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
	for _, shape := range [][3]int{{16, 32, 32}, {32, 32, 32}, {64, 32, 32}, {32, 128, 32}, {128, 128, 128},
		{128, 512, 128}, {128, 16, 128}, {256, 512, 512}} {
		rows, cols, k := shape[0], shape[1], shape[2]
		b.Run(fmt.Sprintf("%dx%dx%d", rows, cols, k), func(b *testing.B) {
			benchLevels(b, 2*float64(rows*cols*k), func(s *Set[float32]) func() {
				a, w := benchMatrix(1, rows, k), benchMatrix(2, k, cols)
				source, c := benchMatrix(3, rows, cols), benchMatrix(4, rows, cols)
				var packed Packed[float32]
				s.Pack(&packed, w)
				return func() { s.MultiplyActivate(c, Sum[float32]{A: a, B: &packed, H: source}, LeakyReLU, 0.2) }
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
				return func() { s.MultiplyDerivative(c, Sum[float32]{A: a, B: &packed}, out, LeakyReLU, 0.2) }
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
				s.PackBias(&packed, w, bias)
				b.SetBytes(4 * int64(rows*cols))
				return func() { s.MultiplyBias(c, a, &packed) }
			})
		})
	}
}

func BenchmarkTransposedAdd(b *testing.B) {
	for _, shape := range [][3]int{{32, 32, 16}, {32, 32, 256}, {32, 32, 4016}, {1, 32, 4016}, {128, 128, 128},
		{128, 128, 10000}, {128, 512, 1280}, {512, 512, 512}, {1024, 1024, 512}} {
		rows, cols, k := shape[0], shape[1], shape[2]
		b.Run(fmt.Sprintf("%dx%dx%d", rows, cols, k), func(b *testing.B) {
			benchLevels(b, 2*float64(rows*cols*k), func(s *Set[float32]) func() {
				a, d, c := benchMatrix(1, k, rows), benchMatrix(2, k, cols), benchMatrix(3, rows, cols)
				var scratch Scratch[float32]
				return func() { s.TransposedAdd(c, a, d, &scratch) }
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
				return func() { s.MultiplyDerivative(c, Sum[float32]{A: a, B: &packed}, w, LeakyReLU, 0.2) }
			})
		})
	}
}

func BenchmarkElementwise(b *testing.B) {
	const n = 4096
	for _, f := range []struct {
		name string
		run  func(s *Set[float32], x, y, z, w []float32)
	}{
		{"exp", func(s *Set[float32], x, y, _, _ []float32) { s.Exp(y, x) }},
		{"sigmoid", func(s *Set[float32], x, y, _, _ []float32) { s.Sigmoid(y, x) }},
		{"tanh", func(s *Set[float32], x, y, _, _ []float32) { s.Tanh(y, x) }},
		{"leaky", func(s *Set[float32], x, y, _, _ []float32) { s.Activate(y, x, LeakyReLU, 0.2) }},
		{"derivative", func(s *Set[float32], x, y, z, _ []float32) { s.Derivative(y, x, z, LeakyReLU, 0.2) }},
		{"adam", func(s *Set[float32], x, y, z, w []float32) { s.Adam(y, x, z, w, 1e-3, 0.9, 0.999, 1, 1e-8) }},
		{"sumsquares", func(s *Set[float32], x, _, _, _ []float32) { s.SumSquares(x) }},
	} {
		b.Run(f.name, func(b *testing.B) {
			benchLevels(b, n, func(s *Set[float32]) func() {
				x, y, z, w := benchMatrix(1, 1, n).Data, benchMatrix(2, 1, n).Data, benchMatrix(3, 1, n).Data,
					benchMatrix(4, 1, n).Data
				s.Activate(w, w, ReLU, 0)
				return func() { f.run(s, x, y, z, w) }
			})
		})
	}
}

func BenchmarkColumnSums(b *testing.B) {
	for _, shape := range [][2]int{{256, 32}, {4016, 32}, {10000, 128}} {
		b.Run(fmt.Sprintf("%dx%d", shape[0], shape[1]), func(b *testing.B) {
			benchLevels(b, float64(shape[0]*shape[1]), func(s *Set[float32]) func() {
				a, dst := benchMatrix(1, shape[0], shape[1]), make([]float32, shape[1])
				return func() { s.ColumnSumsAdd(dst, a) }
			})
		})
	}
}

func BenchmarkLSTM(b *testing.B) {
	for _, shape := range [][2]int{{16, 32}, {128, 128}} {
		rows, n := shape[0], shape[1]
		const steps = 4
		gates, deltas := benchMatrix(1, steps*rows, 4*n), benchMatrix(2, steps*rows, 4*n)
		cells, states := benchMatrix(3, (steps+1)*rows, n), benchMatrix(4, (steps+1)*rows, n)
		x, dh, dc := benchMatrix(5, steps*rows, 1), benchMatrix(6, rows, n), benchMatrix(7, rows, n)
		weight, input := benchMatrix(8, n, 4*n), benchMatrix(9, 1, 4*n)
		var m, w, back Packed[float32]
		b.Run(fmt.Sprintf("forward/%dx%d", rows, n), func(b *testing.B) {
			benchLevels(b, 2*float64(steps*rows*4*n*(n+1)), func(s *Set[float32]) func() {
				s.Pack(&w, weight)
				s.PackBias(&m, input, input.Data)
				return func() { s.LSTMForward(gates, cells, states, rows, &w, x, &m) }
			})
		})
		b.Run(fmt.Sprintf("backward/%dx%d", rows, n), func(b *testing.B) {
			benchLevels(b, 2*float64(steps*rows*4*n*n), func(s *Set[float32]) func() {
				s.PackTransposed(&back, weight)
				return func() { s.LSTMBackward(deltas, gates, cells, states, rows, &back, dh, dc, nil, nil) }
			})
		})
	}
}

// BenchmarkModReLU counts complex numbers.
func BenchmarkModReLU(b *testing.B) {
	for _, n := range []int{116, 512} {
		const rows = 128
		z, g, h := benchMatrix(1, rows, 2*n), benchMatrix(2, rows, 2*n), benchMatrix(3, rows, 2*n)
		bias, db := benchMatrix(4, 1, n).Data, make([]float32, n)
		b.Run(fmt.Sprintf("forward/%dx%d", rows, n), func(b *testing.B) {
			benchLevels(b, float64(rows*n), func(s *Set[float32]) func() {
				return func() { s.ModReLU(h, z, bias, 1e-5) }
			})
		})
		b.Run(fmt.Sprintf("backward/%dx%d", rows, n), func(b *testing.B) {
			benchLevels(b, float64(rows*n), func(s *Set[float32]) func() {
				return func() { s.ModReLUBackward(h, g, z, bias, db, 1e-5) }
			})
		})
	}
}

func BenchmarkSoftmax(b *testing.B) {
	for _, cols := range []int{3, 10, 50} {
		b.Run(fmt.Sprintf("16x%d", cols), func(b *testing.B) {
			benchLevels(b, 16*float64(cols), func(s *Set[float32]) func() {
				logits, d, labels := benchMatrix(1, 16, cols), benchMatrix(2, 16, cols), make([]int, 16)
				return func() { s.SoftmaxCrossEntropy(d, logits, labels, 1) }
			})
		})
	}
}

// BenchmarkReflectors forms and pulls back 16 reflectors of decreasing length, the
// share of one minibatch of a small oRNN that is not products with a batch.
func BenchmarkReflectors(b *testing.B) {
	for _, n := range []int{32, 128} {
		const m = 16
		operations := 0.0
		for k := range m {
			operations += float64(4 * (n - k) * n)
		}
		reflectors := func(seed uint64) (us [][]float32) {
			u := benchMatrix(seed, m, n)
			for k := range m {
				us = append(us, u.Row(k)[k:])
			}
			return us
		}
		us := reflectors(1)
		b.Run(fmt.Sprintf("form/%d", n), func(b *testing.B) {
			benchLevels(b, operations, func(s *Set[float32]) func() {
				q := benchMatrix(2, n, n)
				return func() { s.ReflectLeftAll(q, us) }
			})
		})
		b.Run(fmt.Sprintf("backward/%d", n), func(b *testing.B) {
			benchLevels(b, 4*operations, func(s *Set[float32]) func() {
				q, g, dus := benchMatrix(2, n, n), benchMatrix(3, n, n), reflectors(4)
				return func() { s.ReflectLeftAllBackward(q, g, us, dus) }
			})
		})
	}
}

func BenchmarkPack(b *testing.B) {
	for _, n := range []int{32, 128} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchLevels(b, float64(n*n), func(s *Set[float32]) func() {
				w := benchMatrix(1, n, n)
				var packed Packed[float32]
				return func() { s.Pack(&packed, w) }
			})
		})
		b.Run(fmt.Sprintf("transposed/%d", n), func(b *testing.B) {
			benchLevels(b, float64(n*n), func(s *Set[float32]) func() {
				w := benchMatrix(1, n, n)
				var packed Packed[float32]
				return func() { s.PackTransposed(&packed, w) }
			})
		})
	}
}
