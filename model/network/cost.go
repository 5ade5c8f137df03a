package network

import (
	"math"

	"sweep/model/layer"
)

// Limits are those of passes for minibatches of so many sequences, with as many steps' history as
// fits into so many bytes. If none fits it is the number that takes the least memory, about √T.
func (n *Network[F]) Limits(batch int, history int64) layer.Limits {
	limits := layer.Limits{Steps: n.spec.Shape.Steps, Batch: batch}
	need := func(kept int) int64 {
		limits.History = kept
		return 4 * n.Stack.Cost(limits).Values
	}
	best := limits.Steps
	if least := need(best); least > history {
		least = math.MaxInt64
		for kept := limits.Steps - 1; kept > 0; kept-- {
			if n := need(kept); n < least {
				best, least = kept, n
				if n <= history {
					break
				}
			}
		}
	}
	limits.History = best
	return limits
}

// Cost returns what the work on sequences comes to.
func (n *Network[F]) Cost(limits layer.Limits) layer.Cost {
	c := n.Stack.Cost(limits)
	if n.head != nil {
		wide := n.head.cost(limits)
		c.Add(&wide)
	}
	return c
}

// Values returns how many values a network within these limits takes besides its parameters and
// their gradients.
func (n *Network[F]) Values(limits layer.Limits) int64 {
	sliced := limits
	rows := n.spec.sliceRows()
	sliced.Batch = min(limits.Batch, rows)
	one := n.Cost(sliced)
	values := one.Memory(pieces(limits.Batch, rows))
	if n.spec.Shape.Carries {
		for _, width := range n.Stack.StateWidths() {
			values += 2 * int64(limits.Batch) * int64(width)
		}
	}
	return values
}
