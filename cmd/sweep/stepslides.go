package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/sweep"
)

// slideTimes are the published times of ten minibatches, in seconds, of the slides of Zhang, Lei, Dhillon: a V100,
// and 1024 sequences a minibatch.
var slideTimes = []struct {
	model     string
	hidden    int
	published float64
}{
	{"spectral-rnn", 512, 9.0}, {"lstm", 512, 2.3}, {"spectral-rnn", 1024, 5.7}, {"lstm", 1024, 5.7},
	{"spectral-rnn", 2048, 14.6}, {"lstm", 2048, 25.5},
}

// slideShare is the number of units for each reflector of a side.
const slideShare = 8

// slideBatches is how many minibatches the published times are of.
const slideBatches = 10

// slideStacks are the two networks that the slides compare on characters, 200 inputs and 200 classes, with an eighth of
// the units as reflectors a side. Both have 13.9 M parameters there.
var slideStacks = []struct {
	name       string
	parameters sweep.Parameters
}{
	{"lstm 1024 under lstm 1024", sweep.Parameters{"model": "lstm", "hidden": int64(1024), "layers": int64(2)}},
	{"spectral-rnn 2048 under lstm 1024", sweep.Parameters{"model": "spectral-rnn", "hidden": int64(2048),
		"m1": int64(2048 / slideShare), "m2": int64(2048 / slideShare), "top": "lstm", "top_hidden": int64(1024)}},
}

// stackCounts returns the number of weights of each stack.
func stackCounts(ctx context.Context) (counts []int64, err error) {
	trainer, err := model.NewTrainer()
	if err != nil {
		return nil, err
	}
	description, err := trainer.Describe(ctx)
	if err != nil {
		return nil, err
	}
	for _, stack := range slideStacks {
		point := stack.parameters.Clone()
		point["dataset"], point["alphabet"], point["initial_state"] = "generated-queries", int64(200), "zero"
		resolved, err := description.Resolve(point)
		if err != nil {
			return nil, err
		}
		cost, err := trainer.Validate(ctx, sweep.ValidateRequest{Parameters: resolved})
		if err != nil {
			return nil, err
		}
		counts = append(counts, cost.ParameterCount)
	}
	return counts, nil
}

// printSlides counts the weights of the slides' stacks, and measures the networks of the slides, and how the time of a
// step grows with reflectors and width. Inputs, time steps, sequences, classes and threads are those of the shape.
func printSlides(cmd *cobra.Command, shape model.StepShape, budget time.Duration, most int) error {
	w := cmd.OutOrStdout()
	counts, err := stackCounts(cmd.Context())
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "| stack of two layers, 200 characters | parameters | published |\n|---|---:|---:|")
	for i, stack := range slideStacks {
		fmt.Fprintf(w, "| %s | %d | 13.9 M |\n", stack.name, counts[i])
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "Training steps, n_i = %d, T = %d, B = %d, %d threads.\n\n", shape.Inputs, shape.Steps, shape.Batch,
		shape.Threads)
	fmt.Fprintf(w, "| model | n | reflectors a side | ms | s of %d minibatches | published (V100, B = 1024) |\n",
		slideBatches)
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|")
	for _, cell := range slideTimes {
		s, reflectors := shape, ""
		if s.Model, s.Hidden = cell.model, cell.hidden; cell.model == "spectral-rnn" {
			s.M1, s.M2 = cell.hidden/slideShare, cell.hidden/slideShare
			reflectors = strconv.Itoa(s.M1)
		}
		t, err := timeSteps(cmd, s, budget, most)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %d | %s | %.1f | %.2f | %.1f |\n", s.Model, s.Hidden, reflectors, milliseconds(t.Median),
			slideBatches*t.Median.Seconds(), cell.published)
	}
	fmt.Fprintln(w, "\nThe slides do not state n_i and T. Their 5.7 s of spectral-rnn are likely a slip: they are "+
		"lstm's, and less than the 9.0 s at half the width.")
	fmt.Fprintln(w, "\n| model | n | reflectors a side | ms | against rnn |\n|---|---:|---:|---:|---:|")
	for _, n := range []int{128, 256, 512} {
		dense := 0.0
		for _, s := range growth(shape, n) {
			t, err := timeSteps(cmd, s, budget, most)
			if err != nil {
				return err
			}
			reflectors := ""
			if s.M1 > 0 {
				reflectors = strconv.Itoa(s.M1)
			}
			if dense == 0 {
				dense = t.Median.Seconds()
			}
			fmt.Fprintf(w, "| %s | %d | %s | %.2f | %.2f |\n", s.Model, n, reflectors, milliseconds(t.Median),
				t.Median.Seconds()/dense)
		}
	}
	return nil
}

// growth are the shapes of one width: rnn first, then factorized-rnn, whose steps are cubic in n, and Spectral-RNN
// with ever more reflectors.
func growth(shape model.StepShape, n int) []model.StepShape {
	shape.Hidden, shape.M1, shape.M2 = n, 0, 0
	var shapes []model.StepShape
	for _, name := range []string{"rnn", "factorized-rnn"} {
		shape.Model = name
		shapes = append(shapes, shape)
	}
	shape.Model = "spectral-rnn"
	for m := n / 32; m <= n; m *= 2 {
		shape.M1, shape.M2 = m, m
		shapes = append(shapes, shape)
	}
	return shapes
}
