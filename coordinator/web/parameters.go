package web

import (
	"cmp"
	"slices"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// axisNames returns the parameters that a sweep's files give values for, in their order.
func axisNames(record *sweep.SweepRecord) []string {
	names := []string{}
	for p := range record.AxisParameters() {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// objectiveOf returns the metric by which trials are compared, "" if none is chosen.
func objectiveOf(record *sweep.SweepRecord) string {
	if len(record.Grids) == 0 {
		return ""
	}
	submission := &record.Grids[0].Submission
	return submission.Spec.Select.Filled(&submission.Description).By
}

// inFileOrder sorts parameters as the sweep's files order them; others come last.
func inFileOrder(names, axes []string) {
	place := func(name string) int {
		if at := slices.Index(axes, name); at >= 0 {
			return at
		}
		return len(axes)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
}

// groupBy returns what trials are grouped by: what is asked for or, if that is nil, all that they
// differ in but the seed.
func groupBy(f *frame.Frame, record *sweep.SweepRecord, asked []string) []string {
	if asked != nil {
		return asked
	}
	names := f.Differing()
	inFileOrder(names, axisNames(record))
	return names
}

// varied returns the parameters in which trials differ as the sweep's files say, without the seed
// and without defaults that follow from other parameters.
func varied(f *frame.Frame, record *sweep.SweepRecord) []string {
	axes := axisNames(record)
	names := f.Differing()
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(axes, name) })
	if len(own) == 0 {
		own = names
	}
	inFileOrder(own, axes)
	return own
}

// scaleOf returns the scale of a parameter whose values are drawn from a distribution or a range,
// "" for a list.
func scaleOf(values *sweep.Values) string {
	switch d := values.Distribution; {
	case d == nil && values.Range == nil:
		return ""
	case d == nil:
		return frame.LinearScale
	default:
		switch d.Kind {
		case sweep.LogUniformDistribution, sweep.InverseLogUniformDistribution, sweep.LogUniformValuesDistribution,
			sweep.LogNormalDistribution:
			return frame.LogScale
		}
		return frame.LinearScale
	}
}
