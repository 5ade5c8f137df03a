package dataset

import (
	"iter"
	"math"
)

// Normalization is how the values of a set are scaled.
type Normalization string

const (
	// NormalizeNone leaves the values as they are.
	NormalizeNone Normalization = "none"
	// NormalizeChannel subtracts a channel's mean and divides by its standard deviation, both over all series and times
	// of the training part, as the code of the SGORNN paper does for HAR-2.
	NormalizeChannel Normalization = "channel"
)

// Missing is what a network reads where a value is missing.
type Missing string

const (
	// MissingPrevious repeats the channel's value before; before the first, its mean in the training part.
	MissingPrevious Missing = "previous"
	// MissingMean is the channel's mean in the training part.
	MissingMean Missing = "mean"
	// MissingIndicators is MissingMean, and after the channels of each time step there are as many further inputs, 1
	// where the channel's value is missing, else 0 (Lipton, Kale and Wetzel 2016).
	MissingIndicators Missing = "indicators"
)

// Preparation is how values as they are in files become inputs of a network. Its numbers are those of the training
// part, the rows held out for validation included.
type Preparation struct {
	Normalization Normalization `json:"normalize"`
	Missing       Missing       `json:"missing"`
	Means         []float64     `json:"means"`      // of each channel
	Deviations    []float64     `json:"deviations"` // of each channel; 1 for a constant one
}

// Channels returns how many values there are at a time.
func (p *Preparation) Channels() int { return len(p.Means) }

// Width returns how many inputs these become.
func (p *Preparation) Width() int {
	if p.Missing == MissingIndicators {
		return 2 * len(p.Means)
	}
	return len(p.Means)
}

// Apply writes the inputs of a series, time by time, to dst, which may be the series itself where it has as many. A
// series may end within a time step.
func (p *Preparation) Apply(dst, series []float32) {
	width := p.Width()
	scale := func(channel int, v float64) float32 {
		if p.Normalization == NormalizeChannel {
			return float32((v - p.Means[channel]) / p.Deviations[channel])
		}
		return float32(v)
	}
	for channel, mean := range p.Means {
		fill := scale(channel, mean)
		for t, i := 0, channel; i < len(series); t, i = t+1, i+len(p.Means) {
			v, absent := series[i], float32(0)
			if v != v {
				v, absent = fill, 1
			} else if v = scale(channel, float64(v)); p.Missing == MissingPrevious {
				fill = v
			}
			dst[t*width+channel] = v
			if p.Missing == MissingIndicators {
				dst[t*width+len(p.Means)+channel] = absent
			}
		}
	}
}

// prepare prepares the values of both parts.
func (s *Set) prepare(normalization Normalization, missing Missing) {
	channels := max(s.Channels, 1)
	p := &Preparation{Normalization: normalization, Missing: missing}
	for c := range channels {
		mean, deviation := s.Train.moments(c, channels)
		p.Means, p.Deviations = append(p.Means, mean), append(p.Deviations, deviation)
	}
	s.Preparation = p
	wide := p.Width() / channels
	s.Length, s.InputSize = s.Length*wide, s.InputSize*wide
	for _, part := range []*Part{&s.Train, &s.Test} {
		if normalization == NormalizeChannel && part.Bytes != nil { // of one channel
			part.Levels = new([256]float32)
			p.Apply(part.Levels[:], unitInterval[:])
		} else if normalization == NormalizeChannel || s.gaps || wide > 1 {
			part.prepare(p)
		}
	}
}

// prepare prepares the values of a part.
func (p *Part) prepare(by *Preparation) {
	from, length, wide := p.Values, len(p.Values)/max(p.N, 1), by.Width()/by.Channels()
	if wide > 1 {
		p.Values = make([]float32, len(from)*wide)
	}
	for i := range p.N {
		own := length
		if p.Lengths != nil {
			own = p.Lengths[i]
			p.Lengths[i] *= wide
		}
		by.Apply(p.Values[i*length*wide:], from[i*length:][:own])
	}
}

// moments returns the mean and the standard deviation of one of so many channels of a part, of the values that are
// there; 1 for the deviation of a constant channel. The conversions keep a product and a sum apart, see [GenerateCBF].
func (p *Part) moments(channel, channels int) (mean, deviation float64) {
	if p.Bytes != nil {
		return momentsOfBytes(p.Bytes)
	}
	sum, count := 0.0, 0.0
	for v := range p.observed(channel, channels) {
		sum += v
		count++
	}
	if count == 0 {
		return 0, 1
	}
	mean, squares := sum/count, 0.0
	for v := range p.observed(channel, channels) {
		d := v - mean
		squares += float64(d * d)
	}
	return mean, root(squares / count)
}

// observed yields the values of a channel that are there.
func (p *Part) observed(channel, channels int) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		length := len(p.Values) / max(p.N, 1)
		for i := range p.N {
			series := p.Values[i*length:][:length]
			if p.Lengths != nil {
				series = series[:p.Lengths[i]]
			}
			for j := channel; j < len(series); j += channels {
				if v := series[j]; v == v && !yield(float64(v)) {
					return
				}
			}
		}
	}
}

func momentsOfBytes(values []uint8) (mean, deviation float64) {
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
	return sum / all, root(squares / all)
}

// root returns the standard deviation that a constant channel, too, can be divided by.
func root(variance float64) float64 {
	if variance > 0 {
		return math.Sqrt(variance)
	}
	return 1
}
