package kernel

import "testing"

func BenchmarkPeak(b *testing.B) {
	for _, l := range Levels()[1:] {
		b.Run(l.String(), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(MeasurePeak(l)/1e9, "GF/s")
			}
		})
	}
}
