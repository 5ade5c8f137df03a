package file

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
)

// macros are those of a command, as ${args}.
var macros = []string{
	"env", "interpreter", "program", "args", "args_no_hyphens", "args_no_boolean_flags", "args_json",
	"args_json_file", "args_no_equals",
}

var (
	macro  = regexp.MustCompile(`\$\{([^{}]*)\}`)
	envvar = regexp.MustCompile(`^envvar:[A-Za-z_][A-Za-z0-9_]*$`)
)

// decodeTrainer finds the trainer: without a name, the one that runs the file's program.
func (d *decoder) decodeTrainer() {
	d.plainToken("trainer", &d.file.Spec.Trainer)
	_, named := d.given("trainer")
	_, program := d.given("program")
	_, command := d.given("command")
	if !named && (program || command) {
		d.file.Spec.Trainer = sweep.ScriptTrainer
	}
}

// script reports whether the file has a program that is run for each trial.
func (d *decoder) script() bool { return d.file.Spec.Trainer == sweep.ScriptTrainer }

// decodeScript fills Spec.Script; with another trainer its keys have no effect.
func (d *decoder) decodeScript() {
	if !d.script() {
		for _, key := range []string{"program", "command", "project", "entity"} {
			if e, ok := d.top[key]; ok {
				d.ignored = append(d.ignored, e)
			}
		}
		if e, ok := d.top["files"]; ok {
			d.fail(e.where, "files", "goes with program: its files are part of what decides about results; trainer "+
				"%s has none", d.file.Spec.Trainer)
		}
		if e, ok := d.top["directory"]; ok {
			d.fail(e.where, "directory", "goes with program, which runs in it; trainer %s has none",
				d.file.Spec.Trainer)
		}
		return
	}
	s := &sweep.Script{}
	for _, key := range []string{"command", "program"} {
		if e, ok := d.top[key]; ok {
			d.file.program = e.where
		}
	}
	for key, target := range map[string]*string{"program": &s.Program, "project": &s.Project, "entity": &s.Entity} {
		if n, ok := d.given(key); ok {
			*target, _ = d.text(n, key)
		}
	}
	if n, ok := d.given("program"); ok && strings.TrimSpace(s.Program) == "" {
		d.fail(at(n), "program", "must name a file")
	}
	if n, ok := d.given("files"); ok {
		s.Files, _, _ = d.texts(n, "files")
	}
	if n, ok := d.given("directory"); ok {
		switch text, ok := d.text(n, "directory"); {
		case text == "own":
			s.Own = true
		case ok && text != "shared":
			d.fail(at(n), "directory", "must be own or shared, not %s; sweep run --directory names the directory in "+
				"which the program is", shorten(text))
		}
	}
	s.Command = d.decodeCommand(s.Program != "")
	d.file.Spec.Script = s
}

// decodeCommand decodes command and checks its macros.
func (d *decoder) decodeCommand(program bool) []string {
	n, ok := d.given("command")
	if !ok {
		if !program {
			d.fail(start, "program", "is required by trainer script: the program that is run for each trial, as in "+
				"program: train.py")
		}
		return slices.Clone(sweep.DefaultCommand)
	}
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
		d.checkMacros(word, nodes[i], shell, program)
	}
	return words
}

func (d *decoder) checkMacros(word string, n *yaml.Node, shell, program bool) {
	for _, found := range macro.FindAllStringSubmatch(word, -1) {
		whole, name := found[0] == word, found[1]
		switch {
		case envvar.MatchString(name):
		case slices.Contains(macros, name) && !whole:
			d.fail(at(n), "command", "%s must be a word of its own, not a part of %s", found[0], shorten(word))
		case slices.Contains(macros, name):
			if name == "program" && !program {
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
