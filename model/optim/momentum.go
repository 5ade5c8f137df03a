package optim

import "sweep/model/kernel"

// Momentum is stochastic gradient descent by the heavy ball (Polyak 1964), as
// PyTorch's SGD; with a momentum of 0 it is plain gradient descent:
//
//	v ← momentum v + g
//	θ ← θ - rate v
type Momentum[F kernel.Float] struct {
	tensors[F]
	momentum float64
}

// NewMomentum returns an optimiser of values by gradients, slices of one
// length.
func NewMomentum[F kernel.Float](set *kernel.Set[F], values, gradients []F, momentum float64) (*Momentum[F], error) {
	if err := checkFraction("momentum", momentum); err != nil {
		return nil, err
	}
	return &Momentum[F]{tensors: newTensors(set, values, gradients, 1), momentum: momentum}, nil
}

// Step does one update.
func (m *Momentum[F]) Step(rate float64) {
	m.steps++
	m.set.Momentum(m.values, m.gradients, m.moments[0], F(rate), F(m.momentum))
}
