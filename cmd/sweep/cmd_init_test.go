package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A sweep file is written from a script's arguments, which expand and run take as it is.
func TestInit(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := folder(t, map[string]string{
		"args.py": `
import argparse, wandb
p = argparse.ArgumentParser()
p.add_argument("file", nargs="?")
p.add_argument("-l", "--lr", type=float, default=0.01, help="learning  rate")
p.add_argument("--batch-size", type=int, default=64)
p.add_argument("--optimizer", choices=["sgd", "no"], default="sgd")
p.add_argument("--amp", action="store_true")
p.add_argument("--resume", type=str)
p.add_argument("--seed", type=int, default=0)
a = p.parse_args()
assert a.lr == 0.01 and not a.amp and a.batch_size == 64
wandb.init(config=a)
wandb.log({"epoch": 1, "train/loss": 2.5, "val/acc": 0.5})
`,
		"events.py": "import json, os\nos.environ.get('SWEEP_PARAMETERS')\nprint(json.dumps({'step': 1, 'f1': 2, 'my loss': 3}))\n" +
			"import fire\ndef train(rate: float = 0.25, *, name=\"a b\", layers: int): pass\nfire.Fire(train)\n",
		"config.py": "import wandb\nwandb.init(config=dict(lr=1e-05, width=1, on=True, other=print))\nwandb.log({'reward': 1})\n",
		"click.py": "import click\n@click.command()\n@click.option('--lr', default=0.5)\n" +
			"@click.option('--kind', type=click.Choice(['a', 'b']), required=True)\ndef main(lr, kind): pass\n",
		"hydra_app.py":     "import hydra\n@hydra.main(version_base=None, config_path='conf', config_name='config')\ndef main(cfg): pass\n",
		"conf/config.yaml": "defaults: [_self_]\nlr: 1e-3\nmodel:\n  width: 32\n  name: \"yes\"\n  bias: true\ndata: ???\nout: ${x}\nnone: null\n",
		"broken.py":        "x = (\n",
		"empty.py":         "print(1)\n",
	})
	file := func(name, want string) {
		t.Helper()
		path := filepath.Join(dir, name+".yaml")
		if stdout, stderr, code := output(t, home, "init", filepath.Join(dir, name), "-o", path); code != 0 || !strings.Contains(stdout, "sweep run "+path) {
			t.Errorf("%s: exit code %d: %s%s", name, code, stdout, stderr)
			return
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(got), "program: "+filepath.Join(dir, name)+"\n")
		if text != want {
			t.Errorf("%s:\n%s\nexpected\n%s", name, got, want)
		}
	}
	file("args.py", `command: ["${env}", "${interpreter}", "${program}", "${args_no_boolean_flags}"]  # true: the flag is given
metric: {name: val/acc, goal: maximize}  # it also logs train/loss
replicates: 1  # 3 trains each point with seed = 1, 2 and 3
parameters:
  lr: {value: 0.01}  # learning rate; such as {values: [0.001, 0.01, 0.1]}
  batch-size: {value: 64}  # such as {values: [32, 64, 128]}
  optimizer: {value: sgd}  # such as {values: [sgd, "no"]}
  amp: {value: false}  # such as {values: [false, true]}
  # resume: {values: []}  # none by default; text
`)
	file("events.py", `metric: {name: "my loss", goal: minimize}  # it also logs f1
parameters:
  rate: {value: 0.25}  # such as {values: [0.125, 0.25, 0.5]}
  name: {value: "a b"}
  layers: {values: []}  # required; integer
`)
	file("config.py", `metric: {name: reward, goal: maximize}
parameters:
  lr: {value: 1e-05}  # such as {values: [1e-06, 1e-05, 0.0001]}
  width: {value: 1}
  "on": {value: true}  # such as {values: [false, true]}
`)
	file("click.py", `# metric: {name: loss, goal: minimize}  # no call that logs was found
parameters:
  lr: {value: 0.5}  # such as {values: [0.25, 0.5, 1]}
  kind: {values: []}  # required; such as {values: [a, b]}
`)
	file("hydra_app.py", `command: ["${env}", "${interpreter}", "${program}", "${args_no_hyphens}"]
# metric: {name: loss, goal: minimize}  # no call that logs was found
parameters:
  lr: {value: 1e-3}  # such as {values: [0.0001, 1e-3, 0.01]}
  model.width: {value: 32}  # such as {values: [16, 32, 64]}
  model.name: {value: "yes"}
  model.bias: {value: true}  # such as {values: [false, true]}
  data: {values: []}  # required
  # none: {values: []}  # none by default
`)
	if stdout, stderr, code := output(t, home, "run", filepath.Join(dir, "args.py.yaml"), "--quiet"); code != 0 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	for name, want := range map[string]string{
		"broken.py": "broken.py is not read: SyntaxError: '(' was never closed", "empty.py": "no parameter was found",
	} {
		if _, stderr, code := output(t, home, "init", filepath.Join(dir, name), "-o", filepath.Join(dir, "no.yaml")); code != exitFailure ||
			!strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
	}
	if _, stderr, code := output(t, home, "init", filepath.Join(dir, "args.py"), "-o", filepath.Join(dir, "args.py.yaml")); code != exitUsage ||
		!strings.Contains(stderr, "exists already") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, _, code := output(t, home, "init", filepath.Join(dir, "none.py")); code != exitNotFound {
		t.Errorf("exit code %d", code)
	}
}
