package main

import (
	"encoding/json"
	"fmt"

	"sweep/sweep"
)

// state is what later epochs depend on, and the points so far: a resumed trial
// reports them again.
type state struct {
	Epoch     int64
	Weights   []float64
	Velocity  []float64
	BestLoss  float64
	BestEpoch int64
	curves    []sweep.Curve
}

// stateJSON is a checkpoint: Go writes numbers so that they come back to the bit.
type stateJSON struct {
	state
	Curves []sweep.Curve
}

// encode returns the state as a checkpoint.
func (s *state) encode() ([]byte, error) {
	data, err := json.Marshal(stateJSON{*s, s.curves})
	if err != nil {
		// A weight overflowed: the next epoch finds that the training diverges.
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return data, nil
}

// resume takes over the state of a checkpoint.
func (s *state) resume(checkpoint []byte) error {
	var read stateJSON
	if err := json.Unmarshal(checkpoint, &read); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	n := len(s.Weights)
	if len(read.Weights) != n || len(read.Velocity) != n || read.Epoch < 1 || len(read.Curves) != len(s.curves) {
		return fmt.Errorf("checkpoint: it belongs to another trial")
	}
	*s = read.state
	s.curves = read.Curves
	return nil
}
