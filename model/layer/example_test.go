package layer_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/loss"
	"sweep/model/optim"
	"sweep/model/random"
	"sweep/model/weight"
)

// A Spectral-RNN learns to tell whether the mean of a noisy series is above or
// below zero.
func Example() {
	const (
		units, inputs, classes = 16, 1, 2
		steps, batch           = 10, 32
	)
	set := kernel.Float32()
	arena := weight.NewArena[float32]()
	matrix, err := weight.NewSVD(set, arena, units, units, weight.SVDOptions{Left: 4, Right: 4, Radius: .1, Center: 1})
	if err != nil {
		log.Fatal(err)
	}
	cell, err := layer.NewElman(set, arena, matrix, layer.ElmanOptions{
		CellOptions: layer.CellOptions{Inputs: inputs, InputScale: .25}, Activation: kernel.LeakyReLU, Slope: .2,
	})
	if err != nil {
		log.Fatal(err)
	}
	y, err := weight.NewDense(set, arena, "Y", classes, units)
	if err != nil {
		log.Fatal(err)
	}
	head, err := layer.NewAffine(set, arena, y, layer.AffineOptions{Bias: "c", Scale: .05})
	if err != nil {
		log.Fatal(err)
	}
	net := layer.NewStack[float32](cell, head)
	arena.Allocate()
	pass := net.NewPass(layer.Limits{Steps: steps, Batch: batch})
	softmax, err := loss.New(set, "cross_entropy")
	if err != nil {
		log.Fatal(err)
	}

	source := random.New(1, 0)
	if err := net.Init(context.Background(), source); err != nil {
		log.Fatal(err)
	}
	optimizer, err := optim.New(set, arena, optim.Options{Rule: weight.RuleAdam,
		Adam: optim.AdamOptions{Beta1: .9, Beta2: .999, Epsilon: 1e-8}})
	if err != nil {
		log.Fatal(err)
	}

	x := kernel.Dense(make([]float32, steps*batch*inputs), steps*batch, inputs)
	labels := make([]int, batch)
	input, targets := layer.Input[float32]{Steps: steps, Batch: batch, X: x}, loss.Targets[float32]{Classes: labels}
	draw := func() {
		random.Gaussian(x.Data, 1, source)
		for b := range labels {
			labels[b] = source.Below(classes)
			for t := range steps {
				x.Row(t*batch + b)[0] += float32(2*labels[b] - 1)
			}
		}
	}
	for epoch := range 20 {
		rate := .01 * math.Pow(.99, float64(epoch))
		for range 10 {
			draw()
			arena.ZeroGradients()
			net.Load()
			logits, _ := pass.Forward(input, nil, true)
			softmax.Gradient(logits, targets, batch)
			pass.Backward(logits, nil, kernel.Matrix[float32]{})
			net.Join(1)
			optim.Clip(set, arena.Gradients(), 1)
			optimizer.Step(rate)
			net.Constrain(rate)
		}
	}

	net.Load()
	right := 0
	for range 10 {
		draw()
		logits, _ := pass.Forward(input, nil, false)
		right += softmax.Score(logits, targets).Correct
	}
	margin, err := cell.SpectralMargin(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("parameters:", arena.Count())
	fmt.Println("more than 90% right:", right > 288)
	fmt.Println("singular values stay within r:", margin <= .1)
	// Output:
	// parameters: 214
	// more than 90% right: true
	// singular values stay within r: true
}
