package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"sweep/model/dataset"
)

// A kernel has nine weights, three of them 2, the others −1. There are 84, and the weights of each sum to zero: a
// constant added to a series changes nothing.
const (
	taps         = 9
	kernels      = taps * (taps - 1) * (taps - 2) / 6
	maxDilations = 32
)

// twos are the places of the weights 2 of each kernel, in lexicographic order.
var twos = func() (all [][3]int) {
	for i := range taps {
		for j := i + 1; j < taps; j++ {
			for k := j + 1; k < taps; k++ {
				all = append(all, [3]int{i, j, k})
			}
		}
	}
	return all
}()

// transform turns series into features. Each is of a kernel, a dilation and a bias: the proportion of values of the
// convolution of series and kernel that are larger than the bias (PPV).
type transform struct {
	length, count       int // values of a series; features
	dilations           []dilation
	padded, sum, values []float32 // room for convolutions
}

// dilation has the biases of the kernels with taps that are so far apart.
type dilation struct {
	apart  int
	biases [kernels][]float32
}

// spread returns the dilations for series of a length, ascending, and how many features of a kernel each has. They are
// floor(2^e) for e in equal steps from 0 to where a kernel spans a series; equal ones share their features.
func spread(length, features int) (dilations, counts []int) {
	all := min(features, maxDilations)
	largest := math.Log2(float64(length-1) / (taps - 1))
	left := features
	for i := range all {
		d := int(math.Exp2(largest * float64(i) / float64(max(all-1, 1))))
		if last := len(dilations) - 1; last < 0 || dilations[last] != d {
			dilations, counts = append(dilations, d), append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	for i := range counts {
		counts[i] = counts[i] * features / all
		left -= counts[i]
	}
	for i := range left { // fewer than there are dilations: what was rounded off
		counts[i]++
	}
	return dilations, counts
}

// fit chooses the biases: quantiles of the convolution with a training series, drawn for each kernel and dilation. The
// quantiles are multiples of the golden ratio modulo 1, which fill the interval evenly.
func fit(s *dataset.Set, features int, random *rand.Rand) *transform {
	f := &transform{length: s.Length, sum: make([]float32, s.Length), values: make([]float32, s.Length)}
	dilations, counts := spread(s.Length, features)
	for i, apart := range dilations {
		d := dilation{apart: apart}
		for k := range kernels {
			f.prepare(series(&s.Train, s.Length, random.IntN(s.Train.N)), apart)
			sorted := slices.Sorted(slices.Values(f.convolve(k, apart)))
			for range counts[i] {
				f.count++
				_, quantile := math.Modf(float64(f.count) * math.Phi)
				at, part := math.Modf(quantile * float64(len(sorted)-1))
				low, high := sorted[int(at)], sorted[min(int(at)+1, len(sorted)-1)]
				d.biases[k] = append(d.biases[k], low+float32(part)*(high-low))
			}
		}
		f.dilations = append(f.dilations, d)
	}
	return f
}

// prepare pads a series with half a kernel of zeros on either side, and sums what all kernels of a dilation share: −1
// times each of nine values. A kernel then adds 3 times the values at three places.
func (f *transform) prepare(series []float32, apart int) {
	half := make([]float32, taps/2*apart)
	f.padded = slices.Concat(half, series, half)
	clear(f.sum)
	for j := range taps {
		for t, x := range f.padded[j*apart:][:f.length] {
			f.sum[t] -= x
		}
	}
}

// convolve returns the convolution of the prepared series with a kernel.
func (f *transform) convolve(kernel, apart int) []float32 {
	at := func(i int) []float32 { return f.padded[twos[kernel][i]*apart:][:f.length] }
	a, b, c, sum, values := at(0), at(1), at(2), f.sum[:f.length], f.values[:f.length]
	for t := range values {
		values[t] = sum[t] + 3*(a[t]+b[t]+c[t])
	}
	return values
}

// features writes the features of a series. Every other kernel, at the next dilation the others, leaves out values to
// which padding contributes.
func (f *transform) features(series []float32, to []float64) {
	for i := range f.dilations {
		d := &f.dilations[i]
		f.prepare(series, d.apart)
		for k := range kernels {
			values := f.convolve(k, d.apart)
			if half := taps / 2 * d.apart; (i+k)%2 == 1 {
				values = values[half : f.length-half]
			}
			for j, bias := range d.biases[k] {
				var above uint32
				for _, v := range values { // the sign bit of bias − v: no processor could predict a branch here
					above += math.Float32bits(bias-v) >> 31
				}
				to[j] = float64(above) / float64(len(values))
			}
			to = to[len(d.biases[k]):]
		}
	}
}
