package cell_test

import (
	"fmt"
	"log"

	"sweep/model/cell"
	"sweep/model/kernel"
	"sweep/model/optim"
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
	matrix, err := weight.NewSVD(set, arena, units, weight.SVDOptions{Left: 4, Right: 4, Radius: .1, Center: 1})
	if err != nil {
		log.Fatal(err)
	}
	recurrent, err := cell.NewElman(set, arena, matrix, cell.Limits{Steps: steps, Batch: batch}, cell.ElmanOptions{
		Inputs: inputs, Activation: kernel.LeakyReLU, Slope: .2,
	})
	if err != nil {
		log.Fatal(err)
	}
	head, err := cell.NewHead(set, arena, units, classes, batch, cell.HeadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	arena.Allocate()

	random := weight.NewRandom(1, 0)
	if err := recurrent.Start(cell.StartOptions{InputScale: .25}, random); err != nil {
		log.Fatal(err)
	}
	head.Start(.05, random)
	optimizer, err := optim.NewAdam(set, arena.Values(), arena.Gradients(), optim.DefaultAdam())
	if err != nil {
		log.Fatal(err)
	}
	schedule := optim.Exponential{Initial: .01, Decay: .99}

	x := kernel.Dense(make([]float32, steps*batch*inputs), steps*batch, inputs)
	labels := make([]int, batch)
	draw := func() {
		weight.Gaussian(x.Data, 1, random)
		for b := range labels {
			labels[b] = random.Below(classes)
			for t := range steps {
				x.Row(t*batch + b)[0] += float32(2*labels[b] - 1)
			}
		}
	}
	for epoch := range 20 {
		for range 10 {
			draw()
			arena.ZeroGradients()
			recurrent.Load()
			head.Load()
			head.Forward(recurrent.Forward(x, steps, batch))
			head.CrossEntropy(labels)
			recurrent.Backward(head.Backward(), kernel.Matrix[float32]{})
			optim.Clip(set, arena.Gradients(), 1)
			optimizer.Step(schedule.Rate(epoch))
			matrix.Project()
		}
	}

	recurrent.Load()
	head.Load()
	right := 0
	for range 10 {
		draw()
		head.Evaluate(recurrent.Evaluate(x, steps, batch))
		_, correct := head.CrossEntropy(labels)
		right += correct
	}
	fmt.Println("parameters:", arena.Count())
	fmt.Println("more than 90% right:", right > 288)
	fmt.Println("singular values stay within r:", weight.SpectralMargin(matrix.SingularValues(nil)) <= .1)
	// Output:
	// parameters: 214
	// more than 90% right: true
	// singular values stay within r: true
}
