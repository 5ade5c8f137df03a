package file

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// Methods are the values of the key method.
var Methods = []string{"grid", "random", "sobol", "bayes"}

// decodeMethod decodes method and what belongs to a search that draws its points.
func (d *decoder) decodeMethod() {
	method, where := "grid", start
	if n, ok := d.given("method"); ok {
		where = at(n)
		if method, ok = d.text(n, "method"); !ok {
			return
		}
		if d.method != "" && method != d.method {
			d.note(where, "method", "%s is asked for in its place", d.method)
		}
	}
	switch method = cmp.Or(d.method, method); method {
	case "grid":
	case "random":
		d.file.Spec.Random = &sweep.Random{}
	case "sobol":
		d.file.Spec.Random = &sweep.Random{Sobol: true}
	case "bayes":
		d.file.Spec.Random = &sweep.Random{Bayes: &sweep.Bayes{Batch: sweep.DefaultBatch}}
	default:
		d.failName(where, "method", fmt.Sprintf("must be grid, random, sobol or bayes, not %s", shorten(method)),
			method, Methods)
	}
	d.decodeStopping()
	d.decodeBatch(method)
	if n, ok := d.given("seed"); ok {
		seed, ok := d.integer(n, "seed", -1<<53, 1<<53)
		switch {
		case !ok:
		case d.file.Spec.Random != nil:
			d.file.Spec.Random.Seed = seed
		case method == "grid":
			d.fail(d.top["seed"].where, "seed", "belongs to method: random, sobol or bayes; a grid draws nothing (a "+
				"parameter of this name belongs under parameters, and replicates gives each point several seeds)")
		}
	}
}

// decodeBatch decodes the size of the generations of a search by results, or of a sweep whose trials are stopped by the
// median.
func (d *decoder) decodeBatch(method string) {
	n, ok := d.given("batch")
	if !ok {
		return
	}
	batch, ok := d.integer(n, "batch", 1, sweep.MostBatch)
	switch random := d.file.Spec.Random; {
	case !ok:
	case d.bayes() || d.median() != nil:
		if d.bayes() {
			random.Bayes.Batch = batch
		}
		if m := d.median(); m != nil {
			m.Batch = batch
		}
	case d.method != "":
		d.note(d.top["batch"].where, "batch", "has no effect: it belongs to method: bayes and to early_terminate: "+
			"{type: median}")
	case slices.Contains(Methods, method):
		d.fail(d.top["batch"].where, "batch", "belongs to method: bayes, of which it is how many points are chosen at "+
			"a time, and to early_terminate: {type: median}; method: %s chooses none by results (a parameter of this "+
			"name belongs under parameters)", method)
	}
}

// bayes reports whether results choose the points.
func (d *decoder) bayes() bool { return d.file.Spec.Random != nil && d.file.Spec.Random.Bayes != nil }

// oneObjective is why a search by results with several metrics is refused.
const oneObjective = "a search by results has one objective: name one metric, as in metric: {name: loss, goal: " +
	"minimize}; a program can log a weighted sum of several as one"

// checkObjective refuses a search by results without a metric, or with several.
func (d *decoder) checkObjective() {
	if !d.bayes() {
		return
	}
	if e, ok := d.top["metric"]; ok && e.value.Kind == yaml.SequenceNode {
		return // decodeMetric has refused it
	}
	for _, e := range d.ignored {
		if e.key == "metrics" {
			d.fail(e.where, "metrics", oneObjective)
			return
		}
	}
	known := d.description != nil && d.file.Spec.Select.Filled(d.description).By == ""
	if by := d.file.Spec.Select.By; by == "" && (known || d.script()) {
		where := start
		if e, ok := d.top["method"]; ok {
			where = e.where
		}
		d.fail(where, "method", "bayes needs the metric that is to be small or large, as in metric: {name: loss, "+
			"goal: minimize}")
	}
}

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
