package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Bounds of Limits.
const (
	MaxAttempts    = 1000
	MaxCurvePoints = 1_000_000
	MaxErrors      = 1_000_000
)

// Check checks all that decides about trials but for the grid and its policies: what a coordinator indexes, divides by
// or allocates from, whoever wrote the submission. policy.Check checks all.
func (s *Submission) Check() error {
	if err := cmp.Or(s.CheckNames(), s.Spec.Check()); err != nil {
		return err
	}
	if len(s.Spec.Keep) > 0 && s.Spec.Select.Filled(&s.Description).By == "" {
		return fmt.Errorf("keep needs the metric by which trials are the best, as in select: " +
			"{by: loss, goal: minimize}")
	}
	if !(s.Flops >= 0) {
		return fmt.Errorf("it costs %v floating-point operations: expected 0 or more", s.Flops)
	}
	for key, bytes := range s.Bytes {
		if bytes < 0 {
			return fmt.Errorf("trials with %.100s need %d bytes: expected 0 or more", key, bytes)
		}
	}
	return nil
}

// Check checks what NewGrid does not: limits and programs. Package file finds the same faults with their places in the
// file.
func (s *Spec) Check() error {
	if err := s.Select.Check("select"); err != nil {
		return err
	}
	if err := s.Limits.check(); err != nil {
		return err
	}
	if s.Need != nil {
		if err := s.Need.Check(); err != nil {
			return fmt.Errorf("requires: %w", err)
		}
	}
	switch {
	case s.Cap < 0:
		return fmt.Errorf("run_cap is %d: expected 1 or more, or none", s.Cap)
	case s.Memory < 0:
		return fmt.Errorf("a trial needs %d bytes of memory: expected 0 or more", s.Memory)
	case s.Priority < math.MinInt32 || s.Priority > math.MaxInt32:
		return fmt.Errorf("priority is %d: expected %d to %d", s.Priority, math.MinInt32, math.MaxInt32)
	case s.Trainer == ScriptTrainer && s.Script == nil:
		return fmt.Errorf("trainer %s needs a program", ScriptTrainer)
	case s.Script != nil && len(s.Script.Command) == 0:
		return fmt.Errorf("the program has no command line: expected one word or more")
	}
	return nil
}

// Check checks the metric and the goal by which trials are compared; what says in the error who compares them.
func (s Select) Check(what string) error {
	if s.By != "" {
		if err := CheckName(what+": metric", s.By); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{"", Minimize, Maximize}, s.Goal) {
		return fmt.Errorf("%s: the goal is %.40q: expected %s or %s", what, s.Goal, Minimize, Maximize)
	}
	return nil
}

// check checks limits; 0 is a default or no bound.
func (l *Limits) check() error {
	for _, limit := range []struct {
		what        string
		value, most int64
	}{
		{"timeout", int64(l.Timeout), math.MaxInt64},
		{"silence", int64(l.Silence), math.MaxInt64}, {"attempts", int64(l.Attempts), MaxAttempts},
		{"losses", int64(l.Losses), MaxAttempts}, {"errors", int64(l.Errors), MaxErrors},
		{"points", int64(l.Points), MaxCurvePoints}, {"artifact", l.Artifact, math.MaxInt64},
		{"artifacts", l.Artifacts, math.MaxInt64},
	} {
		if limit.value < 0 || limit.value > limit.most {
			return fmt.Errorf("limits: %s is %d: expected 0 to %d", limit.what, limit.value, limit.most)
		}
	}
	return nil
}
