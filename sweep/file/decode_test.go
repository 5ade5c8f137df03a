package file

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sweep/sweep"
)

var update = flag.Bool("update", false, "write the golden files anew")

func number(v float64) *float64 { return &v }

// toy describes the trainer of the tests.
func toy() *sweep.Description {
	return &sweep.Description{
		Name: "toy", Version: "1", ResultVersion: "1",
		Parameters: []sweep.ParameterSchema{
			{Name: "dataset", Type: sweep.StringType, Doc: "data set", Required: true, Dataset: true},
			{Name: "model", Type: sweep.StringType, Doc: "network", Enum: []any{"rnn", "lstm", "ornn", "spectral-rnn"},
				Default: "rnn"},
			{Name: "lr", Type: sweep.NumberType, Doc: "learning rate", Minimum: number(0), ExclusiveMinimum: true,
				Default:  1e-3,
				Defaults: []sweep.ConditionalDefault{{When: sweep.Match{"model": {"lstm"}}, Value: 3e-3}}},
			{Name: "decay", Type: sweep.NumberType, Doc: "learning rate decay", Minimum: number(0), Maximum: number(1),
				Default: 1.0},
			{Name: "m1", Type: sweep.IntegerType, Doc: "reflectors", Minimum: number(1), Maximum: number(32),
				Default: 16},
			{Name: "m2", Type: sweep.IntegerType, Doc: "reflectors", Minimum: number(1), Maximum: number(32),
				Default: 16},
			{Name: "batch", Type: sweep.IntegerType, Doc: "batch size", Enum: []any{16, 32, 64}, Default: 16},
			{Name: "clip", Type: sweep.BooleanType, Doc: "clip gradients", Default: true},
			{Name: "optimizer.name", Type: sweep.StringType, Doc: "optimiser", Default: "adam"},
			{Name: "optimizer.beta", Type: sweep.NumberType, Doc: "momentum", Default: 0.9},
			{Name: "layers", Type: sweep.AnyType, Doc: "widths"},
			{Name: "seed", Type: sweep.IntegerType, Doc: "seed", Minimum: number(0), Default: 1},
		},
		Artifacts: []sweep.ArtifactSchema{{Name: "weights", Doc: "weights"}, {Name: "samples", Doc: "samples"}},
		Metrics: []sweep.MetricSchema{
			{Name: "validation_loss", Doc: "loss", Goal: "minimize", Curve: true, Summary: true},
			{Name: "test_accuracy", Doc: "accuracy", Goal: "maximize", Curve: true, Summary: true, Part: sweep.TestPart},
		},
	}
}

const dashes = "--------------------------------------------------"

// TestGolden decodes the part above the dashes of each file in testdata and
// compares what comes out with the part below. Files whose names begin with
// "bare" are decoded without a trainer.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			input, want, found := strings.Cut(string(text), dashes+"\n")
			if !found && !*update {
				t.Fatal("no line of dashes")
			}
			options := Options{Description: toy()}
			if strings.HasPrefix(filepath.Base(name), "bare") {
				options = Options{}
			}
			got := render(Decode("x.yaml", []byte(input), options))
			if *update {
				if err := os.WriteFile(name, []byte(input+dashes+"\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// placed has the policies of a spec beside what they are about, as the golden files have them.
func placed(spec string, policies []sweep.Policy) string {
	list, _ := json.Marshal(policies)
	var own, other string
	for _, p := range policies {
		settings := string(p.Settings)
		switch {
		case p.Kind == "sobol":
			own = `,"sobol":true`
		case p.Kind == "bayes":
			own = `,"bayes":` + settings
		case strings.HasPrefix(settings, `{"metric"`):
			at := strings.Index(settings, `,"goal"`) + 1
			at += strings.Index(settings[at:], `,`)
			other += fmt.Sprintf(`,"early_terminate":%s,%q:{%s}`, settings[:at], p.Kind, settings[at+1:])
		default:
			other += fmt.Sprintf(`,%q:%s`, p.Kind, settings)
		}
	}
	drawn := regexp.MustCompile(`("random":\{"seed":\d+)`)
	return strings.Replace(drawn.ReplaceAllString(spec, "${1}"+own), `,"policies":`+string(list), other, 1)
}

// render writes a decoded file for people: notes, spec without axes, points.
func render(f *File, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintln(&b, err)
		return b.String()
	}
	for _, note := range f.Notes {
		fmt.Fprintln(&b, "note", note)
	}
	rest := f.Spec
	rest.Axes = nil
	text, err := json.Marshal(rest)
	if err != nil {
		return err.Error()
	}
	fmt.Fprintf(&b, "%s\n%d points of %d\n", placed(string(text), f.Spec.Policies), f.Grid.Count(), f.Grid.Product())
	for _, r := range f.Grid.Removed() {
		fmt.Fprintf(&b, "%s removed at %d\n", r.Parameter, r.Points)
	}
	const most = 24
	for index, point := range f.Grid.All(0) {
		if index == most {
			fmt.Fprintln(&b, "…")
			break
		}
		text, err := point.Canonical()
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}
