package trainertest

import (
	"math"
	"testing"

	"sweep/sweep"
)

// testRepeat: the same trial gives the same bits, on a trainer that has trained
// before and on a fresh one; everything in it was described.
func testRepeat(t *testing.T, s *suite) {
	request := s.request(t, s.resolve(t, s.Parameters))
	first, sink := s.train(t, s.trainer, request)
	s.checkResult(t, first, sink)

	// Numbers as a store gives them back.
	stored := request
	canonical, err := request.Parameters.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	stored.Parameters = nil
	if err := stored.Parameters.UnmarshalJSON(canonical); err != nil {
		t.Fatal(err)
	}
	want := sink.Digest(first, s.description.Volatile())
	second, sink := s.train(t, s.trainer, stored)
	if got := sink.Digest(second, s.description.Volatile()); got != want {
		t.Errorf("the second run of a trial differs from the first:\n%+v\n%+v", first, second)
	}
	third, sink := s.train(t, s.open(t), request)
	if got := sink.Digest(third, s.description.Volatile()); got != want {
		t.Errorf("the run of a trial on a fresh trainer differs from the first:\n%+v\n%+v", first, third)
	}
}

func (s *suite) checkResult(t *testing.T, result *sweep.Result, sink *Sink) {
	t.Helper()
	if result.State != sweep.Completed {
		t.Errorf("state %q, want %q", result.State, sweep.Completed)
	}
	for name, value := range result.Summary {
		if m := s.description.Metric(name); m == nil || !m.Summary {
			t.Errorf("summary metric %q was not described as one", name)
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			t.Errorf("summary metric %q is %v: it must be absent", name, value)
		}
	}
	if announced := s.description.KernelLevel; result.KernelLevel != announced {
		t.Errorf("the result is of kernel level %q, but the trainer announces %q: its checkpoints would go to "+
			"trainers of other bits", result.KernelLevel, announced)
	}
	curves := append(sink.Curves(), result.Curves...)
	if len(curves) == 0 {
		t.Error("no points")
	}
	for _, c := range curves {
		if m := s.description.Metric(c.Metric); m == nil || !m.Curve {
			t.Errorf("curve %q was not described as one", c.Metric)
		}
	}
}
