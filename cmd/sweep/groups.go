package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/progress"
)

// everything names all parameters in which trials differ but the seed.
const everything = "*"

// statistics gathers values one by one, by Welford's method.
type statistics struct {
	n              int64
	mean, squares  float64
	lowest, most   float64
	first, highest int64 // the trials that have the lowest and the largest value
}

func (s *statistics) add(value float64, index int64) {
	if s.n++; s.n == 1 || value < s.lowest {
		s.lowest, s.first = value, index
	}
	if s.n == 1 || value > s.most {
		s.most, s.highest = value, index
	}
	delta := value - s.mean
	s.mean += delta / float64(s.n)
	s.squares += delta * (value - s.mean)
}

// deviation is the sample standard deviation, 0 of fewer than two values.
func (s *statistics) deviation() float64 {
	if s.n < 2 {
		return 0
	}
	return math.Sqrt(s.squares / float64(s.n-1))
}

// best is the best value by a goal, and its trial.
func (s *statistics) best(goal string) (float64, int64) {
	if goal == sweep.Maximize {
		return s.most, s.highest
	}
	return s.lowest, s.first
}

// text is mean and standard deviation.
func (s *statistics) text() string {
	switch s.n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.4g", s.mean)
	}
	return meanText(s.mean, s.deviation())
}

// trialGroup aggregates trials that agree in some parameters.
type trialGroup struct {
	values                              []string // as JSON, "" of a parameter that the trials lack
	texts                               []string // the values as tables show them
	trials, completed, diverged, failed int64
	metrics                             map[string]*statistics
}

// grouping gathers trials into groups; its memory grows with the groups.
type grouping struct {
	by      []string
	metrics []string
	groups  map[string]*trialGroup
	order   []*trialGroup
}

func newGrouping(by, metrics []string) *grouping {
	return &grouping{by: by, metrics: metrics, groups: map[string]*trialGroup{}}
}

// group is the group of a trial.
func (g *grouping) group(p sweep.Parameters) *trialGroup {
	values, texts := make([]string, len(g.by)), make([]string, len(g.by))
	for i, name := range g.by {
		if v, ok := p[name]; ok {
			key, _ := sweep.CanonicalJSON(v) // a stored value has a form
			values[i], texts[i] = string(key), progress.ValueText(v)
		}
	}
	key := strings.Join(values, "\x00")
	group := g.groups[key]
	if group == nil {
		group = &trialGroup{values: values, texts: texts, metrics: map[string]*statistics{}}
		for _, name := range g.metrics {
			group.metrics[name] = &statistics{}
		}
		g.groups[key] = group
		g.order = append(g.order, group)
	}
	return group
}

// add counts a trial. What diverged has no part in the means, and is counted apart.
func (g *grouping) add(t *sweep.TrialRecord) error {
	group := g.group(t.Parameters)
	group.trials++
	switch {
	case t.State == sweep.Failed:
		group.failed++
		return nil
	case t.State != sweep.Completed || t.Result == nil:
		return nil
	case t.Result.Diverged:
		group.diverged++
		return nil
	}
	group.completed++
	for _, name := range g.metrics {
		if v, ok := t.Result.Summary[name]; ok {
			group.metrics[name].add(v, t.Index)
		}
	}
	return nil
}

// lacks is a parameter that no trial has, if there are trials.
func (g *grouping) lacks() string {
	for i, name := range g.by {
		has := func(one *trialGroup) bool { return one.values[i] != "" }
		if len(g.order) > 0 && !slices.ContainsFunc(g.order, has) {
			return name
		}
	}
	return ""
}

// sorted are the groups, the best mean of a metric first; those without it last, and
// all in the order of their first trials where there is no metric.
func (g *grouping) sorted(metric string, descending bool) []*trialGroup {
	list := slices.Clone(g.order)
	slices.SortStableFunc(list, func(a, b *trialGroup) int {
		x, y := a.metrics[metric], b.metrics[metric]
		switch {
		case x == nil || y == nil:
			return 0
		case x.n == 0 || y.n == 0:
			return cmp.Compare(min(y.n, 1), min(x.n, 1))
		case descending:
			return cmp.Compare(y.mean, x.mean)
		}
		return cmp.Compare(x.mean, y.mean)
	})
	return list
}

// writeGroups writes groups as lines of JSON.
func writeGroups(w io.Writer, list []*trialGroup, by []string, record *sweep.SweepRecord) error {
	encoder := newEncoder(w)
	for _, group := range list {
		if err := encoder.Encode(group.object(by, record)); err != nil {
			return err
		}
	}
	return nil
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
	descending := options.descending
	if !cmd.Flags().Changed("descending") {
		descending = goalOf(record, sort) == sweep.Maximize
	}
	if sort != "" && !slices.Contains(metrics, sort) {
		metrics = append([]string{sort}, metrics...)
	}
	gathered := newGrouping(by, metrics)
	if err := results.Trials(cmd.Context(), query, gathered.add); err != nil {
		return err
	}
	if name := gathered.lacks(); name != "" {
		return usageError("--group-by %s: no trial has this parameter; they differ in %s", name,
			strings.Join(variedParameters(record, false), ", "))
	}
	list := gathered.sorted(sort, descending)
	left := 0
	if options.limit > 0 && len(list) > options.limit {
		left = len(list) - options.limit
		list = list[:options.limit]
	}
	if options.asJSON {
		return writeGroups(cmd.OutOrStdout(), list, by, record)
	}
	best := sort
	if !slices.Contains(metrics, sort) && len(metrics) > 0 {
		best = metrics[0]
	}
	goal := goalOf(record, best)
	if cmd.Flags().Changed("descending") && best == sort {
		goal = map[bool]string{true: sweep.Maximize, false: sweep.Minimize}[descending]
	}
	table := groupTable(names, by, metrics, list, best, goal)
	table.wide = options.wide
	if err := table.write(cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d more groups; --limit 0 lists all\n", left)
	}
	return nil
}

// countColumn is a number of trials of a group.
type countColumn struct {
	name string
	of   func(g *trialGroup) int64
}

// groupTable lays groups out: what they have in common, their trials, the best trial of each by one metric,
// if it is known which values are better, and the means of all metrics.
func groupTable(names *trialNames, by, metrics []string, list []*trialGroup, best, goal string) *columns {
	counts := []countColumn{
		{"trials", func(g *trialGroup) int64 { return g.trials }},
		{"completed", func(g *trialGroup) int64 { return g.completed }},
		{"diverged", func(g *trialGroup) int64 { return g.diverged }},
		{"failed", func(g *trialGroup) int64 { return g.failed }},
	}
	metrics = slices.Clone(metrics)
	slices.SortStableFunc(metrics, func(a, b string) int { // the one that sorts the groups comes first
		switch best {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	table := &columns{more: "--wide shows all"}
	label := func(name sweep.Name) string {
		if own := name.Own(); own == "best" || own == "trial" || slices.ContainsFunc(counts, func(c countColumn) bool {
			return c.name == own
		}) {
			return string(name)
		}
		return names.Label(name)
	}
	for _, own := range by {
		table.add(always, label(sweep.ParameterKind.Of(own)))
	}
	for i, count := range counts {
		rank := always
		if i > 0 { // what no trial did tells little
			rank = 100 + i
			if !slices.ContainsFunc(list, func(g *trialGroup) bool { return count.of(g) > 0 }) {
				rank += 100
			}
		}
		table.add(rank, count.name)
	}
	for i, name := range metrics {
		table.add(i, label(sweep.MetricKind.Of(name)))
		if name == best && goal != "" {
			table.add(1, "best", "trial")
		}
	}
	for _, group := range list {
		cells := slices.Clone(group.texts)
		for _, count := range counts {
			cells = append(cells, fmt.Sprint(count.of(group)))
		}
		for _, name := range metrics {
			s := group.metrics[name]
			cells = append(cells, s.text())
			if name != best || goal == "" {
				continue
			}
			value, index := s.best(goal)
			if s.n == 0 {
				cells = append(cells, "", "")
				continue
			}
			cells = append(cells, fmt.Sprintf("%.4g", value), fmt.Sprint(index))
		}
		table.row(cells...)
	}
	return table
}

// parameters are the values in which the trials of a group agree.
func (g *trialGroup) parameters(by []string) map[string]any {
	parameters := map[string]any{}
	for i, name := range by {
		if g.values[i] != "" {
			value, err := sweep.DecodeValue([]byte(g.values[i]))
			if err != nil {
				value = g.values[i]
			}
			parameters[name] = value
		}
	}
	return parameters
}

// object is a group as JSON has it.
func (g *trialGroup) object(by []string, record *sweep.SweepRecord) map[string]any {
	metrics := map[string]any{}
	for name, s := range g.metrics {
		if s.n > 0 {
			value, index := s.best(goalOf(record, name))
			metrics[name] = map[string]any{"count": s.n, "mean": s.mean, "sd": s.deviation(), "best": value,
				"best_trial": index}
		}
	}
	return map[string]any{"parameters": g.parameters(by), "trials": g.trials, "completed": g.completed,
		"diverged": g.diverged, "failed": g.failed, "metrics": metrics}
}

// axisParameters are the parameters that the files of a sweep set, those of extensions last.
func axisParameters(record *sweep.SweepRecord) iter.Seq[*sweep.AxisParameter] {
	return func(yield func(*sweep.AxisParameter) bool) {
		for _, g := range record.Grids {
			for _, axis := range g.Submission.Spec.Axes {
				for i := range axis.Parameters {
					if !yield(&axis.Parameters[i]) {
						return
					}
				}
			}
		}
	}
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
