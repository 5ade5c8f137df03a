package optim

import "sweep/model/kernel"

// RMSprop divides each gradient by a running root mean square (Tieleman and
// Hinton 2012), as PyTorch does:
//
//	v ← decay v + (1-decay) g²
//	θ ← θ - rate g / (√v + ε)
type RMSprop[F kernel.Float] struct {
	tensors[F]
	options RMSpropOptions
}

// RMSpropOptions are the constants of [RMSprop].
type RMSpropOptions struct {
	Decay   float64 // of the mean square, usually .9 or .99
	Epsilon float64 // usually 1e-8
}

// DefaultRMSprop returns a decay of .9 and an ε of 1e-8.
func DefaultRMSprop() RMSpropOptions { return RMSpropOptions{Decay: 0.9, Epsilon: 1e-8} }

// NewRMSprop returns an optimiser of values by gradients, slices of one length.
func NewRMSprop[F kernel.Float](set *kernel.Set[F], values, gradients []F, options RMSpropOptions) (*RMSprop[F], error) {
	if err := checkFraction("decay", options.Decay); err != nil {
		return nil, err
	}
	if err := checkEpsilon(options.Epsilon); err != nil {
		return nil, err
	}
	return &RMSprop[F]{tensors: newTensors(set, values, gradients, 1), options: options}, nil
}

// Step does one update.
func (r *RMSprop[F]) Step(rate float64) {
	r.steps++
	r.set.RMSprop(r.values, r.gradients, r.moments[0], F(rate), F(r.options.Decay), F(r.options.Epsilon))
}
