package weight

import (
	"fmt"
	"math"

	"sweep/model/kernel"
	"sweep/model/random"
)

// spectrum is the singular values of a matrix, parameters in one of two forms:
//
//	σ = 2r (sigmoid(σ̂) - ½) + σ*   (equation 7)
//	σ itself, clipped to [σ*-r, σ*+r] after every step
type spectrum[F kernel.Float] struct {
	set     *kernel.Set[F]
	options spectrumOptions
	view    *View[F] // σ̂ or σ
	sigma   []F      // σ at the last call of loadSigma
	slope   []F      // ∂σ/∂σ̂ there
	dsigma  []F      // ∂L/∂σ
}

// spectrumOptions are the choices of a [spectrum].
type spectrumOptions struct {
	radius, center float64 // r and σ*
	scale          float64 // σ starts where σ̂ of that standard deviation has it; 0 at σ*
	clipped        bool    // σ is the parameter
	penalty        float64 // λ of λ ‖σ - σ*‖², which is added to the loss
}

// check returns an error unless there are such singular values.
func (o spectrumOptions) check() error {
	for _, o := range []struct {
		name  string
		value float64
	}{{"radius", o.radius}, {"center", o.center}, {"scale", o.scale}, {"penalty", o.penalty}} {
		if !(o.value >= 0 && o.value <= math.MaxFloat32) {
			return fmt.Errorf("weight: %s %v of the singular values: want a finite number that is not negative",
				o.name, o.value)
		}
	}
	return nil
}

// newSpectrum declares "sigma_hat", or "sigma", of so many values.
func newSpectrum[F kernel.Float](set *kernel.Set[F], arena *Arena[F], count int, options spectrumOptions) spectrum[F] {
	name := "sigma_hat"
	if options.clipped {
		name = "sigma"
	}
	return spectrum[F]{
		set: set, options: options, view: arena.Declare(name, 1, count),
		sigma: make([]F, count), slope: make([]F, count), dsigma: make([]F, count),
	}
}

// startSigma sets σ to σ*, or to where drawn σ̂ have it if there is a scale.
func (s *spectrum[F]) startSigma(source *random.Source) {
	clear(s.view.Value)
	if s.options.scale > 0 {
		random.Gaussian(s.view.Value, s.options.scale, source)
	}
	if s.options.clipped {
		s.sigmoid()
		copy(s.view.Value, s.sigma)
	}
}

// loadSigma computes σ and its derivative by the present parameters,
// ∂σ/∂σ̂ = 2r sigmoid(σ̂) (1 - sigmoid(σ̂)).
func (s *spectrum[F]) loadSigma() {
	if s.options.clipped {
		copy(s.sigma, s.view.Value)
		for i := range s.slope {
			s.slope[i] = 1
		}
		return
	}
	s.sigmoid()
}

// sigmoid is loadSigma of σ̂.
func (s *spectrum[F]) sigmoid() {
	s.set.Sigmoid(s.slope, s.view.Value)
	for i, f := range s.slope {
		f := float64(f)
		s.sigma[i] = F(2*s.options.radius*(f-0.5) + s.options.center)
		s.slope[i] = F(2 * s.options.radius * f * (1 - f))
	}
}

// pullbackSigma adds the gradient of the parameters from that of σ, and that of the
// penalty, 2λ (σ - σ*).
func (s *spectrum[F]) pullbackSigma() {
	for i, d := range s.dsigma {
		if s.options.penalty > 0 {
			d += F(2 * s.options.penalty * (float64(s.sigma[i]) - s.options.center))
		}
		s.view.Gradient[i] += s.slope[i] * d
	}
}

// constrainSigma clips σ, if it is the parameter.
func (s *spectrum[F]) constrainSigma() {
	if !s.options.clipped {
		return
	}
	least, most := F(s.options.center-s.options.radius), F(s.options.center+s.options.radius)
	for i, x := range s.view.Value {
		s.view.Value[i] = max(least, min(x, most)) // a NaN stays
	}
}

// SpectralBounds returns the interval in which the singular values lie whatever the
// parameters, but for rounding: what is r from σ*. As they count without their sign, a σ*
// below r makes the least 0.
func (s *spectrum[F]) SpectralBounds() (least, most float64) {
	return max(s.options.center-s.options.radius, 0), s.options.center + s.options.radius
}

// Penalty returns λ ‖σ - σ*‖² of the last call of Value or Factors: what the parameters add to the
// loss besides what W does.
func (s *spectrum[F]) Penalty() float64 {
	sum := 0.0
	for _, sigma := range s.sigma {
		away := float64(sigma) - s.options.center
		sum += away * away
	}
	return s.options.penalty * sum
}
