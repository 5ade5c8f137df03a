package main

import (
	"slices"
	"testing"

	"sweep/model"
)

// The stacks have the numbers of weights that the layers' formulas give.
func TestSlideStacks(t *testing.T) {
	fullOnly(t)
	counts, err := stackCounts(t.Context())
	if want := []int64{13_615_304, 14_189_000}; err != nil || !slices.Equal(counts, want) {
		t.Errorf("%d weights, %v, want %d", counts, err, want)
	}
}

// Each width has the dense networks, rnn first, and 1/32 of the units up to all of them as reflectors.
func TestGrowth(t *testing.T) {
	for _, n := range []int{128, 512} {
		var reflectors []int
		for i, s := range growth(model.StepShape{Inputs: 3, Steps: 4, Batch: 5, Classes: 6, M1: 7, M2: 7}, n) {
			if s.Hidden != n || s.Inputs != 3 || s.Steps != 4 || s.Batch != 5 || s.Classes != 6 || s.M1 != s.M2 {
				t.Errorf("n %d: %+v", n, s)
			}
			if want := []string{"rnn", "factorized-rnn", "spectral-rnn"}[min(i, 2)]; s.Model != want {
				t.Errorf("n %d, number %d: %s, want %s", n, i, s.Model, want)
			}
			if s.M1 > 0 {
				reflectors = append(reflectors, s.M1*128/n)
			}
		}
		if want := []int{4, 8, 16, 32, 64, 128}; !slices.Equal(reflectors, want) {
			t.Errorf("n %d: %v 128ths of the units are reflectors, want %v", n, reflectors, want)
		}
	}
}
