package file

import (
	"fmt"
	"slices"
	"strings"

	"sweep/sweep"
)

// decodeApplies adds the conditions of the trainer's schema: a parameter that
// does not apply at a point does not exist there, so that points which differ in
// nothing else are one. One that applies nowhere is refused if it is set by hand
// to a single value; a list of values is noted.
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
			d.fail(p.placeOf(p.values.At(0)), p.path, "has no effect here: it applies only where %s", describeMatch(schema.AppliesWhen))
			continue
		case !possible:
			d.note(p.where, p.path, "has no effect here, and its %d values are one: it applies only where %s", p.values.Len(), describeMatch(schema.AppliesWhen))
			where = schema.AppliesWhen // which no point fits
		}
		if len(where) > 0 {
			d.file.Spec.Conditions = append(d.file.Spec.Conditions, sweep.Condition{Parameter: p.name, When: where})
		}
	}
}

// applies says under which values of the sweep's own parameters a parameter
// applies: whether it does at some point at all, and whether at every one. What
// a default under a condition decides is left to each point.
func (d *decoder) applies(schema *sweep.ParameterSchema) (where sweep.Match, possible, sure bool) {
	where, possible, sure = sweep.Match{}, true, true
	for _, name := range schema.AppliesWhen.Names() {
		accepted := schema.AppliesWhen[name]
		if p := d.file.declared[name]; p != nil {
			some := slices.ContainsFunc(accepted, p.has)
			all := some && p.values.Len() <= int64(len(accepted)) && !d.conditional(name)
			for i := int64(0); all && i < p.values.Len(); i++ {
				value := p.values.At(i)
				all = slices.ContainsFunc(accepted, func(a any) bool { return sweep.Equal(a, value) })
			}
			if other := d.schema(name); other != nil && other.AppliesWhen != nil && d.precedes(other, schema) {
				_, innerPossible, innerSure := d.applies(other)
				some, all = some && innerPossible, all && innerSure
			}
			possible = possible && some
			if !all {
				sure = false
				where[name] = accepted
			}
			continue
		}
		other := d.schema(name)
		if other == nil {
			return nil, false, false
		}
		defaults := []any{other.Default}
		for i := range other.Defaults {
			defaults = append(defaults, other.Defaults[i].Value)
		}
		fits := func(value any) bool {
			typed, err := other.Coerce(value)
			return value != nil && err == nil && slices.ContainsFunc(accepted, func(a any) bool { return sweep.Equal(a, typed) })
		}
		possible = possible && slices.ContainsFunc(defaults, fits)
		sure = sure && !slices.ContainsFunc(defaults, func(value any) bool { return !fits(value) })
		if other.AppliesWhen != nil && d.precedes(other, schema) {
			inner, innerPossible, innerSure := d.applies(other)
			possible, sure = possible && innerPossible, sure && innerSure
			for name, accepted := range inner {
				where[name] = both(where[name], accepted)
				possible = possible && len(where[name]) > 0
			}
		}
	}
	return where, possible, sure
}

// precedes reports whether a parameter stands before another in the trainer's
// schema, as those must by which others apply.
func (d *decoder) precedes(a, b *sweep.ParameterSchema) bool {
	for i := range d.description.Parameters {
		switch &d.description.Parameters[i] {
		case b:
			return false
		case a:
			return true
		}
	}
	return false
}

// conditional reports whether the file has a parameter exist at some points only.
func (d *decoder) conditional(name string) bool {
	return slices.ContainsFunc(d.file.Spec.Conditions[:d.written], func(c sweep.Condition) bool { return c.Parameter == name })
}

// both returns the values that two lists have in common; nil is a list of all.
func both(a, b []any) []any {
	if a == nil {
		return b
	}
	return slices.DeleteFunc(slices.Clone(a), func(value any) bool {
		return !slices.ContainsFunc(b, func(other any) bool { return sweep.Equal(value, other) })
	})
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
