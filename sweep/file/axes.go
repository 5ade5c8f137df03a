package file

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// zipGroup are parameters that advance together.
type zipGroup struct {
	where   position
	members []*declaration
}

// decodeZip decodes zip: [[a, b], [c, d]].
func (d *decoder) decodeZip(e entry, path string) {
	const form = "must be a list of lists of parameters, as in [[lr, decay]]"
	if e.value.Kind != yaml.SequenceNode {
		d.fail(at(e.value), path, "%s, not %s", form, kindName(e.value))
		return
	}
	for _, item := range e.value.Content {
		item = follow(item)
		if item.Kind != yaml.SequenceNode {
			d.fail(at(item), path, "%s, not a list of %s", form, kindName(item))
			return
		}
		names, nodes, ok := d.texts(item, path)
		if !ok {
			return
		}
		group := &zipGroup{where: at(item)}
		for i, name := range names {
			member := d.file.declared[name]
			switch {
			case member != nil && member.implied:
				d.fail(at(nodes[i]), path, "parameter %s comes from replicates, which stay an axis of their own", name)
				return
			case member == nil:
				d.failName(at(nodes[i]), path, fmt.Sprintf("this sweep has no parameter %s to zip", shorten(name)),
					name, d.declaredNames())
				return
			case member.zip != nil:
				d.fail(at(nodes[i]), path, "parameter %s is named twice", name)
				return
			}
			member.zip = group
			group.members = append(group.members, member)
		}
		if len(group.members) < 2 {
			d.fail(group.where, path, "a group needs two parameters or more")
			return
		}
	}
}

// declaredNames are the parameters of the sweep.
func (d *decoder) declaredNames() []string {
	names := make([]string, len(d.order))
	for i, p := range d.order {
		names[i] = p.name
	}
	return names
}

// buildAxes makes an axis of each parameter and each zip group, at the position of its first
// parameter, and drops repeated values.
func (d *decoder) buildAxes() {
	for _, p := range d.order {
		if p.zip != nil && p.zip.members[0] == p {
			d.checkLengths(p.zip)
		}
	}
	if len(d.errors) > 0 {
		return
	}
	for _, p := range d.order {
		members := []*declaration{p}
		if p.zip != nil {
			members = p.zip.members
		}
		if members[0] != p {
			continue
		}
		d.dropRepeats(members)
		var axis sweep.Axis
		for _, m := range members {
			axis.Parameters = append(axis.Parameters, sweep.AxisParameter{Name: m.name, Values: m.values})
		}
		d.file.Spec.Axes = append(d.file.Spec.Axes, axis)
	}
}

func (d *decoder) checkLengths(group *zipGroup) {
	for _, m := range group.members {
		if m.values.Distribution != nil || m.values.Weights != nil {
			d.fail(group.where, "zip", "parameter %s is drawn from a distribution: only lists and ranges advance "+
				"together", m.name)
			return
		}
		if m.values.Len() != group.members[0].values.Len() {
			d.fail(group.where, "zip", "lists that advance together need the same length: %s has %d values, %s has %d",
				group.members[0].name, group.members[0].values.Len(), m.name, m.values.Len())
			return
		}
	}
}

// dropRepeats keeps the first of equal rows and notes the number of others. Ranges have none.
func (d *decoder) dropRepeats(members []*declaration) {
	for _, m := range members {
		if m.values.Range != nil || m.values.Distribution != nil {
			return
		}
	}
	rows := len(members[0].values.List)
	seen := make(map[string]int, rows) // the rows that are kept
	var key []byte
	weights := members[0].values.Weights
	kept, example, written, where := 0, "", "", position{}
	for row := range rows {
		key = key[:0]
		for _, m := range members {
			text, _ := sweep.CanonicalJSON(m.values.List[row]) // a decoded value has one
			key = append(append(key, text...), ", "...)
		}
		if earlier, repeated := seen[string(key)]; repeated {
			if example == "" {
				example, where = clip(strings.TrimSuffix(string(key), ", ")), members[0].places[row]
				if texts := members[0].texts; len(members) == 1 && row < len(texts) && texts[row] != example &&
					strings.Trim(texts[row], "+-.0123456789eE") == "" {
					written = ", written " + clip(texts[row]) + " here"
				}
			}
			if weights != nil {
				weights[earlier] += weights[row]
			}
			continue
		}
		seen[string(key)] = kept
		if weights != nil {
			weights[kept] = weights[row]
		}
		for _, m := range members {
			m.values.List[kept], m.places[kept] = m.values.List[row], m.places[row]
		}
		kept++
	}
	if kept == rows {
		return
	}
	what, names := "value", make([]string, len(members))
	for i, m := range members {
		m.values.List, m.places = m.values.List[:kept], m.places[:kept]
		if weights != nil {
			m.values.Weights = weights[:kept]
		}
		names[i] = m.name
	}
	if len(members) > 1 {
		what = "row"
	}
	if dropped := rows - kept; dropped == 1 {
		d.note(where, "parameters."+strings.Join(names, ", "), "a repeated %s is dropped: %s%s", what, example, written)
	} else {
		d.note(where, "parameters."+strings.Join(names, ", "), "%d repeated %ss are dropped, the first is %s", dropped,
			what, example)
	}
}

// decodeConditions decodes the parameters' own conditions.
func (d *decoder) decodeConditions() {
	for _, p := range d.order {
		for _, c := range p.when {
			d.addCondition(p, c.node, c.path)
			if len(d.errors) >= maxErrors {
				return
			}
		}
	}
}

// decodeWhen decodes the conditions of the key when.
func (d *decoder) decodeWhen(e entry, path string) {
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	for _, e := range entries {
		if p := d.declared(e, path); p != nil {
			d.addCondition(p, e.value, join(path, e.key))
		}
	}
}

// declared returns the parameter that the key of a mapping names, nil if there is none.
func (d *decoder) declared(e entry, path string) *declaration {
	p := d.file.declared[e.key]
	if p == nil {
		d.failName(e.where, path, fmt.Sprintf("this sweep has no parameter %s", shorten(e.key)), e.key,
			d.declaredNames())
	}
	return p
}

func (d *decoder) addCondition(p *declaration, n *yaml.Node, path string) {
	if m, ok := d.match(n, path); ok {
		d.file.Spec.Conditions = append(d.file.Spec.Conditions, sweep.Condition{Parameter: p.name, When: m})
	}
}

func (d *decoder) decodeExclude(e entry, path string) {
	d.file.exclude = e.where
	if e.value.Kind != yaml.SequenceNode {
		d.fail(at(e.value), path, "must be a list of mappings, as in [{model: lstm, lr: 1e-3}], not %s",
			kindName(e.value))
		return
	}
	for _, item := range e.value.Content {
		if m, ok := d.match(follow(item), path); ok {
			d.file.Spec.Exclude = append(d.file.Spec.Exclude, m)
		}
	}
}

// maxMatched bounds the values that conditions and exclusions list in all.
const maxMatched = 1 << 20

// match decodes a mapping of parameters to a value or a list of values.
func (d *decoder) match(n *yaml.Node, path string) (sweep.Match, bool) {
	entries, ok := d.entries(n, path)
	if !ok {
		return nil, false
	}
	if len(entries) == 0 {
		d.fail(at(n), path, "must name at least one parameter")
		return nil, false
	}
	m := make(sweep.Match, len(entries))
	for _, e := range entries {
		p := d.declared(e, path)
		if p == nil {
			ok = false
			continue
		}
		items := itemsOf(e.value)
		if len(items) == 0 {
			d.fail(at(e.value), join(path, e.key), "must have at least one value")
			ok = false
			continue
		}
		// The condition of a group is decoded for each of its members.
		if d.matched += len(items); d.matched > maxMatched {
			d.fail(at(e.value), path, "conditions and exclusions list more than %d values", maxMatched)
			return nil, false
		}
		for _, item := range items {
			v, good := d.coerced(item, d.schema(e.key), join(path, e.key))
			if !good {
				ok = false
				continue
			}
			if !p.has(v) {
				d.noteStranger(at(follow(item)), join(path, e.key), p, v)
			}
			m[e.key] = append(m[e.key], v)
		}
	}
	return m, ok
}

// noteStranger notes a value that the sweep does not have, left from a longer list or misspelt.
func (d *decoder) noteStranger(where position, path string, p *declaration, value any) {
	message := fmt.Sprintf("parameter %s never has the value %s", p.name, valueText(value))
	if name, ok := value.(string); ok && len(p.values.List) <= 1000 {
		var known []string
		for _, item := range p.values.List {
			if text, ok := item.(string); ok {
				known = append(known, text)
			}
		}
		if nearest := sweep.Nearest(name, known); nearest != "" {
			message += fmt.Sprintf(" (did you mean %q?)", nearest)
		}
	}
	d.note(where, path, "%s", message)
}
