package optim

import (
	"math"

	"sweep/model/kernel"
)

// adam is the rule of Kingma and Ba (2015), algorithm 1, with ε added
// after the bias correction as PyTorch does:
//
//	m ← β1 m + (1-β1) g        m̂ = m / (1-β1ᵗ)
//	v ← β2 v + (1-β2) g²       v̂ = v / (1-β2ᵗ)
//	θ ← θ - rate m̂ / (√v̂ + ε)
type adam[F kernel.Float] struct {
	tensors[F]
	options AdamOptions
	// The loop computes 1-β from β as rounded to F. The corrections use the
	// same β: 1-β2 of float32(.999) is off by 5e-5, which the first steps, when
	// v̂ rests on few gradients, would show.
	beta1, beta2       F
	logBeta1, logBeta2 float64
}

// AdamOptions are the constants of Adam.
type AdamOptions struct {
	Beta1   float64 // decay of the mean, usually .9
	Beta2   float64 // decay of the mean square, usually .999
	Epsilon float64 // usually 1e-8
}

func newAdam[F kernel.Float](set *kernel.Set[F], values, gradients []F, options AdamOptions) (*adam[F], error) {
	if err := checkFraction("beta1", options.Beta1); err != nil {
		return nil, err
	}
	if err := checkFraction("beta2", options.Beta2); err != nil {
		return nil, err
	}
	if err := checkEpsilon(options.Epsilon); err != nil {
		return nil, err
	}
	beta1, beta2 := F(options.Beta1), F(options.Beta2)
	return &adam[F]{
		tensors: newTensors(set, values, gradients, 2), options: options,
		beta1: beta1, beta2: beta2, logBeta1: math.Log(float64(beta1)), logBeta2: math.Log(float64(beta2)),
	}, nil
}

func (a *adam[F]) step(rate float64, t int) {
	a.set.Adam(a.values, a.gradients, a.moments[0], a.moments[1],
		F(-rate/math.Expm1(float64(t)*a.logBeta1)), a.beta1, a.beta2, // 1-βᵗ = -expm1(t ln β)
		F(1/math.Sqrt(-math.Expm1(float64(t)*a.logBeta2))), F(a.options.Epsilon))
}
