package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
)

// remark writes the remarks on names.
func remark(out io.Writer, n *frame.Names) {
	for _, line := range n.Remarks() {
		fmt.Fprintln(out, "--"+line)
	}
}

// says tells of the plain names that mean several things in which these trials differ, and returns these things. If
// there is no trial, one of the others may have been meant.
func says(out io.Writer, n *frame.Names, trials []*sweep.TrialRecord) (all []sweep.Name) {
	for i := range n.Doubts {
		differ := differing(trials, n.Doubts[i].All)
		if len(differ) < 2 && len(trials) > 0 {
			continue
		}
		all = append(all, differ...)
		fmt.Fprintf(out, "--%v\n", &n.Doubts[i])
	}
	return all
}

// differing leaves out of several meanings of a name those that have the values of another in all trials. Parameters
// come first.
func differing(trials []*sweep.TrialRecord, all []sweep.Name) (differ []sweep.Name) {
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
func (f *namesFlag) in(n *frame.Names) (list []string) {
	for _, text := range *f {
		list = append(list, n.List(text)...)
	}
	return list
}
