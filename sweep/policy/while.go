package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sweep/sweep"
)

// While has the metric by which trials are compared while they run.
type While struct {
	defaults
	Metric string `json:"metric"`
	// Goal is Minimize or Maximize.
	Goal string `json:"goal"`
}

func (w *While) objective(*sweep.Spec, *sweep.Description) sweep.Select {
	return sweep.Select{By: w.Metric, Goal: w.Goal}
}

// compare finds the metric: that of the key metric, else that of select. The trainer must report it while it trains.
func (w *While) compare(kind *Kind, file *File) error {
	by := file.Target
	if by.By == "" {
		by = file.Spec.Select
	}
	by = file.selected(by)
	w.Metric, w.Goal = by.By, cmp.Or(by.Goal, sweep.Minimize)
	if by.By == "" && file.KnowsMetrics() {
		return kind.refused("%s", kind.NeedsMetric())
	}
	if file.Description == nil {
		return nil
	}
	if m := file.Description.Metric(by.By); m != nil && !m.Curve {
		return kind.refused("trainer %s reports %s only at the end of a trial, which is too late to stop it%s",
			file.Description.Name, by.By, curves(file.Description))
	}
	return nil
}

// latest returns the last observation of each trial, in order of index.
func latest(observed []sweep.Observation) []sweep.Observation {
	of := map[int64]sweep.Observation{}
	for _, o := range observed {
		of[o.Trial] = o
	}
	return slices.SortedFunc(maps.Values(of), func(a, b sweep.Observation) int { return cmp.Compare(a.Trial, b.Trial) })
}

// curves names metrics by which trials of a trainer could be stopped.
func curves(description *sweep.Description) string {
	for _, m := range description.Metrics {
		if m.Curve && m.Goal != "" {
			return fmt.Sprintf("; %s is reported during training, as in metric: {name: %s, goal: %s}", m.Name, m.Name,
				m.Goal)
		}
	}
	return "; no metric of it has steps"
}

// set sets a setting to a value that the file has.
func set[T any](setting *T, value any) {
	if v, given := value.(T); given {
		*setting = v
	}
}
