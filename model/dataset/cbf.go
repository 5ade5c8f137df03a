package dataset

import (
	"math"

	"sweep/model/random"
)

const cbfLength = 128

// GenerateCBF returns a cylinder-bell-funnel set of so many series to train and to test on, after Saito, "Local feature
// extraction and its applications using a library of bases" (1994), the source of the UCR archive's CBF. At the times t
// = 1 … 128
//
//	cylinder (1):  x(t) = (6 + η) · [a ≤ t ≤ b]                     + ε(t)
//	bell     (2):  x(t) = (6 + η) · [a ≤ t ≤ b] · (t − a) / (b − a) + ε(t)
//	funnel   (3):  x(t) = (6 + η) · [a ≤ t ≤ b] · (b − t) / (b − a) + ε(t)
//
// with whole numbers a from 16 … 32 and b − a from 32 … 96, each equally likely, and normal η and ε(t). As in the
// archive each series is then scaled to mean 0 and (sample) variance 1. The three shapes take turns, so that they are
// equally frequent. A seed gives the same bits everywhere.
//
// The archive's own CBF was drawn otherwise: its cylinders, measured, end anywhere from 64 to 128 whatever their
// start, so that they are longer, 75 on average and not 64. Accuracies on the two sets need not agree.
func GenerateCBF(seed uint64, train, test int) *Set {
	s := &Set{
		Name:        GeneratedCBF,
		Length:      cbfLength,
		Classes:     3,
		OutputWidth: 4,
		InputSize:   paperInputSize(cbfLength),
		Labels:      []string{"1", "2", "3"},
	}
	s.Depth = s.Length / s.InputSize
	source := random.New(seed, random.Series)
	s.Train = cbfPart(source, train)
	s.Test = cbfPart(source, test)
	s.seal()
	return s
}

func cbfPart(source *random.Source, n int) Part {
	p := Part{N: n, Values: make([]float32, n*cbfLength), Labels: make([]int, n)}
	for i := range n {
		p.Labels[i] = i % 3
		cbfSeries(p.Values[i*cbfLength:(i+1)*cbfLength], source, i%3)
	}
	return p
}

// cbfSeries writes one series of the given shape. The conversions to float64 keep the compiler from contracting a
// product and a sum to one instruction, which rounds otherwise on some machines.
func cbfSeries(dst []float32, source *random.Source, shape int) {
	a := 16 + source.Below(32-16+1)
	width := 32 + source.Below(96-32+1)
	b := a + width
	height := 6 + source.Normal()
	var x [cbfLength]float64
	sum := 0.0
	for i := range x {
		t := i + 1
		level := 0.0
		if a <= t && t <= b {
			switch shape {
			case 0:
				level = 1
			case 1:
				level = float64(t-a) / float64(width)
			case 2:
				level = float64(b-t) / float64(width)
			}
		}
		x[i] = float64(height*level) + source.Normal()
		sum += x[i]
	}
	mean := sum / cbfLength
	squares := 0.0
	for i := range x {
		x[i] -= mean
		squares += float64(x[i] * x[i])
	}
	deviation := math.Sqrt(squares / (cbfLength - 1))
	for i := range x {
		dst[i] = float32(x[i] / deviation)
	}
}
