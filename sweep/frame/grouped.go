package frame

import (
	"context"

	"sweep/sweep"
)

// Grouped are trials in groups that agree in the parameters by, with statistics of the metrics.
type Grouped struct {
	By, Metrics []string
	Goals       map[string]string
	List        []Group
}

// GroupColumns are the columns of parameters and metrics.
func GroupColumns(by, metrics []string) (names []sweep.Name) {
	for _, own := range by {
		names = append(names, sweep.ParameterKind.Of(own))
	}
	for _, own := range metrics {
		names = append(names, sweep.MetricKind.Of(own))
	}
	return names
}

// GroupBy groups trials, the best mean of the first metric first, or in the order of their first trials if inOrder
// is set. Of metrics without a goal the smallest value is the best.
func (f *Frame) GroupBy(ctx context.Context, only Filter, by, metrics []string, goals map[string]string,
	inOrder bool) (*Grouped, error) {
	ask := GroupQuery{Filter: only, By: []string{}, Goals: map[string]string{}, All: true}
	for _, own := range by {
		ask.By = append(ask.By, string(sweep.ParameterKind.Of(own)))
	}
	for i, own := range metrics {
		name := string(sweep.MetricKind.Of(own))
		ask.Metrics, ask.Goals[name] = append(ask.Metrics, name), goals[own]
		if i == 0 && !inOrder {
			ask.OrderBy, ask.Descending = "mean", goals[own] == sweep.Maximize
		}
	}
	groups, err := f.Groups(ctx, ask)
	if err != nil {
		return nil, err
	}
	return &Grouped{by, metrics, goals, groups.Groups}, nil
}

// Key tells the i-th group from others that were grouped by the same parameters.
func (g *Grouped) Key(i int) string {
	var key []byte
	for _, value := range g.List[i].Values {
		if key = append(key, 0); value != nil {
			text, _ := sweep.CanonicalJSON(Stored(value)) // a stored value has a form
			key = append(key, text...)
		}
	}
	return string(key)
}

// GroupCounts are the columns with numbers of trials of a group.
var GroupCounts = []string{"trials", "completed", "diverged", "failed"}

// Counts are the numbers of trials of a group in the order of GroupCounts.
func (g *Group) Counts() []int64 {
	counts := []int64{g.Count}
	for _, state := range GroupCounts[1:] {
		counts = append(counts, g.States[state])
	}
	return counts
}

// Parameters are the values in which the trials of a group agree.
func (g *Grouped) Parameters(group *Group) map[string]any {
	parameters := map[string]any{}
	for i, name := range g.By {
		if group.Values[i] != nil {
			parameters[name] = Stored(group.Values[i])
		}
	}
	return parameters
}
