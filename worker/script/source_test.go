package script

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sweep/sweep"
)

// Of several ranks that log the same metrics the trial has those of rank 0, and what the others add.
func TestRanksOfATraining(t *testing.T) {
	r := newPython(t, `
import os, subprocess, sys, wandb
if "RANK" not in os.environ:
    for rank in (2, 0, 1):  # one after the other, so that another than rank 0 comes first
        subprocess.run([sys.executable, __file__], env=dict(os.environ, RANK=str(rank), WORLD_SIZE="3"), check=True)
    sys.exit()
rank = int(os.environ["RANK"])
wandb.init(name="rank-%d" % rank)
for e in range(3):
    wandb.log({"loss": 10 * rank + e})
wandb.log({"memory/%d" % rank: rank})
wandb.summary["best"] = rank
`)
	r.script.Command = r.script.Command[:2]
	result := r.complete(nil)
	if want := map[string]float64{"loss": 2, "memory/0": 0, "memory/1": 1, "memory/2": 2,
		"best": 0}; !reflect.DeepEqual(result.Summary, want) {
		t.Errorf("summary %v, want %v", result.Summary, want)
	}
	if steps, values := r.curve(result, "loss"); !reflect.DeepEqual(steps, []int64{0, 1, 2}) ||
		!reflect.DeepEqual(values, []float32{0, 1, 2}) {
		t.Errorf("loss at %v: %v", steps, values)
	}
	if result.Labels == nil || result.Labels.Name != "rank-0" {
		t.Errorf("labels %+v", result.Labels)
	}
	if want := "more than one process logged best, loss"; !strings.Contains(result.Error, want) ||
		!strings.Contains(result.Stderr, want) {
		t.Errorf("remark %q, want %q", result.Error, want)
	}
}

// Without ranks the process that is the first to log a metric keeps it. Of a copy of it that was the first to log a
// metric of both, the values are left out.
func TestSecondProcess(t *testing.T) {
	m := newMetrics(t.Logf)
	for _, line := range []string{
		`{"_": {"process": "1", "step": 0}, "loss": 1}`, `{"_": {"process": "2", "step": 0}, "loss": 9, "accuracy": 9}`,
		`{"_": {"process": "1", "step": 1}, "loss": 2, "accuracy": 0.5}`, `{"_": {"process": "3", "step": 7}, "eval": 3}`,
		`{"_": {"process": "1", "step": 2}, "loss": 3}`,
	} {
		m.line([]byte(line))
	}
	curves := map[string][]float32{}
	for _, c := range m.take(true) {
		curves[c.Metric] = c.Values
	}
	want := map[string][]float32{"loss": {1, 2, 3}, "accuracy": {0.5}, "eval": {3}}
	if !reflect.DeepEqual(curves, want) {
		t.Errorf("%v, want %v", curves, want)
	}
	if said := m.severalProcesses(); !strings.Contains(said, "2 values of another process") {
		t.Error(said)
	}
}

// A rank that the worker's own launcher has set is that of no process of the trial; and one rank alone is the trial.
func TestRankOfTheWorker(t *testing.T) {
	t.Setenv("SLURM_PROCID", "3")
	r := newPython(t, `
import os, wandb
from wandb import _events
assert _events.rank() is None, os.environ["SWEEP_OUTER_RANKS"]
wandb.init(); wandb.log({"loss": 1})
os.environ["LOCAL_RANK"] = "1"
assert _events.rank() == 1
wandb.log({"other": 2})
`)
	if result := r.complete(nil); result.Error != "" ||
		!reflect.DeepEqual(result.Summary, map[string]float64{"loss": 1, "other": 2}) {
		t.Errorf("%v %q", result.Summary, result.Error)
	}
}

// The name of a trial's run is what the coordinator gives it.
func TestRunName(t *testing.T) {
	r := newPython(t, `
import os, wandb
assert wandb.init().name == os.environ["SWEEP_RUN_NAME"] == "demo-s1-7", wandb.run.name
wandb.log({"loss": 1})
`)
	r.script.Command = r.script.Command[:2]
	r.script.Named("demo", r.request(nil).TrialID)
	if labels := r.complete(nil).Labels; labels != nil {
		t.Errorf("labels %+v of a name that the program did not choose", labels)
	}
}

// What the program has in its config besides the sweep's values is kept, up to its last change.
func TestConfigIsKept(t *testing.T) {
	r := newPython(t, `
import wandb
run = wandb.init(config={"epochs": 4, "model": "resnet-50", "lr": 9, "f": lambda: 0, "nan": float("nan")})
run.config.update({"n_params": 123456})
wandb.log({"loss": 1})
wandb.config.late = [1, 2]
del wandb.config["f"]
`)
	r.complete(sweep.Parameters{"lr": 0.1})
	path := filepath.Join(r.options.Artifacts, "s1", "7", "media", "run.config.json")
	content, err := os.ReadFile(path)
	var got map[string]any
	if err != nil || json.Unmarshal(content, &got) != nil {
		t.Fatalf("%v: %s", err, content)
	}
	want := map[string]any{"lr": 0.1, "epochs": 4.0, "model": "resnet-50", "nan": nil, "n_params": 123456.0,
		"late": []any{1.0, 2.0}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	none := newPython(t, "import wandb\nwandb.init(config={'lr': 3}); wandb.log({'loss': 1})\n")
	none.complete(sweep.Parameters{"lr": 0.1})
	if entries, _ := os.ReadDir(none.options.Artifacts); len(entries) != 0 {
		t.Errorf("a config of the sweep's values alone leaves %v", entries)
	}
}
