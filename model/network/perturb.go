package network

import (
	"sweep/model/kernel"
	"sweep/model/task"
)

// Perturb moves the inputs of a minibatch by epsilon each in the direction in which its loss grows, x + ε sign(∂L/∂x):
// the fast gradient sign method (Goodfellow, Shlens and Szegedy 2015, §4). Nothing is dropped. The gradients of the
// parameters are lost.
func (n *Network[F]) Perturb(b *task.Batch[F], epsilon F) {
	if size := b.X.Rows * b.X.Cols; cap(n.direction.Data) < size {
		n.direction.Data = kernel.Make[F](size)
	}
	n.direction = kernel.Dense(n.direction.Data[:b.X.Rows*b.X.Cols], b.X.Rows, b.X.Cols)
	n.still, n.formed = true, false // a pass back may use the weights up
	n.Differentiate(b, 0)
	n.still, n.formed = false, false
	for i, g := range n.direction.Data {
		switch {
		case g > 0:
			b.X.Data[i] += epsilon
		case g < 0:
			b.X.Data[i] -= epsilon
		}
	}
}

// PerturbValues returns how many values [Network.Perturb] takes besides those of training, for minibatches of so many
// sequences.
func (n *Network[F]) PerturbValues(batch int, history int64) int64 {
	limits := n.Limits(batch, history)
	rows := n.spec.sliceRows()
	passes := pieces(limits.Batch, rows)
	limits.Batch = min(limits.Batch, rows)
	inputs := int64(batch) * int64(n.spec.Shape.Steps) * int64(n.spec.Shape.Inputs)
	return inputs + int64(passes)*n.Cost(limits).Inject
}
