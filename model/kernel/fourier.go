package kernel

import (
	"fmt"
	"math"
	"math/bits"
)

// Fourier is the Fourier transform of a length, y_k = Σ_j exp(-2πi jk/n) x_j, in lanes: Stockham's passes
// of four elements, and for an odd power of two a last one of two.
type Fourier[F Float] struct {
	n      int
	passes []fourierPass[F]
}

// fourierPass makes of four parts of x each 4·stride elements of y.
type fourierPass[F Float] struct {
	stride int
	turns  []F // exp(-2πi jp/(4·count)) for each p < count, j = 1, 2, 3, in pairs
}

// NewFourier returns the transform of a power of two.
func NewFourier[F Float](n int) (*Fourier[F], error) {
	if n < 4 || n&(n-1) != 0 {
		return nil, fmt.Errorf("kernel: Fourier transform of length %d: want a power of two from 4 on", n)
	}
	f := &Fourier[F]{n: n}
	for length, stride := n, 1; length >= 4; length, stride = length/4, stride*4 {
		turns := make([]F, 0, length/4*6)
		for p := range length / 4 {
			for j := 1; j <= 3; j++ {
				sin, cos := math.Sincos(-2 * math.Pi * float64(j*p) / float64(length))
				turns = append(turns, F(cos), F(sin))
			}
		}
		f.passes = append(f.passes, fourierPass[F]{stride, turns})
	}
	return f, nil
}

// Len is the length.
func (f *Fourier[F]) Len() int { return f.n }

// Size is how many values the transform takes.
func (f *Fourier[F]) Size() int { return 2 * f.n } // 6·(n/4 + n/16 + …)

// Flops is the number of operations of a transform of one sequence.
func (f *Fourier[F]) Flops() float64 { return 5 * float64(f.n) * float64(bits.Len(uint(f.n))-1) }

// Fourier is dst = F x or, of the inverse, F* x, neither of them scaled. dst, x and the scratch are
// different vectors in lanes.
func (s *Set[F]) Fourier(dst, x, scratch []F, f *Fourier[F], inverse bool) {
	s.checkLanes(f.n, dst, x, scratch)
	lanes := s.Lanes()
	passes := len(f.passes)
	two := bits.Len(uint(f.n))%2 == 0 // 2, 8, 32, …
	if two {
		passes++
	}
	to, other := dst, scratch
	if passes%2 == 0 {
		to, other = scratch, dst
	}
	for i := range f.passes {
		pass := &f.passes[i]
		switch l := s.loops; {
		case l == nil:
			plainFourier4(to, x, pass, lanes, inverse)
		case inverse:
			l.fourierInverse4(single(to), single(x), single(pass.turns), len(pass.turns)/6, pass.stride)
		default:
			l.fourier4(single(to), single(x), single(pass.turns), len(pass.turns)/6, pass.stride)
		}
		x, to, other = to, other, to
	}
	if !two {
		return
	}
	if l := s.loops; l != nil {
		l.fourier2(single(to), single(x), f.n/2)
		return
	}
	half := f.n * lanes
	for i, a := range x[:half] {
		b := x[half+i]
		to[i], to[half+i] = a+b, a-b
	}
}

func plainFourier4[F Float](y, x []F, pass *fourierPass[F], lanes int, inverse bool) {
	count, stride := len(pass.turns)/6, pass.stride
	sign := F(1)
	if inverse {
		sign = -1
	}
	quarter := count * stride
	for p := range count {
		t := pass.turns[6*p : 6*p+6]
		for q := range stride {
			from, to := q+stride*p, q+4*stride*p
			aRe, aIm := element(x, from, lanes)
			bRe, bIm := element(x, from+quarter, lanes)
			cRe, cIm := element(x, from+2*quarter, lanes)
			dRe, dIm := element(x, from+3*quarter, lanes)
			for i := range lanes {
				evenRe, evenIm := aRe[i]+cRe[i], aIm[i]+cIm[i]
				oddRe, oddIm := bRe[i]+dRe[i], bIm[i]+dIm[i]
				restRe, restIm := aRe[i]-cRe[i], aIm[i]-cIm[i]
				turnRe, turnIm := sign*(bIm[i]-dIm[i]), -sign*(bRe[i]-dRe[i]) // -i(b - d)
				set := func(k int, re, im F) {
					yRe, yIm := element(y, to+k*stride, lanes)
					yRe[i], yIm[i] = re, im
					if k > 0 {
						cos, sin := t[2*k-2], sign*t[2*k-1]
						yRe[i], yIm[i] = cos*re-sin*im, cos*im+sin*re
					}
				}
				set(0, evenRe+oddRe, evenIm+oddIm)
				set(1, restRe+turnRe, restIm+turnIm)
				set(2, evenRe-oddRe, evenIm-oddIm)
				set(3, restRe-turnRe, restIm-turnIm)
			}
		}
	}
}
