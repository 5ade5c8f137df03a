package file

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// chosen is a kind of policy that the file chooses, with what it has for its keys.
type chosen struct {
	*policy.Kind
	values map[string]any
	// sound says that its keys have no fault.
	sound bool
}

// decodeMethod decodes method and the other keys by which policies are chosen, as far as no parameter is needed.
func (d *decoder) decodeMethod() {
	method, where := policy.Kinds[0].Name, start
	if n, ok := d.given(policy.MethodKey); ok {
		where = at(n)
		if method, ok = d.text(n, policy.MethodKey); !ok {
			return
		}
		if d.method != "" && method != d.method {
			d.note(where, policy.MethodKey, "%s is asked for in its place", d.method)
		}
	}
	method = cmp.Or(d.method, method)
	kind := policy.Find(policy.MethodKey, method)
	if kind == nil {
		names := policy.Names(policy.MethodKey)
		d.failName(where, policy.MethodKey, fmt.Sprintf("must be %s, not %s", policy.Or(names), shorten(method)),
			method, names)
		kind = &policy.Kind{}
	} else {
		d.policies = append(d.policies, &chosen{Kind: kind, sound: true})
	}
	if kind.Draws {
		d.file.Spec.Random = &sweep.Random{}
	}
	for _, key := range policy.Keys() {
		if entries, ok := d.section(key); ok {
			d.decodePolicy(key, entries)
		}
	}
	d.chooses = kind
	d.read("batch", "seed")
}

// decodeSeed decodes what the points are drawn by.
func (d *decoder) decodeSeed(e entry, path string) {
	seed, ok := d.integer(e.value, path, -1<<53, 1<<53)
	switch {
	case !ok:
	case d.chooses.Draws:
		d.file.Spec.Random.Seed = seed
	case d.chooses.Name != "":
		d.fail(e.where, path, "belongs to method: %s; a %s draws nothing (a parameter of this name "+
			"belongs under parameters, and replicates gives each point several seeds)", policy.Or(drawing()),
			d.chooses.Name)
	}
}

// drawing are the methods that draw points.
func drawing() []string {
	return policy.Names(policy.MethodKey, func(k *policy.Kind) bool { return !k.Draws })
}

// decodePolicy decodes the keys of a policy. One of several kinds is named by the key type.
func (d *decoder) decodePolicy(key string, entries []entry) {
	kinds := policy.Under(key)
	kind := kinds[0]
	if kind.Name != key {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.key == "type" })
		if i < 0 {
			d.fail(d.top[key].where, key, "needs the key type, as in {type: %s}", kind.Name)
			return
		}
		path, names := join(key, "type"), policy.Names(key)
		name, ok := d.text(entries[i].value, path)
		if !ok {
			return
		}
		if kind = policy.Find(key, name); kind == nil {
			d.failName(at(entries[i].value), path, fmt.Sprintf("must be %s, not %s", policy.Or(names), shorten(name)),
				name, names)
			return
		}
		entries = slices.Delete(slices.Clone(entries), i, i+1)
	}
	before := len(d.errors)
	c := &chosen{Kind: kind, values: map[string]any{}}
	d.policies = append(d.policies, c)
	for _, e := range entries {
		if !d.decodeSetting(c, e) {
			break
		}
	}
	d.excludeOthers(c, entries)
	c.sound = len(d.errors) == before
}

// excludeOthers refuses keys of a second one of the sets of keys of which a policy takes one.
func (d *decoder) excludeOthers(c *chosen, entries []entry) {
	var first []string
	for _, e := range entries {
		i := slices.IndexFunc(c.OneOf, func(set []string) bool { return slices.Contains(set, e.key) })
		switch {
		case i < 0:
		case first == nil:
			first = c.OneOf[i]
		case !slices.Contains(first, e.key):
			before, other := strings.Join(first, " and "), strings.Join(c.OneOf[i], " and ")
			d.fail(e.where, join(c.Key, e.key), "excludes %s: write either %s or %s", before, before, other)
			return
		}
	}
}

// decodeSetting decodes a key of a policy. After a value beyond the bounds the others are not looked at.
func (d *decoder) decodeSetting(c *chosen, e entry) bool {
	path := join(c.Key, e.key)
	i := slices.IndexFunc(c.Keys, func(k policy.Key) bool { return k.Name == e.key })
	switch {
	case i < 0 && c.Foreign != "":
		d.note(e.where, clip(path), "ignored: %s has no such key", c.Foreign)
		return true
	case i < 0:
		var known []string
		whose := c.Name
		if c.Name != c.Key {
			whose, known = fmt.Sprintf("{type: %s}", c.Name), []string{"type"}
		}
		for _, k := range c.Keys {
			known = append(known, k.Name)
		}
		d.failName(e.where, clip(path), "is not a key of "+whose, e.key, known)
		return true
	}
	var value any
	ok := true
	switch k := &c.Keys[i]; k.Type {
	case sweep.IntegerType:
		low, high := k.Bounds()
		value, ok = d.integer(e.value, path, low, high)
	case sweep.BooleanType:
		value = d.boolean(e.value, path)
	case sweep.NumberType:
		schema := sweep.ParameterSchema{Type: sweep.NumberType}
		number, err := schema.Coerce(plain(e.value))
		if err != nil {
			d.fail(at(e.value), path, "must be a number, as in %v, not %s", k.Default, kindName(e.value))
			return true
		}
		if value = number; k.ExclusiveMinimum && number.(float64) <= *k.Minimum { // as the schema has it
			d.fail(at(e.value), path, "must be above %v, as in %v%s", *k.Minimum, k.Default, k.Hint)
			return false
		}
	case policy.MetricType:
		value = d.metric(e.value, path)
	case policy.GoalType:
		value = d.goal(e.value, path)
	default:
		value, ok = d.text(e.value, path)
	}
	if ok {
		c.values[e.key] = value
	}
	return true
}

// decodeBatch decodes the size of generations, for the policies that have some.
func (d *decoder) decodeBatch(e entry, path string) {
	batch, ok := d.integer(e.value, path, 1, policy.MaxBatch)
	methods, others, what := d.batches()
	switch {
	case !ok:
	case slices.ContainsFunc(d.policies, func(c *chosen) bool { return c.Batch != "" }):
		d.batch = batch
	case d.method != "":
		d.note(e.where, path, "has no effect: it belongs to %s and to %s", policy.Or(methods),
			policy.Or(others))
	case d.chooses.Name != "":
		d.fail(e.where, path, "belongs to %s, of which it is %s, and to %s; method: %s chooses none by "+
			"results (a parameter of this name belongs under parameters)", policy.Or(methods), what, policy.Or(others),
			d.chooses.Name)
	}
}

// batches are the methods and other policies that take batch, and what it is for the methods.
func (d *decoder) batches() (methods, others []string, what string) {
	for _, k := range policy.Kinds {
		switch {
		case k.Batch == "":
		case k.Key == policy.MethodKey:
			methods = append(methods, k.Text())
			what, _, _ = strings.Cut(k.Batch, ",")
		default:
			others = append(others, k.Text())
		}
	}
	return methods, others, what
}

// searches reports whether results choose the points.
func (d *decoder) searches() bool {
	return slices.ContainsFunc(d.policies, func(c *chosen) bool { return c.Search })
}

// oneObjective is why a search by results with several metrics is refused.
const oneObjective = "a search by results has one objective: name one metric, as in metric: {name: loss, goal: " +
	"minimize}; a program can log a weighted sum of several as one"

// checkObjectives reports whether a search by results has one metric at most.
func (d *decoder) checkObjectives() bool {
	if e, ok := d.top["metric"]; !d.searches() || ok && e.value.Kind == yaml.SequenceNode {
		return !d.searches() // decodeMetric has refused it
	}
	for _, e := range d.ignored {
		if e.key == "metrics" {
			d.fail(e.where, "metrics", oneObjective)
			return false
		}
	}
	return true
}

// decodePolicies fills Spec.Policies, when the parameters and metrics are known.
func (d *decoder) decodePolicies() {
	single := d.checkObjectives()
	for _, c := range d.policies {
		if c.SeedFirst {
			slices.SortStableFunc(d.order, func(a, b *declaration) int {
				return seedFirst(a) - seedFirst(b)
			})
		}
		if c.New == nil || c.Search && !single {
			continue
		}
		settings := c.New()
		_, replicates := d.given("replicates")
		err := policy.Read(settings, c.values, &policy.File{
			Spec: &d.file.Spec, Description: d.description, Target: d.target, Names: d.names, Replicates: replicates,
			Batch: d.batch, Sound: c.sound, AllSound: len(d.errors) == 0,
			Values: func(parameter string) (sweep.Values, bool) {
				if p := d.file.declared[parameter]; p != nil {
					return p.values, true
				}
				return sweep.Values{}, false
			},
		})
		if err != nil {
			d.failPolicy(err)
			continue
		}
		d.file.Spec.Policies = append(d.file.Spec.Policies, policy.Of(settings))
	}
}

// seedFirst is 0 for the seed, 1 for other parameters.
func seedFirst(p *declaration) int {
	if p.name == sweep.SeedParameter {
		return 0
	}
	return 1
}

// failPolicy reports an error of package policy, of a policy at its key.
func (d *decoder) failPolicy(err error) {
	refused, is := errors.AsType[*policy.Error](err)
	if !is {
		d.add(d.file.locate(err))
		return
	}
	top, _, _ := strings.Cut(refused.Key, ".")
	where := start
	if e, ok := d.top[top]; ok {
		where = e.where
	}
	e := d.file.errorAt(where, refused.Key, refused.Problem)
	e.Nearest = refused.Nearest
	d.add(e)
}
