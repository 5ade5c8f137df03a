package policy

import (
	"cmp"
	"context"
	"slices"

	"sweep/sweep"
)

var medianKind = Kind{
	Name: "median", Key: StopKey, Compares: true, While: true,
	Doc: "by the trials of earlier generations",
	Keys: []Key{
		whole("startup_trials", 1, MedianWindow, DefaultStartupTrials, "How many earlier trials must have a value at "+
			"a position before trials are stopped there."),
		whole("warmup_steps", 0, MaxNumber, 0, "How many values a trial reports before it is judged."),
	},
	Batch: "how many points are compared with the same earlier ones",
	New:   func() Settings { return &Median{Batch: DefaultBatch, StartupTrials: DefaultStartupTrials} },
}

// Median stops a trial at a value of the metric at which its best value so far is worse than the
// median of the values that earlier trials have at the same position. Trials run in generations,
// and the earlier ones are those of the generations before: so which trials stop, and where, depends
// on their values alone.
type Median struct {
	While
	// Batch is the number of points of a generation, each with all its replicates.
	Batch int64 `json:"batch"`
	// StartupTrials is how many earlier trials must have a value at a position before it is judged.
	StartupTrials int64 `json:"startup_trials"`
	// WarmupSteps is how many values a trial reports before it is judged.
	WarmupSteps int64 `json:"warmup_steps"`
}

// DefaultStartupTrials is the default of Median.StartupTrials, and MedianWindow how many earlier trials, the last ones
// by index, a median is of at most.
const (
	DefaultStartupTrials = 5
	MedianWindow         = 1000
)

func (*Median) kind() *Kind { return &medianKind }

func (m *Median) read(values map[string]any, file *File) error {
	set(&m.StartupTrials, values["startup_trials"])
	set(&m.WarmupSteps, values["warmup_steps"])
	m.Batch = cmp.Or(file.Batch, m.Batch)
	return m.compare(&medianKind, file)
}

func (m *Median) check(*sweep.Spec) error {
	switch {
	case m.Batch < 1 || m.Batch > MaxBatch:
		return medianKind.refused("a batch of %d points: expected 1 to %d", m.Batch, MaxBatch)
	case m.StartupTrials < 1 || m.StartupTrials > MedianWindow:
		return medianKind.refused("startup_trials is %d: expected 1 to %d", m.StartupTrials, MedianWindow)
	case m.WarmupSteps < 0 || m.WarmupSteps > MaxNumber:
		return medianKind.refused("warmup_steps is %d: expected 0 to %d", m.WarmupSteps, int64(MaxNumber))
	}
	return nil
}

func (m *Median) open(spec *sweep.Spec, _ *sweep.Description, _ *sweep.Grid) (Policy, error) {
	return &median{m, m.size(spec)}, nil
}

// size is the number of trials of a generation, replicates included.
func (m *Median) size(spec *sweep.Spec) int64 { return m.Batch * replicatesOf(spec) }

// median is the policy with Median for generations of some size.
type median struct {
	rule *Median
	size int64
}

func (m *median) Generation(written int64) Generation {
	number := written / m.size
	return Generation{Number: number, Before: written % m.size, Left: (number+1)*m.size - written}
}

func (m *median) Wants() Wants {
	return Wants{Metric: m.rule.Metric, Goal: m.rule.Goal, Window: MedianWindow}
}

func (m *median) Step(_ context.Context, seen Observations) (Step, error) {
	return Step{Rule: &sweep.StopRule{Metric: m.rule.Metric, Goal: m.rule.Goal,
		Generation: m.Generation(seen.Written).Number + 1, Rule: "the median",
		Limits: medianLimits(m.rule, seen.Observed)}}, nil
}

// medianLimits returns by what the trials of a generation are stopped, from what was observed of the trials
// before it: at each position the median of the values that these have there. That is the rule of
// Optuna's MedianPruner, which compares the best value so far with it, but for two things: trials that
// were stopped count as far as they got, and there are enough trials if so many have a value at the
// position. Of an even number of values the median is the mean of the two in the middle.
func medianLimits(rule *Median, observed []sweep.Observation) (limits []sweep.StopLimit) {
	latest, values := latest(observed), []float64(nil)
	for i := 0; ; i++ {
		values = values[:0]
		for _, o := range latest {
			if i < len(o.Values) {
				values = append(values, float64(o.Values[i]))
			}
		}
		n := len(values)
		if n == 0 || int64(n) < rule.StartupTrials {
			return limits
		}
		at := sweep.StopPosition(i)
		if at <= rule.WarmupSteps {
			continue
		}
		slices.Sort(values)
		limits = append(limits, sweep.StopLimit{At: at, Value: (values[(n-1)/2] + values[n/2]) / 2, Trials: n})
	}
}
