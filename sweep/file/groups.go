package file

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"sweep/sweep"
)

// maxCompared bounds the points that are compared; of more, so many are taken at even distances.
const maxCompared = 1 << 16

// checkGroups rejects groups whose points differ in a parameter that, by the trainer's schema,
// changes what metrics measure: none of them would win by being better.
func (d *decoder) checkGroups() {
	if d.description == nil {
		return
	}
	choice := d.file.Spec.Select.Filled(d.description)
	if d.searches() { // which compares all points
		choice.Group = nil
	}
	var measuring []*sweep.ParameterSchema
	names := map[string]bool{}
	for i := range d.description.Parameters {
		p := &d.description.Parameters[i]
		if p.Measures && p.Name != sweep.SeedParameter && !slices.Contains(choice.Group, p.Name) {
			measuring = append(measuring, p)
			d.decides(sweep.Match{p.Name: nil}, names)
			d.decides(p.MeasuresWhen, names)
		}
	}
	if len(measuring) == 0 || choice.By == "" {
		return
	}
	for _, name := range choice.Group {
		d.decides(sweep.Match{name: nil}, names)
	}
	seen := map[string]sweep.Parameters{} // the values of each group's first point
	refused := map[*sweep.ParameterSchema][2]any{}
	for resolved := range d.resolved(names) {
		key, _ := choice.GroupOf(resolved).Canonical() // decoded values have one
		first := seen[string(key)]
		if first == nil {
			first = sweep.Parameters{}
			seen[string(key)] = first
		}
		for _, p := range measuring {
			value, ok := resolved[p.Name]
			if _, found := refused[p]; !ok || found || !p.MeasuresWhen.Fits(resolved) {
				continue
			}
			if earlier, ok := first[p.Name]; !ok {
				first[p.Name] = value
			} else if !sweep.Equal(earlier, value) {
				refused[p] = [2]any{earlier, value}
			}
		}
	}
	// Defaults may differ because of what the file has.
	for _, own := range []bool{true, false} {
		for _, p := range measuring {
			if pair, found := refused[p]; found && own == (d.file.declared[p.Name] != nil) {
				d.failGroup(p, choice, pair[0], pair[1])
			}
		}
		if len(d.errors) > 0 {
			return
		}
	}
}

// resolved returns the sweep's points, as far as they differ in some parameters and those that decide about them, with
// the defaults of these. It ends at a point that cannot be resolved, as that point itself will say.
func (d *decoder) resolved(names map[string]bool) iter.Seq[sweep.Parameters] {
	return func(yield func(sweep.Parameters) bool) {
		deciding := d.describe(names)
		grid, err := sweep.NewGrid(d.deciding(names))
		if err != nil {
			return // as the whole grid will say
		}
		stride := 1 + (grid.Count()-1)/maxCompared
		for i := int64(0); i >= 0 && i < grid.Count(); i += stride { // beyond the largest number i is negative
			point, err := grid.At(i)
			if err != nil {
				return
			}
			maps.DeleteFunc(point, func(name string, _ any) bool { return !names[name] })
			if point, err = deciding.Resolve(point); err != nil || !yield(point) {
				return
			}
		}
	}
}

// failGroup reports two values of a parameter that are in one group.
func (d *decoder) failGroup(p *sweep.ParameterSchema, choice sweep.Select, one, other any) {
	where, path, whose := d.file.parameters, "parameters", "by default "
	if declared := d.file.declared[p.Name]; declared != nil {
		where, path, whose = declared.placeOf(other), declared.path, ""
	} else if e, ok := d.top["select"]; ok {
		where, path = e.where, "select"
	}
	if d.searches() {
		d.fail(where, path, "%s is %s%s and %s, but it changes how %s is measured, or leaves it as it is, so a search "+
			"by %s cannot choose between them: give it one value, and search once for each", p.Name, whose,
			valueText(one), valueText(other), choice.By, choice.By)
		return
	}
	group := strings.Join(append(slices.Clone(choice.Group), p.Name), ", ")
	d.fail(where, path, "%s is %s%s and %s in one group, but it changes how %s is measured, or leaves it as it is, "+
		"so %s cannot choose between them: "+
		"give it one value, or add it to the groups, as in select: {group: [%s]}", p.Name, whose, valueText(one),
		valueText(other), choice.By, choice.By, group)
}

func valueText(value any) string {
	text, err := sweep.CanonicalJSON(value)
	if err != nil {
		return "a value"
	}
	return clip(string(text))
}

// deciding is the part of the sweep's grid that decides about some parameters: their axes, and
// those that conditions and exclusions name. Distributions have two values in it.
func (d *decoder) deciding(names map[string]bool) *sweep.Spec {
	named := maps.Clone(names)
	for _, m := range d.file.Spec.Exclude {
		for name := range m {
			named[name] = true
		}
	}
	for more := true; more; {
		more = false
		for _, c := range d.file.Spec.Conditions {
			for name := range c.When {
				if named[c.Parameter] && !named[name] {
					named[name], more = true, true
				}
			}
		}
	}
	reduced := &sweep.Spec{Exclude: d.file.Spec.Exclude}
	for _, axis := range d.file.Spec.Axes {
		if !slices.ContainsFunc(axis.Parameters, func(p sweep.AxisParameter) bool { return named[p.Name] }) {
			continue
		}
		var own sweep.Axis
		for _, p := range axis.Parameters {
			if drawn := p.Values.Distribution; drawn != nil {
				const low, high = 0.01, 0.99
				p.Values = sweep.Values{List: []any{drawn.Quantile(low), drawn.Quantile(high)}}
			}
			p.Values.Weights = nil
			own.Parameters = append(own.Parameters, p)
		}
		reduced.Axes = append(reduced.Axes, own)
	}
	for _, c := range d.file.Spec.Conditions {
		if named[c.Parameter] {
			reduced.Conditions = append(reduced.Conditions, c)
		}
	}
	return reduced
}
