//go:build !amd64

package kernel

// MeasurePeak is 0, as there are no loops of multiply-adds to measure.
func MeasurePeak(Level) float64 { return 0 }
