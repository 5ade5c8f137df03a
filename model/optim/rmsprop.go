package optim

import (
	"math"

	"sweep/model/kernel"
)

// rmsprop divides each gradient by a running root mean square (Tieleman and
// Hinton 2012). The mean starts at 0; as Adam's it is corrected for that, so that
// the first steps are no larger than the later ones:
//
//	v ← decay v + (1-decay) g²      v̂ = v / (1-decayᵗ)
//	θ ← θ - rate g / (√v̂ + ε)
//
// Without the correction, as Keras and PyTorch have it, v̂ is v: the first step is of
// rate / √(1-decay).
type rmsprop[F kernel.Float] struct {
	tensors[F]
	decay    F // the correction uses it as rounded, see adam
	logDecay float64
	epsilon  float64
	raw      bool
}

// RMSpropOptions are the constants of RMSprop.
type RMSpropOptions struct {
	Decay   float64 // of the mean square, usually .9 or .99
	Epsilon float64 // usually 1e-8
	// Uncorrected takes the mean as it is, though it starts at 0.
	Uncorrected bool
}

func newRMSprop[F kernel.Float](set *kernel.Set[F], values, gradients []F,
	options RMSpropOptions) (*rmsprop[F], error) {
	if err := checkFraction("decay", options.Decay); err != nil {
		return nil, err
	}
	if err := checkEpsilon(options.Epsilon); err != nil {
		return nil, err
	}
	decay := F(options.Decay)
	return &rmsprop[F]{
		tensors: newTensors(set, values, gradients, 1),
		decay:   decay, logDecay: math.Log(float64(decay)), epsilon: options.Epsilon, raw: options.Uncorrected,
	}, nil
}

func (r *rmsprop[F]) step(rate float64, t int) {
	// With c = √(1-decayᵗ), rate g / (√v̂ + ε) = rate c g / (√v + ε c).
	c := 1.
	if !r.raw {
		c = math.Sqrt(-math.Expm1(float64(t) * r.logDecay))
	}
	r.set.RMSprop(r.values, r.gradients, r.moments[0], F(rate*c), r.decay, F(r.epsilon*c))
}
