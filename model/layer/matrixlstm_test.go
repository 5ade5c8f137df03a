package layer

import (
	"slices"
	"testing"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// TestMatrixLSTM: outputs and gradients are those of an LSTM with the same matrices as a parameter, but
// for rounding. Its gradients of the matrices are pulled back by SVDs of their own.
func TestMatrixLSTM(t *testing.T) {
	set := kernel.Float64()
	for _, n := range []int{11, 130} { // formed by reflectors, and from factors
		s := shape{cell: "spectral-lstm", n: n, inputs: 3, steps: 9, batch: 4, m1: 6, m2: 4, radius: .3}
		spectral := newSingle(t, set, s, 1)
		s.cell = "lstm"
		plain := newSingle(t, set, s, 1)
		for _, name := range []string{"U", "b", "h0", "c0"} {
			copy(plain.arena.View(name).Value, spectral.arena.View(name).Value)
		}
		arena := weight.NewArena[float64]()
		var matrices []weight.Matrix[float64]
		for _, prefix := range lstmPrefixes {
			arena.SetPrefix(prefix)
			svd, err := weight.Declare(set, arena, s.svd(), n, n)
			if err != nil {
				t.Fatal(err)
			}
			matrices = append(matrices, svd)
		}
		arena.Allocate()
		for _, v := range arena.Views() {
			copy(v.Value, spectral.arena.View(v.Name).Value)
		}
		w := kernel.NewMatrix[float64](n, n)
		gate := func(number int, of kernel.Matrix[float64]) kernel.Matrix[float64] {
			return of.Columns(number*n, (number+1)*n)
		}
		for i, m := range matrices {
			m.Value(w)
			set.Transpose(gate(i, plain.arena.View("W").Matrix()), w)
		}

		d := newData[float64](s, 2)
		plain.gradients(d)
		spectral.gradients(d)
		if !near(elements(plain.outputs), elements(spectral.outputs)) {
			t.Errorf("n = %d: the outputs differ from those of an LSTM with the same matrices", n)
		}
		for i, m := range matrices {
			set.Transpose(w, gate(i, plain.arena.View("W").GradientMatrix()))
			m.Pullback(w)
		}
		want := snapshot(plain)
		delete(want, "W")
		for _, v := range arena.Views() {
			want[v.Name] = slices.Clone(v.Gradient)
		}
		checkSame(t, "matrices of gates", want, snapshot(spectral))
	}
}

// TestLSTMMatrices: there is a square matrix of the state's size for each gate.
func TestLSTMMatrices(t *testing.T) {
	set := kernel.Float64()
	for size, count := range map[int]int{4: 3, 3: 4} {
		arena := weight.NewArena[float64]()
		var matrices []weight.Matrix[float64]
		for i := range count {
			arena.SetPrefix(lstmPrefixes[i])
			dense, err := weight.NewDense(set, arena, "W", size, size)
			if err != nil {
				t.Fatal(err)
			}
			matrices = append(matrices, dense)
		}
		options := LSTMOptions{CellOptions: CellOptions{Inputs: 1}, Size: 4}
		if _, err := NewMatrixLSTM(set, arena, matrices, options); err == nil {
			t.Errorf("an LSTM of 4 units was made of %d matrices of size %d", count, size)
		}
	}
}
