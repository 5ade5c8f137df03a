package model

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"sweep/sweep"
)

// snapshot is a training between two epochs: everything that later epochs
// depend on, so that a resumed trial gives the same bits.
type snapshot struct {
	Epoch   int
	Values  []float32
	Steps   int
	Moments [][]float32
	Dropout []byte
	Best    best
	Curves  []sweep.Curve
}

// checkpoint encodes the training's state.
func (t *training) checkpoint() ([]byte, error) {
	dropout, err := t.net.dropout.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	state := t.optimizer.State()
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(snapshot{
		Epoch: t.epoch, Values: t.net.arena.Values(), Steps: state.Steps, Moments: state.Moments,
		Dropout: dropout, Best: t.best, Curves: t.curves.All,
	})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return b.Bytes(), nil
}

// resume puts the training into the state of a checkpoint of the same trial.
func (t *training) resume(state []byte) error {
	var s snapshot
	if err := gob.NewDecoder(bytes.NewReader(state)).Decode(&s); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	values, moments := t.net.arena.Values(), t.optimizer.State().Moments
	fits := len(s.Values) == len(values) && len(s.Moments) == len(moments) && s.Epoch > 0 && s.Epoch <= t.s.epochs &&
		(len(s.Best.Values) == 0 || len(s.Best.Values) == len(values))
	for i := range moments {
		fits = fits && len(s.Moments[i]) == len(moments[i])
	}
	for _, c := range s.Curves {
		fits = fits && len(c.Steps) == len(c.Values)
	}
	if !fits {
		return fmt.Errorf("checkpoint: it belongs to another trial")
	}
	if err := t.net.dropout.UnmarshalBinary(s.Dropout); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	copy(values, s.Values)
	for i := range moments {
		copy(moments[i], s.Moments[i])
	}
	t.optimizer.SetSteps(s.Steps)
	t.epoch, t.best = s.Epoch, s.Best
	t.curves = curves{All: s.Curves, sent: make([]int, len(s.Curves))}
	return nil
}
