package file

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// File is a decoded sweep file.
type File struct {
	Name string
	Spec sweep.Spec
	// Grid is the expansion of Spec.
	Grid *sweep.Grid
	// Description is what Options.Describe returned; nil without it.
	Description *sweep.Description
	// Notes are in the order of their places.
	Notes []Note

	// parameters is the place of the key parameters.
	parameters position
	declared   map[string]*declaration
}

// Options tell how to decode.
type Options struct {
	// Describe returns the description of the trainer that the file names. All
	// values are checked against it and take the types that it asks for. Without
	// Describe types are as YAML has them and every parameter is accepted.
	Describe func(trainer string) (*sweep.Description, error)
}

// Described returns Options for a trainer whose description is at hand; nil
// gives the Options without one.
func Described(description *sweep.Description) Options {
	if description == nil {
		return Options{}
	}
	return Options{Describe: func(string) (*sweep.Description, error) { return description, nil }}
}

// Decode reads a sweep file. The name is only used in messages and, without
// directory and extension, as the sweep's name if the file gives none. The
// error is of type Errors: everything that is wrong, in the order of the file.
func Decode(name string, data []byte, options Options) (*File, error) {
	d := &decoder{options: options, file: &File{Name: name, declared: map[string]*declaration{}}}
	d.decode(data)
	if len(d.errors) > 0 {
		d.errors.sort()
		return nil, d.errors
	}
	slices.SortStableFunc(d.file.Notes, func(a, b Note) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return d.file, nil
}

// keys are the top-level keys with a meaning here; foreignKeys those of Weights
// & Biases that have none.
var (
	keys = []string{
		"name", "description", "trainer", "pool", "priority", "method", "metric", "parameters", "replicates",
		"zip", "when", "exclude", "run_cap", "select", "limits", "artifacts",
	}
	foreignKeys = []string{
		"program", "command", "project", "entity", "early_terminate", "controller", "job", "image_uri",
		"scheduler", "apiVersion", "kind", "metrics",
	}
)

type decoder struct {
	options Options
	file    *File
	errors  Errors
	// top are the top-level keys.
	top map[string]entry
	// order lists the declarations as the file has them.
	order []*declaration
}

// add records an error; the first maxErrors count.
func (d *decoder) add(e *Error) {
	if len(d.errors) < maxErrors {
		e.File = d.file.Name
		d.errors = append(d.errors, e)
	}
}

func (d *decoder) fail(where position, key, format string, arguments ...any) {
	d.add(&Error{Line: int(where.line), Column: int(where.column), Key: key, Problem: fmt.Sprintf(format, arguments...)})
}

// failName reports an unknown name with the nearest known one.
func (d *decoder) failName(where position, key, problem, name string, known []string) {
	if len(d.errors) < maxErrors {
		d.add(&Error{Line: int(where.line), Column: int(where.column), Key: key, Problem: problem, Nearest: sweep.Nearest(name, known)})
	}
}

// failCause reports an error of package sweep.
func (d *decoder) failCause(where position, key string, err error) {
	if len(d.errors) < maxErrors {
		d.add(located(where, key, err))
	}
}

func (d *decoder) note(where position, key, format string, arguments ...any) {
	d.file.Notes = append(d.file.Notes, Note{
		File: d.file.Name, Line: int(where.line), Column: int(where.column), Key: key, Text: fmt.Sprintf(format, arguments...),
	})
}

func (d *decoder) decode(data []byte) {
	root := d.parse(data)
	if len(d.errors) > 0 {
		return
	}
	if root == nil || root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		d.fail(start, "", "the file is empty; a sweep file has at least the key parameters")
		return
	}
	entries, _ := d.entries(root, "")
	if entries == nil {
		return
	}
	d.top = make(map[string]entry, len(entries))
	var foreign []entry
	for _, e := range entries {
		switch {
		case slices.Contains(keys, e.key):
			d.top[e.key] = e
		case slices.Contains(foreignKeys, e.key):
			foreign = append(foreign, e)
		default:
			d.unknownKey(e)
		}
	}
	d.noteForeign(foreign)
	d.plainKeys()
	d.describe()
	d.decodeParameters()
	d.decodeReplicates()
	d.decodeSelect()
	if groups := d.decodeZip(); len(d.errors) == 0 {
		d.buildAxes(groups)
		// These compare with the values of the axes, so those must be sound.
		d.decodeConditions()
		d.decodeExclude()
	}
	if len(d.errors) > 0 {
		return
	}
	grid, err := sweep.NewGrid(&d.file.Spec)
	if err != nil {
		where, key := d.file.place(err)
		d.failCause(where, key, err)
		return
	}
	d.file.Grid = grid
}

// unknownKey tells a misspelt key from a parameter at the wrong level.
func (d *decoder) unknownKey(e entry) {
	if e.value.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(e.value.Content); i += 2 {
			if key := e.value.Content[i].Value; key == "value" || key == "values" {
				d.fail(e.where, clip(e.key), "is not a key of a sweep file; a parameter belongs under parameters")
				return
			}
		}
	}
	d.failName(e.where, clip(e.key), "is not a key of a sweep file", e.key, append(append([]string{}, keys...), foreignKeys...))
}

func (d *decoder) noteForeign(foreign []entry) {
	if len(foreign) == 0 {
		return
	}
	names := make([]string, len(foreign))
	for i, e := range foreign {
		names[i] = e.key
	}
	d.note(foreign[0].where, "", "ignored, they mean nothing here: %s", strings.Join(names, ", "))
}

// given returns the value of a top-level key that has one.
func (d *decoder) given(key string) (*yaml.Node, bool) {
	e, ok := d.top[key]
	if !ok || e.value.Kind == yaml.ScalarNode && e.value.ShortTag() == "!!null" {
		return nil, false
	}
	return e.value, true
}

// token is what pools and trainers are called: a pool is part of a subject, a
// trainer of a path.
var token = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

func (d *decoder) token(key string, target *string) {
	if n, ok := d.given(key); ok {
		text, ok := d.text(n, key)
		if ok && !token.MatchString(text) {
			d.fail(at(n), key, "must be letters, digits, - and _, at most 63, not %s", shorten(text))
		}
		*target = text
	}
}

// plainKeys decodes the keys that stand for themselves.
func (d *decoder) plainKeys() {
	spec := &d.file.Spec
	base := filepath.Base(d.file.Name)
	spec.Name = strings.TrimSuffix(base, filepath.Ext(base))
	spec.Trainer, spec.Pool = sweep.DefaultTrainer, sweep.DefaultPool
	spec.Limits = sweep.Limits{Attempts: sweep.DefaultAttempts, Points: sweep.DefaultPoints}
	if n, ok := d.given("name"); ok {
		if text, ok := d.text(n, "name"); ok && strings.TrimSpace(text) != "" {
			spec.Name = text
		}
	}
	if n, ok := d.given("description"); ok {
		spec.Description, _ = d.text(n, "description")
	}
	d.token("trainer", &spec.Trainer)
	d.token("pool", &spec.Pool)
	if n, ok := d.given("priority"); ok {
		priority, _ := d.integer(n, "priority", math.MinInt32, math.MaxInt32)
		spec.Priority = int(priority)
	}
	if n, ok := d.given("run_cap"); ok {
		spec.Cap, _ = d.integer(n, "run_cap", 1, math.MaxInt64)
	}
	if n, ok := d.given("method"); ok {
		if method, ok := d.text(n, "method"); ok && method != "grid" {
			d.fail(at(n), "method", "must be grid, not %s: every point of the grid is run; run_cap limits their number", shorten(method))
		}
	}
	if n, ok := d.given("artifacts"); ok {
		names, nodes, _ := d.texts(n, "artifacts")
		for i, name := range names {
			if name != "weights" {
				d.failName(at(nodes[i]), "artifacts", fmt.Sprintf("must be weights, not %s", shorten(name)), name, []string{"weights"})
			} else if !slices.Contains(spec.Artifacts, name) {
				spec.Artifacts = append(spec.Artifacts, name)
			}
		}
	}
	d.decodeLimits()
}

func (d *decoder) decodeLimits() {
	n, ok := d.given("limits")
	if !ok {
		return
	}
	entries, ok := d.entries(n, "limits")
	if !ok {
		return
	}
	limits := &d.file.Spec.Limits
	for _, e := range entries {
		path := join("limits", e.key)
		switch e.key {
		case "timeout":
			text, ok := d.text(e.value, path)
			if !ok {
				break
			}
			timeout, err := time.ParseDuration(text)
			if err != nil || timeout <= 0 {
				d.fail(at(e.value), path, "must be a duration with its unit, as in 90s, 10m or 1h30m, not %s", shorten(text))
			}
			limits.Timeout = timeout
		case "attempts":
			attempts, _ := d.integer(e.value, path, 1, 1000)
			limits.Attempts = int(attempts)
		case "points":
			points, _ := d.integer(e.value, path, 2, 1_000_000)
			limits.Points = int(points)
		default:
			d.failName(e.where, clip(path), "is not a limit", e.key, []string{"timeout", "attempts", "points"})
		}
	}
}

// describe asks for the description of the trainer.
func (d *decoder) describe() {
	if d.options.Describe == nil || !token.MatchString(d.file.Spec.Trainer) {
		return
	}
	description, err := d.options.Describe(d.file.Spec.Trainer)
	if err != nil {
		where := start
		if e, ok := d.top["trainer"]; ok {
			where = at(e.value)
		}
		d.failCause(where, "trainer", err)
		return
	}
	d.file.Description = description
}

// schema returns what is known about a parameter.
func (d *decoder) schema(name string) *sweep.ParameterSchema {
	if d.file.Description == nil {
		return nil
	}
	return d.file.Description.Parameter(name)
}

func (d *decoder) decodeReplicates() {
	n, ok := d.given("replicates")
	if !ok {
		return
	}
	count, ok := d.integer(n, "replicates", 1, 1<<53)
	if !ok {
		return
	}
	if own, ok := d.file.declared[sweep.SeedParameter]; ok {
		d.fail(d.top["replicates"].where, "replicates", "adds the parameter seed, which line %d gives already; keep one of them", own.where.line)
		return
	}
	seed := &declaration{
		name: sweep.SeedParameter, path: "replicates", where: at(n), implied: true,
		values: sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: count, Integer: true}},
	}
	if !d.known(seed) || !d.checkRange(seed, at(n)) {
		return
	}
	d.declare(seed)
}

// decodeSelect fills Spec.Select from select and from W&B's metric.
func (d *decoder) decodeSelect() {
	selection := &d.file.Spec.Select
	if n, ok := d.given("metric"); ok {
		d.decodeMetric(n)
	}
	n, ok := d.given("select")
	if !ok {
		return
	}
	entries, ok := d.entries(n, "select")
	if !ok {
		return
	}
	fromMetric := *selection
	*selection = sweep.Select{}
	for _, e := range entries {
		path := join("select", e.key)
		switch e.key {
		case "group":
			names, nodes, _ := d.texts(e.value, path)
			for i, name := range names {
				if d.file.declared[name] == nil && d.schema(name) == nil {
					d.failName(at(nodes[i]), path, fmt.Sprintf("this sweep has no parameter %s", shorten(name)), name, d.names())
				}
			}
			selection.Group = names
		case "by":
			selection.By = d.metric(e.value, path)
		case "goal":
			selection.Goal = d.goal(e.value, path)
		default:
			d.failName(e.where, clip(path), "is not a key of select", e.key, []string{"group", "by", "goal"})
		}
	}
	if selection.By == "" {
		selection.By = fromMetric.By
		if selection.Goal == "" {
			selection.Goal = fromMetric.Goal
		}
	}
	d.defaultGoal()
}

// decodeMetric reads {name, goal}; the other keys of W&B's metric guide
// searches that this program does not make.
func (d *decoder) decodeMetric(n *yaml.Node) {
	entries, ok := d.entries(n, "metric")
	if !ok {
		return
	}
	named := false
	for _, e := range entries {
		path := join("metric", e.key)
		switch e.key {
		case "name":
			named = true
			d.file.Spec.Select.By = d.metric(e.value, path)
		case "goal":
			d.file.Spec.Select.Goal = d.goal(e.value, path)
		case "target", "impute", "impute_while_running":
			d.note(e.where, path, "ignored, it means nothing here")
		default:
			d.failName(e.where, clip(path), "is not a key of metric", e.key, []string{"name", "goal"})
		}
	}
	if !named {
		d.fail(at(n), "metric", "needs the key name")
	}
	d.defaultGoal()
}

// metric reads the name of a metric that the trainer has.
func (d *decoder) metric(n *yaml.Node, path string) string {
	name, ok := d.text(n, path)
	if !ok || d.file.Description == nil || d.file.Description.Metric(name) != nil {
		return name
	}
	var known []string
	for _, m := range d.file.Description.Metrics {
		known = append(known, m.Name)
	}
	d.failName(at(n), path, fmt.Sprintf("trainer %s has no metric %s", d.file.Description.Name, shorten(name)), name, known)
	return name
}

func (d *decoder) goal(n *yaml.Node, path string) string {
	goal, ok := d.text(n, path)
	if ok && goal != "minimize" && goal != "maximize" {
		d.failName(at(n), path, fmt.Sprintf("must be minimize or maximize, not %s", shorten(goal)), goal, []string{"minimize", "maximize"})
	}
	return goal
}

// defaultGoal takes the goal from the trainer, else minimize.
func (d *decoder) defaultGoal() {
	selection := &d.file.Spec.Select
	if selection.By == "" || selection.Goal != "" {
		return
	}
	selection.Goal = "minimize"
	if d.file.Description != nil {
		if m := d.file.Description.Metric(selection.By); m != nil && m.Goal != "" {
			selection.Goal = m.Goal
		}
	}
}

// names are the parameters of the sweep and of its trainer.
func (d *decoder) names() []string {
	names := make([]string, 0, len(d.order))
	for _, declared := range d.order {
		names = append(names, declared.name)
	}
	if d.file.Description != nil {
		for _, s := range d.file.Description.Parameters {
			if d.file.declared[s.Name] == nil {
				names = append(names, s.Name)
			}
		}
	}
	return names
}
