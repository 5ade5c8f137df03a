package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
)

// everything names all parameters in which trials differ but the seed.
const everything = "*"

// grouped are trials in groups that agree in the parameters by, with statistics of the metrics.
type grouped struct {
	by, metrics []string
	goals       map[string]string
	list        []frame.Group
}

// groupColumns are the columns of parameters and metrics.
func groupColumns(by, metrics []string) (names []sweep.Name) {
	for _, own := range by {
		names = append(names, sweep.ParameterKind.Of(own))
	}
	for _, own := range metrics {
		names = append(names, sweep.MetricKind.Of(own))
	}
	return names
}

// groupTrials groups trials, the best mean of the first metric first, or in the order of their first trials if inOrder
// is set. Of metrics without a goal the smallest value is the best.
func groupTrials(ctx context.Context, f *frame.Frame, only frame.Filter, by, metrics []string, goals map[string]string,
	inOrder bool) (*grouped, error) {
	ask := frame.GroupQuery{Filter: only, By: []string{}, Goals: map[string]string{}, All: true}
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
	return &grouped{by, metrics, goals, groups.Groups}, nil
}

// lacks is a parameter that no trial has, if there are trials.
func (g *grouped) lacks() string {
	for i, name := range g.by {
		has := func(one frame.Group) bool { return one.Values[i] != nil }
		if len(g.list) > 0 && !slices.ContainsFunc(g.list, has) {
			return name
		}
	}
	return ""
}

// key tells the i-th group from others that were grouped by the same parameters.
func (g *grouped) key(i int) string {
	var key []byte
	for _, value := range g.list[i].Values {
		if key = append(key, 0); value != nil {
			text, _ := sweep.CanonicalJSON(frame.Stored(value)) // a stored value has a form
			key = append(key, text...)
		}
	}
	return string(key)
}

// texts are the values that the trials of a group share, as tables show them.
func (g *grouped) texts(group *frame.Group) []string {
	texts := make([]string, len(g.by))
	for i, value := range group.Values {
		if value != nil {
			texts[i] = progress.ValueText(frame.Stored(value))
		}
	}
	return texts
}

// metricText is mean and standard deviation.
func metricText(s *frame.Statistics) string {
	switch s.N {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.4g", *s.Mean)
	}
	return meanText(*s.Mean, *s.SD)
}

// runGroups lists groups of trials.
func runGroups(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord, options *trialsOptions) error {
	if options.best || options.after >= 0 {
		return usageError("--group-by cannot be combined with --best or --after")
	}
	if !cmd.Flags().Changed("sort") {
		options.sort = ""
	}
	names := namesIn(cmd.Context(), results, record)
	query, err := options.query(names, record)
	if err != nil {
		return err
	}
	if _, err := options.shown(names); err != nil {
		return err
	}
	names.remark(cmd.ErrOrStderr())
	sort, inOrder := query.OrderBy.Own(), query.OrderBy == sweep.FieldKind.Of("index")
	if inOrder {
		sort = ""
	} else if sort != "" && !query.OrderBy.Is(sweep.MetricKind) {
		return usageError("--sort %s: groups are sorted by the mean of a metric, or by index", options.sort)
	}
	query.OrderBy, query.Descending, query.Limit = "", false, 0
	by := options.groupBy.in(names)
	if slices.Equal(by, []string{everything}) {
		by = variedParameters(record, false)
	} else {
		by = names.parameters(by)
	}
	metrics := names.metrics(options.columns.in(names))
	if len(metrics) == 0 {
		metrics = mainMetrics(cmd.Context(), results, record)
	}
	if sort == "" && len(metrics) > 0 && !inOrder {
		sort = metrics[0]
	}
	if at := slices.Index(metrics, sort); sort != "" && at != 0 { // the one that sorts the groups comes first
		metrics = append([]string{sort}, slices.DeleteFunc(slices.Clone(metrics), func(name string) bool {
			return name == sort
		})...)
	}
	goals := map[string]string{}
	for _, name := range metrics {
		goals[name] = record.Goal(name)
	}
	if cmd.Flags().Changed("descending") && sort != "" {
		goals[sort] = map[bool]string{true: sweep.Maximize, false: sweep.Minimize}[options.descending]
	}
	f, err := frame.ReadColumns(cmd.Context(), results, record, query, groupColumns(by, metrics)...)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // its files have no names
	groups, err := groupTrials(cmd.Context(), f, frame.Filter{}, by, metrics, goals, inOrder)
	if err != nil {
		return err
	}
	if name := groups.lacks(); name != "" {
		return usageError("--group-by %s: no trial has this parameter; they differ in %s", name,
			strings.Join(variedParameters(record, false), ", "))
	}
	left := 0
	if options.limit > 0 && len(groups.list) > options.limit {
		left = len(groups.list) - options.limit
		groups.list = groups.list[:options.limit]
	}
	if options.asJSON {
		return groups.encode(cmd.OutOrStdout())
	}
	table := groups.table(names)
	table.wide = options.wide
	if err := table.write(cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d more groups; --limit 0 lists all\n", left)
	}
	return nil
}

// groupCounts are the columns with numbers of trials of a group.
var groupCounts = []string{"trials", "completed", "diverged", "failed"}

// countsOf are the numbers of trials of a group in the order of groupCounts.
func countsOf(group *frame.Group) []int64 {
	counts := []int64{group.Count}
	for _, state := range groupCounts[1:] {
		counts = append(counts, group.States[state])
	}
	return counts
}

// table lays groups out: what they have in common, their trials, the best trial of each by the first metric, if it is
// known which values are better, and the means of all metrics.
func (g *grouped) table(names *trialNames) *columns {
	table := &columns{more: "--wide shows all"}
	label := func(name sweep.Name) string {
		if own := name.Own(); own == "best" || own == "trial" || slices.Contains(groupCounts, own) {
			return string(name)
		}
		return names.Label(name)
	}
	for _, own := range g.by {
		table.add(always, label(sweep.ParameterKind.Of(own)))
	}
	for i, name := range groupCounts {
		rank := always
		if i > 0 { // what no trial did tells little
			rank = 100 + i
			if !slices.ContainsFunc(g.list, func(group frame.Group) bool { return countsOf(&group)[i] > 0 }) {
				rank += 100
			}
		}
		table.add(rank, name)
	}
	for i, name := range g.metrics {
		table.add(i, label(sweep.MetricKind.Of(name)))
		if i == 0 && g.goals[name] != "" {
			table.add(1, "best", "trial")
		}
	}
	for i := range g.list {
		group := &g.list[i]
		cells := g.texts(group)
		for _, n := range countsOf(group) {
			cells = append(cells, fmt.Sprint(n))
		}
		for k, name := range g.metrics {
			s := &group.Metrics[k]
			cells = append(cells, metricText(s))
			switch {
			case k > 0 || g.goals[name] == "":
			case s.N == 0:
				cells = append(cells, "", "")
			default:
				cells = append(cells, fmt.Sprintf("%.4g", *s.BestBy(g.goals[name])), fmt.Sprint(s.Best))
			}
		}
		table.row(cells...)
	}
	return table
}

// parameters are the values in which the trials of a group agree.
func (g *grouped) parameters(group *frame.Group) map[string]any {
	parameters := map[string]any{}
	for i, name := range g.by {
		if group.Values[i] != nil {
			parameters[name] = frame.Stored(group.Values[i])
		}
	}
	return parameters
}

// encode writes groups as lines of JSON.
func (g *grouped) encode(w io.Writer) error {
	encoder := newEncoder(w)
	for i := range g.list {
		group := &g.list[i]
		metrics := map[string]any{}
		for k, name := range g.metrics {
			if s := &group.Metrics[k]; s.N > 0 {
				metrics[name] = map[string]any{"count": s.N, "mean": s.Mean, "sd": s.SD,
					"best": s.BestBy(g.goals[name]), "best_trial": s.Best}
			}
		}
		object := map[string]any{"parameters": g.parameters(group), "metrics": metrics}
		for k, n := range countsOf(group) {
			object[groupCounts[k]] = n
		}
		if err := encoder.Encode(object); err != nil {
			return err
		}
	}
	return nil
}

// variedParameters are the parameters in which trials differ by the sweep file.
func variedParameters(record *sweep.SweepRecord, withSeed bool) []string {
	return slices.DeleteFunc(progress.Varied(record), func(name string) bool {
		return name == sweep.SeedParameter && !withSeed
	})
}

// reported is a set of the summary metrics that trials have.
type reported map[string]bool

func (r reported) add(t *sweep.TrialRecord) error {
	if t.Result != nil {
		for name := range t.Result.Summary {
			r[name] = true
		}
		for _, name := range t.Result.NotFinite {
			r[name] = true
		}
	}
	return nil
}

func (r reported) sorted() []string { return slices.Sorted(maps.Keys(r)) }

// mainMetrics are the metric that trials compete by, and the others that have a
// goal; of programs, which name none, what the first trials report.
func mainMetrics(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, g := range record.Grids {
		add(g.Submission.Spec.Select.By)
	}
	for _, g := range record.Grids {
		for _, m := range g.Submission.Description.Metrics {
			if m.Summary && m.Goal != "" {
				add(m.Name)
			}
		}
	}
	const enough = 3
	if len(names) == 0 {
		first := reported{}
		_ = results.Trials(ctx, sweep.TrialQuery{ // without metrics the groups are listed all the same
			Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}, Limit: 10,
		}, first.add)
		names = first.sorted()
	}
	return names[:min(len(names), enough)]
}
