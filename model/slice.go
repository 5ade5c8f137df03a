package model

import (
	"math"
	"runtime"

	"sweep/model/cell"
	"sweep/model/kernel"
)

// sliced is a recurrent layer whose minibatches are cut into slices that are
// trained side by side, each by a layer of its own with the same weights. How a
// minibatch is cut depends on its size alone, and the slices' gradients are added
// in one order, so that results do not depend on the number of threads. A small
// minibatch is one slice.
type sliced struct {
	rows   int // most series in a slice
	layers []cell.Recurrent[float32]
	pool   *pool
	states kernel.Matrix[float32] // the last of all slices, [B × n]

	// The work at hand.
	x           kernel.Matrix[float32]
	steps       int
	batch, size int
	gradient    kernel.Matrix[float32]
	forward     func(slice int)
	evaluate    func(slice int)
	backward    func(slice int)
}

// sliceRows is the most series of a slice: as many as a product needs to be fast,
// where large weights have to be read for each slice anew.
func sliceRows(hidden int) int {
	switch {
	case hidden >= 1024:
		return 256
	case hidden >= 512:
		return 128
	}
	return 64
}

// newSliced makes the layers for up to batch series: the given one, which is
// made for sliceRows of them, and its forks.
func newSliced(layer cell.Recurrent[float32], batch, threads int) *sliced {
	n := layer.Size()
	s := &sliced{rows: sliceRows(n), layers: []cell.Recurrent[float32]{layer}}
	for len(s.layers)*s.rows < batch {
		s.layers = append(s.layers, layer.Fork())
	}
	if len(s.layers) > 1 {
		s.states = kernel.Dense(make([]float32, batch*n), batch, n)
	}
	s.pool = newPool(max(min(threads, len(s.layers), runtime.GOMAXPROCS(0)), 1))
	s.forward = func(i int) {
		x, from, to := s.part(i)
		s.keep(s.layers[i].Forward(x, s.steps, to-from), from)
	}
	s.evaluate = func(i int) {
		x, from, to := s.part(i)
		s.keep(s.layers[i].Evaluate(x, s.steps, to-from), from)
	}
	s.backward = func(i int) {
		_, from, to := s.part(i)
		s.layers[i].Backward(s.gradient.Slice(from, to), kernel.Matrix[float32]{})
	}
	return s
}

// cut is the number of slices of a minibatch, and the size of each but the last.
func (s *sliced) cut(batch int) (count, size int) {
	count = (batch + s.rows - 1) / s.rows
	return count, (batch + count - 1) / count
}

// begin takes up a minibatch and returns the number of its slices. Those lie in
// x one after the other.
func (s *sliced) begin(x kernel.Matrix[float32], steps, batch int) (count int) {
	s.x, s.steps, s.batch = x, steps, batch
	count, s.size = s.cut(batch)
	return count
}

// part is the input of a slice, and which series it has.
func (s *sliced) part(slice int) (x kernel.Matrix[float32], from, to int) {
	from = slice * s.size
	to = min(from+s.size, s.batch)
	return s.x.Slice(from*s.steps, to*s.steps), from, to
}

// keep copies the last states of a slice.
func (s *sliced) keep(states kernel.Matrix[float32], from int) {
	for i := range states.Rows {
		copy(s.states.Row(from+i), states.Row(i))
	}
}

// Forward returns the last hidden states of a minibatch.
func (s *sliced) Forward(x kernel.Matrix[float32], steps, batch int) kernel.Matrix[float32] {
	count := s.begin(x, steps, batch)
	if len(s.layers) == 1 {
		return s.layers[0].Forward(x, steps, batch)
	}
	s.pool.run(count, s.forward)
	return s.states.Slice(0, batch)
}

// Evaluate is Forward without a Backward.
func (s *sliced) Evaluate(x kernel.Matrix[float32], steps, batch int) kernel.Matrix[float32] {
	count := s.begin(x, steps, batch)
	if len(s.layers) == 1 {
		return s.layers[0].Evaluate(x, steps, batch)
	}
	s.pool.run(count, s.evaluate)
	return s.states.Slice(0, batch)
}

// Backward adds the gradients of all parameters, given that of the states that
// Forward returned.
func (s *sliced) Backward(gradient kernel.Matrix[float32]) {
	if len(s.layers) == 1 {
		s.layers[0].Backward(gradient, kernel.Matrix[float32]{})
		return
	}
	s.gradient = gradient
	count, _ := s.cut(s.batch)
	s.pool.run(count, s.backward)
	s.layers[0].Join(count - 1)
}

// StartGradientNorm is ‖∂L/∂h(0)‖ over the minibatch of the last Backward.
func (s *sliced) StartGradientNorm() float64 {
	count, _ := s.cut(s.batch)
	if count == 1 {
		return s.layers[0].StartGradientNorm()
	}
	sum := 0.0
	for _, l := range s.layers[:count] {
		norm := l.StartGradientNorm()
		sum += norm * norm
	}
	return math.Sqrt(sum)
}

// Close ends the threads.
func (s *sliced) Close() { s.pool.close() }
