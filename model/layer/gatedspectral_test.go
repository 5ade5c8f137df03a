package layer

import (
	"testing"

	"sweep/model/kernel"
	"sweep/model/weight"
)

// TestOpenGates: with gates at 1 outputs and gradients are those of the cell without gates, but
// for rounding, since that one applies the factors of U Σ Vᵀ as a whole.
func TestOpenGates(t *testing.T) {
	s := shape{n: 23, inputs: 3, steps: 12, batch: 5, m1: 7, m2: 4, radius: .3, activation: kernel.LeakyReLU, slope: .2}
	s.cell, s.operator = "spectral-rnn", OperatorCompactWY
	plain := newSingle(t, kernel.Float64(), s, 1)
	s.cell = "gated-spectral-rnn"
	gated := newSingle(t, kernel.Float64(), s, 1)
	for _, v := range gated.arena.Views() {
		switch of := plain.arena.View(v.Name); {
		case of != nil:
			copy(v.Value, of.Value)
		case v.Name == "b_g":
			for i := range v.Value {
				v.Value[i] = 40 // sigmoid(40) is 1
			}
		default:
			clear(v.Value)
		}
	}
	d := newData[float64](s, 2)
	plain.gradients(d)
	gated.gradients(d)
	for i, g := range gated.pass.(*gatedSpectralPass[float64]).gates.Data {
		if g != 1 && g != 0 { // in padding
			t.Fatalf("gate %d is %v, want 1", i, g)
		}
	}
	if !near(elements(plain.outputs), elements(gated.outputs)) {
		t.Error("the outputs differ from those without gates")
	}
	for name, want := range snapshot(plain) {
		if !near(want, gated.arena.View(name).Gradient) {
			t.Errorf("the gradient of %s differs from that without gates", name)
		}
	}
	for _, name := range []string{"W_g", "U_g", "b_g"} {
		for _, x := range gated.arena.View(name).Gradient {
			if x > 1e-15 || x < -1e-15 {
				t.Fatalf("a gate at 1 has a gradient of %v in %s", x, name)
			}
		}
	}
}

// TestGatedMatrix: a cell that gates singular values takes a square SVD alone.
func TestGatedMatrix(t *testing.T) {
	set := kernel.Float64()
	options := GatedSpectralOptions{CellOptions: CellOptions{Inputs: 1}}
	arena := weight.NewArena[float64]()
	dense, err := weight.NewDense(set, arena, "W", 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	oblong, err := weight.NewSVD(set, arena, 4, 3, weight.SVDOptions{Left: 1, Right: 1, Center: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, matrix := range []weight.Matrix[float64]{dense, oblong} {
		if _, err := NewGatedSpectral(set, arena, matrix, options); err == nil {
			t.Errorf("a cell was made of a %T", matrix)
		}
	}
}
