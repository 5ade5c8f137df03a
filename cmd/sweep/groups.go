package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
	"sweep/sweep/statistics"
)

// everything names all parameters in which trials differ but the seed.
const everything = "*"

// lacks is a parameter that no trial has, if there are trials.
func lacks(g *frame.Grouped) string {
	for i, name := range g.By {
		has := func(one frame.Group) bool { return one.Values[i] != nil }
		if len(g.List) > 0 && !slices.ContainsFunc(g.List, has) {
			return name
		}
	}
	return ""
}

// groupTexts are the values that the trials of a group share, as tables show them.
func groupTexts(group *frame.Group) []string {
	texts := make([]string, len(group.Values))
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
	return statistics.MeanText(*s.Mean, *s.SD)
}

// runGroups lists groups of trials.
func runGroups(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord, options *trialsOptions) error {
	if options.best || options.after >= 0 {
		return usageError("--group-by cannot be combined with --best or --after")
	}
	if !cmd.Flags().Changed("sort") {
		options.sort = ""
	}
	names := frame.NamesIn(cmd.Context(), results, record)
	query, err := names.Query(options.where, options.states, options.sort)
	if err != nil {
		return err
	}
	if _, err := options.shown(names); err != nil {
		return err
	}
	remark(cmd.ErrOrStderr(), names)
	sort, inOrder := query.OrderBy.Own(), query.OrderBy == sweep.FieldKind.Of("index")
	if inOrder {
		sort = ""
	} else if sort != "" && !query.OrderBy.Is(sweep.MetricKind) {
		return usageError("--sort %s: groups are sorted by the mean of a metric, or by index", options.sort)
	}
	query.OrderBy = ""
	by := options.groupBy.in(names)
	if slices.Equal(by, []string{everything}) {
		by = progress.Varied(record, false)
	} else {
		by = names.Own(by, sweep.ParameterKind)
	}
	metrics := names.Own(options.columns.in(names), sweep.MetricKind)
	if len(metrics) == 0 {
		metrics = frame.MainMetrics(cmd.Context(), results, record)
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
	f, err := frame.ReadColumns(cmd.Context(), results, record, query, frame.GroupColumns(by, metrics)...)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // its files have no names
	groups, err := f.GroupBy(cmd.Context(), frame.Filter{}, by, metrics, goals, inOrder)
	if err != nil {
		return err
	}
	if name := lacks(groups); name != "" {
		return usageError("--group-by %s: no trial has this parameter; they differ in %s", name,
			strings.Join(progress.Varied(record, false), ", "))
	}
	left := 0
	if options.limit > 0 && len(groups.List) > options.limit {
		left = len(groups.List) - options.limit
		groups.List = groups.List[:options.limit]
	}
	if options.asJSON {
		return encodeGroups(cmd.OutOrStdout(), groups)
	}
	table := groupTable(groups, names)
	table.wide = options.wide
	if err := table.write(cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d more groups; --limit 0 lists all\n", left)
	}
	return nil
}

// groupTable lays groups out: what they have in common, their trials, the best trial of each by the first metric, if it
// is known which values are better, and the means of all metrics.
func groupTable(g *frame.Grouped, names *frame.Names) *columns {
	table := &columns{more: "--wide shows all"}
	label := func(name sweep.Name) string {
		if own := name.Own(); own == "best" || own == "trial" || slices.Contains(frame.GroupCounts, own) {
			return string(name)
		}
		return names.Label(name)
	}
	for _, own := range g.By {
		table.add(always, label(sweep.ParameterKind.Of(own)))
	}
	for i, name := range frame.GroupCounts {
		rank := always
		if i > 0 { // what no trial did tells little
			rank = 100 + i
			if !slices.ContainsFunc(g.List, func(group frame.Group) bool { return group.Counts()[i] > 0 }) {
				rank += 100
			}
		}
		table.add(rank, name)
	}
	for i, name := range g.Metrics {
		table.add(i, label(sweep.MetricKind.Of(name)))
		if i == 0 && g.Goals[name] != "" {
			table.add(1, "best", "trial")
		}
	}
	for i := range g.List {
		group := &g.List[i]
		cells := groupTexts(group)
		for _, n := range group.Counts() {
			cells = append(cells, fmt.Sprint(n))
		}
		for k, name := range g.Metrics {
			s := &group.Metrics[k]
			cells = append(cells, metricText(s))
			switch {
			case k > 0 || g.Goals[name] == "":
			case s.N == 0:
				cells = append(cells, "", "")
			default:
				cells = append(cells, fmt.Sprintf("%.4g", *s.BestBy(g.Goals[name])), fmt.Sprint(s.Best))
			}
		}
		table.row(cells...)
	}
	return table
}

// encodeGroups writes groups as lines of JSON.
func encodeGroups(w io.Writer, g *frame.Grouped) error {
	encoder := newEncoder(w)
	for i := range g.List {
		group := &g.List[i]
		metrics := map[string]any{}
		for k, name := range g.Metrics {
			if s := &group.Metrics[k]; s.N > 0 {
				metrics[name] = map[string]any{"count": s.N, "mean": s.Mean, "sd": s.SD,
					"best": s.BestBy(g.Goals[name]), "best_trial": s.Best}
			}
		}
		object := map[string]any{"parameters": g.Parameters(group), "metrics": metrics}
		for k, n := range group.Counts() {
			object[frame.GroupCounts[k]] = n
		}
		if err := encoder.Encode(object); err != nil {
			return err
		}
	}
	return nil
}
