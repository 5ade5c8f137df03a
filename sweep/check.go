package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Bounds of Limits.
const (
	MostAttempts    = 1000
	MostCurvePoints = 1_000_000
	MostErrors      = 1_000_000
)

// Check checks all that decides about trials: what a coordinator indexes, divides by or allocates from, whoever wrote
// the submission. It returns the grid.
func (s *Submission) Check() (*Grid, error) {
	if err := s.CheckNames(); err != nil {
		return nil, fmt.Errorf("sweep %.40q: %w", s.Spec.Name, err)
	}
	if err := cmp.Or(s.Spec.Check(), s.checkObjective()); err != nil {
		return nil, fmt.Errorf("sweep %.40q: %w", s.Spec.Name, err)
	}
	if !(s.Flops >= 0) {
		return nil, fmt.Errorf("sweep %.40q: it costs %v floating-point operations: expected 0 or more", s.Spec.Name,
			s.Flops)
	}
	for key, bytes := range s.Bytes {
		if bytes < 0 {
			return nil, fmt.Errorf("sweep %.40q: trials with %.100s need %d bytes: expected 0 or more", s.Spec.Name,
				key, bytes)
		}
	}
	grid, err := NewGrid(&s.Spec)
	if err != nil {
		return nil, fmt.Errorf("expanding the grid of %s: %w", s.Spec.Name, err)
	}
	return grid, nil
}

// checkObjective checks that there is a metric wherever trials are compared.
func (s *Submission) checkObjective() error {
	by := s.Spec.Select.Filled(&s.Description).By
	objective := by
	if s.Spec.Race != nil {
		objective = s.Spec.Race.Filled(s.Spec.Select, &s.Description).By
	}
	switch {
	case s.Spec.ByResults() && objective == "":
		return fmt.Errorf("method: bayes, halving and race need the metric that is to be small or large, as in " +
			"metric: {name: loss, goal: minimize}")
	case len(s.Spec.Keep) > 0 && by == "":
		return fmt.Errorf("keep needs the metric by which trials are the best, as in select: " +
			"{by: loss, goal: minimize}")
	case s.Spec.Stopping != nil && s.Spec.Stopping.Metric == "":
		return fmt.Errorf("early_terminate needs the metric that is to be small or large, as in metric: {name: loss, " +
			"goal: minimize}")
	}
	return nil
}

// Check checks what NewGrid does not: the rules by which trials are stopped, limits and programs. Package file finds
// the same faults with their places in the file.
func (s *Spec) Check() error {
	if err := s.checkComparisons(); err != nil {
		return err
	}
	if err := s.Stopping.check(); err != nil {
		return err
	}
	if err := s.Limits.check(); err != nil {
		return err
	}
	switch {
	case s.Halving != nil && s.Stopping != nil:
		return &HalvingError{"goes with no other rule of early_terminate"}
	case s.Race != nil && s.Stopping != nil:
		return fmt.Errorf("race goes with no early_terminate: it compares trials that run to their ends")
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

// checkComparisons checks the metrics and goals by which trials are compared.
func (s *Spec) checkComparisons() error {
	type comparison struct{ what, metric, goal string }
	list := []comparison{{"select", s.Select.By, s.Select.Goal}}
	if s.Race != nil {
		list = append(list, comparison{"race", s.Race.By, s.Race.Goal})
	}
	if s.Stopping != nil {
		list = append(list, comparison{"early_terminate", s.Stopping.Metric, s.Stopping.Goal})
	}
	for _, c := range list {
		if c.metric != "" {
			if err := CheckName(c.what+": metric", c.metric); err != nil {
				return err
			}
		}
		if !slices.Contains([]string{"", Minimize, Maximize}, c.goal) {
			return fmt.Errorf("%s: the goal is %.40q: expected %s or %s", c.what, c.goal, Minimize, Maximize)
		}
	}
	if s.Halving != nil {
		return CheckName("halving: parameter", s.Halving.Parameter)
	}
	return nil
}

// check checks the rule by which trials are stopped.
func (s *Stopping) check() error {
	switch {
	case s == nil:
		return nil
	case (s.Median == nil) == (s.Hyperband == nil):
		return fmt.Errorf("early_terminate: needs one rule, median or hyperband")
	case s.Median != nil:
		return s.Median.check()
	}
	return s.Hyperband.check()
}

func (m *Median) check() error {
	switch {
	case m.Batch < 1 || m.Batch > MostBatch:
		return fmt.Errorf("early_terminate: a batch of %d points: expected 1 to %d", m.Batch, MostBatch)
	case m.StartupTrials < 1 || m.StartupTrials > MedianWindow:
		return fmt.Errorf("early_terminate: startup_trials is %d: expected 1 to %d", m.StartupTrials, MedianWindow)
	case m.WarmupSteps < 0 || m.WarmupSteps > mostValues:
		return fmt.Errorf("early_terminate: warmup_steps is %d: expected 0 to %d", m.WarmupSteps, int64(mostValues))
	}
	return nil
}

func (h *Hyperband) check() error {
	switch n := len(h.Bands); {
	case !(h.Eta > 1) || math.IsInf(h.Eta, 0):
		return fmt.Errorf("early_terminate: hyperband.eta is %v: expected a number above 1, as in 3: the best third "+
			"passes", h.Eta)
	case n == 0 || n > MostBands:
		return fmt.Errorf("early_terminate: hyperband has %d bands: expected 1 to %d", n, MostBands)
	case h.Bands[0] < 1 || h.Bands[n-1] > mostValues || !slices.IsSorted(h.Bands):
		return fmt.Errorf("early_terminate: hyperband has bands of %d to %d values: expected ascending ones, from 1 "+
			"to %d", h.Bands[0], h.Bands[n-1], int64(mostValues))
	}
	return nil
}

// check checks limits; 0 is a default or no bound.
func (l *Limits) check() error {
	for _, limit := range []struct {
		what        string
		value, most int64
	}{
		{"timeout", int64(l.Timeout), math.MaxInt64}, {"attempts", int64(l.Attempts), MostAttempts},
		{"losses", int64(l.Losses), MostAttempts}, {"errors", int64(l.Errors), MostErrors},
		{"points", int64(l.Points), MostCurvePoints}, {"artifact", l.Artifact, math.MaxInt64},
		{"artifacts", l.Artifacts, math.MaxInt64},
	} {
		if limit.value < 0 || limit.value > limit.most {
			return fmt.Errorf("limits: %s is %d: expected 0 to %d", limit.what, limit.value, limit.most)
		}
	}
	return nil
}
