//go:build !race

// Under the race detector sync.Pool drops at random what it is given, so that the
// number of allocations is not determined.

package model

import (
	"math"
	"runtime/debug"
	"testing"

	"sweep/model/kernel"
	"sweep/model/optim"
	"sweep/model/system"
	"sweep/model/weight"
)

// TestExponentialAllocation: gonum computes the exponential map and allocates. A step
// allocates nothing else: it forms the matrix once, after the update, and carries its
// gradient back once. The garbage collector is off, as it empties gonum's pools.
func TestExponentialAllocation(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	c := newCandidate(t, system.Find("sgornn"), "trained").with(t, "map", "exp")
	n := assemble(t, c, kernel.Float32(), 2, math.MaxInt64)
	optimizer, err := optim.New(kernel.Float32(), n.Arena, c.settings.optimizer)
	if err != nil {
		t.Fatal(err)
	}
	exponential, ok := n.Matrices[0].(*weight.Exponential[float32])
	if !ok {
		t.Fatalf("the matrix is a %T, want an exponential", n.Matrices[0])
	}
	size, _ := exponential.Shape()
	w := kernel.NewMatrix[float32](size, size)
	value := testing.AllocsPerRun(10, func() { exponential.Value(w) })
	clear(w.Data) // gonum's steps depend on the size of the gradient: take a small one
	pullback := testing.AllocsPerRun(10, func() { exponential.Pullback(w) })
	b := minibatch(c, n)
	step := func() {
		n.Differentiate(b, 0)
		n.Update(optimizer, .001, 1)
		n.Evaluate(b)
	}
	step()
	for range 3 {
		if got, want := testing.AllocsPerRun(10, step), value+pullback; got != want || value == 0 {
			t.Errorf("a step allocates %v times, want %v: %v to form the matrix and %v for its gradient", got, want,
				value, pullback)
		}
	}
}
