package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sweep/model"
	"sweep/sweep"
	"sweep/sweep/file"
	"sweep/sweep/paper"
)

var updatePresets = flag.Bool("update-presets", false, "write the snapshots of the presets anew")

// The files of each preset are sound: the trainer takes them, and the table or figure names parameters and metrics
// that there are.
func TestPresetFiles(t *testing.T) {
	fullOnly(t)
	trainer, err := model.NewTrainer()
	if err != nil {
		t.Fatal(err)
	}
	description, err := trainer.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paper.Presets() {
		if !p.Trains() {
			if len(p.Command(paper.Full, "")) == 0 {
				t.Errorf("%s has neither a sweep file nor a command", p.Name)
			}
			continue
		}
		for _, form := range []paper.Form{paper.Full, paper.Standard, paper.Quick} {
			text, err := p.File(form)
			if err != nil {
				t.Error(err)
				continue
			}
			f, err := file.Decode(p.Name, text, file.Options{Description: description})
			if err != nil {
				t.Errorf("%s %s: %v", p.Name, form, err)
				continue
			}
			if !slices.Contains(p.Names(), f.Spec.Name) || form == paper.Full && f.Spec.Name != p.Name || len(f.Notes) > 0 {
				t.Errorf("%s %s: name %s, notes %v", p.Name, form, f.Spec.Name, f.Notes)
			}
		}
		if p.Result.Title == "" || p.What() == "" {
			t.Errorf("%s: no title, or nothing is made of it", p.Name)
		}
		metric := func(name string) {
			if name != "" && description.Metric(name) == nil {
				t.Errorf("%s: no metric %q", p.Name, name)
			}
		}
		parameters := func(names ...string) {
			for _, name := range names {
				if name != "" && description.Parameter(name) == nil {
					t.Errorf("%s: no parameter %q", p.Name, name)
				}
			}
		}
		if l := p.Layout(); l != nil {
			names := map[string]bool{}
			for _, c := range l.Columns {
				metric(c.Metric)
				parameters(c.Parameter, c.Largest)
				for name := range c.Where {
					parameters(name)
				}
				names[c.Name] = true
			}
			for _, row := range l.Rows {
				for name := range row.Where {
					parameters(name)
				}
				for name, cell := range row.Published {
					if !names[name] || cell == "" {
						t.Errorf("%s: row %s has a published cell %q for no column %q", p.Name, row.Label, cell, name)
					}
				}
			}
		}
		if p.HasFigure() {
			for _, panel := range p.Page().Panels {
				metric(panel.Metric)
				metric(panel.X)
				parameters(slices.Concat(panel.Each, panel.GroupBy)...)
				for _, line := range panel.References {
					metric(line.Metric)
				}
			}
		}
	}
}

// measured are numbers, and the lines of tables, whose lengths depend on them.
var measured = regexp.MustCompile(`[-−]?[0-9]*\.?[0-9]+([eE][0-9+-]+)?|─+`)

// ours are the columns of a table for programs with numbers that depend on the kernels of the machine, or with all
// parameters.
var ours = []string{"value", "deviation", "accuracy", "validation_loss", "test_loss", "grid_point"}

// The quick form of each preset runs without data, and its table and figure have the rows, published cells and
// words that they had. go test ./cmd/sweep -run TestPresets -update-presets writes them anew.
func TestPresets(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := program(t, home, args...)
		cmd.Dir = dir
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("sweep %s: %v: %s", strings.Join(args, " "), err, &errs)
		}
		return out.String()
	}
	for _, p := range paper.Presets() {
		var snapshot strings.Builder
		args := []string{"preset", "run", p.Name, "--quick"}
		if p.Trains() {
			args = append(args, "--quiet")
		}
		text := run(args...)
		if p.Result.Command != nil {
			for line := range strings.Lines(text) {
				words := strings.Fields(measured.ReplaceAllString(line, " # "))
				snapshot.WriteString(strings.Join(words, " ") + "\n")
			}
		}
		if p.HasTable() {
			parts := strings.SplitN(text, "\n\n", 3) // title, cells and notes
			snapshot.WriteString(parts[0] + "\n" + masked(t, run("table", p.Name, p.Name+"-quick", "--format", "csv")) + parts[2])
		}
		if p.HasFigure() {
			svg, err := os.ReadFile(filepath.Join(dir, p.Name+".svg"))
			if err != nil {
				t.Fatal(err)
			}
			snapshot.WriteString(wording(t, svg))
			run("figure", p.Name, p.Name+"-quick", "-o", "again.svg")
			if again, err := os.ReadFile(filepath.Join(dir, "again.svg")); err != nil || !bytes.Equal(svg, again) {
				t.Errorf("%s: the figure of the stored results is another: %v", p.Name, err)
			}
		}
		golden := filepath.Join("testdata", "presets", p.Name+".txt")
		if *updatePresets {
			if err := os.WriteFile(golden, []byte(snapshot.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(want) != snapshot.String() {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", p.Name, err, &snapshot, want)
		}
	}
	if out := run("preset", "list"); strings.Count(out, "\n") != len(paper.Presets())+1 {
		t.Errorf("the list is\n%s", out)
	}
}

// masked is a table for programs with # in the place of each number that is ours.
func masked(t *testing.T, text string) string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		for i, name := range lines[0] {
			if slices.Contains(ours, name) && line[i] != "" {
				line[i] = "#"
			}
		}
	}
	var b strings.Builder
	out := csv.NewWriter(&b)
	if err := out.WriteAll(lines); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wording are the texts of an SVG without the numbers at its axes, sorted: places depend on what was measured.
func wording(t *testing.T, svg []byte) string {
	t.Helper()
	var texts []string
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	inText := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if _, err := sweep.DecodeValue(bytes.ReplaceAll(e, []byte("−"), []byte("-"))); inText && err != nil {
				texts = append(texts, strings.TrimSpace(string(e)))
			}
		}
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "\n") + "\n"
}

// Presets that there are not, and flags that do not fit, get an error that says what to do.
func TestPresetErrors(t *testing.T) {
	fullOnly(t)
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"preset", "show", "nothing"}, exitNotFound, "sweep preset list"},
		{[]string{"preset", "run", "nothing"}, exitNotFound, "sweep preset list"},
		{[]string{"preset", "run", "ptb-table3", "-o", "x.svg"}, exitUsage, "sweep table ptb-table3"},
		{[]string{"preset", "run", "copy-fig2", "-o", "x.gif"}, exitUsage, ".svg or .png"},
		{[]string{"preset", "show", "copy-fig2", "--quick", "--standard"}, exitUsage, "exclude each other"},
		{[]string{"preset", "run", "flops-table1", "--quick", "--standard"}, exitUsage, "exclude each other"},
		{[]string{"preset", "run", "flops-table1", "--standard"}, 0, "the standard form is the full one"},
		{[]string{"preset", "run", "flops-table1", "--slots", "4"}, exitUsage, "trains nothing"},
		{[]string{"preset", "run", "copy-fig2", "-o", filepath.Join(none, "x.svg")}, exitUsage, "no directory " + none},
		{[]string{"preset", "run", "sgornn-table2", "--data", none}, exitUsage, none + " is not one"},
		{[]string{"figure", "copy-fig2", "-o", "x.svg"}, exitNotFound, "sweep preset run copy-fig2"},
		{[]string{"figure", "copy-fig2", "-o", "x.svg", "--metric", "train_loss"}, exitUsage, "--metric does not apply"},
		{[]string{"table", "ptb-table3"}, exitNotFound, "ptb-table3"},
		{[]string{"table", "ptb-table3", "--select", "single"}, exitUsage, "means over replicates"},
		{[]string{"figure", "ptb-table3", "-o", "x.svg"}, exitUsage, "sweep table ptb-table3"},
		{[]string{"preset", "run", "slides-timing", "-o", "x.svg"}, exitUsage, "sweep trainer step --slides"},
		{[]string{"figure", "slides-timing", "-o", "x.svg"}, exitUsage, "sweep trainer step --slides"},
		{[]string{"table", "slides-timing"}, exitUsage, "sweep trainer step --slides"},
		{[]string{"table", "flops-table1"}, exitUsage, "sweep table flops"},
	} {
		_, stderr, code := expecting(t, c.code, func() (string, string, int) {
			return inProcess(t, append(c.args, "--home", t.TempDir())...)
		})
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: code %d, %s", c.args, code, stderr)
		}
	}
}
