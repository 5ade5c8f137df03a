package file

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// File is a decoded sweep file.
type File struct {
	Name string
	Spec sweep.Spec
	// Grid is the expansion of Spec.
	Grid *sweep.Grid
	// Notes say, each with its place as an Error, what the writer should know and what does not
	// stop the sweep: keys without effect, repeated values, conditions on values that no point
	// has.
	Notes []string

	// parameters, exclude and program are the places of these keys; program is that of command
	// in a file without one.
	parameters, exclude, program position
	declared                     map[string]*declaration
}

// Options tell how to decode.
type Options struct {
	// Description is that of the trainer that the file names (see Trainer). Values are checked
	// against it and take its types. Without it all parameters are accepted, with the types of
	// YAML.
	Description *sweep.Description
	// Count, if not 0, limits the number of points as run_cap does; the smaller one counts.
	Count int64
	// Method, if not empty, replaces the key method.
	Method string
}

// Decode reads a sweep file. Its name is for messages and, without directory and extension, the
// default name of the sweep. The error is of type Errors: everything that is wrong, in the order
// of the file.
func Decode(name string, data []byte, options Options) (*File, error) {
	d := newDecoder(name)
	// An open trainer takes what the file has.
	if options.Description != nil && !options.Description.Open {
		d.description = options.Description
	}
	d.count, d.method = options.Count, options.Method
	d.decode(data)
	if len(d.errors) > 0 {
		slices.SortStableFunc(d.errors, (*Error).compare)
		return nil, d.errors
	}
	slices.SortStableFunc(d.notes, (*Error).compare)
	for _, note := range d.notes {
		d.file.Notes = append(d.file.Notes, note.Error())
	}
	return d.file, nil
}

// Trainer returns the trainer that a sweep file names, whose description Decode takes. Without
// a name it is sweep.ScriptTrainer for a file with a program, else sweep.DefaultTrainer. The
// errors are only those that hide the name.
func Trainer(name string, data []byte) (string, error) {
	d := newDecoder(name)
	d.readTop(data)
	d.decodeTrainer()
	if len(d.errors) > 0 {
		slices.SortStableFunc(d.errors, (*Error).compare)
		return "", d.errors
	}
	return d.file.Spec.Trainer, nil
}

// LocateTrainer returns err, which is about the trainer that a file names, as an *Error, which
// wraps it, at the place of the name; without a name at the beginning of the file.
func LocateTrainer(name string, data []byte, err error) error {
	d := newDecoder(name)
	d.readTop(data)
	where := start
	if n, ok := d.given("trainer"); ok {
		where = at(n)
	}
	return d.file.located(where, "trainer", err)
}

// keys are the top-level keys with a meaning here; foreignKeys those of Weights
// & Biases that have none.
var (
	keys = append(slices.Sorted(maps.Keys(fieldSchemas(topFields(&sweep.Spec{}, anyNames)))),
		append(policy.Keys(), policy.MethodKey)...)
	foreignKeys = []string{"controller", "job", "image_uri", "scheduler", "apiVersion", "kind", "metrics"}
)

type decoder struct {
	description *sweep.Description
	file        *File
	errors      Errors
	notes       Errors
	// top are the top-level keys.
	top map[string]entry
	// fields are the keys that it may have.
	fields []field
	// order lists the declarations as the file has them.
	order []*declaration
	// matched counts the values in matches.
	matched int
	// count and method are Options.Count and Options.Method.
	count  int64
	method string
	// target is the metric that the key metric names, with its goal; empty if it names none.
	target sweep.Select
	// policies are the kinds that the file chooses, and batch the value of this key, 0 without one.
	policies []*chosen
	batch    int64
	// chooses is the kind that method names, an empty one if it names none.
	chooses *policy.Kind
	// ignored are the keys that mean nothing here.
	ignored []entry
	// written is how many conditions the file has itself; the trainer's follow.
	written int
}

func newDecoder(name string) *decoder {
	d := &decoder{file: &File{Name: name, declared: map[string]*declaration{}}, top: map[string]entry{}}
	base := filepath.Base(name)
	d.file.Spec = sweep.Spec{
		Name: strings.TrimSuffix(base, filepath.Ext(base)), Trainer: sweep.DefaultTrainer, Pool: sweep.DefaultPool,
		Limits: sweep.Limits{Attempts: sweep.DefaultAttempts, Points: sweep.DefaultPoints, Errors: sweep.DefaultErrors},
		Canary: true,
	}
	d.file.parameters, d.fields = start, topFields(&d.file.Spec, anyNames)
	return d
}

// add records an error; the first maxErrors count.
func (d *decoder) add(e *Error) {
	if len(d.errors) < maxErrors {
		d.errors = append(d.errors, e)
	}
}

func (d *decoder) fail(where position, key, format string, arguments ...any) {
	d.add(d.file.errorAt(where, key, fmt.Sprintf(format, arguments...)))
}

// failName reports an unknown name with the nearest known one.
func (d *decoder) failName(where position, key, problem, name string, known []string) {
	if len(d.errors) < maxErrors { // finding the nearest name takes time
		e := d.file.errorAt(where, key, problem)
		e.Nearest = sweep.Nearest(name, known)
		d.add(e)
	}
}

// failCause reports an error of package sweep.
func (d *decoder) failCause(where position, key string, err error) {
	d.add(d.file.located(where, key, err))
}

func (d *decoder) note(where position, key, format string, arguments ...any) {
	d.notes = append(d.notes, d.file.errorAt(where, key, fmt.Sprintf(format, arguments...)))
}

func (d *decoder) decode(data []byte) {
	unknown := d.readTop(data)
	if len(d.top) == 0 && len(d.errors) > 0 {
		return
	}
	d.decodeTrainer()
	d.sortOut(unknown)
	d.decodePlain()
	d.decodeMethod()
	d.checkRandom()
	d.decodeScript()
	d.noteIgnored()
	d.read("limits", "budget", "requires")
	if e, ok := d.top["parameters"]; ok {
		d.decodeParameters(e, "parameters")
	} else {
		d.fail(start, "parameters", "is required: a mapping of parameter names to values")
	}
	d.read("replicates", "metric", "select")
	d.decodePolicies()
	if d.read("keep", "zip"); len(d.errors) == 0 {
		d.buildAxes()
		// These compare with the values of the axes, so those must be sound.
		d.decodeConditions()
		d.read("when", "exclude")
		if len(d.errors) == 0 {
			d.decodeApplies()
		}
	}
	if len(d.errors) > 0 {
		return
	}
	d.describeScript()
	if err := cmp.Or(d.file.Spec.CheckNames(), d.file.Spec.Check()); err != nil {
		d.add(d.file.locate(err))
		return
	}
	grid, err := policy.NewGrid(&d.file.Spec)
	if own := d.file.Spec.Conditions; err != nil && d.description != nil && d.written < len(own) {
		// There may be too many combinations to look at for the trainer's conditions.
		d.file.Spec.Conditions = own[:d.written]
		if grid, err = policy.NewGrid(&d.file.Spec); err == nil {
			d.note(d.file.parameters, "parameters", "points that differ only in parameters which do not apply are "+
				"not told from each other: there are too many combinations")
		}
	}
	if err != nil {
		d.failPolicy(err)
		return
	}
	d.file.Grid = grid
	d.checkGroups()
	d.checkAbsent()
}

// readTop parses the file and fills d.top; it returns the keys that are not ours.
func (d *decoder) readTop(data []byte) (others []entry) {
	root := d.parse(data)
	if len(d.errors) > 0 {
		return nil
	}
	if root == nil || root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		d.fail(start, "", "the file is empty; a sweep file has at least the key parameters")
		return nil
	}
	entries, _ := d.entries(root, "")
	for _, e := range entries {
		if slices.Contains(keys, e.key) {
			d.top[e.key] = e
		} else {
			others = append(others, e)
		}
	}
	return others
}

// sortOut separates the keys that have no effect from unknown ones, which are errors. W&B only warns of keys
// that it does not know, so files of programs have some; one that is nearly a key of ours is an error there too.
func (d *decoder) sortOut(others []entry) {
	known := slices.Concat(keys, foreignKeys)
	_, program := d.top["program"]
	for _, e := range others {
		foreign := program && e.value.Kind == yaml.ScalarNode && sweep.Nearest(e.key, known) == ""
		if foreign || slices.Contains(foreignKeys, e.key) {
			d.ignored = append(d.ignored, e)
		} else {
			d.unknownKey(e)
		}
	}
}

func (d *decoder) noteIgnored() {
	slices.SortFunc(d.ignored, func(a, b entry) int { return int(a.where.line) - int(b.where.line) })
	names := make([]string, len(d.ignored))
	for i, e := range d.ignored {
		names[i] = e.key
	}
	if len(names) > 0 {
		d.note(d.ignored[0].where, "", "ignored, they mean nothing here: %s", strings.Join(names, ", "))
	}
}

// unknownKey reports a misspelt key, or a parameter at the wrong level.
func (d *decoder) unknownKey(e entry) {
	if e.value.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(e.value.Content); i += 2 {
			if key := e.value.Content[i].Value; key == "value" || key == "values" {
				d.fail(e.where, clip(e.key), "is not a key of a sweep file; a parameter belongs under parameters")
				return
			}
		}
	}
	d.failName(e.where, clip(e.key), "is not a key of a sweep file", e.key, slices.Concat(keys, foreignKeys))
}

// given returns the value of a top-level key that has one.
func (d *decoder) given(key string) (*yaml.Node, bool) {
	e, ok := d.top[key]
	if !ok || e.value.Kind == yaml.ScalarNode && e.value.ShortTag() == "!!null" {
		return nil, false
	}
	return e.value, true
}

// section returns the entries of a top-level key that has some.
func (d *decoder) section(key string) ([]entry, bool) {
	n, ok := d.given(key)
	if !ok {
		return nil, false
	}
	return d.entries(n, key)
}

// token is the form of the names of pools, which are parts of subjects, and of trainers, which
// are parts of paths.
var token = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`) })

// label is the form of the names of sweeps: one line. Bounding it to 200 characters in the
// pattern would slow down every start of the program.
var label = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^\pC\s][^\pC]*$`)
})

func isLabel(text string) bool {
	return utf8.RuneCountInString(text) <= 200 && label().MatchString(text)
}

func (d *decoder) plainToken(key string, target *string) {
	if n, ok := d.given(key); ok {
		text, ok := d.text(n, key)
		if ok && !token().MatchString(text) {
			d.fail(at(n), key, "must be letters, digits, - and _, at most 63, not %s", shorten(text))
		}
		*target = text
	}
}

// decodePlain decodes the keys that stand for themselves.
func (d *decoder) decodePlain() {
	spec := &d.file.Spec
	for _, f := range plainFields(spec) {
		d.read(f.name)
	}
	if d.count > 0 && (spec.Cap == 0 || d.count < spec.Cap) {
		spec.Cap = d.count
	}
	d.read("artifacts")
}

// schema returns what is known about a parameter.
func (d *decoder) schema(name string) *sweep.ParameterSchema {
	if d.description == nil {
		return nil
	}
	return d.description.Parameter(name)
}

func (d *decoder) decodeReplicates(e entry, path string) {
	count, ok := d.integer(e.value, path, 1, 1<<53)
	if !ok {
		return
	}
	if own, ok := d.file.declared[sweep.SeedParameter]; ok {
		d.fail(e.where, path, "adds the parameter seed, which line %d gives already; keep "+
			"one of them", own.where.line)
		return
	}
	seed := &declaration{
		name: sweep.SeedParameter, path: path, where: at(e.value), implied: true,
		values: sweep.Values{Range: &sweep.Range{Start: 1, Step: 1, Count: count, Integer: true}},
	}
	if !d.known(seed) || !d.checkRange(seed, at(e.value)) {
		return
	}
	if d.file.Spec.Random != nil {
		d.file.Spec.Random.Replicated = true
	}
	d.declare(seed)
}

// names are the parameters of the sweep and of its trainer.
func (d *decoder) names() []string {
	names := d.declaredNames()
	if d.description != nil {
		for _, s := range d.description.Parameters {
			if d.file.declared[s.Name] == nil {
				names = append(names, s.Name)
			}
		}
	}
	return names
}
