package file

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// declaration is one parameter of the sweep.
type declaration struct {
	name string
	// path is the key of the parameter, where its place.
	path  string
	where position
	// values has no repeated values once axes are built; places are the places of a list's
	// values.
	values sweep.Values
	places []position
	// texts are the values of a list as written, "" for what is no scalar.
	texts []string
	// when are the parameter's own conditions with their places.
	when []condition
	// groups are the names of its groups, key its name in them.
	groups []string
	key    string
	// zip is the group of parameters that it advances with, nil if there is none.
	zip *zipGroup
	// implied parameters come from replicates.
	implied bool
	// index has the list's values in canonical form, once has was called.
	index map[string]bool
}

type condition struct {
	node *yaml.Node
	path string
}

// placeOf returns the place of a value, or of the parameter.
func (p *declaration) placeOf(value any) position {
	if value != nil {
		if i := p.values.Index(value); i >= 0 && i < int64(len(p.places)) {
			return p.places[i]
		}
	}
	return p.where
}

// has reports whether the sweep has the value.
func (p *declaration) has(value any) bool {
	if p.values.Distribution != nil {
		return true // it may draw it
	}
	if p.values.Range != nil {
		return p.values.Index(value) >= 0
	}
	if p.index == nil {
		p.index = make(map[string]bool, len(p.values.List))
		for _, item := range p.values.List {
			if key, err := sweep.CanonicalJSON(item); err == nil {
				p.index[string(key)] = true
			}
		}
	}
	key, err := sweep.CanonicalJSON(value)
	return err == nil && p.index[string(key)]
}

func (d *decoder) declare(p *declaration) {
	d.file.declared[p.name] = p
	d.order = append(d.order, p)
}

// known reports an error unless the trainer has the parameter.
func (d *decoder) known(p *declaration) bool {
	if d.description == nil || d.schema(p.name) != nil {
		return true
	}
	if len(d.errors) < maxErrors {
		d.failCause(p.where, p.path, d.description.Unknown(p.name))
	}
	return false
}

func (d *decoder) decodeParameters(e entry, path string) {
	d.file.parameters = e.where
	d.decodeGroup(e.value, path, nil, nil)
	if len(d.errors) == 0 && len(d.order) == 0 {
		d.fail(e.where, path, "must have at least one parameter")
	}
	if d.description == nil || len(d.errors) > 0 {
		return
	}
	for _, s := range d.description.Parameters {
		replicated := s.Name == sweep.SeedParameter && d.top["replicates"].value != nil
		if s.Required && s.Default == nil && len(s.Defaults) == 0 && d.file.declared[s.Name] == nil && !replicated {
			d.fail(e.where, path, "trainer %s requires the parameter %s: %s", d.description.Name, s.Name,
				s.Expected())
		}
	}
}

// decodeGroup decodes a mapping of names to parameters in groups, whose conditions are when.
func (d *decoder) decodeGroup(n *yaml.Node, path string, groups []string, when []condition) {
	entries, _ := d.entries(n, path)
	for _, e := range entries {
		d.decodeParameter(e, join(path, clip(e.key)), groups, when)
		if len(d.errors) >= maxErrors {
			return
		}
	}
}

// parameterKeys are the keys of a parameter.
var parameterKeys = []string{"value", "values", "min", "max", "q", "distribution", "when", "parameters",
	"probabilities", "mu", "sigma"}

// keySet has the keys of a parameter.
type keySet map[string]entry

// has reports whether one of the keys is given.
func (s keySet) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := s[key]; return ok })
}

// valueKeys are those that define the values.
var valueKeys = []string{"value", "values", "probabilities", "min", "max", "q", "mu", "sigma"}

// decodeParameter decodes {value: …}, {values: […]}, {min, max, q,
// distribution} or a group {parameters: {…}}.
func (d *decoder) decodeParameter(e entry, path string, groups []string, when []condition) {
	name := join(strings.Join(groups, "."), e.key)
	switch {
	case e.key == "":
		d.fail(e.where, path, "a parameter needs a name")
		return
	case e.value.Kind == yaml.SequenceNode:
		d.fail(at(e.value), path, "must be a mapping; write {values: […]} for a list")
		return
	case e.value.Kind != yaml.MappingNode:
		d.fail(at(e.value), path, "must be a mapping, not %s; write {value: …} for a single value", kindName(e.value))
		return
	}
	entries, ok := d.entries(e.value, path)
	if !ok {
		return
	}
	given := keySet{}
	for _, item := range entries {
		switch {
		case d.file.Spec.Random == nil && item.key == "probabilities":
			d.fail(item.where, join(path, item.key), "a grid takes every value once; remove the probabilities, or "+
				"write method: random")
			return
		case d.file.Spec.Random == nil && (item.key == "mu" || item.key == "sigma"):
			d.fail(item.where, join(path, item.key), "a grid needs a list of values; a normal distribution goes with "+
				"method: random")
			return
		case slices.Contains(parameterKeys, item.key):
			given[item.key] = item
		default:
			d.failName(item.where, join(path, clip(item.key)), "is not a key of a parameter", item.key, parameterKeys)
			return
		}
	}
	if own, ok := given["when"]; ok {
		when = append(slices.Clip(when), condition{own.value, join(path, "when")})
	}
	if group, ok := given["parameters"]; ok {
		for _, item := range entries {
			if item.key != "parameters" && item.key != "when" {
				d.fail(item.where, join(path, item.key), "cannot stand beside parameters: a group of parameters has "+
					"no values")
				return
			}
		}
		d.decodeGroup(group.value, join(path, "parameters"), append(slices.Clone(groups), e.key), when)
		return
	}
	p := &declaration{name: name, path: path, where: e.where, when: when, groups: groups, key: e.key}
	if first := d.file.declared[name]; first != nil {
		d.fail(e.where, path, "parameter %s is given twice, first in line %d", name, first.where.line)
		return
	}
	if !d.known(p) {
		return
	}
	// Declared even if its values are wrong, so that conditions find it.
	d.declare(p)
	if d.file.Spec.Random == nil || !d.decodeDraw(p, given) {
		d.decodeValues(p, given)
	}
}

// gridDistributions are those that a grid accepts.
var gridDistributions = []string{"constant", "categorical", "int_uniform", "q_uniform"}

func (d *decoder) decodeValues(p *declaration, given keySet) {
	distribution := ""
	if e, ok := given["distribution"]; ok {
		path := join(p.path, "distribution")
		if distribution, ok = d.text(e.value, path); !ok {
			return
		}
		if d.file.Spec.Random == nil && !slices.Contains(gridDistributions, distribution) {
			d.failName(at(e.value), path, fmt.Sprintf(
				"a grid needs a list of values: constant, categorical, int_uniform or q_uniform, not %s; others go "+
					"with method: random", shorten(distribution)),
				distribution, gridDistributions)
			return
		}
		if !d.checkKeys(p, given, distribution) {
			return
		}
	}
	ranged := given.has("min", "max", "q")
	switch {
	case given.has("value") && (given.has("values") || ranged), given.has("values") && ranged:
		d.fail(p.where, p.path, "must have one of value, values, or min and max")
	case given.has("value"):
		n := given["value"].value
		if v, ok := d.coerced(n, d.schema(p.name), join(p.path, "value")); ok {
			p.values.List, p.places = []any{v}, []position{at(n)}
		}
	case given.has("values"):
		d.decodeList(p, given["values"].value)
		if e, ok := given["probabilities"]; ok && len(p.values.List) > 0 {
			d.decodeWeights(p, e)
		}
	case given.has("probabilities"):
		d.fail(given["probabilities"].where, join(p.path, "probabilities"), "goes with values")
	case given.has("min") && given.has("max"):
		d.decodeRange(p, given, distribution)
	case ranged:
		d.fail(p.where, p.path, "needs both min and max")
	default:
		d.fail(p.where, p.path, "needs value, values, or min and max")
	}
}

func (d *decoder) decodeList(p *declaration, n *yaml.Node) {
	path := join(p.path, "values")
	switch {
	case n.Kind != yaml.SequenceNode:
		d.fail(at(n), path, "must be a list, not %s; write {value: …} for a single value", kindName(n))
		return
	case len(n.Content) == 0:
		d.fail(at(n), path, "must have at least one value: an empty list leaves no point")
		return
	}
	schema := d.schema(p.name)
	p.values.List = make([]any, 0, len(n.Content))
	p.places = make([]position, 0, len(n.Content))
	for _, item := range n.Content {
		if v, ok := d.coerced(item, schema, path); ok {
			p.values.List = append(p.values.List, v)
			p.places = append(p.places, at(item))
			p.texts = append(p.texts, follow(item).Value)
		}
		if len(d.errors) >= maxErrors {
			return
		}
	}
}

// bound is a number of a range, exact as written.
type bound struct {
	exact *big.Rat
	value float64
	whole bool // written as an integer, or a whole number where one is expected
}

func (d *decoder) decodeBound(p *declaration, e entry) (bound, bool) {
	path := join(p.path, e.key)
	v := plain(e.value)
	if text, ok := v.(string); ok {
		number := sweep.ParameterSchema{Type: sweep.NumberType}
		v, _ = number.Coerce(text)
		integer := sweep.ParameterSchema{Type: sweep.IntegerType}
		if i, err := integer.Coerce(text); err == nil && !strings.ContainsAny(text, ".eE") {
			v = i
		}
	}
	schema := d.schema(p.name)
	wantInteger := schema != nil && schema.Type == sweep.IntegerType
	switch v := v.(type) {
	case int64:
		return bound{new(big.Rat).SetInt64(v), float64(v), true}, true
	case float64:
		// Longer texts are no decimal that a person wrote.
		const longest = 40
		exact := new(big.Rat).SetFloat64(v)
		if text := strings.ReplaceAll(e.value.Value, "_", ""); len(text) <= longest {
			if written, ok := new(big.Rat).SetString(text); ok {
				exact = written
			}
		}
		return bound{exact, v, wantInteger && v == math.Trunc(v) && math.Abs(v) <= 1<<53}, true
	}
	d.fail(at(e.value), path, "must be a number, not %s", kindName(e.value))
	return bound{}, false
}

// decodeRange decodes min, max and q by the rules of docs/sweep-files.md.
func (d *decoder) decodeRange(p *declaration, given keySet, distribution string) {
	low, ok := d.decodeBound(p, given["min"])
	if !ok {
		return
	}
	high, ok := d.decodeBound(p, given["max"])
	if !ok {
		return
	}
	step := bound{big.NewRat(1, 1), 1, true}
	q, hasStep := given["q"]
	if hasStep {
		if step, ok = d.decodeBound(p, q); !ok {
			return
		}
		if step.value <= 0 {
			d.fail(at(q.value), join(p.path, "q"), "must be above 0")
			return
		}
	}
	where := at(given["min"].value)
	order := low.exact.Cmp(high.exact)
	whole := low.whole && high.whole && step.whole
	switch {
	case order > 0:
		d.fail(at(given["max"].value), join(p.path, "max"), "must not be below min")
		return
	case distribution == "q_uniform":
		if order == 0 {
			d.fail(at(given["max"].value), join(p.path, "max"), "must be above min: q_uniform leaves max itself out")
			return
		}
		p.values.Range = arange(low, high, step, whole)
	case distribution == "int_uniform" && !whole:
		d.fail(where, p.path, "int_uniform needs an integer min and max")
		return
	case order == 0:
		value := any(low.value)
		if low.whole {
			value = int64(low.value)
		}
		if schema := d.schema(p.name); schema != nil {
			var err error
			if value, err = schema.Coerce(value); err != nil {
				d.failCause(where, p.path, err)
				return
			}
		}
		p.values.List, p.places = []any{value}, []position{where}
		return
	case !hasStep && !whole:
		d.fail(where, p.path, "min and max that are not both integers need a step for a grid: add q, or list values")
		return
	case !hasStep:
		p.values.Range = &sweep.Range{Start: low.value, Step: 1, Count: -1, Integer: true}
		if steps := new(big.Rat).Sub(high.exact, low.exact); steps.Num().IsInt64() &&
			steps.Num().Int64() < math.MaxInt64 {
			p.values.Range.Count = steps.Num().Int64() + 1
		}
	default:
		if p.values.Range, ok = inclusive(low, high, step, whole); !ok {
			d.fail(at(q.value), join(p.path, "q"), "must divide max − min: both ends are values; "+
				"distribution: q_uniform leaves max out (and numbers have at most 15 digits)")
			return
		}
	}
	if p.values.Range.Count < 1 || p.values.Range.Count > 1<<53 {
		d.fail(where, p.path, "has more than 2^53 values")
		return
	}
	d.checkRange(p, where)
}

// arange is numpy.arange(low, high, step), bit for bit: high is left out and
// value i is low + i·((low + step) − low).
func arange(low, high, step bound, whole bool) *sweep.Range {
	count := math.Ceil((high.value - low.value) / step.value)
	if !(count <= 1<<53) {
		return &sweep.Range{}
	}
	return &sweep.Range{
		Start: low.value, Step: (low.value + step.value) - low.value, Count: int64(count), Integer: whole,
	}
}

// inclusive is the range with both ends; false if step does not lead exactly from one to the
// other. Fractions are whole numbers divided by a power of ten, so that every value is the
// float64 nearest to its decimal form.
func inclusive(low, high, step bound, whole bool) (*sweep.Range, bool) {
	steps := new(big.Rat).Sub(high.exact, low.exact)
	steps.Quo(steps, step.exact)
	if !steps.IsInt() || !steps.Num().IsInt64() || steps.Num().Int64() == math.MaxInt64 {
		return nil, false
	}
	r := &sweep.Range{Start: low.value, Step: step.value, Count: steps.Num().Int64() + 1, Integer: whole}
	if whole {
		return r, true
	}
	const digits = 15
	limit, scale, ten := big.NewRat(1<<53, 1), big.NewRat(1, 1), big.NewRat(10, 1)
	scaled := func(b bound) *big.Rat { return new(big.Rat).Mul(b.exact, scale) }
	fits := func(r *big.Rat) bool { return new(big.Rat).Abs(r).Cmp(limit) <= 0 }
	for i := range digits + 1 {
		if start, stride := scaled(low), scaled(step); start.IsInt() && stride.IsInt() {
			r.Start, _ = start.Float64()
			r.Step, _ = stride.Float64()
			if i > 0 {
				r.Divisor, _ = scale.Float64()
			}
			return r, fits(start) && fits(scaled(high))
		}
		scale.Mul(scale, ten)
	}
	return nil, false
}

// checkRange checks a range against the trainer's schema. Its ends are enough: the values between
// have the same type and bounds.
func (d *decoder) checkRange(p *declaration, where position) bool {
	schema := d.schema(p.name)
	if schema == nil {
		return true
	}
	r := p.values.Range
	if schema.Type == sweep.IntegerType && !r.Integer {
		d.failCause(where, p.path, &sweep.ParameterError{Parameter: p.name, Problem: "min, max and q must be integers"})
		return false
	}
	if schema.Type == sweep.NumberType {
		r.Integer = false
	}
	check := []int64{0, r.Count - 1}
	if len(schema.Enum) > 0 {
		// More values than the enumeration has cannot all be in it.
		for i := int64(1); i < min(r.Count-1, int64(len(schema.Enum))+1); i++ {
			check = append(check, i)
		}
	}
	for _, i := range check {
		if _, err := schema.Coerce(p.values.At(i)); err != nil {
			d.failCause(where, p.path, err)
			return false
		}
	}
	return true
}
