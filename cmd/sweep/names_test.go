package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// oddSweep has a metric called like each of some parameters, like fields of trials, and like nothing that a shell or a
// list likes. Of the parameters lr and its metric, the metric is smaller; the parameter loss is a text.
var oddSweep = map[string]string{
	"odd.yaml": `
name: odd
program: train.sh
command: [/bin/sh, "${program}"]
metric: {name: loss, goal: minimize}
parameters:
  loss: {values: [mse, l1]}
  lr: {values: [0.1, 0.2]}
  same: {values: [3]}
  C: {values: [1]}
  'q"p, r': {values: [1]}
  x: {values: [null, "null", 1, "1", true, "true", 9007199254740993]}
`,
	"train.sh": `
p=$(cat "$SWEEP_PARAMETERS")
lr=$(echo "$p" | sed 's/.*"lr": *\([0-9.]*\).*/\1/')
case $p in *mse*) i=1;; *) i=2;; esac
cat >> "$SWEEP_EVENTS" <<END
{"loss": $i, "lr": ${lr}1, "same": 3, "C": 5, "c": 6, "maP@[IoU=0.5]": $lr, "p<0.05": $i, "acc, top-5": $i, "acc": 7,\
 "top-5": 8, "n\\"q": $i, "best_epoch": 9, "seconds": 1$i, "state": 2$i, "index": 3$i, "metric.lr": 10, "a\\\\b": 11}
END
`}

// Names are found and printed as they are by every command, whatever they are.
func TestOddNames(t *testing.T) {
	home, dir := t.TempDir(), folder(t, oddSweep)
	run := func(args ...string) (stdout, stderr string, code int) { return output(t, home, args...) }
	if _, stderr, code := run("run", filepath.Join(dir, "odd.yaml"), "--quiet"); code != 0 {
		t.Fatal(stderr)
	}
	// rows is how many rows a table has, and its heading.
	rows := func(args ...string) (n int, heading, stderr string) {
		t.Helper()
		stdout, stderr, code := run(args...)
		if code != 0 {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		return len(lines) - 1, strings.Join(strings.Fields(lines[0]), " "), stderr
	}
	for condition, want := range map[string]int{
		"maP@[IoU=0.5]>0.15": 14, "metric.maP@[IoU=0.5]>0.15": 14, "p<0.05>=2": 14, `"p<0.05"<2`: 14, "acc, top-5=1": 14,
		`"acc, top-5"=2`: 14, `n"q=1`: 14, `"n\"q"!=1`: 14, `metric."n""q"=1`: 14, `q"p, r=1`: 28, "loss=l1": 14, "loss<2": 14,
		"metric.loss>=2": 14, "parameter.loss=mse": 14, "lr=0.1": 14, "lr=0.11": 0, `metric."lr"=0.11`: 14, "lr<=0.2": 28,
		"metric.lr=10": 28, "C=1": 28, "c=6": 28, "C=5": 0, "metric.C=5": 28, "best_epoch=9": 28,
		"seconds=11": 14, "trial.seconds<11": 28, "state=completed": 28, "state=21": 14, "index=31": 14, "trial.index=3": 1,
		`a\b=11`: 28, "x=null": 4, `x="null"`: 4, "x=1": 4, `x="1"`: 4, "x=true": 4, `x="true"`: 4,
		"x=9007199254740993": 4, "x=9007199254740992": 0, "x>9007199254740992": 4,
	} {
		if n, _, _ := rows("trials", "--where", condition, "--limit", "0", "--columns", "same"); n != want {
			t.Errorf("--where %s: %d trials, want %d", condition, n, want)
		}
	}
	for columns, want := range map[string]string{
		"acc, top-5,n\"q": `acc, top-5 n"q`, `"acc, top-5","n""q"`: `acc, top-5 n"q`, "C,c": "parameter.C metric.C c",
		"lr": `parameter.lr metric."lr"`, "loss": "parameter.loss metric.loss", "same": "SAME", "metric.lr": `"metric.lr"`,
		"p<0.05, maP@[IoU=0.5]": "p<0.05 maP@[IoU=0.5]", "best_epoch": "BEST_EPOCH",
		"seconds": "SECONDS trial.seconds", `q"p, r,a\b`: `q"p, r a\b`, "acc,top-5": "ACC TOP-5",
	} {
		_, heading, _ := rows("trials", "--columns", columns, "--limit", "1")
		if heading != "trial.index trial.state "+want {
			t.Errorf("--columns %s: %s, want %s", columns, heading, want)
		}
	}
	for by, want := range map[string]int{"x": 7, "loss,lr": 4, `q"p, r,loss`: 2, `"q""p, r"`: 1, "parameter.C": 1} {
		if n, _, _ := rows("trials", "--group-by", by, "--columns", "acc, top-5,loss"); n != want {
			t.Errorf("--group-by %s: %d groups, want %d", by, n, want)
		}
	}
	for _, l := range []line{
		{args: []string{"trials", "--sort", "lr", "--limit", "1"}, stdout: []string{`metric."lr"`, "0.11"},
			stderr: []string{"--sort lr: taken as the metric (metric.lr), not the parameter (parameter.lr)"}},
		{args: []string{"trials", "--where", "lr>0.1", "--limit", "1", "--columns", "c"}, stdout: []string{`metric."lr"`, "0.21"},
			stderr: []string{"--where lr>0.1: taken as the parameter"}},
		{args: []string{"trials", "--where", "lorr>0.1"}, code: exitUsage, stderr: []string{"--where lorr: no trial"}},
		{args: []string{"trials", "--columns", "acc, top-6"}, code: exitUsage, stderr: []string{"--columns top-6"}},
		{args: []string{"trials", "--sort", "metric.index", "--limit", "1", "--columns", "index"}, stdout: []string{"31"}},
		{args: []string{"trials", "--group-by", "loss", "--sort", "loss"}, stdout: []string{"parameter.loss", "metric.loss"}},
		{args: []string{"figure", "slice", "latest", "--x", "lr", "--metric", "lr", "-o", filepath.Join(home, "a.svg")}},
		{args: []string{"figure", "heatmap", "latest", "--x", `q"p, r`, "--y", "x", "--metric", "acc, top-5", "--where",
			"p<0.05>=1", "-o", filepath.Join(home, "a.svg")}},
		{args: []string{"figure", "table", "latest", "--group-by", `q"p, r,loss`, "--metric", "p<0.05", "-o",
			filepath.Join(home, "a.svg")}},
		{args: []string{"curves", "latest", "0", "--metric", "acc, top-5,lr", "--format", "csv"},
			stdout: []string{"\"acc, top-5\",1,1\n", "\nlr,1,0.11\n"}},
		{args: []string{"diff", "latest", "latest", "--metric", "acc, top-5"}, stdout: []string{"acc, top-5 at the 28 grid points"}},
		{args: []string{"export"}, stdout: []string{"parameter.lr", "metric.lr", `"metric.acc, top-5"`, `"metric.n""q"`, "metric.c"}},
		{args: []string{"sql", "--sweep", "latest", `SELECT "C", "c", lr, "metric.lr", "n""q", "acc, top-5", "metric.C" FROM t LIMIT 1`,
			"--format", "csv"}, stdout: []string{"C,c,lr,metric.lr,\"n\"\"q\",\"acc, top-5\",metric.C\n1,6,0.1,0.11,1,1,5\n"}},
		{args: []string{"sql", "--sweep", "latest", "SELECT count(DISTINCT coalesce(x, 'none')) FROM t"}, stdout: []string{"\n7\n"}},
		{args: []string{"sql", "--sweep", "latest", `SELECT "C", c FROM t LIMIT 1`}, stdout: []string{"C  c\n1  6\n"}},
	} {
		check(t, run, l)
	}
	t.Setenv("PYTHONPATH", resultsPath(t))
	driver := write(t, home, "names.py", `
import sweep_results as results
s = results.sweep()
row = s.trials(where=["maP@[IoU=0.5]>0.15", "p<0.05>=2"], sort="lr", limit=1)[0]
print(row["lr"], row["metric.lr"], row["state"], row["metric.state"], row["C"], row["metric.C"], row["c"], row["acc, top-5"])
for g in s.groups('q"p, r', "loss", metrics=["acc, top-5", "loss"]):
    print(g['q"p, r'], g["loss"], g["acc, top-5.mean"], g["loss.mean"])
`)
	check(t, run, line{args: []string{"exec", python(t), driver},
		stdout: []string{"0.2 0.21 completed 22 1 5 6 2\n", "1 mse 1 1\n1 l1 2 2\n"}})
}
