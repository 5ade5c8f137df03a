package optim

import "sweep/model/kernel"

// momentum is stochastic gradient descent by the heavy ball (Polyak 1964), as
// PyTorch's SGD; with a momentum of 0 it is plain gradient descent:
//
//	v ← momentum v + g
//	θ ← θ - rate v
type momentum[F kernel.Float] struct {
	tensors[F]
	factor float64 // of v
}

func newMomentum[F kernel.Float](set *kernel.Set[F], values, gradients []F, factor float64) (*momentum[F], error) {
	if err := checkFraction("momentum", factor); err != nil {
		return nil, err
	}
	return &momentum[F]{newTensors(set, values, gradients, 1), factor}, nil
}

func (m *momentum[F]) step(rate float64, _ int) {
	m.set.Momentum(m.values, m.gradients, m.moments[0], F(rate), F(m.factor))
}
