package layer

import (
	"math"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// The transition matrices of gates start as their names say: each orthogonal, or all beside each other with
// orthonormal rows, as Keras' recurrent_initializer="orthogonal" of a kernel [n × 4n] or [n × 3n] has them.
func TestStartsOfGates(t *testing.T) {
	const n = 12
	set := kernel.Float64()
	for _, test := range []struct {
		start     weight.Start
		scale     float64
		each, all bool // orthonormal
	}{
		{"", 0, false, false}, {weight.StartOrthogonal, 1, true, false}, {weight.StartOrthogonal, .1, true, false},
		{weight.StartKeras, 0, false, true}, {weight.StartKeras, .5, false, true},
	} {
		for _, cell := range []string{"lstm", "gru"} {
			arena := weight.NewArena[float64]()
			options := CellOptions{Inputs: 2, InputScale: 1}
			var l Layer[float64]
			var parts []*weight.View[float64]
			if cell == "lstm" {
				made, err := NewLSTM(set, arena,
					LSTMOptions{CellOptions: options, Size: n, Start: test.start, Scale: test.scale})
				if err != nil {
					t.Fatal(err)
				}
				l, parts = made, append(parts, made.gates.w)
			} else {
				made, err := NewGRU(set, arena,
					GRUOptions{CellOptions: options, Size: n, Start: test.start, Scale: test.scale})
				if err != nil {
					t.Fatal(err)
				}
				l, parts = made, append(parts, made.gate.w, made.candidate.w)
			}
			arena.Allocate()
			if err := l.Init(t.Context(), random.New(1, 0)); err != nil {
				t.Fatal(err)
			}
			var blocks []kernel.Matrix[float64]
			for _, w := range parts {
				for first := 0; first < w.Cols; first += n {
					blocks = append(blocks, w.Matrix().Columns(first, first+n))
				}
			}
			scale := test.scale
			if scale == 0 {
				scale = 1
			}
			if got := orthonormal(scale, blocks...); got != test.all {
				t.Errorf("%s, %q times %v: rows of all gates orthonormal: %v", cell, test.start, test.scale, got)
			}
			for i, block := range blocks {
				if got := orthonormal(scale, block); got != test.each {
					t.Errorf("%s, %q times %v: gate %d orthogonal: %v", cell, test.start, test.scale, i, got)
				}
			}
		}
	}
}

// orthonormal reports whether the rows of blocks beside each other, divided by scale, are.
func orthonormal(scale float64, blocks ...kernel.Matrix[float64]) bool {
	n := blocks[0].Rows
	for i := range n {
		for j := range n {
			sum := 0.
			for _, b := range blocks {
				other := b.Row(j)
				for k, v := range b.Row(i) {
					sum += v * other[k]
				}
			}
			want := 0.
			if i == j {
				want = scale * scale
			}
			if math.Abs(sum-want) > 1e-12 {
				return false
			}
		}
	}
	return true
}
