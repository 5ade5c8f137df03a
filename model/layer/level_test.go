package layer

import (
	"math"
	"testing"

	"sweep/model/kernel"
)

// levelShapes are beyond whole tiles of every level, and below one.
func levelShapes() []shape {
	var shapes []shape
	for _, s := range propertyShapes() {
		s.n, s.inputs, s.steps, s.batch = 35, 3, 7, 19
		if s.cell == "modrelu" {
			s.n++ // real and imaginary parts
		}
		if s.cell == "urnn" {
			s.n = 64
		}
		if s.activation == kernel.LeakyReLU {
			s.activation = kernel.Tanh // differences must not meet a kink
		}
		shapes = append(shapes, s)
		if s.n, s.inputs, s.batch = 6, 1, 3; s.cell == "urnn" {
			s.n = 8
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// TestGradientsAtLevels holds the gradients of layers at every level of
// the kernels against differences of the same layers' loss in float64.
func TestGradientsAtLevels(t *testing.T) {
	if testing.Short() {
		t.Skip("left out under -short: it goes through all kernel levels itself")
	}
	for _, s := range levelShapes() {
		t.Run(s.String(), func(t *testing.T) {
			exact := newSingle(t, kernel.Float64(), s, 3)
			d := newData[float64](s, 4)
			for _, v := range exact.arena.Views() { // numbers that float32 can hold
				for i, x := range v.Value {
					v.Value[i] = float64(float32(x))
				}
			}
			rough := newData[float32](s, 4)
			for i, x := range d.x.Data {
				rough.x.Data[i] = float32(x)
				d.x.Data[i] = float64(rough.x.Data[i])
			}
			for i, x := range d.weights.Data {
				rough.weights.Data[i] = float32(x)
				d.weights.Data[i] = float64(rough.weights.Data[i])
			}
			// Of long tensors some parameters.
			stride := map[string]int{}
			differences := map[string][]float64{}
			for _, v := range exact.arena.Views() {
				stride[v.Name] = 1 + len(v.Value)/40
				for i := 0; i < len(v.Value); i += stride[v.Name] {
					differences[v.Name] = append(differences[v.Name], derivative(&v.Value[i], func() float64 {
						return exact.forward(d)
					}))
				}
			}
			for _, level := range kernel.Levels() {
				set, err := kernel.Float32At(level)
				if err != nil {
					t.Fatal(err)
				}
				n := newSingle(t, set, s, 3)
				for i, v := range exact.arena.Views() {
					for j, x := range v.Value {
						n.arena.Views()[i].Value[j] = float32(x)
					}
				}
				n.gradients(rough)
				for _, v := range n.arena.Views() {
					largest, difference := 1e-3, 0.0
					for k, want := range differences[v.Name] {
						largest = max(largest, math.Abs(want))
						difference = max(difference, math.Abs(want-float64(v.Gradient[k*stride[v.Name]])))
					}
					if relative := difference / largest; !(relative < 1e-3) {
						t.Errorf("level %v: gradient of %s: relative error %.2g", level, v.Name, relative)
					}
				}
			}
		})
	}
}
