package network

import (
	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/task"
)

// jacobianHistory is how many bytes of history a Jacobian retains at once, if it can do with so few.
const jacobianHistory = 256 << 20

// Jacobian returns ∂h(T)/∂h(0) along the first sequence of a minibatch of values: h are the states of all recurrent
// layers beside each other. It takes one pass of as many equal sequences as there are states, with a unit vector each
// for the gradient of h(T). Nothing is dropped. The gradients of the parameters are lost.
func (n *Network[F]) Jacobian(b *task.Batch[F]) kernel.Matrix[F] {
	size := 0
	widths := n.Stack.StateWidths()
	for _, width := range widths {
		size += width
	}
	if size == 0 {
		return kernel.Matrix[F]{}
	}
	x := kernel.NewMatrix[F](b.Steps*size, b.X.Cols)
	_, rows := task.Cut(b.Size, n.rows) // the steps of a slice lie one after the other
	for i := range x.Rows {
		copy(x.Row(i), b.X.Row(i/size*rows))
	}
	var to layer.State[F]
	first := 0
	for _, width := range widths {
		m := kernel.NewMatrix[F](size, width)
		for i := range width {
			m.Row(first + i)[i] = 1
		}
		to, first = append(to, m), first+width
	}
	n.formed = false // a pass back may use the weights up
	n.Form()
	pass := n.Stack.NewPass(n.Limits(size, jacobianHistory))
	out, _ := pass.Forward(layer.Input[F]{Steps: b.Steps, Batch: size, X: x, Still: true}, nil, true)
	from := pass.Backward(kernel.NewMatrix[F](out.Rows, out.Cols), to, kernel.Matrix[F]{})
	n.formed = false
	all := kernel.NewMatrix[F](size, size)
	for i := range size {
		row := all.Row(i)
		for _, m := range from {
			row = row[copy(row, m.Row(i)):]
		}
	}
	return all
}
