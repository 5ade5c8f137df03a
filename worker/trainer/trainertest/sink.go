package trainertest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"sweep/sweep"
)

// Checkpoint is one that a Sink has taken.
type Checkpoint struct {
	Step  int64
	State []byte
}

// Artifact is one that a Sink has taken.
type Artifact struct {
	sweep.Artifact
	Content []byte
}

// Sink is a sweep.Sink that keeps everything and watches that curves ascend. The
// zero value is ready; its methods may be called while a trainer trains.
type Sink struct {
	// Fail, if set, is returned by Points and Checkpoint.
	Fail error

	mu          sync.Mutex
	curves      []sweep.Curve
	checkpoints []Checkpoint
	artifacts   map[string]Artifact
	problem     error
}

// Points implements sweep.Sink.
func (s *Sink) Points(batch []sweep.Curve) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range batch {
		if len(c.Steps) != len(c.Values) {
			s.problem = fmt.Errorf("curve %q: %d steps but %d values", c.Metric, len(c.Steps), len(c.Values))
			return s.problem
		}
		i := slices.IndexFunc(s.curves, func(known sweep.Curve) bool { return known.Metric == c.Metric })
		if i < 0 {
			i = len(s.curves)
			s.curves = append(s.curves, sweep.Curve{Metric: c.Metric})
		}
		known := &s.curves[i]
		if c.Replaces {
			if c.Offset > len(known.Steps) {
				s.problem = fmt.Errorf("curve %q: points from %d on where there are %d", c.Metric, c.Offset,
					len(known.Steps))
				return s.problem
			}
			known.Steps, known.Values = known.Steps[:c.Offset], known.Values[:c.Offset]
		}
		for k, step := range c.Steps {
			if n := len(known.Steps); n > 0 && step <= known.Steps[n-1] && s.problem == nil {
				s.problem = fmt.Errorf("curve %q: step %d comes after step %d", c.Metric, step, known.Steps[n-1])
			}
			known.Steps, known.Values = append(known.Steps, step), append(known.Values, c.Values[k])
		}
	}
	return s.Fail
}

// Checkpoint implements sweep.Sink.
func (s *Sink) Checkpoint(step int64, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkpoints = append(s.checkpoints, Checkpoint{step, bytes.Clone(state)})
	return s.Fail
}

// Artifact implements sweep.Sink.
func (s *Sink) Artifact(a sweep.Artifact, content io.Reader) error {
	bytes, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.artifacts == nil {
		s.artifacts = map[string]Artifact{}
	}
	s.artifacts[a.Name] = Artifact{a, bytes}
	return s.Fail
}

// Artifacts returns the artifacts so far, by name.
func (s *Sink) Artifacts() map[string]Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.artifacts)
}

// Curves returns the points so far.
func (s *Sink) Curves() []sweep.Curve {
	s.mu.Lock()
	defer s.mu.Unlock()
	curves := make([]sweep.Curve, len(s.curves))
	for i, c := range s.curves {
		curves[i] = sweep.Curve{Metric: c.Metric, Steps: slices.Clone(c.Steps), Values: slices.Clone(c.Values)}
	}
	return curves
}

// Checkpoints returns the checkpoints so far.
func (s *Sink) Checkpoints() []Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.checkpoints)
}

// Problem returns what was wrong with the points, if anything was.
func (s *Sink) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// Digest returns the digest of a trial with these points and this result.
func (s *Sink) Digest(result *sweep.Result, volatile map[string]bool) string {
	whole := *result
	whole.Curves = append(s.Curves(), result.Curves...)
	return whole.ComputeDigest(volatile)
}
