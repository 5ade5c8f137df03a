package script

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// The tests of this file are the things that break a careless runner of programs
// which log to Weights & Biases, numbered as in docs/scripts.md; the first is
// TestLocate, the eighth TestSweepsMadeInPython of the command.

// 2. Some programs read only config, some only their arguments, some both; types
// in config are the sweep's.
func TestBothChannels(t *testing.T) {
	r := newPython(t, `
import argparse, sys, wandb
p = argparse.ArgumentParser()
p.add_argument("--lr", type=str); p.add_argument("--n", type=float); p.add_argument("--flag"); p.add_argument("--opt"); p.add_argument("--layers")
a = p.parse_args()
assert (a.lr, a.n, a.flag) == ("1e-08", 3.0, "True"), a
assert a.layers == "[64, 64, 64]" and a.opt == '{"name": "adam"}', a
run = wandb.init(config=a)
c = wandb.config
assert c.lr == 1e-8 and type(c.lr) is float, c
assert c.n == 3 and type(c.n) is int and c.flag is True and type(c.one) is float and c.one == 1, c
assert c["layers"] == [64, 64, 64] and c.opt == {"name": "adam"} and c["text"] == "None" and c.nothing is None, c
assert run.config is wandb.config and wandb.run is run
wandb.log({"ok": 1})
`)
	r.script.Command = append(r.script.Command[:2:2], "${args_no_boolean_flags}", "--flag=True")
	r.script.Command = []string{r.script.Command[0], "${program}", "--lr=1e-08", "--n=3", "--flag=True",
		"--layers=[64, 64, 64]", `--opt={"name": "adam"}`}
	r.script.Parameters = []sweep.ScriptParameter{{Name: "one", Float: true},
		{Name: "opt.name", Path: []string{"opt", "name"}}}
	r.complete(sweep.Parameters{
		"lr": 1e-8, "n": int64(3), "flag": true, "one": int64(1), "layers": []any{int64(64), int64(64), int64(64)},
		"opt.name": "adam", "text": "None", "nothing": nil,
	})
}

// 3. The sweep's values override those of init, nested mappings merge, and what the
// program changes afterwards is ignored with a warning.
func TestPrecedence(t *testing.T) {
	r := newPython(t, `
import argparse, json, wandb
with open("defaults.json", "w") as f:
    json.dump({"lr": {"value": 9, "desc": None}, "epochs": {"value": 5}}, f)
for config in (
    {"lr": 5, "extra": 2, "opt": {"name": "sgd", "decay": 0.1}}, argparse.Namespace(lr=5, extra=2), "defaults.json", None,
    {"method": "grid", "parameters": {"lr": {"values": [1, 2]}}},
):
    run = wandb.init(config=config)
    assert run.config.lr == 0.1, (config, run.config)
    if isinstance(config, dict) and "opt" in config:
        assert run.config.opt == {"name": "adam", "decay": 0.1}, run.config
        assert run.config["extra"] == 2
    if config == "defaults.json":
        assert run.config.epochs == 5
    run.config.lr = 7
    run.config["lr"] = 8
    run.config.update({"lr": 9, "new": 1}, allow_val_change=True)
    run.config.setdefaults({"lr": 3, "other": 4})
    del run.config["lr"]
    assert run.config.lr == 0.1 and run.config.new == 1 and run.config.other == 4
    run.config.new = 2
    assert run.config.new == 2
    wandb.finish()
import sys
sys.modules["yaml"] = None  # as where it is not installed
with open("simple.yaml", "w") as f:
    f.write("# defaults\nwandb_version: 1\nlr:\n  desc: rate\n  value: 9\nepochs:\n  value: 5\nkernel: 'rbf'  # text\nflag: yes\nsizes: [1, 2]\n")
c = wandb.init(config="simple.yaml").config
assert (c.lr, c.epochs, c.kernel, c.flag, c.sizes) == (0.1, 5, "rbf", True, [1, 2]), c
`)
	r.script.Parameters = []sweep.ScriptParameter{{Name: "lr"}, {Name: "opt.name", Path: []string{"opt", "name"}}}
	r.complete(sweep.Parameters{"lr": 0.1, "opt.name": "adam"})
	if !strings.Contains(r.log.String(), "config.lr is the sweep's and stays 0.1") {
		t.Errorf("no warning:\n%s", &r.log)
	}
}

// 4. config is a mapping without extra keys.
// Values of config-defaults.yaml and of WANDB_CONFIG_PATHS are below those of init, which are below the sweep's.
func TestConfigFiles(t *testing.T) {
	r := newPython(t, `
import os, wandb
os.environ["WANDB_CONFIG_PATHS"] = "more.yaml"
c = wandb.init(config={"width": 3}).config
wandb.log({"lr": c.lr, "width": c.width, "depth": c.depth, "batch": c.batch})
`)
	r.write("config-defaults.yaml", "wandb_version: 1\nlr: {desc: null, value: 9}\nwidth:\n  value: 8\ndepth:\n  value: 7\nbatch:\n  value: 6\n")
	r.write("more.yaml", "batch:\n  value: 5\n")
	got := r.complete(sweep.Parameters{"lr": int64(2)}).Summary
	if want := map[string]float64{"lr": 2, "width": 3, "depth": 7, "batch": 5}; !maps.Equal(got, want) {
		t.Errorf("summary %v, expected %v", got, want)
	}
}

// What Stable-Baselines3 and others write for TensorBoard is logged, and their callback keeps the model. The packages are
// stand-ins with the same signatures.
func TestTensorBoard(t *testing.T) {
	r := newPython(t, `
import wandb
wandb.init(sync_tensorboard=True)
from torch.utils.tensorboard import SummaryWriter
w = SummaryWriter("runs")
w.add_scalar("rollout/reward", 1.5, 10)
w.add_scalar("rollout/reward", 2.5, global_step=20)
w.add_scalars("loss", {"a": 0.25, "b": 4}, 20)
assert w.written == 3
from wandb.integration.sb3 import WandbCallback
class Model:
    def __init__(self): self.gamma, self.policy = 0.5, object()
    def save(self, path): open(path, "w").write("model")
c = WandbCallback(model_save_path="models", model_save_freq=2, verbose=1)
c.model = Model()
c._init_callback()
c.n_calls = 2
assert c._on_step() and open("models/model.zip").read() == "model"
c._on_training_end()
assert wandb.config.algo == "Model" and wandb.config.gamma == 0.5 and "policy" not in wandb.config
`)
	r.write("torch/utils/tensorboard/__init__.py", "from .writer import SummaryWriter\n")
	r.write("torch/utils/tensorboard/writer.py", `
class SummaryWriter:
    def __init__(self, log_dir): self.written = 0
    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None): self.written += 1
    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None): self.written += 1
`)
	got := r.complete(nil)
	if want := map[string]float64{"rollout/reward": 2.5, "loss/a": 0.25, "loss/b": 4}; !maps.Equal(got.Summary, want) {
		t.Errorf("summary %v, expected %v", got.Summary, want)
	}
	for _, c := range got.Curves {
		if c.Metric == "rollout/reward" && !slices.Equal(c.Steps, []int64{10, 20}) {
			t.Errorf("steps %v", c.Steps)
		}
	}
}

func TestConfigIsAMapping(t *testing.T) {
	r := newPython(t, `
import copy, json, pickle, wandb
wandb.init()
c = wandb.config
def f(lr, n): return lr, n
assert f(**c) == (0.1, 3) and dict(c) == {"lr": 0.1, "n": 3} and {**c} == dict(c)
c["_hidden"] = 1
assert sorted(c.keys()) == ["lr", "n"] and dict(c.items()) == {"lr": 0.1, "n": 3} and list(c.values()) == [0.1, 3]
assert c["_hidden"] == 1 and "_hidden" in c and "lr" in c and len(c) == 2 and list(c) == ["lr", "n"]
class O: pass
o = O()
for k, v in c.items(): setattr(o, k, v)
assert vars(o) == {"lr": 0.1, "n": 3}
assert c.get("lr") == 0.1 and c.get("none", 5) == 5 and getattr(c, "none", 6) == 6 and not hasattr(c, "none")
try: c.none
except AttributeError: pass
else: raise AssertionError
try: c["none"]
except KeyError: pass
else: raise AssertionError
assert json.loads(json.dumps(dict(c))) == c.as_dict() == copy.deepcopy(c) and dict(pickle.loads(pickle.dumps(c))) == dict(c)
assert c == {"lr": 0.1, "n": 3} or dict(c) == {"lr": 0.1, "n": 3}
assert str(c) == "{'lr': 0.1, 'n': 3}"
d = copy.deepcopy(c)
assert d.lr == 0.1 and d is not c and vars(c)["_items"]["n"] == 3
`)
	r.complete(sweep.Parameters{"lr": 0.1, "n": int64(3)})
}

// 5. One trial is not one run: of children only those that mean to be the trial
// report, a forked one not twice; several runs of a process count on.
func TestSeveralRunsATrial(t *testing.T) {
	r := newPython(t, `
import multiprocessing, os, subprocess, sys, wandb
if len(sys.argv) > 1 and sys.argv[1] == "fold":
    wandb.init(project="folds")
    wandb.log({"fold": 1, "loss": 1000})
    wandb.finish()
    sys.exit()
env = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_")}
subprocess.run([sys.executable, __file__, "fold"], env=env, check=True)
run = wandb.init()
wandb.log({"loss": 3})
def work():
    wandb.log({"from_child": 1}, commit=False)
child = multiprocessing.get_context("fork").Process(target=work)
child.start(); child.join()
assert child.exitcode == 0
if os.fork() == 0:
    wandb.finish(exit_code=1)
    sys.exit(0)
os.wait()
wandb.log({"loss": 2})
run.finish()
assert wandb.run is None
for name in list(os.environ):
    if name in ("WANDB_RUN_ID", "WANDB_SWEEP_ID"): own = os.environ.pop(name)
inner = wandb.init(reinit=True)
inner.log({"loss": 500})
inner.finish()
os.environ["WANDB_RUN_ID"] = os.environ["WANDB_SWEEP_ID"] = own
second = wandb.init(reinit=True)
second.log({"loss": 1})
`)
	r.script.Command = r.script.Command[:2]
	result := r.complete(nil)
	if want := map[string]float64{"loss": 1, "from_child": 1}; !reflect.DeepEqual(result.Summary, want) {
		t.Errorf("summary %v, want %v\n%s", result.Summary, want, &r.log)
	}
	if steps, values := r.curve(result, "loss"); !reflect.DeepEqual(steps, []int64{0, 1, 2}) ||
		!reflect.DeepEqual(values, []float32{3, 2, 1}) {
		t.Errorf("curve %v %v", steps, values)
	}
	if !strings.Contains(r.log.String(), "is not the trial of a sweep") {
		t.Errorf("log:\n%s", &r.log)
	}
}

// 6. The objective may never come, be misspelt, be a scalar of numpy's kind, a
// truth, nothing, or not finite; logged early it counts.
func TestObjective(t *testing.T) {
	for name, test := range map[string]struct {
		program  string
		value    any // nil for none
		diverged bool
		remark   string
	}{
		"early":   {`wandb.log({"val_loss": 0.5}); [wandb.log({"x": i}) for i in range(9)]`, 0.5, false, ""},
		"numpy":   {"class S:\n  def item(self): return 0.25\nwandb.log({'val_loss': S()})", 0.25, false, ""},
		"float":   {"class S:\n  def __float__(self): return 0.25\nwandb.log({'val_loss': S()})", 0.25, false, ""},
		"truth":   {`wandb.log({"val_loss": True})`, 1.0, false, ""},
		"summary": {`wandb.log({"val_loss": 3}); wandb.summary["val_loss"] = 2`, 2.0, false, ""},
		"nan":     {`wandb.log({"val_loss": float("nan")})`, nil, true, ""},
		"misspelt": {`wandb.log({"valloss": 1, "acc": 2})`, nil, false,
			`the sweep's metric val_loss was never logged; the program logged acc, valloss (did you mean "valloss"?)`},
		"none": {`wandb.log({"val_loss": None})`, nil, false, "the sweep's metric val_loss was never logged; no " +
			"other was either"},
		"least": {`wandb.define_metric("val_*", summary="min"); [wandb.log({"val_loss": x}) for x in (3, 1, 2)]`,
			1.0, false, ""},
		"nested": {`wandb.log({"val": {"loss": 1}})`, nil, false, "the program logged val.loss"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPython(t, "import wandb\nwandb.init()\n"+test.program+"\n")
			r.script.Metric = "val_loss"
			result := r.complete(nil)
			value, there := result.Summary["val_loss"]
			if nan := math.IsNaN(value); nan && test.diverged {
				there = false
			}
			if there != (test.value != nil) || there && value != test.value || result.Diverged != test.diverged {
				t.Errorf("summary %v, diverged %v", result.Summary, result.Diverged)
			}
			if !strings.Contains(result.Error, test.remark) || test.remark == "" && result.Error != "" {
				t.Errorf("remark %q, want %q", result.Error, test.remark)
			}
		})
	}
}

// 9. Life: finish twice, no run, variables that the program sets itself, and a
// run that is left by an exception.
func TestLifeOfARun(t *testing.T) {
	r := newPython(t, `
import os, wandb
assert wandb.run is None
try: wandb.log({"a": 1})
except wandb.Error as e: assert "wandb.init()" in str(e)
else: raise AssertionError
try: wandb.config.lr
except wandb.errors.Error: pass
else: raise AssertionError
os.environ["WANDB_PROJECT"] = "mine"; os.environ["WANDB_MODE"] = "offline"; os.environ["WANDB_API_KEY"] = "x"; os.environ["WANDB_SILENT"] = "true"
wandb.login(key="x"); wandb.setup(); wandb.require("core")
run = wandb.init(project="p", entity="e", name="n", tags=["a"], group="g", job_type="j", notes="", settings=wandb.Settings(start_method="fork"), sync_tensorboard=True)
assert wandb.init() is run and run.name == "n" and run.id == "s1-7" and run.sweep_id == "s1" and run.project == "mine", run.project
run.name = "other"; run.tags += ("b",)
assert os.path.isdir(run.dir) and isinstance(run.step, int) and run.group == "g"
wandb.watch(object(), log="all"); wandb.run.log({"a": 2}); run.log_code("."); wandb.alert(title="t", text="x", level=wandb.AlertLevel.WARN)
wandb.finish(); wandb.finish(); run.finish(); wandb.join()
assert wandb.run is None
os.environ["WANDB_MODE"] = "disabled"
with wandb.init() as off: off.log({"a": 100})
with wandb.init(mode="disabled"): wandb.log({"a": 100})
`)
	if result := r.complete(nil); !reflect.DeepEqual(result.Summary, map[string]float64{"a": 2}) {
		t.Errorf("summary %v", result.Summary)
	}
	for name, test := range map[string]struct{ program, want string }{
		"exception": {"with wandb.init() as run:\n  raise ValueError('nothing works')",
			"exit status 1: ValueError: nothing works"},
		"swallowed": {"try:\n  with wandb.init() as run:\n    raise ValueError('nothing works')\nexcept " +
			"ValueError: pass", "reported its failure (exit code 1): ValueError: nothing works"},
		"finish":        {"wandb.init(); wandb.finish(exit_code=3)", "reported its failure (exit code 3)"},
		"system exit 2": {"with wandb.init(): raise SystemExit(2)", "exit status 2"},
		"system exit 0": {"with wandb.init(): raise SystemExit(0)", ""},
	} {
		r := newPython(t, "import wandb\n"+test.program+"\n")
		result, err := r.train(nil)
		if err != nil || (result.State == sweep.Failed) != (test.want != "") ||
			!strings.Contains(result.Error, test.want) {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// 10. A folder wandb/ beside the program does not hide the stand-in, nor the
// stand-in the user's PYTHONPATH.
func TestPaths(t *testing.T) {
	mine := t.TempDir()
	if err := os.WriteFile(filepath.Join(mine, "own_module.py"), []byte("x = 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", mine)
	r := newPython(t, `
import own_module, wandb, importlib.metadata
assert own_module.x == 5 and "Stand-in" in wandb.__doc__
assert importlib.metadata.version("wandb") == wandb.__version__
import wandb.plot, wandb.sklearn, wandb.data_types, wandb.util
from wandb.sdk.wandb_run import Run
from wandb.sdk.lib import RunDisabled
from wandb.integration.keras import WandbMetricsLogger
from wandb.keras import WandbCallback
assert isinstance(wandb.init(), Run) and len(wandb.util.generate_id()) == 8
wandb.log({"ok": 1})
`)
	r.write("wandb/run-1/files/output.log", "")
	r.write("wandb/debug.log", "")
	if result := r.complete(nil); result.Summary["ok"] != 1 {
		t.Errorf("summary %v", result.Summary)
	}
}

// 11. Objects come in one mapping with numbers: numbers are kept, objects and texts become
// media or are named once.
func TestObjects(t *testing.T) {
	r := newPython(t, `
import wandb
run = wandb.init()
open("plot.png", "wb").write(b"png"); open("model.bin", "w").write("weights")
for i in range(3):
    wandb.log({
        "loss": 1 / (i + 1), "picture": wandb.Image("plot.png", caption="c"), "many": [wandb.Image("plot.png")] * 2,
        "rows": wandb.Table(columns=["a", "b"], data=[[1, "x"], [float("nan"), wandb.Html]]), "histogram": wandb.Histogram([1, 2, 3], num_bins=2),
        "matrix": wandb.plot.confusion_matrix(probs=None, y_true=[0, 1, 1], preds=[0, 1, 0], class_names=["cat", "dog"]),
        "words": "text %d" % i, "list": [1, 2], "unknown": wandb.Sankey(1), "html": wandb.Html("<b>"), "val/loss": {"deep": "one"}, "val_loss.deep": "two",
        "drawing": wandb.plot.line(wandb.Table(columns=["x", "y"], data=[[1, 2]]), "x", "y", title="t"), "sound": wandb.Audio([0.0, 1.0], sample_rate=8000),
    }, step=i)
wandb.Histogram(np_histogram=([1, 2], [0, 1, 2])); wandb.plot.line_series([1, 2], [[3, 4]], keys=["k"])
wandb.sklearn.plot_roc([1], [2])
artifact = wandb.Artifact("model", type="model", metadata={"a": 1})
artifact.add_file("model.bin")
with artifact.new_file("more/note.txt") as f: f.write("note")
artifact.add(wandb.Table(columns=["a"], data=[[1]]), "table")
assert wandb.log_artifact(artifact).wait() is artifact and run.use_artifact("model:latest") is artifact
run.log_artifact("model.bin", name="raw", type="file")
wandb.save("model.bin")
open(run.dir + "/own.txt", "w").write("own")
assert wandb.Unknown.INFO is not None and wandb.Unknown(1).x is not None and isinstance(run.summary._as_dict(), dict)
class Figure:
    def savefig(self, path): open(path, "w").write("figure")
wandb.log({"figure": Figure(), "drawn": wandb.Image(Figure())})
try:
    import numpy, PIL
    wandb.log({"array": wandb.Image(numpy.zeros((4, 5, 3))), "tiles": wandb.Image(numpy.zeros((10, 1, 4, 5)))})
    assert PIL.Image.open(run.dir + "/../media/tiles.png").size == (40, 8)
    assert PIL.Image.open(run.dir + "/../media/array.png").size == (5, 4)
except ImportError: open(run.dir + "/../media/array.png", "w").write("as if")
assert run.invented(1) is None and "/runs/" in run.url + "" and run._label(code="x") is None
try: run.use_artifact("team/data:v3")
except wandb.CommError as e: assert "no W&B server" in str(e)
try: wandb.Api().runs("x")
except wandb.CommError: pass
`)
	result := r.complete(nil)
	if len(result.Summary) != 1 {
		t.Errorf("summary %v", result.Summary)
	}
	if steps, _ := r.curve(result, "loss"); !reflect.DeepEqual(steps, []int64{0, 1, 2}) {
		t.Errorf("steps %v", steps)
	}
	kept := filepath.Join(r.options.Artifacts, "s1", "7")
	for _, name := range []string{
		"media/picture.png", "media/many_1.png", "media/figure.png", "media/drawn.png", "media/array.png", "model-model/model.bin", "model-model/more/note.txt",
		"model-model/table.table.json", "model-model.metadata.json", "file-raw/model.bin", "files/model.bin",
		"files/own.txt",
	} {
		if _, err := os.Stat(filepath.Join(kept, name)); err != nil {
			t.Errorf("not kept: %v", err)
		}
	}
	checkMedia(t, r)
	for _, name := range []string{"list", "unknown"} {
		if n := strings.Count(r.log.String(), "): "+name+": its "); n != 1 {
			t.Errorf("%s is named %d times:\n%s", name, n, &r.log)
		}
	}
}

// checkMedia checks the media that were handed over: the index, and each in its form.
func checkMedia(t *testing.T, r *rig) {
	t.Helper()
	handed := map[string]string{}
	for name, a := range r.sink.Artifacts() {
		handed[name] = string(a.Content)
	}
	for name, want := range map[string]string{
		"media.rows.table.json":          `{"columns": ["a", "b"], "data": [[1, "x"], [null, "<class 'wandb._media.Html'>"]]}`,
		"media.histogram.histogram.json": `{"edges": [1.0, 2.0, 3], "counts": [1, 2]}`,
		"media.matrix.confusion.json":    `{"classes": ["cat", "dog"], "counts": [[1, 0], [1, 1]]}`,
		"media.drawing.table.json": `{"columns": ["x", "y"], "data": [[1, 2]], "plot": {"kind": "line", "x": "x", ` +
			`"y": "y", "title": "t"}}`,
		"media.words.txt": "text 2", "media.html.html": "<b>", "media.val_loss_deep.txt": "one",
		"media.val_loss_deep-2.txt": "two",
	} {
		if handed[name] != want {
			t.Errorf("%s: %s, want %s", name, handed[name], want)
		}
	}
	if !strings.HasPrefix(handed["media.sound.wav"], "RIFF") {
		t.Errorf("a sound of %q", handed["media.sound.wav"])
	}
	var index struct {
		Media []struct {
			Name, Kind, File, Caption string
			Step, Place               int
		}
	}
	if err := json.Unmarshal([]byte(handed["media.index.json"]), &index); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, m := range index.Media {
		kinds[m.Name] = m.Kind
		if _, ok := handed[sweep.MediaPrefix+m.File]; !ok {
			t.Errorf("%+v has no file", m)
		}
		if m.Name == "picture" && (m.Caption != "c" || m.Step != 2) || m.Name == "many" && m.Place > 1 {
			t.Errorf("%+v", m)
		}
	}
	for name, want := range map[string]string{"picture": "image", "many": "image", "rows": "table", "html": "html",
		"histogram": "histogram", "matrix": "confusion_matrix", "words": "text", "sound": "audio", "drawing": "table",
		"val/loss.deep": "text"} {
		if kinds[name] != want {
			t.Errorf("%s is of kind %q, want %s", name, kinds[name], want)
		}
	}
}

// A script may use every name for a metric and give steps that are none: nothing but the step is lost.
func TestNamesAndStepsOfAScript(t *testing.T) {
	r := newPython(t, `
import wandb
run = wandb.init()
for step in range(3):
    wandb.log({"epoch": 1, "step": 5 * step, "loss": 1 / (step + 1), "_": 3, "_summary": True, "_name": 7, "_tags": 8})
for i, step in enumerate((1.5, "3", float("nan"), "x", [1])):
    wandb.log({"loss": i}, step=step)
wandb.log({"loss": 10, "step": None}, step=8.0)
`)
	r.script.Metric = "loss"
	result := r.complete(nil)
	if want := map[string]float64{"epoch": 1, "step": 10, "loss": 10}; !reflect.DeepEqual(result.Summary, want) {
		t.Errorf("summary %v, want %v\n%s", result.Summary, want, &r.log)
	}
	if steps, _ := r.curve(result, "loss"); !reflect.DeepEqual(steps, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("steps %v", steps)
	}
	if steps, values := r.curve(result, "step"); !reflect.DeepEqual(steps, []int64{0, 1, 2}) || values[2] != 10 {
		t.Errorf("step: %v %v", steps, values)
	}
	if result.Error != "" || result.Labels != nil || !strings.Contains(r.log.String(), "step 'x' is no whole number") {
		t.Errorf("remark %q, labels %v\n%s", result.Error, result.Labels, &r.log)
	}
}

// A call with a step before the last one, or after the run's end, changes nothing and is counted.
func TestLateCalls(t *testing.T) {
	r := newPython(t, `
import wandb
run = wandb.init()
wandb.define_metric("val", step_metric="epoch")
run.log({"loss": 0.5}, step=10); run.log({"loss": 0.4}, step=10); run.log({"loss": 9, "early": 1}, step=9)
run.log({"val": 1, "epoch": 4}); run.log({"val": 2, "epoch": 3})
run.finish()
run.log({"loss": 8}); run.summary["loss"] = 7
`)
	r.script.Metric = "loss"
	result := r.complete(nil)
	want := map[string]float64{"loss": 0.4, "val": 2, "epoch": 3}
	if !reflect.DeepEqual(result.Summary, want) {
		t.Errorf("summary %v, want %v\n%s", result.Summary, want, &r.log)
	}
	for metric, want := range map[string][]int64{"loss": {10}, "val": {4}, "epoch": {10, 11}} {
		if steps, _ := r.curve(result, metric); !reflect.DeepEqual(steps, want) {
			t.Errorf("%s: steps %v, want %v", metric, steps, want)
		}
	}
	if want := "3 log calls dropped: the step came before the last one, or the run was finished"; result.Error != want {
		t.Errorf("remark %q, want %q", result.Error, want)
	}
}

// Steps are W&B's: they count on by themselves, stay with commit=False, and jump.
func TestSteps(t *testing.T) {
	r := newPython(t, `
import wandb
run = wandb.init()
wandb.log({"a": 1}); wandb.log({"a": 2}, commit=False); wandb.log({"b": 1}); wandb.log({"a": 3}, step=10); wandb.log({"b": 2}, step=10); wandb.log({"b": 3})
wandb.log({"a": 4})
wandb.define_metric("epoch"); wandb.define_metric("val/*", step_metric="epoch")
wandb.log({"val/loss": 0.5, "epoch": 3}); wandb.log({"val/loss": 0.25, "epoch": 7})
wandb.log({"big" + str(i): i for i in range(900)})
try: wandb.log(3)
except ValueError: pass
`)
	result := r.complete(nil)
	for metric, want := range map[string][]int64{"a": {0, 1, 10, 11}, "b": {1, 10}, "val/loss": {3, 7},
		"big899": {14}} {
		if steps, values := r.curve(result, metric); !reflect.DeepEqual(steps, want) {
			t.Errorf("%s: %v %v, want %v", metric, steps, values, want)
		}
	}
	if len(result.Summary) != 904 {
		t.Errorf("%d metrics", len(result.Summary))
	}
}

// What a program calls its run is kept with its result; the name that the stand-in makes up is not.
func TestRunLabels(t *testing.T) {
	none := newPython(t, "import wandb\nassert wandb.init().name == 's1-7'\nwandb.log({'loss': 1})\n")
	if labels := none.complete(sweep.Parameters{}).Labels; labels != nil {
		t.Errorf("%+v, want no labels", labels)
	}
	r := newPython(t, `
import wandb
run = wandb.init(name="first", group="folds", notes="two\nlines", tags=["b", "a"])
run.name = "swift-fox"
run.tags += ("c,d", "b")
run.notes = "\U0001F600" * 20000  # more than a line may have
assert run.tags == ("b", "a", "c,d", "b"), run.tags
wandb.log({"loss": 1})
`)
	result := r.complete(sweep.Parameters{})
	want := &sweep.RunLabels{Name: "swift-fox", Group: "folds", Notes: strings.Repeat("😀", sweep.LongestNotes/4), Tags: []string{"a", "b", "c", "d"}}
	if !reflect.DeepEqual(result.Labels, want) {
		t.Errorf("%+v, want %+v", result.Labels, want)
	}
	if !strings.Contains(r.log.String(), "notes: cut to 10000 bytes") {
		t.Errorf("the log does not say that the notes were cut:\n%s", &r.log)
	}
	if got := len(result.Curves); got != 1 || !reflect.DeepEqual(result.Summary, map[string]float64{"loss": 1}) {
		t.Errorf("%d curves and the summary %v", got, result.Summary)
	}
}
