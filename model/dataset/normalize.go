package dataset

import "math"

// Normalization is how the values of a set are scaled.
type Normalization string

const (
	// NormalizeNone leaves the values as they are.
	NormalizeNone Normalization = "none"
	// NormalizeChannel subtracts a channel's mean and divides by its standard deviation, both over all series and times
	// of the training part, as the code of the SGORNN paper does for HAR-2.
	NormalizeChannel Normalization = "channel"
)

// normalize applies NormalizeChannel. The test part is scaled by the numbers of the training part; a channel that is
// constant in that is not divided.
func (s *Set) normalize() {
	channels := max(s.Channels, 1)
	scales := make([]scale, channels)
	for c := range scales {
		scales[c] = scaleOf(&s.Train, c, channels)
	}
	for _, p := range []*Part{&s.Train, &s.Test} {
		for i, v := range p.Values {
			p.Values[i] = scales[i%channels].apply(float64(v))
		}
		if p.Bytes != nil { // of one channel
			levels := new([256]float32)
			for b, v := range unitInterval {
				levels[b] = scales[0].apply(float64(v))
			}
			p.Levels = levels
		}
	}
}

// scale moves and scales the values of a channel.
type scale struct{ mean, deviation float64 }

func (s scale) apply(v float64) float32 { return float32((v - s.mean) / s.deviation) }

// scaleOf is that of one of so many channels of a part. The conversions keep a product and a sum apart, see
// [GenerateCBF].
func scaleOf(p *Part, channel, channels int) scale {
	if p.Bytes != nil {
		return scaleOfBytes(p.Bytes)
	}
	sum, count := 0.0, 0.0
	for i := channel; i < len(p.Values); i += channels {
		sum += float64(p.Values[i])
		count++
	}
	mean, squares := sum/count, 0.0
	for i := channel; i < len(p.Values); i += channels {
		d := float64(p.Values[i]) - mean
		squares += float64(d * d)
	}
	return newScale(mean, squares/count)
}

func scaleOfBytes(values []uint8) scale {
	var counts [256]float64
	for _, b := range values {
		counts[b]++
	}
	sum, squares, all := 0.0, 0.0, float64(len(values))
	for b, n := range counts {
		sum += float64(n * float64(unitInterval[b]))
	}
	for b, n := range counts {
		d := float64(unitInterval[b]) - sum/all
		squares += float64(n * float64(d*d))
	}
	return newScale(sum/all, squares/all)
}

func newScale(mean, variance float64) scale {
	if variance > 0 {
		return scale{mean, math.Sqrt(variance)}
	}
	return scale{mean, 1}
}
