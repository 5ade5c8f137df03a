package trainertest

import (
	"errors"
	"testing"

	"sweep/sweep"
)

// testResume: from each checkpoint a fresh trainer reaches the same result, and
// says the points before it again.
func testResume(t *testing.T, s *suite) {
	request := s.request(t, s.resolve(t, s.Parameters))
	if s.Resumable != nil {
		request = s.request(t, s.resolve(t, s.Resumable))
	}
	whole, sink := s.train(t, s.trainer, request)
	checkpoints := sink.Checkpoints()
	if len(checkpoints) == 0 {
		if s.Resumable != nil {
			t.Error("the resumable trial sends no checkpoint")
		}
		return
	}
	want := sink.Digest(whole, s.description.Volatile())
	for i, c := range checkpoints {
		if i > 0 && c.Step <= checkpoints[i-1].Step {
			t.Errorf("the checkpoint of step %d comes after that of step %d", c.Step, checkpoints[i-1].Step)
		}
		if i > 2 && i < len(checkpoints)-2 {
			continue // the first and last ones will do
		}
		request.Checkpoint = c.State
		resumed, sink := s.train(t, s.open(t), request)
		if got := sink.Digest(resumed, s.description.Volatile()); got != want {
			t.Errorf("resumed from step %d, the trial differs:\n%+v\n%+v", c.Step, whole, resumed)
		}
	}
	state := checkpoints[len(checkpoints)-1].State
	for name, broken := range map[string][]byte{
		"garbage":   []byte("not a checkpoint"),
		"truncated": state[:len(state)/2],
	} {
		request.Checkpoint = broken
		if _, err := s.trainer.Train(t.Context(), request, &Sink{}); err == nil {
			t.Errorf("Train resumes from a %s checkpoint", name)
		}
	}
}

// testOtherLevel: a trainer at another kernel level announces it, refuses the
// checkpoints of this one, and trains the trial from its beginning.
func testOtherLevel(t *testing.T, s *suite) {
	if s.OtherLevel == nil {
		return
	}
	request := s.request(t, s.resolve(t, s.Parameters))
	if s.Resumable != nil {
		request = s.request(t, s.resolve(t, s.Resumable))
	}
	_, sink := s.train(t, s.trainer, request)
	checkpoints := sink.Checkpoints()
	if len(checkpoints) == 0 {
		t.Fatal("the trial sends no checkpoint")
	}
	other := s.OtherLevel(t)
	d, err := other.Describe(t.Context())
	if err != nil {
		t.Fatalf("Describe at the other level: %v", err)
	}
	if d.KernelLevel == "" || d.KernelLevel == s.description.KernelLevel {
		t.Errorf("the trainers announce the kernel levels %q and %q, want two different ones",
			s.description.KernelLevel, d.KernelLevel)
	}
	request.Checkpoint = checkpoints[len(checkpoints)-1].State
	result, err := other.Train(t.Context(), request, &Sink{})
	if err == nil {
		t.Fatalf("kernel level %q resumes from a checkpoint of %q: its weights are of neither", result.KernelLevel,
			s.description.KernelLevel)
	}
	var refused *sweep.ParameterError
	if errors.As(err, &refused) || errors.Is(err, sweep.ErrDatasetChanged) {
		t.Errorf("Train from a checkpoint of another level: %v, which blames the trial and not the checkpoint", err)
	}
	request.Checkpoint = nil
	if again, _ := s.train(t, other, request); again.KernelLevel != d.KernelLevel {
		t.Errorf("a result of kernel level %q from a trainer that announces %q", again.KernelLevel, d.KernelLevel)
	}
}
