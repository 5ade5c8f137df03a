package file

import (
	"fmt"
	"strings"

	"sweep/sweep"
)

// decodeApplies adds the conditions of the trainer's schema: a parameter does not exist at points
// where it does not apply, so that points which differ in nothing else are one. For one that
// applies nowhere a single value is an error, a list is noted.
func (d *decoder) decodeApplies() {
	d.written = len(d.file.Spec.Conditions)
	if d.description == nil {
		return
	}
	for _, p := range d.order {
		schema := d.schema(p.name)
		if schema == nil || schema.AppliesWhen == nil {
			continue
		}
		where, possible, sure := d.applies(schema)
		switch {
		case sure:
			continue
		case !possible && p.values.Len() == 1:
			d.fail(p.placeOf(p.values.At(0)), p.path, "has no effect here: it applies only where %s",
				describeMatch(schema.AppliesWhen))
			continue
		case !possible:
			d.note(p.where, p.path, "has no effect here, and its %d values are one: it applies only where %s",
				p.values.Len(), describeMatch(schema.AppliesWhen))
			where = schema.AppliesWhen // which no point fits
		}
		if len(where) > 0 {
			d.file.Spec.Conditions = append(d.file.Spec.Conditions, sweep.Condition{Parameter: p.name, When: where})
		}
	}
}

// maxDecided bounds the combinations of values that applies looks at.
const maxDecided = 1 << 12

// applies returns under which values of the sweep's parameters a parameter applies, whether it
// does at any point, and whether at every one, by all combinations of the values that decide.
// What these values cannot express, or where they are too many, is left to each point.
func (d *decoder) applies(schema *sweep.ParameterSchema) (where sweep.Match, possible, sure bool) {
	names := map[string]bool{}
	d.decides(schema.AppliesWhen, names)
	deciding := d.describe(names)
	var axes []*declaration
	combinations := int64(1)
	for _, p := range deciding.Parameters {
		if axis := d.file.declared[p.Name]; axis != nil {
			if axis.values.Distribution != nil || axis.values.Len() > maxDecided/combinations {
				return nil, true, false
			}
			axes = append(axes, axis)
			combinations *= axis.values.Len()
		}
	}
	fitting := int64(0)
	type choice struct {
		axis  int
		value int64
	}
	taken := map[choice]bool{} // the values at which it applies
	at, point := make([]int64, len(axes)), sweep.Parameters{}
	for number := range combinations {
		for i, axis := range axes {
			count := axis.values.Len()
			at[i], number = number%count, number/count
			point[axis.name] = axis.values.At(at[i])
		}
		d.leaveOut(point)
		resolved, err := deciding.Resolve(point)
		if err != nil {
			return nil, true, false // as the point itself will say
		}
		if schema.AppliesWhen.Fits(resolved) {
			fitting++
			for i := range axes {
				taken[choice{i, at[i]}] = true
			}
		}
	}
	where = sweep.Match{}
	for i, axis := range axes {
		var values []any
		for value := range axis.values.Len() {
			if taken[choice{i, value}] {
				values = append(values, axis.values.At(value))
			}
		}
		if int64(len(values)) < axis.values.Len() && len(d.own(axis.name)) == 0 {
			where[axis.name] = values
		}
	}
	return where, fitting > 0, fitting == combinations
}

// describe returns the part of the trainer's description that is about some parameters. None
// is required: what is missing was refused.
func (d *decoder) describe(names map[string]bool) *sweep.Description {
	part := &sweep.Description{}
	for _, p := range d.description.Parameters {
		if names[p.Name] {
			p.Required = false
			part.Parameters = append(part.Parameters, p)
		}
	}
	return part
}

// decides adds the names of all parameters that decide whether a match fits.
func (d *decoder) decides(m sweep.Match, names map[string]bool) {
	for name := range m {
		if names[name] {
			continue
		}
		names[name] = true
		if schema := d.schema(name); schema != nil {
			d.decides(schema.AppliesWhen, names)
			for i := range schema.Defaults {
				d.decides(schema.Defaults[i].When, names)
			}
		}
		for _, c := range d.own(name) {
			d.decides(c.When, names)
		}
	}
}

// leaveOut removes the parameters that do not exist at a point by the file's conditions.
func (d *decoder) leaveOut(point sweep.Parameters) {
	for left := -1; left != len(point); {
		left = len(point)
		for _, c := range d.file.Spec.Conditions[:d.written] {
			if !c.When.Fits(point) {
				delete(point, c.Parameter)
			}
		}
	}
}

// own returns the file's conditions for a parameter.
func (d *decoder) own(name string) (list []sweep.Condition) {
	for _, c := range d.file.Spec.Conditions[:d.written] {
		if c.Parameter == name {
			list = append(list, c)
		}
	}
	return list
}

// describeMatch says in words what a match wants.
func describeMatch(m sweep.Match) string {
	var parts []string
	for _, name := range m.Names() {
		var values []string
		for _, value := range m[name] {
			values = append(values, fmt.Sprint(value))
		}
		parts = append(parts, name+" is "+strings.Join(values, " or "))
	}
	return strings.Join(parts, " and ")
}
