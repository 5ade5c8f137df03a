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
	return fmt.Sprintf("%.4g ± %.2g", s.mean, s.deviation())
}

// trialGroup aggregates trials that agree in some parameters.
type trialGroup struct {
	values                              []string
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
	values := make([]string, len(g.by))
	for i, name := range g.by {
		if v, ok := p[name]; ok {
			values[i] = shortJSON(v)
		}
	}
	key := strings.Join(values, "\x00")
	group := g.groups[key]
	if group == nil {
		group = &trialGroup{values: values, metrics: map[string]*statistics{}}
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

// runGroups lists groups of trials.
func runGroups(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord, options *trialsOptions) error {
	if options.best || options.after >= 0 {
		return usageError("--group-by cannot be combined with --best or --after")
	}
	query, err := options.query(record.ID)
	if err != nil {
		return err
	}
	if err := checkNames(cmd.Context(), results, record, query, options.columns); err != nil {
		return err
	}
	query.OrderBy, query.Descending, query.Limit = "", false, 0
	by := options.groupBy
	if slices.Equal(by, []string{everything}) {
		by = variedParameters(record, false)
	}
	metrics := options.columns
	if len(metrics) == 0 {
		metrics = mainMetrics(cmd.Context(), results, record)
	}
	sort := options.sort
	if !cmd.Flags().Changed("sort") {
		sort = ""
		if len(metrics) > 0 {
			sort = metrics[0]
		}
	}
	descending := options.descending
	if !cmd.Flags().Changed("descending") {
		descending = goalOf(record, sort) == sweep.Maximize
	}
	if sort != "" && sort != "index" && !slices.Contains(metrics, sort) {
		metrics = append([]string{sort}, metrics...)
	}
	gathered := newGrouping(by, metrics)
	if err := results.Trials(cmd.Context(), query, gathered.add); err != nil {
		return err
	}
	for i, name := range by {
		if len(gathered.order) > 0 && !slices.ContainsFunc(gathered.order, func(g *trialGroup) bool {
			return g.values[i] != ""
		}) {
			return usageError("--group-by %s: no trial has this parameter; they differ in %s", name,
				strings.Join(variedParameters(record, false), ", "))
		}
	}
	list := gathered.sorted(sort, descending)
	left := 0
	if options.limit > 0 && len(list) > options.limit {
		left = len(list) - options.limit
		list = list[:options.limit]
	}
	if options.asJSON {
		encoder := newEncoder(cmd.OutOrStdout())
		for _, group := range list {
			if err := encoder.Encode(group.object(by, record)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := writeGroups(cmd.OutOrStdout(), record, by, metrics, list); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d more groups; --limit 0 lists all\n", left)
	}
	return nil
}

// writeGroups prints a table of groups.
func writeGroups(out io.Writer, record *sweep.SweepRecord, by, metrics []string, list []*trialGroup) error {
	w := newColumns(out)
	header := append(slices.Clone(by), "trials", "completed", "diverged", "failed")
	for _, name := range metrics {
		header = append(header, name, "best", "trial")
	}
	fmt.Fprintln(w, strings.ToUpper(strings.Join(header, "\t")))
	for _, group := range list {
		cells := append(slices.Clone(group.values), fmt.Sprint(group.trials), fmt.Sprint(group.completed),
			fmt.Sprint(group.diverged), fmt.Sprint(group.failed))
		for _, name := range metrics {
			s := group.metrics[name]
			if s.n == 0 {
				cells = append(cells, "", "", "")
				continue
			}
			value, index := s.best(goalOf(record, name))
			cells = append(cells, s.text(), fmt.Sprintf("%.4g", value), fmt.Sprint(index))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// object is a group as JSON has it.
func (g *trialGroup) object(by []string, record *sweep.SweepRecord) map[string]any {
	parameters, metrics := map[string]any{}, map[string]any{}
	for i, name := range by {
		if g.values[i] != "" {
			value, err := sweep.DecodeValue([]byte(g.values[i]))
			if err != nil {
				value = g.values[i]
			}
			parameters[name] = value
		}
	}
	for name, s := range g.metrics {
		if s.n > 0 {
			value, index := s.best(goalOf(record, name))
			metrics[name] = map[string]any{"count": s.n, "mean": s.mean, "sd": s.deviation(), "best": value,
				"best_trial": index}
		}
	}
	return map[string]any{"parameters": parameters, "trials": g.trials, "completed": g.completed,
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
func variedParameters(record *sweep.SweepRecord, withSeed bool) (names []string) {
	for p := range axisParameters(record) {
		varies := p.Values.Len() > 1 || p.Values.Distribution != nil
		if varies && (withSeed || p.Name != sweep.SeedParameter) && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// reported is a set of the summary metrics that trials have.
type reported map[string]bool

func (r reported) add(t *sweep.TrialRecord) error {
	if t.Result != nil {
		for name := range t.Result.Summary {
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
