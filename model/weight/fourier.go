package weight

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// fourierTransform is the unitary Fourier transform, (F x)_k = Σ_j exp(-2πi jk/n) x_j / √n.
type fourierTransform struct {
	fft   *fourier.CmplxFFT
	scale complex128
}

func newFourier(n int) *fourierTransform {
	return &fourierTransform{fft: fourier.NewCmplxFFT(n), scale: complex(1/math.Sqrt(float64(n)), 0)}
}

func (f *fourierTransform) scaled(x []complex128) {
	for i := range x {
		x[i] *= f.scale
	}
}

func (f *fourierTransform) apply(to, x []complex128) { f.scaled(f.fft.Coefficients(to, x)) }

func (f *fourierTransform) pullback(_, g []complex128) { f.scaled(f.fft.Sequence(g, g)) }

// inverse is F⁻¹ = F*.
type inverse struct{ *fourierTransform }

func (f inverse) apply(to, x []complex128) { f.scaled(f.fft.Sequence(to, x)) }

func (f inverse) pullback(_, g []complex128) { f.scaled(f.fft.Coefficients(g, g)) }
