package paper

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"sweep/sweep"
	sweepfile "sweep/sweep/file"
)

// Preset is an experiment of a paper as data: its folder in presets has the sweep file of the published grid
// (sweep.yaml), what its other forms change of it (quick.yaml and, where the grid takes longer than a night,
// standard.yaml), and the table or figure that is made of the results (result.yaml).
type Preset struct {
	Name   string
	Result Result
	files  map[Form][]byte
}

// Form says how much of a preset is run.
type Form string

// The forms of a preset.
const (
	Full     Form = ""         // the published grid
	Standard Form = "standard" // what a night of two cores does
	Quick    Form = "quick"    // a minute, to see that it works
)

// formFiles are the files of the forms; not every preset has all.
var formFiles = map[Form]string{Full: "sweep.yaml", Standard: "standard.yaml", Quick: "quick.yaml"}

// formNotes say below a table or figure what a form is.
var formNotes = map[Form]string{
	Standard: "The standard form: a part of the published grid.",
	Quick:    "The quick form shows that everything works. Its figures are not for comparison.",
}

// Result is what is made of a preset's results, the content of result.yaml: a table, which is one of presetKinds or
// laid out here, a figure, or both; or what a command prints.
type Result struct {
	// Title names the table or figure of the paper.
	Title string `yaml:"title"`
	// Data names the folder of data that the sweep file needs, "" for none. The quick form needs none.
	Data string `yaml:"data"`
	// Kind is one of presetKinds.
	Kind   string        `yaml:"kind"`
	Table  *presetTable  `yaml:"table"`
	Figure *presetFigure `yaml:"figure"`
	// Command are the arguments of the command that prints the result, {sweep} in the place of the sweep;
	// QuickCommand those of the quick form. Without a sweep file there is only the command.
	Command      []string `yaml:"command"`
	QuickCommand []string `yaml:"quick_command"`
	// Notes stand below the table or figure.
	Notes []string `yaml:"notes"`
}

//go:embed presets
var presetFiles embed.FS

// Presets are the experiments of the papers, by name.
var Presets = sync.OnceValue(func() []*Preset {
	list, err := readPresets(presetFiles)
	if err != nil {
		panic(err) // they are part of the program, and tested
	}
	return list
})

// FindPreset returns a preset by its name; that there is none is sweep.ErrNotFound.
func FindPreset(name string) (*Preset, error) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%w: no preset %.40q: \"sweep preset list\" shows them", sweep.ErrNotFound, name)
}

func readPresets(files fs.FS) (list []*Preset, err error) {
	folders, err := fs.ReadDir(files, "presets")
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		p := &Preset{Name: folder.Name(), files: map[Form][]byte{}}
		read := func(name string) ([]byte, error) { return fs.ReadFile(files, path.Join("presets", p.Name, name)) }
		for form, name := range formFiles {
			if p.files[form], err = read(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		result, err := read("result.yaml")
		if err != nil {
			return nil, err
		}
		if err := yaml.Load(result, &p.Result, yaml.WithKnownFields()); err != nil {
			return nil, fmt.Errorf("preset %s: result.yaml: %w", p.Name, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// File returns the text of the sweep file of a form. The standard form of a preset without one is the full one.
func (p *Preset) File(form Form) ([]byte, error) {
	if form == Full || p.files[form] == nil {
		return p.files[Full], nil
	}
	named := fmt.Appendf(bytes.TrimRight(p.files[form], "\n"), "\nname: %s\n", p.sweepName(form))
	text, err := sweepfile.Override(p.files[Full], named)
	if err != nil {
		return nil, fmt.Errorf("preset %s: %w", p.Name, err)
	}
	return text, nil
}

// Has reports whether a form is a file of its own.
func (p *Preset) Has(form Form) bool { return p.files[form] != nil }

// Trains reports whether there is a sweep file.
func (p *Preset) Trains() bool { return p.Has(Full) }

// Command are the arguments of the command that prints the result of a form for a sweep, nil without one.
func (p *Preset) Command(form Form, id string) (args []string) {
	command := p.Result.Command
	if form == Quick && p.Result.QuickCommand != nil {
		command = p.Result.QuickCommand
	}
	for _, arg := range command {
		args = append(args, strings.ReplaceAll(arg, "{sweep}", id))
	}
	return args
}

// sweepName is the name of the sweeps of a form.
func (p *Preset) sweepName(form Form) string {
	if form == Full {
		return p.Name
	}
	return p.Name + "-" + string(form)
}

// Names are the names of the sweeps of all forms.
func (p *Preset) Names() []string {
	return []string{p.sweepName(Full), p.sweepName(Standard), p.sweepName(Quick)}
}

// HasTable reports whether a table is made of the results.
func (p *Preset) HasTable() bool { return p.Result.Kind != "" || p.Result.Table != nil }

// HasFigure reports whether a figure is made of the results.
func (p *Preset) HasFigure() bool { return p.Result.Figure != nil }

// What says in words what is made of the results.
func (p *Preset) What() string {
	var parts []string
	if p.HasTable() {
		parts = append(parts, "table")
	}
	if p.HasFigure() {
		parts = append(parts, "figure")
	}
	if p.Result.Command != nil {
		parts = append(parts, "output")
	}
	return strings.Join(parts, ", ")
}

// notes are the notes on a figure of sweeps with some names.
func (p *Preset) notes(sweeps []string) (notes []string) {
	for _, form := range []Form{Standard, Quick} {
		if slices.Contains(sweeps, p.sweepName(form)) {
			notes = append(notes, formNotes[form])
		}
	}
	return append(notes, p.Result.Notes...)
}

// normal has the values of a mapping in the types that parameters have.
func normal(values map[string]any) map[string]any {
	all := make(map[string]any, len(values))
	for name, value := range values {
		if normalized, err := sweep.Normalize(value); err == nil {
			value = normalized
		}
		all[name] = value
	}
	return all
}
