package file

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// macros are those of a command, as ${args}.
var macros = []string{
	"env", "interpreter", "program", "args", "args_no_hyphens", "args_no_boolean_flags", "args_json",
	"args_json_file", "args_no_equals",
}

var (
	macro  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^{}]*)\}`) })
	envvar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^envvar:[A-Za-z_][A-Za-z0-9_]*$`) })
)

// decodeTrainer finds the trainer: without a name, the one that runs the file's program.
func (d *decoder) decodeTrainer() {
	d.read("trainer")
	_, named := d.given("trainer")
	_, program := d.given("program")
	_, command := d.given("command")
	if !named && (program || command) {
		d.file.Spec.Trainer = sweep.ScriptTrainer
	}
}

// script reports whether the file has a program that is run for each trial.
func (d *decoder) script() bool { return d.file.Spec.Trainer == sweep.ScriptTrainer }

// programField is a key of files with a program. Another trainer refuses it, for a reason, or ignores it.
type programField struct {
	field
	refused string
}

// programFields are the keys of files with a program.
var programFields = []programField{
	{field{"program", textSchema("The program that is run for each trial, as in train.py."),
		func(d *decoder, e entry, path string) {
			s := d.file.Spec.Script
			if s.Program, _ = d.text(e.value, path); strings.TrimSpace(s.Program) == "" {
				d.fail(at(e.value), path, "must name a file")
			}
		}}, ""},
	{field{"command", documented(object{"type": "array", "minItems": 1,
		"items": object{"type": []string{"string", "number", "boolean"}}, "default": sweep.DefaultCommand},
		"The command line of program, as a list of words with macros such as ${program} and ${args}."),
		func(d *decoder, e entry, _ string) { d.file.Spec.Script.Command = d.decodeCommand(e.value) }}, ""},
	{field{"files", documented(oneOrMore(object{"type": "string"}), "Files that results depend on, as "+
		"requirements.txt or src/*.py: if one changes, trials run again."),
		func(d *decoder, e entry, path string) { d.file.Spec.Script.Files, _, _ = d.texts(e.value, path) }},
		"goes with program: its files are part of what decides about results"},
	{field{"directory", documented(object{"enum": []string{"own", "shared"}, "default": "shared"}, "own runs each "+
		"trial of program in a copy of its directory, which is removed afterwards; shared runs all in that directory."),
		func(d *decoder, e entry, path string) {
			switch text, ok := d.text(e.value, path); {
			case text == "own":
				d.file.Spec.Script.Own = true
			case ok && text != "shared":
				d.fail(at(e.value), path, "must be own or shared, not %s; sweep run --directory names the directory "+
					"in which the program is", shorten(text))
			}
		}}, "goes with program, which runs in it"},
	{field{"project", textSchema("The project that programs see which log to W&B."),
		func(d *decoder, e entry, path string) { d.file.Spec.Script.Project, _ = d.text(e.value, path) }}, ""},
	{field{"entity", textSchema("The entity that programs see which log to W&B."),
		func(d *decoder, e entry, path string) { d.file.Spec.Script.Entity, _ = d.text(e.value, path) }}, ""},
}

// decodeScript fills Spec.Script.
func (d *decoder) decodeScript() {
	if d.script() {
		d.file.Spec.Script = &sweep.Script{Command: slices.Clone(sweep.DefaultCommand)}
	}
	for _, f := range programFields {
		e, there := d.top[f.name]
		_, given := d.given(f.name)
		switch {
		case !there:
		case !d.script() && f.refused == "":
			d.ignored = append(d.ignored, e)
		case !d.script():
			d.fail(e.where, f.name, "%s; trainer %s has none", f.refused, d.file.Spec.Trainer)
		case given:
			f.read(d, e, f.name)
		}
	}
	if !d.script() {
		return
	}
	for _, key := range []string{"command", "program"} {
		if e, ok := d.top[key]; ok {
			d.file.program = e.where
		}
	}
	if _, given := d.given("command"); !given && d.file.Spec.Script.Program == "" {
		d.fail(start, "program", "is required by trainer script: the program that is run for each trial, as in "+
			"program: train.py")
	}
}

// decodeCommand decodes command and checks its macros.
func (d *decoder) decodeCommand(n *yaml.Node) []string {
	if n.Kind != yaml.SequenceNode {
		d.fail(at(n), "command",
			"must be a list of words, as in [\"${interpreter}\", \"${program}\", \"${args}\"], not %s", kindName(n))
		return nil
	}
	words, nodes, ok := d.texts(n, "command")
	if !ok {
		return nil
	}
	if len(words) == 0 {
		d.fail(at(n), "command", "must have at least one word")
		return nil
	}
	if i := slices.IndexFunc(words, func(word string) bool { return word != "${env}" }); i < 0 ||
		strings.HasPrefix(words[i], "${args") || i == 0 && strings.HasPrefix(words[i], "-") {
		i = max(i, 0)
		d.fail(at(nodes[i]), "command", "has no program: the word %s is no program's name; write the program before "+
			"its arguments, as in [\"${interpreter}\", \"${program}\", \"${args}\"]", words[i])
	}
	for i, word := range words {
		// The text of a shell has variables of its own.
		shell := i > 0 && len(words[i-1]) > 1 && words[i-1][0] == '-' && strings.HasSuffix(words[i-1], "c")
		d.checkMacros(word, nodes[i], shell)
	}
	return words
}

func (d *decoder) checkMacros(word string, n *yaml.Node, shell bool) {
	for _, found := range macro().FindAllStringSubmatch(word, -1) {
		whole, name := found[0] == word, found[1]
		switch {
		case envvar().MatchString(name):
		case slices.Contains(macros, name) && !whole:
			d.fail(at(n), "command", "%s must be a word of its own, not a part of %s", found[0], shorten(word))
		case slices.Contains(macros, name):
			if name == "program" && d.file.Spec.Script.Program == "" {
				d.fail(at(n), "command", "${program} needs the key program")
			}
		case strings.HasPrefix(name, "envvar"):
			d.fail(at(n), "command", "%s must name a variable, as in ${envvar:HOME}", shorten(found[0]))
		case shell && !whole:
		default:
			d.failName(at(n), "command", shorten(found[0])+" is no macro", name,
				append([]string{"envvar:NAME"}, macros...))
		}
	}
}

// describeScript describes the parameters, once they are complete, for the program.
func (d *decoder) describeScript() {
	s := d.file.Spec.Script
	if s == nil {
		return
	}
	s.Metric = d.file.Spec.Select.By
	for _, p := range d.order {
		q := sweep.ScriptParameter{Name: p.name}
		if len(p.groups) > 0 {
			q.Path = append(slices.Clone(p.groups), p.key)
		}
		for _, value := range p.values.List {
			q.Note(value)
		}
		if r := p.values.Range; r != nil {
			q.Float = !r.Integer
		}
		if r := p.values.Distribution; r != nil {
			q.Float = !r.Integer
		}
		s.Parameters = append(s.Parameters, q)
	}
}
