package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sweep/model"
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

// printSlides measures the networks of the slides, and how the time of a step grows with reflectors and width.
// Inputs, time steps, sequences, classes and threads are those of the shape.
func printSlides(cmd *cobra.Command, shape model.StepShape, budget time.Duration, most int) error {
	w := cmd.OutOrStdout()
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
