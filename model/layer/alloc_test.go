package layer

import (
	"testing"

	"sweep/model/kernel"
)

func TestNoAllocation(t *testing.T) {
	each(t, func(t *testing.T, s shape) {
		for _, s.every = range []bool{false, true} {
			n := newSingle(t, kernel.Float32(), s, 1)
			d := newData[float32](s, 2)
			dx := kernel.NewPadded[float32](s.steps*s.batch, s.inputs)
			once := func() {
				n.gradients(d)
				n.layer.Constrain(.01)
				n.layer.Load()
				n.run(d.x, false)
				_, to := n.run(d.x, true)
				n.pass.Forward(n.input(d.x), to, true)
				n.pass.Backward(d.weights, nil, dx)
				n.layer.Join(1)
			}
			once()
			if allocations := testing.AllocsPerRun(20, once); allocations != 0 {
				t.Errorf("every %v: %v allocations a step", s.every, allocations)
			}
		}
	})
}
