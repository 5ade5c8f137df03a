package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/progress"
)

// trialNames reads the names of parameters, metrics and fields that a user writes about sweeps.
type trialNames struct {
	*sweep.Names
	records []*sweep.SweepRecord
	// open means that trials report metrics that no trainer describes, growing that they may report further ones.
	open, growing bool
	// examples are some metrics of the sweeps.
	examples func() []string
	// doubts are the plain names so far that mean several things.
	doubts []doubt
}

// doubt is a plain name that may mean several things, the first of which is taken.
type doubt struct {
	flag, text string
	all        []sweep.Name
}

// namesIn returns what reads names of sweeps. A name that no record has is looked for in the trials.
func namesIn(ctx context.Context, results sweep.Reader, records ...*sweep.SweepRecord) *trialNames {
	n := &trialNames{Names: sweep.NamesOf(records...), records: records}
	for _, record := range records {
		for i := range record.Grids {
			description := &record.Grids[i].Submission.Description
			n.open = n.open || description.Open || len(description.Metrics) == 0
		}
		n.growing = n.growing || n.open && record.State != sweep.SweepFinished
	}
	if n.open {
		n.Further = func(name sweep.Name) bool {
			return slices.ContainsFunc(records, func(record *sweep.SweepRecord) bool {
				return anyHas(ctx, results, record.ID, name)
			})
		}
	}
	n.examples = func() []string { return mainMetrics(ctx, results, records[0]) }
	return n
}

// anyHas reports whether a trial of a sweep has a parameter or metric, true if that cannot be told.
func anyHas(ctx context.Context, results sweep.Reader, id string, name sweep.Name) (found bool) {
	err := results.Trials(ctx, sweep.TrialQuery{
		Sweeps: []string{id}, Limit: 1, Where: []sweep.TrialCondition{{Name: name, Operator: "!="}},
	}, func(*sweep.TrialRecord) error {
		found = true
		return nil
	})
	return found || err != nil
}

// read returns all that a name may mean, those of some kinds first. It refuses what no trial can have: sorted by that,
// trials are in no order. Which metrics a program reports is known when its sweep has ended.
func (n *trialNames) read(flag, text string, first ...sweep.NameKind) ([]sweep.Name, error) {
	all := n.Find(text, first...)
	if len(all) == 0 && n.growing {
		all = []sweep.Name{sweep.Assume(text, sweep.MetricKind)}
	}
	if len(all) == 0 {
		return nil, n.unknown(flag, text)
	}
	if len(all) > 1 && flag == "sort" {
		n.doubts = append(n.doubts, doubt{flag, text, all})
	}
	return all, nil
}

func (n *trialNames) unknown(flag, text string) error {
	hint := ""
	if !n.open {
		hint = fmt.Sprintf(" (all: sweep trainer describe %s)", n.records[0].Trainer)
	}
	differ := ""
	if varied := n.varied(false); len(varied) > 0 {
		differ = "differ in " + strings.Join(varied, ", ") + ", and "
	}
	return usageError("--%s %s: no trial of this sweep has this name; trials %shave metrics such as %s%s", flag, text,
		differ, strings.Join(n.examples(), ", "), hint)
}

// varied are the parameters in which trials differ by the sweep file.
func (n *trialNames) varied(withSeed bool) (names []string) {
	for _, record := range n.records {
		names = append(names, variedParameters(record, withSeed)...)
	}
	return names
}

// condition reads a condition.
func (n *trialNames) condition(text string) (sweep.TrialCondition, error) {
	c, all, err := n.Condition(text)
	switch {
	case err != nil:
		return c, usageError("--where %v", err)
	case len(all) == 0 && !n.growing:
		return c, n.unknown("where", c.Name.Own())
	case len(all) > 1:
		n.doubts = append(n.doubts, doubt{"where", text, all})
	}
	return c, nil
}

// parameters and metrics return what the names of a list are called, where parameters and metrics are meant.
func (n *trialNames) parameters(list []string) []string { return n.own(list, sweep.ParameterKind) }
func (n *trialNames) metrics(list []string) []string    { return n.own(list, sweep.MetricKind) }

func (n *trialNames) own(list []string, kind sweep.NameKind) (own []string) {
	for _, text := range list {
		own = append(own, n.called(text, kind))
	}
	return own
}

// called is what a parameter or metric is called that a text names, where that kind is meant.
func (n *trialNames) called(text string, kind sweep.NameKind) string {
	if all := n.Find(text, kind); len(all) > 0 {
		return all[0].Own()
	}
	return sweep.Assume(text, kind).Own()
}

// remarks tells which meanings plain names are taken to have, of trials that are not all at hand.
func (n *trialNames) remarks() (list []string) {
	for _, d := range n.doubts {
		list = append(list, fmt.Sprintf("%s %s: %s", d.flag, d.text, takenAs(d.all)))
	}
	return list
}

// remark writes remarks.
func (n *trialNames) remark(out io.Writer) {
	for _, line := range n.remarks() {
		fmt.Fprintln(out, "--"+line)
	}
}

// divided returns the parameters and the metrics that columns name, perhaps both.
func (n *trialNames) divided(columns []string) (parameters, metrics []string, err error) {
	parameters = []string{}
	for _, text := range columns {
		all, err := n.read("columns", text)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range all {
			switch kind, own := name.Parts(); kind {
			case sweep.ParameterKind:
				parameters = append(parameters, own)
			case sweep.MetricKind:
				metrics = append(metrics, own)
			case sweep.FieldKind: // an answer has its own
			}
		}
	}
	return parameters, metrics, nil
}

// says tells of the plain names that mean several things in which these trials differ, and returns these things. If
// there is no trial, one of the others may have been meant.
func (n *trialNames) says(out io.Writer, trials []*sweep.TrialRecord) (all []sweep.Name) {
	for _, d := range n.doubts {
		differ := n.differing(trials, d.all)
		if len(differ) < 2 && len(trials) > 0 {
			continue
		}
		all = append(all, differ...)
		fmt.Fprintf(out, "--%s %s: %s\n", d.flag, d.text, takenAs(d.all))
	}
	return all
}

// takenAs says which of several meanings a name has.
func takenAs(all []sweep.Name) string {
	var others []string
	for _, name := range all[1:] {
		others = append(others, fmt.Sprintf("the %s (%s)", kindText(name), name))
	}
	return fmt.Sprintf("taken as the %s (%s), not %s", kindText(all[0]), all[0], strings.Join(others, " or "))
}

// kindText says in words what a name is one of.
func kindText(name sweep.Name) string {
	if kind, _ := name.Parts(); kind != sweep.FieldKind {
		return string(kind)
	}
	return "field of trials"
}

// differing leaves out of several meanings of a name those that have the values of another in all trials. Parameters
// come first.
func (n *trialNames) differing(trials []*sweep.TrialRecord, all []sweep.Name) (differ []sweep.Name) {
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b sweep.Name) int {
		return map[bool]int{true: 0, false: 1}[a.Is(sweep.ParameterKind)] -
			map[bool]int{true: 0, false: 1}[b.Is(sweep.ParameterKind)]
	})
	for _, name := range order {
		if !slices.ContainsFunc(differ, func(other sweep.Name) bool { return covers(trials, other, name) }) {
			differ = append(differ, name)
		}
	}
	if len(differ) > 1 { // what no trial has, or what is not reported, is no column
		differ = slices.DeleteFunc(differ, func(name sweep.Name) bool {
			return !slices.ContainsFunc(trials, func(t *sweep.TrialRecord) bool { return has(t, name) })
		})
	}
	if len(differ) == 0 {
		return all[:1]
	}
	return differ
}

// covers reports whether all trials that have a value of one name have the same of another.
func covers(trials []*sweep.TrialRecord, other, name sweep.Name) bool {
	return !slices.ContainsFunc(trials, func(t *sweep.TrialRecord) bool {
		a, has := valueOf(t, name)
		b, hasOther := valueOf(t, other)
		return has && (!hasOther || !sweep.Equal(a, b))
	})
}

// has reports whether a trial has a value of a name, and its trainer reports it.
func has(t *sweep.TrialRecord, name sweep.Name) bool {
	value, ok := valueOf(t, name)
	return ok && (!name.Is(sweep.FieldKind) || value != any(notReported))
}

// valueOf is what a trial has of a name.
func valueOf(t *sweep.TrialRecord, name sweep.Name) (value any, ok bool) {
	switch kind, own := name.Parts(); kind {
	case sweep.ParameterKind:
		value, ok = t.Parameters[own]
	case sweep.MetricKind:
		if t.Result != nil {
			value, ok = t.Result.Summary[own]
		}
	case sweep.FieldKind:
		if column := trialColumns[own]; column != nil {
			return column(t), true
		}
		if column := resultColumns[own]; column != nil && t.Result != nil {
			return column(t.Result), true
		}
	}
	return value, ok
}

// trialCell is a value of a trial as tables have it.
func trialCell(t *sweep.TrialRecord, name sweep.Name) string {
	value, ok := valueOf(t, name)
	switch {
	case !ok:
		return ""
	case name.Is(sweep.ParameterKind):
		return progress.ValueText(value)
	case name.Is(sweep.MetricKind):
		return fmt.Sprintf("%.4g", value)
	}
	return fmt.Sprint(value)
}

// namesFlag is a flag with names, separated by commas. Which commas are part of a name is known when the sweep is.
type namesFlag []string

// Set implements pflag.Value.
func (f *namesFlag) Set(text string) error {
	*f = append(*f, text)
	return nil
}

// String implements pflag.Value.
func (f *namesFlag) String() string {
	if len(*f) == 0 {
		return "[]"
	}
	return strings.Join(*f, ",")
}

// Type implements pflag.Value.
func (f *namesFlag) Type() string { return "strings" }

// in are the names of the flag, as they are written.
func (f *namesFlag) in(n *trialNames) (list []string) {
	for _, text := range *f {
		list = append(list, n.List(text)...)
	}
	return list
}
