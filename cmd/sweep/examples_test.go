package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sweep/model"
	"sweep/model/dataset"
	"sweep/sweep"
	"sweep/sweep/file"
	"sweep/sweep/paper"
)

// made are the sets that are generated and have no twin.
var made = []string{"addition", "copy", "parity", "s3-words", "s5-words"}

// twins are the generated sets that stand for those that have to be fetched.
var twins = map[any]string{
	dataset.HAR2: dataset.GeneratedHAR2, dataset.PTB: dataset.GeneratedText, dataset.Queries: dataset.GeneratedQueries,
	dataset.Speech: dataset.GeneratedSpeech,
}

// files are the sweep files of the examples and of all forms of the presets, by name.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	names, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, name := range names {
		if all[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range paper.Presets() {
		for _, form := range []paper.Form{paper.Full, paper.Standard, paper.Quick} {
			if !p.Trains() {
				continue
			}
			if all[p.Name+" "+string(form)], err = p.File(form); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// The built-in trainer accepts the examples of its own and the presets: the files against its schema, and points of each
// with data that need no files. Those of MNIST and the UCR archive are checked against the schema alone.
func TestExamplesAreAccepted(t *testing.T) {
	fullOnly(t)
	trainer, err := model.NewTrainer()
	if err != nil {
		t.Fatal(err)
	}
	description, err := trainer.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files(t) {
		if strings.Contains(string(data), "\ntrainer:") {
			continue
		}
		f, err := file.Decode(name, data, file.Options{Description: description})
		if err != nil {
			t.Error(err)
			continue
		}
		const most = 40
		stride := 1 + (f.Grid.Count()-1)/most
		for i := int64(0); i < f.Grid.Count(); i += stride {
			point, err := f.Grid.At(i)
			if err != nil {
				t.Fatal(err)
			}
			if twin, ok := twins[point["dataset"]]; ok {
				point["dataset"] = twin
			}
			resolved, err := description.Resolve(point)
			if err != nil {
				t.Fatalf("%s, point %d: %v", name, i, err)
			}
			if set := resolved["dataset"].(string); !strings.HasPrefix(set, "generated-") &&
				!slices.Contains(made, set) {
				continue
			}
			if _, err := trainer.Validate(t.Context(), sweep.ValidateRequest{Parameters: resolved}); err != nil {
				t.Errorf("%s, point %d: %v", name, i, err)
			}
		}
	}
}

// The worked examples of programs as trainers run as they are.
func TestScriptExamples(t *testing.T) {
	fullOnly(t)
	for name, test := range map[string]struct{ module, trials, metric string }{
		"shell":   {"", "9 completed", "error"},
		"sklearn": {"sklearn", "6 completed", "accuracy"},
		"pytorch": {"torch", "4 completed", "validation_loss"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.module != "" {
				pythonFirst(t)
				if out, err := exec.Command(python(t), "-c", "import "+test.module).CombinedOutput(); err != nil {
					t.Skipf("LEFT OUT: %s has no %s (Debian: python3-%s): %s", python(t), test.module, test.module, out)
				}
			}
			home := t.TempDir()
			_, stderr, code := output(t, home, "run", filepath.Join("../../examples", name, "sweep.yaml"))
			if code != 0 || !strings.Contains(stderr, test.trials) {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			stdout, stderr, code := output(t, home, "sql", "--format", "csv",
				"SELECT count(*) FROM curves WHERE step > 0")
			if code != 0 || strings.HasSuffix(strings.TrimSpace(stdout), "\n0") {
				t.Errorf("no curves: %s%s", stdout, stderr)
			}
			if stdout, _, _ := output(t, home, "trials"); !strings.Contains(stdout, strings.ToUpper(test.metric)) ||
				strings.Contains(stdout, "was never logged") {
				t.Errorf("trials:\n%s", stdout)
			}
		})
	}
}

// The example of a trainer is built and run with its sweep file, and its results stand beside a table of the papers.
func TestTrainerExample(t *testing.T) {
	fullOnly(t)
	home, dir := t.TempDir(), t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "minirocket"), "sweep/examples/minirocket")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile("../../examples/minirocket/sweep.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sets := regexp.MustCompile(`(?s)values: \[.*?\]`)
	file := write(t, dir, "sweep.yaml", sets.ReplaceAllString(string(text), "value: generated-cbf"))
	run := func(args ...string) (string, string, int) { return output(t, home, args...) }
	check(t, run,
		line{args: []string{"run", file, "--trainer-path", dir}, stderr: []string{"5 completed"}},
		line{args: []string{"preset", "run", "ucr-table4", "--quick", "--quiet"}, stdout: []string{"Spectral-RNN"}},
		line{args: []string{"table", "ucr-table4", "ucr-table4-quick", "minirocket", "--format", "csv"},
			stdout: []string{"generated-cbf, epoch_rule=final\",spectral-rnn,",
				"generated-cbf, epoch_rule=final\",MiniRocket,"}})
}
