package model

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"math"
	"time"

	"sweep/model/kernel"
	"sweep/model/layer"
	"sweep/model/task"
	"sweep/sweep"
	"sweep/sweep/safetensors"
)

// snapshot is a training between two steps: everything that later epochs
// depend on, so that a resumed trial gives the same bits.
//
// A checkpoint is the snapshot in gob without Values, Moments and Best.Values, which
// follow it one after the other, four bytes a value: gob takes more, and several times
// the memory while it writes.
type snapshot struct {
	// Level is the kernel level of the steps so far: at another one equal steps give
	// other bits.
	Level    string
	Position int // steps done
	Sum      epochSum
	Values   []float32
	Steps    int
	Moments  [][]float32
	// States is what each slice hands to the next minibatch, matrix by matrix; none
	// unless it goes on where the last one ended.
	States [][]state
	Best   best
	// Validated is retained for an artifact.
	Validated []safetensors.Tensor
	Points    []byte // the curves, as their recorder writes them
	// Seconds is how long the trial has taken so far, over all its executions.
	Seconds float64
	// End is the number of steps of the trial, and Spaced are the points of the curves whose spacing
	// depends on it, of an open-ended trial.
	End    int
	Spaced []sweep.Curve
}

// state is a matrix of a state.
type state struct {
	Rows, Cols int
	Data       []float32
}

// states returns what the slices hand on.
func (t *training) states() [][]state {
	if !t.shape.Carries {
		return nil
	}
	var all [][]state
	for _, slice := range t.net.Carried() {
		var one []state
		for _, m := range slice {
			one = append(one, state{m.Rows, m.Cols, m.Data})
		}
		all = append(all, one)
	}
	return all
}

// setStates restores what the slices hand on, and reports whether it fits.
func (t *training) setStates(all [][]state) bool {
	if !t.shape.Carries {
		return len(all) == 0
	}
	batch := t.task.Batch(task.Train, t.s.batch)
	count, size := task.Cut(batch, t.net.Rows())
	if len(all) < count {
		return false
	}
	widths := t.net.Stack.StateWidths()
	for i, one := range all[:count] {
		if len(one) != len(widths) {
			return false
		}
		rows := min(size, batch-i*size)
		var to layer.State[float32]
		for k, m := range one {
			if m.Rows != rows || m.Cols != widths[k] || len(m.Data) != rows*m.Cols {
				return false
			}
			to = append(to, kernel.Dense(m.Data, m.Rows, m.Cols))
		}
		t.net.Carry(i, to)
	}
	return true
}

// largeCheckpoint is the size of a checkpoint, in bytes, from which on it puts off the next
// one in proportion: a trial writes a megabyte a second at most, not to wear out disks.
const largeCheckpoint = 30 << 20

// checkpointPause is the time from a checkpoint of so many bytes to the next one.
func checkpointPause(interval time.Duration, size int) time.Duration {
	return time.Duration(float64(interval) * max(1, float64(size)/largeCheckpoint))
}

// checkpoint encodes the training's state.
func (t *training) checkpoint() ([]byte, error) {
	memory, best := t.optimizer.State(), t.best
	best.Values = nil
	points, err := t.curves.recorder.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(snapshot{
		Level: t.net.Level().String(), Position: t.position(), Sum: t.sum, Steps: memory.Steps, States: t.states(),
		Best: best, Validated: t.validated, Points: points,
		Seconds: time.Since(t.started).Seconds(), End: t.plan.Steps, Spaced: t.spacedCurves(),
	})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	all := append([][]float32{t.net.Arena.Values()}, memory.Moments...)
	all = append(all, t.best.Values)
	size := b.Len()
	for _, values := range all {
		size += valueBytes * len(values)
	}
	data := append(make([]byte, 0, size), b.Bytes()...)
	for _, values := range all {
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}
	return data, nil
}

// valueBytes is the size of a value in a checkpoint.
const valueBytes = 4

// readValues sets Values, Moments and Best.Values to what follows the snapshot, for a
// training of so many values and moments of those lengths.
func (s *snapshot) readValues(data []byte, values int, moments [][]float32) error {
	all, err := sweep.DecodeValues(data)
	if err != nil {
		return err
	}
	take := func(n int) (part []float32) {
		n = min(n, len(all))
		part, all = all[:n:n], all[n:]
		return part
	}
	s.Values, s.Moments = take(values), nil
	for _, m := range moments {
		s.Moments = append(s.Moments, take(len(m)))
	}
	s.Best.Values = all
	return nil
}

// resume puts the training into the state of a checkpoint of the same trial, or of one that differs from
// it only in where it ends, if that is open.
func (t *training) resume(state []byte) error {
	var s snapshot
	rest := bytes.NewReader(state)
	if err := gob.NewDecoder(rest).Decode(&s); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if level := t.net.Level().String(); s.Level != level {
		return fmt.Errorf("checkpoint: it is of kernel level %q, and this trainer runs at %s", s.Level, level)
	}
	values, moments := t.net.Arena.Values(), t.optimizer.State().Moments
	if err := s.readValues(state[len(state)-rest.Len():], len(values), moments); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	fits := len(s.Values) == len(values) && len(s.Moments) == len(moments) && s.Position > 0 &&
		s.Position <= t.plan.Steps &&
		(len(s.Best.Values) == 0 || len(s.Best.Values) == len(values))
	for i := range moments {
		fits = fits && len(s.Moments[i]) == len(moments[i])
	}
	if s.Best.Epoch > 0 && t.holdsOut() {
		fits = fits && len(s.Best.Measured) == len(t.measures)
	}
	fits = fits && s.Seconds >= 0 && s.Seconds < 1e9 // not NaN
	if !fits || !t.setStates(s.States) {
		return fmt.Errorf("checkpoint: it belongs to another trial")
	}
	if s.End != t.plan.Steps && !t.s.openEnded {
		return fmt.Errorf("checkpoint: it is of a trial of %d steps, and this one has %d and is not open_ended", s.End,
			t.plan.Steps)
	}
	if err := t.curves.resume(s.Points); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	t.respace(s.Spaced)
	copy(values, s.Values)
	for i := range moments {
		copy(moments[i], s.Moments[i])
	}
	t.optimizer.SetSteps(s.Steps)
	t.sum, t.best, t.validated = s.Sum, s.Best, s.Validated
	t.streams[task.Train].Seek(s.Position)
	t.started = t.started.Add(-time.Duration(s.Seconds * float64(time.Second)))
	return nil
}
