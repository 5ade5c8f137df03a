package layer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// TestDropout: a share is dropped, what stays is scaled so that the mean is the same,
// the mask of a step is always the same, and gradients go where the inputs went.
func TestDropout(t *testing.T) {
	const width, steps, batch, rounds = 50, 3, 5, 4000
	d, err := NewDropout[float64](width, .3, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	pass := d.NewPass(Limits{Steps: steps, Batch: batch})
	x, dx := kernel.NewPadded[float64](steps*batch, width), kernel.NewPadded[float64](steps*batch, width)
	random.Gaussian(x.Data, 1, random.New(1, 0))
	in := Input[float64]{Steps: steps, Batch: batch, X: x}
	if out, _ := pass.Forward(in, nil, false); !slices.Equal(elements(out), x.Data) {
		t.Error("something is dropped where nothing is retained")
	}
	dropped, sum := 0, make([]float64, len(x.Data))
	for in.Place.Step = range rounds {
		out, _ := pass.Forward(in, nil, true)
		accumulate(sum, elements(out))
		for i, y := range elements(out) {
			switch {
			case y == 0:
				dropped++
			case math.Abs(y-x.Data[i]/.7) > 1e-15*math.Abs(y):
				t.Fatalf("%v becomes %v", x.Data[i], y)
			}
		}
	}
	if share := float64(dropped) / float64(rounds*len(x.Data)); math.Abs(share-.3) > .002 {
		t.Errorf("a share of %v is dropped", share)
	}
	for i, total := range sum {
		if mean := total / rounds; math.Abs(mean-x.Data[i]) > .06*math.Abs(x.Data[i]) {
			t.Errorf("element %d: mean %v of %v", i, mean, x.Data[i])
		}
	}
	out, _ := pass.Forward(in, nil, true)
	first := elements(out)
	pass.Backward(x, nil, dx)
	if !slices.Equal(elements(dx), first) { // a mask times x, as forward
		t.Error("gradients are masked otherwise than inputs")
	}
	if out, _ := pass.Forward(in, nil, true); !slices.Equal(elements(out), first) {
		t.Error("one step has two masks")
	}
}

// TestAffine: the start of a dense W, and shapes that do not fit.
func TestAffine(t *testing.T) {
	arena := weight.NewArena[float64]()
	w, err := weight.NewDense(kernel.Float64(), arena, "W", 60, 90)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAffine(kernel.Float64(), arena, w, AffineOptions{Bias: "b", Scale: .5})
	if err != nil {
		t.Fatal(err)
	}
	arena.Allocate()
	if err := a.Init(context.Background(), random.New(1, 0)); err != nil {
		t.Fatal(err)
	}
	if values := w.View().Value; math.Abs(dot(values, values)/(60*.25)-1) > .1 {
		t.Errorf("the variance of W is %v of what is due", dot(values, values)/(60*.25))
	}
	a.Load()
	input := func(rows, cols int) Input[float64] {
		return Input[float64]{Steps: 1, Batch: rows, X: kernel.NewPadded[float64](rows, cols)}
	}
	for want, misuse := range map[string]func(p Pass[float64]){
		"input of 5 × 8 in a pass made for 5 × 90":  func(p Pass[float64]) { p.Forward(input(5, 8), nil, true) },
		"input of 6 × 90 in a pass made for 5 × 90": func(p Pass[float64]) { p.Forward(input(6, 90), nil, true) },
		"Backward without Forward": func(p Pass[float64]) {
			p.Backward(kernel.NewPadded[float64](5, 60), nil, kernel.Matrix[float64]{})
		},
		"gradient of 5 × 3 for outputs of 5 × 60": func(p Pass[float64]) {
			p.Forward(input(5, 90), nil, true)
			p.Backward(kernel.NewPadded[float64](5, 3), nil, kernel.Matrix[float64]{})
		},
	} {
		func() {
			defer func() {
				if message := fmt.Sprint(recover()); !strings.Contains(message, want) {
					t.Errorf("%s: panic %q", want, message)
				}
			}()
			misuse(a.NewPass(Limits{Steps: 1, Batch: 5}))
		}()
	}
}
