package file

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// decodeMethod decodes method and what belongs to a random search.
func (d *decoder) decodeMethod() {
	method := "grid"
	n, ok := d.given("method")
	if ok {
		if method, ok = d.text(n, "method"); !ok {
			return
		}
	}
	if d.method != "" {
		if ok && method != d.method {
			d.note(at(n), "method", "%s is asked for in its place", d.method)
		}
		ok, method = true, d.method
	}
	if ok {
		where := start
		if n != nil {
			where = at(n)
		}
		switch method {
		case "grid":
		case "random":
			d.file.Spec.Random = &sweep.Random{}
		case "bayes":
			d.fail(where, "method", "bayes chooses each point by the results before it, which is not done here: "+
				"write method: random, or --method random, which draws from the same distributions, with run_cap for "+
				"the number of trials; or method: grid")
		default:
			d.failName(where, "method", fmt.Sprintf("must be grid or random, not %s", shorten(method)), method,
				[]string{"grid", "random"})
		}
	}
	if n, ok := d.given("seed"); ok {
		seed, ok := d.integer(n, "seed", -1<<53, 1<<53)
		switch {
		case !ok:
		case d.file.Spec.Random != nil:
			d.file.Spec.Random.Seed = seed
		case method == "grid":
			d.fail(d.top["seed"].where, "seed", "belongs to method: random; a grid draws nothing (a parameter of "+
				"this name belongs under parameters, and replicates gives each point several seeds)")
		}
	}
	if e, ok := d.top["early_terminate"]; ok {
		d.note(e.where, "early_terminate", "is not done: every trial runs to its end; limits: {timeout: 1h} bounds "+
			"its time")
	}
}

// checkRandom refuses what a random search cannot have: no end, and exclusions.
func (d *decoder) checkRandom() {
	if d.file.Spec.Random == nil {
		return
	}
	if d.file.Spec.Cap == 0 {
		where := start
		if e, ok := d.top["method"]; ok {
			where = e.where
		}
		d.failCause(where, "method", sweep.ErrEndless)
	}
	if e, ok := d.top["exclude"]; ok {
		d.failCause(e.where, "exclude", sweep.ErrExcluded)
	}
}

// draws are the distributions that only a random search draws from, with the keys
// that each takes; those in the second list may be absent.
var draws = map[string][2][]string{
	"uniform":                {{"min", "max"}, nil},
	"log_uniform":            {{"min", "max"}, nil},
	"log_uniform_values":     {{"min", "max"}, nil},
	"inv_log_uniform":        {{"min", "max"}, nil},
	"inv_log_uniform_values": {{"min", "max"}, nil},
	"q_log_uniform":          {{"min", "max"}, {"q"}},
	"q_log_uniform_values":   {{"min", "max"}, {"q"}},
	"normal":                 {nil, {"mu", "sigma"}},
	"log_normal":             {nil, {"mu", "sigma"}},
	"q_normal":               {nil, {"mu", "sigma", "q"}},
	"q_log_normal":           {nil, {"mu", "sigma", "q"}},
	"q_uniform":              {{"min", "max"}, {"q"}},
}

// kinds are the sweep's names of these distributions, without q_.
var kinds = map[string]sweep.DistributionKind{
	"uniform": sweep.UniformDistribution, "log_uniform": sweep.LogUniformDistribution,
	"log_uniform_values": sweep.LogUniformValuesDistribution, "inv_log_uniform": sweep.InverseLogUniformDistribution,
	"inv_log_uniform_values": sweep.LogUniformValuesDistribution,
	"normal":                 sweep.NormalDistribution, "log_normal": sweep.LogNormalDistribution,
}

// decodeDraw decodes a parameter of a random search that has ends, or mean and
// deviation; false if it has neither, and is decoded like one of a grid.
func (d *decoder) decodeDraw(p *declaration, given map[string]entry) bool {
	var name string
	if e, ok := given["distribution"]; ok {
		path := join(p.path, "distribution")
		if name, ok = d.text(e.value, path); !ok {
			return true
		}
		switch _, known := draws[name]; {
		case name == "beta" || name == "q_beta":
			d.fail(at(e.value), path, "%s is not among the distributions here: uniform or normal with min and max or "+
				"mu and sigma come near", name)
			return true
		case !known && distributions[name] == nil:
			d.failName(at(e.value), path, shorten(name)+" is no distribution", name, distributionNames())
			return true
		case !known:
			return false
		}
	} else if name = d.impliedDraw(given); name == "" {
		return false
	}
	if !d.checkKeys(p, given, name) {
		return true
	}
	number := func(key string, otherwise float64) (bound, bool) {
		if e, ok := given[key]; ok {
			return d.decodeBound(p, e)
		}
		return bound{value: otherwise, whole: otherwise == math.Trunc(otherwise)}, true
	}
	lowKey, highKey := "min", "max"
	if strings.HasSuffix(name, "normal") {
		lowKey, highKey = "mu", "sigma"
	}
	low, ok := number(lowKey, 0)
	high, alsoOK := number(highKey, 1)
	if !ok || !alsoOK {
		return true
	}
	distribution := &sweep.Distribution{Kind: kinds[strings.TrimPrefix(name, "q_")], Low: low.value, High: high.value}
	if strings.HasPrefix(name, "q_") {
		step, ok := number("q", 1)
		if !ok {
			return true
		}
		if step.value <= 0 {
			d.fail(at(given["q"].value), join(p.path, "q"), "must be above 0")
			return true
		}
		distribution.Step, distribution.Integer = step.value, step.whole
	}
	p.values.Distribution = distribution
	return true
}

// impliedDraw is the distribution of a parameter that names none: between ends
// that are not both integers it is uniform, and q makes it q_uniform.
func (d *decoder) impliedDraw(given map[string]entry) string {
	_, hasMin := given["min"]
	_, hasMax := given["max"]
	_, hasStep := given["q"]
	_, hasMean := given["mu"]
	_, hasDeviation := given["sigma"]
	switch {
	case hasMean || hasDeviation:
		if hasStep {
			return "q_normal"
		}
		return "normal"
	case !hasMin || !hasMax:
		return ""
	case hasStep:
		return "q_uniform"
	case isInteger(given["min"].value) && isInteger(given["max"].value):
		return ""
	default:
		return "uniform"
	}
}

// isInteger reports whether a node is written as an integer.
func isInteger(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	v, err := scalar(n)
	if err != nil {
		return false
	}
	_, whole := v.(int64)
	return whole
}

// checkKeys reports whether a parameter has the keys of its distribution.
func (d *decoder) checkKeys(p *declaration, given map[string]entry, name string) bool {
	needs, may := draws[name][0], draws[name][1]
	for _, key := range valueKeys {
		e, there := given[key]
		switch {
		case there && !slices.Contains(needs, key) && !slices.Contains(may, key):
			d.fail(e.where, join(p.path, key), "does not go with distribution: %s, which takes %s", name,
				strings.Join(slices.Concat(needs, may), ", "))
			return false
		case !there && slices.Contains(needs, key):
			d.fail(p.where, p.path, "distribution: %s needs the key %s", name, key)
			return false
		}
	}
	return true
}

func distributionNames() []string {
	names := []string{"constant", "categorical", "int_uniform"}
	for name := range draws {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// decodeWeights decodes the probabilities of a list, from which nothing has been
// dropped yet.
func (d *decoder) decodeWeights(p *declaration, e entry) {
	path := join(p.path, "probabilities")
	if e.value.Kind != yaml.SequenceNode {
		d.fail(at(e.value), path, "must be a list of numbers, one for each value, not %s", kindName(e.value))
		return
	}
	if len(e.value.Content) != len(p.values.List) {
		d.fail(at(e.value), path, "must be one for each value: there are %d values and %d probabilities",
			len(p.values.List), len(e.value.Content))
		return
	}
	var total float64
	low := 0.0
	schema := sweep.ParameterSchema{Name: "probability", Type: sweep.NumberType, Minimum: &low}
	weights := make([]float64, 0, len(p.values.List))
	for _, item := range e.value.Content {
		v, ok := d.coerced(item, &schema, path)
		if !ok {
			return
		}
		weights = append(weights, v.(float64)) // as the schema has it
		total += v.(float64)
	}
	if math.Abs(total-1) > 1e-6 {
		d.fail(at(e.value), path, "must add up to 1, not to %.6g", total)
		return
	}
	p.values.Weights = weights
}
