package main

import (
	"fmt"
	"slices"
	"testing"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// A fleet of equal workers takes one line, whatever its size.
func TestOfferLines(t *testing.T) {
	worker := func(name, label string) wire.WorkerStatus {
		return wire.WorkerStatus{Name: name, Offer: sweep.Offer{
			Trainers: []sweep.TrainerOffer{{Name: "noop", ResultVersion: "1"}}, Labels: map[string]string{"gpu": label},
		}}
	}
	workers := []wire.WorkerStatus{worker("a1", "a100")}
	for i := range 300 {
		workers = append(workers, worker(fmt.Sprintf("b%03d", i), "none"))
	}
	workers = append(workers, worker("c1", "h100"), worker("a2", "a100"))
	want := []string{
		"a1, a2 offer noop (results of version 1), gpu=a100",
		"b000, b001, b002 and 297 more offer noop (results of version 1), gpu=none",
		"c1 offers noop (results of version 1), gpu=h100",
	}
	if got := offerLines(workers); !slices.Equal(got, want) {
		t.Errorf("offerLines = %q, want %q", got, want)
	}
}
