package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Select says how trials are compared. Trials that agree in all parameters but the seed form a
// grid point; points that agree in Group form a group; the best of a group is the one whose
// metric By, averaged over its replicates, is best by Goal.
type Select struct {
	Group []string `json:"group,omitempty"`
	By    string   `json:"by,omitempty"`
	// Goal is Minimize or Maximize.
	Goal string `json:"goal,omitempty"`
}

// The goals of a metric.
const (
	Minimize = "minimize"
	Maximize = "maximize"
)

// defaultMetric compares trials where nothing else is chosen.
const defaultMetric = "validation_loss"

// Filled fills in the defaults: the validation loss compares the trials of each data set and
// model, as far as the trainer has these.
func (s Select) Filled(d *Description) Select {
	if s.By == "" && d.Metric(defaultMetric) != nil {
		s.By = defaultMetric
	}
	if metric := d.Metric(s.By); s.Goal == "" && metric != nil {
		s.Goal = metric.Goal
	}
	if len(s.Group) == 0 {
		for _, name := range []string{"dataset", "model"} {
			if d.Parameter(name) != nil {
				s.Group = append(s.Group, name)
			}
		}
	}
	return s
}

// GroupOf returns the parameters of a point that name its group.
func (s Select) GroupOf(point Parameters) Parameters {
	group := Parameters{}
	for _, name := range s.Group {
		if value, ok := point[name]; ok {
			group[name] = value
		}
	}
	return group
}

// String says in words how trials are compared.
func (s Select) String() string {
	return fmt.Sprintf("%s (%s) within %s", cmp.Or(s.By, "nothing"), cmp.Or(s.Goal, Minimize),
		cmp.Or(strings.Join(s.Group, ", "), "the sweep"))
}

// Better reports whether a value of By is strictly better than another.
func (s Select) Better(value, than float64) bool {
	if s.Goal == Maximize {
		return value > than
	}
	return value < than
}

// Tied reports whether two means of By are equal up to rounding, which depends on the order of
// replicates.
func Tied(mean, other float64) bool {
	return mean == other || rounded(mean) == rounded(other)
}

// BetterMean reports whether a mean of By is better than another and not tied with it.
func (s Select) BetterMean(mean, than float64) bool {
	return s.Better(mean, than) && !Tied(mean, than)
}

// rounded is a number with twelve digits.
func rounded(x float64) float64 {
	const digits = 12
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	return short
}

// PointKey returns the number of a grid point in databases, never 0: the beginning of the SHA-256
// of its parameters, as members of their canonical JSON, each with a comma after it. Of points
// that tie the one with the smallest key is the best.
func PointKey(members []byte) int64 {
	sum := sha256.Sum256(members)
	return max(int64(binary.BigEndian.Uint64(sum[:8])>>1), 1)
}

// Diverged is the value of By that a diverged trial counts with in the mean of its grid point: the
// description's if it has the same goal, else worse than any other.
func (s Select) Diverged(d *Description) float64 {
	const beyond = 1e300 // every metric, and sums of it are finite
	goal := cmp.Or(s.Goal, Minimize)
	switch m := d.Metric(s.By); {
	case m != nil && m.Diverged != nil && cmp.Or(m.Goal, Minimize) == goal:
		return *m.Diverged
	case s.By == defaultMetric && goal == Minimize && !d.saysDiverged():
		return assumed[defaultMetric]
	case goal == Maximize:
		return -beyond
	}
	return beyond
}
