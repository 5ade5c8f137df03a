package file

import (
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// checkRandom refuses what a search that draws its points cannot have: no end, and exclusions.
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

// distribution is a distribution that files can name.
type distribution struct {
	needs, may []string // keys
	// kind is what a random search draws from, "" for the values that a grid would have, too.
	kind sweep.DistributionKind
}

var (
	ends        = []string{"min", "max"}
	moments     = []string{"mu", "sigma"}
	momentsStep = []string{"mu", "sigma", "q"}
	stepOnly    = []string{"q"}
)

// distributions are all of them by name.
var distributions = map[string]distribution{
	"constant":               {needs: []string{"value"}},
	"categorical":            {needs: []string{"values"}, may: []string{"probabilities"}},
	"int_uniform":            {needs: ends},
	"uniform":                {ends, nil, sweep.UniformDistribution},
	"log_uniform":            {ends, nil, sweep.LogUniformDistribution},
	"log_uniform_values":     {ends, nil, sweep.LogUniformValuesDistribution},
	"inv_log_uniform":        {ends, nil, sweep.InverseLogUniformDistribution},
	"inv_log_uniform_values": {ends, nil, sweep.LogUniformValuesDistribution},
	"normal":                 {nil, moments, sweep.NormalDistribution},
	"log_normal":             {nil, moments, sweep.LogNormalDistribution},
	"q_uniform":              {ends, stepOnly, sweep.UniformDistribution},
	"q_log_uniform":          {ends, stepOnly, sweep.LogUniformDistribution},
	"q_log_uniform_values":   {ends, stepOnly, sweep.LogUniformValuesDistribution},
	"q_normal":               {nil, momentsStep, sweep.NormalDistribution},
	"q_log_normal":           {nil, momentsStep, sweep.LogNormalDistribution},
}

// decodeDraw decodes a parameter of a random search with ends, or mean and deviation; false if it
// has neither and is decoded as in a grid.
func (d *decoder) decodeDraw(p *declaration, given keySet) bool {
	var name string
	if e, ok := given["distribution"]; ok {
		path := join(p.path, "distribution")
		if name, ok = d.text(e.value, path); !ok {
			return true
		}
		switch named, known := distributions[name]; {
		case name == "beta" || name == "q_beta":
			d.fail(at(e.value), path, "%s is not among the distributions here: uniform or normal with min and max or "+
				"mu and sigma come near", name)
			return true
		case !known:
			d.failName(at(e.value), path, shorten(name)+" is no distribution", name,
				slices.Sorted(maps.Keys(distributions)))
			return true
		case named.kind == "":
			return false
		}
	} else if name = impliedDraw(given); name == "" {
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
	drawn := &sweep.Distribution{Kind: distributions[name].kind, Low: low.value, High: high.value}
	if strings.HasPrefix(name, "q_") {
		step, ok := number("q", 1)
		if !ok {
			return true
		}
		if step.value <= 0 {
			d.fail(at(given["q"].value), join(p.path, "q"), "must be above 0")
			return true
		}
		drawn.Step, drawn.Integer = step.value, step.whole
	}
	p.values.Distribution = drawn
	d.noteExponents(p, name, given)
	return true
}

// noteExponents says what a distribution by exponents draws if its ends look like the ends of the values.
func (d *decoder) noteExponents(p *declaration, name string, given keySet) {
	low, high := p.values.Distribution.Low, p.values.Distribution.High
	switch kind := p.values.Distribution.Kind; {
	case kind != sweep.LogUniformDistribution && kind != sweep.InverseLogUniformDistribution:
		return
	case low < 0, low >= 0.1 && high > 1 && high <= 30, low == 0 && high > 1:
		return
	}
	drawn := [2]float64{math.Exp(low), math.Exp(high)}
	if strings.Contains(name, "inv_") {
		drawn = [2]float64{math.Exp(-high), math.Exp(-low)}
	}
	where := p.where
	if e, ok := given["distribution"]; ok {
		where = e.where
	}
	d.note(where, join(p.path, "distribution"), "%s takes min and max as exponents, as W&B does: it draws values from "+
		"%.6g to %.6g; if %.6g and %.6g are the ends of the values, write distribution: %s_values", name, drawn[0],
		drawn[1], low, high, name)
}

// impliedDraw is the distribution of a parameter that names none: uniform between ends that are
// not both integers, q_uniform with q.
func impliedDraw(given keySet) string {
	switch {
	case given.has("mu", "sigma") && given.has("q"):
		return "q_normal"
	case given.has("mu", "sigma"):
		return "normal"
	case !given.has("min") || !given.has("max"):
		return ""
	case given.has("q"):
		return "q_uniform"
	case isInteger(given["min"]) && isInteger(given["max"]):
		return ""
	default:
		return "uniform"
	}
}

// isInteger reports whether a value is written as an integer.
func isInteger(e entry) bool {
	_, whole := plain(e.value).(int64)
	return whole
}

// checkKeys reports whether a parameter has the keys of its distribution.
func (d *decoder) checkKeys(p *declaration, given keySet, name string) bool {
	needs := distributions[name].needs
	takes := slices.Concat(needs, distributions[name].may)
	if d.file.Spec.Random == nil {
		takes = slices.DeleteFunc(takes, func(key string) bool { return key == "probabilities" })
	}
	for _, key := range valueKeys {
		e, there := given[key]
		switch {
		case there && !slices.Contains(takes, key):
			d.fail(e.where, join(p.path, key), "does not go with distribution: %s, which takes %s", name,
				strings.Join(takes, ", "))
			return false
		case !there && slices.Contains(needs, key):
			d.fail(p.where, p.path, "distribution: %s needs the key %s", name, key)
			return false
		}
	}
	return true
}

// decodeWeights decodes the probabilities of a list with its repeated values.
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
