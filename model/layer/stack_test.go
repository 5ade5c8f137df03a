package layer

import (
	"context"
	"testing"

	"sweep/model/kernel"
	"sweep/model/random"
	"sweep/model/weight"
)

// TestJoinedBackward: gradients that one layer's product derives for the layer below are
// those of each layer by itself, to the bit, whatever lies on what.
func TestJoinedBackward(t *testing.T) {
	t.Run("dense", func(t *testing.T) {
		testJoinedBackward(t, func(arena *weight.Arena[float32], rows, cols int) (weight.Matrix[float32], error) {
			return weight.NewDense(kernel.Float32(), arena, "W", rows, cols)
		}, weight.StartGaussian, OperatorAuto)
	})
	t.Run("factors", func(t *testing.T) {
		testJoinedBackward(t, func(arena *weight.Arena[float32], rows, cols int) (weight.Matrix[float32], error) {
			return weight.NewSVD(kernel.Float32(), arena, rows, cols, weight.SVDOptions{Left: 5, Right: 3, Radius: .4,
				Center: 1, Scale: 1})
		}, weight.StartRandom, OperatorCompactWY)
	})
}

func testJoinedBackward(t *testing.T, matrix func(arena *weight.Arena[float32], rows, cols int) (weight.Matrix[float32],
	error), start weight.Start, kind OperatorKind) {
	const width, inputs, rows = 24, 17, 21
	set := kernel.Float32()
	arena := weight.NewArena[float32]()
	number := 0
	affine := func(inputs int, act kernel.Activation) Layer[float32] {
		arena.SetPrefix(string(rune('a'+number)) + ".")
		number++
		w, err := matrix(arena, width, inputs)
		if err != nil {
			t.Fatal(err)
		}
		options := AffineOptions{Bias: "b", Activation: act, Slope: .2, Start: start}
		if inputs == width {
			options.Operator = kind
		}
		l, err := NewAffine(set, arena, w, options)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	block := func(act kernel.Activation, layers ...Layer[float32]) Layer[float32] {
		l, err := NewResidual(set, NewStack(layers...), width, act, .2)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	dropout, err := NewDropout[float32](width, .3, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	layers := []Layer[float32]{
		affine(inputs, kernel.LeakyReLU),
		block(kernel.Tanh, affine(width, kernel.ReLU), affine(width, kernel.Linear)),
		affine(width, kernel.Linear),
		block(kernel.LeakyReLU, block(kernel.ReLU, affine(width, kernel.Linear)), affine(width, kernel.Linear)),
		dropout,
		block(kernel.LeakyReLU, dropout, affine(width, kernel.Linear)),
		affine(width, kernel.Tanh),
	}
	arena.Allocate()
	stack := NewStack(layers...)
	if err := stack.Init(context.Background(), random.New(1, random.Weights)); err != nil {
		t.Fatal(err)
	}
	in := Input[float32]{Steps: 1, Batch: rows, X: kernel.NewMatrix[float32](rows, inputs)}
	dout := kernel.NewMatrix[float32](rows, width)
	random.Gaussian(in.X.Data, 1, random.New(2, random.Weights))
	random.Gaussian(dout.Data, 1, random.New(3, random.Weights))
	limits := Limits{Steps: 1, Batch: rows}

	// Each by itself.
	stack.Load()
	passes, x := make([]Pass[float32], len(layers)), in
	dx := kernel.NewMatrix[float32](rows, inputs)
	for i, l := range layers {
		passes[i] = l.NewPass(limits)
		x.X, _ = passes[i].Forward(x, nil, true)
	}
	wanted, gradient := x.X, dout
	for i := len(layers) - 1; i >= 0; i-- {
		below := kernel.NewMatrix[float32](rows, width)
		if i == 0 {
			below = dx
		}
		passes[i].Backward(gradient, nil, below)
		gradient = below
	}
	stack.Join(1)
	gradients := append([]float32{}, arena.Gradients()...)

	// Joined, in the second passes, whose gradients are forks; those of the first are 0.
	for _, pass := range passes {
		pass.Backward(kernel.NewMatrix[float32](rows, width), nil, kernel.Matrix[float32]{})
	}
	arena.ZeroGradients()
	stack.Load()
	pass := stack.NewPass(limits)
	out, _ := pass.Forward(in, nil, true)
	joined := kernel.NewMatrix[float32](rows, inputs)
	pass.Backward(dout, nil, joined)
	arena.ZeroGradients()
	stack.Join(2)
	same(t, "outputs", out.Data, wanted.Data)
	same(t, "gradient of the input", joined.Data, dx.Data)
	same(t, "gradients", arena.Gradients(), gradients)
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, x := range want {
		if got[i] != x {
			t.Fatalf("%s: element %d is %v, by itself %v", what, i, got[i], x)
		}
	}
}
