package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// elsewhere are the beginnings of documented commands that another test runs.
var elsewhere = map[string]string{
	"sweep preset run":                                  "TestPresets, in the quick form",
	"sweep table ucr-table4":                            "TestPresets",
	"sweep table sgornn-table2":                         "TestPresets",
	"sweep table mnist-table2":                          "TestPresets",
	"sweep table state-tracking":                        "TestPresets",
	"sweep figure copy-fig2":                            "TestPresets",
	"sweep run examples/minirocket/":                    "TestTrainerExample",
	"sweep run bits.yaml":                               "TestTaskAndCell",
	"sweep data fetch":                                  "catalog.TestFetch, from a server of its own",
	"sweep data verify":                                 "TestDataCommands",
	"sweep longer ":                                     "TestLonger",
	"sweep predict ":                                    "TestDocumentation, of docs/own-data.md, and TestPredictCommand",
	"sweep init ":                                       "TestInit",
	"sweep tell tuning":                                 "TestTellAndAsk",
	"sweep ask tuning":                                  "TestTellAndAsk",
	"echo '{\"lr\": 0.003}' | sweep tell latest":        "TestTellAndAsk",
	"sweep tell own":                                    "TestTellAndAsk",
	"sweep ask own":                                     "TestTellAndAsk",
	"echo '{\"x\": 0.1, \"y\": -0.2}' | sweep tell own": "TestTellAndAsk",
	"sweep trainer step --slides":                       "nobody: it measures for minutes",
	"sweep trainer step --goals":                        "nobody: it measures for a minute",
	"sweep coordinator --store postgres://sweep@newdb":  "TestCoordinatorOfAnotherDatabase",
}

// controls are the commands that change a sweep, in the order in which they can follow each other.
var controls = []string{"pause", "resume", "budget", "priority", "extend", "drain", "trial cancel", "trial retry", "retry",
	"cancel", "delete", "prune"}

// servers are the commands that serve until they are told to end.
var servers = []string{"ui", "mcp", "nats", "worker", "coordinator"}

// pageLine is a command line of a page.
type pageLine struct {
	page, line string
}

// starts returns the place among the names of the line's command, of its last one where it has several; -1 if it
// is none of them.
func (d pageLine) starts(names []string) int {
	commands := strings.Split(d.line, " && ")
	line := commands[len(commands)-1] + " "
	return slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(line, "sweep "+name+" ") })
}

// elsewhere reports whether another test runs the line.
func (d pageLine) elsewhere() bool {
	for begin := range elsewhere {
		if strings.HasPrefix(d.line, begin) {
			return true
		}
	}
	return false
}

// documentedLines are the command lines of all pages that no sh block has, each once.
func documentedLines(t *testing.T) (lines []pageLine) {
	t.Helper()
	remark := regexp.MustCompile(`(  +[^ ]| +#).*$`)
	placeholders := strings.NewReplacer(" [--resume]", "", " [SWEEP]", "", " …", "", "bin/sweep ",
		"sweep ", "go run ./cmd/sweep ", "sweep ", " SWEEP", " ucr", " NUMBER", " 7", " BUDGET", ` "200 trials"`, " WORKER",
		" host-1", " node7", " host-1", "DIR", "data", "~/data", "data", "/srv/data", "data", "wandb.yaml", "sweep.yaml",
		"/srv/trainer-home", "trainers", "/srv/projects,/home", ".", "/srv/sweep/tokens.json", "tokens.json",
		"/var/tmp/nats", "jetstream", " FILE.db", " other.db", "dataset=CBF", "dataset=generated-cbf", "--count 20", "--count 3",
		"--T 784 --B 128", "--T 8 --B 4 --seconds 0.2", "complete latest", "complete queries")
	seen := map[string]bool{}
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := textBlock.ReplaceAllString(shBlock.ReplaceAllString(string(data), ""), "")
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
			if args := commandLine(line); len(args) == 0 {
				continue
			}
			line = placeholders.Replace(remark.ReplaceAllString(strings.TrimSpace(line), ""))
			line = strings.TrimSpace(strings.ReplaceAll(line, " FILE", " ucr.yaml"))
			if !seen[line] {
				seen[line] = true
				lines = append(lines, pageLine{page: strings.TrimPrefix(page, "../../"), line: line})
			}
		}
	}
	return lines
}

// documentation is where documented commands are run: a folder with the files that they name, this machine's own
// home, and a cluster.
type documentation struct {
	t   *testing.T
	dir string
	bin string
	c   *cluster
}

// command is a line for the shell, of this machine alone or of the cluster.
func (d *documentation) command(ctx context.Context, line string, local bool) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -eo pipefail\n"+line)
	cmd.Env = program(d.t, filepath.Join(d.dir, "home")).Env
	if !local {
		cmd.Env = d.c.program(filepath.Join(d.c.dir, "client")).Env
	}
	cmd.Env = append(cmd.Env, "PATH="+d.bin+":"+os.Getenv("PATH"))
	cmd.Dir, cmd.WaitDelay = d.dir, 10*time.Second
	return cmd
}

// run runs a line to its end, which must be a good one.
func (d *documentation) run(page, line string, local bool) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	cmd := d.command(ctx, line, local)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	if err := cmd.Run(); err != nil {
		d.t.Errorf("%s: %s: %v\n%s%s", page, line, err, &out, &errs)
	}
	d.t.Logf("%.2f s %s", time.Since(began).Seconds(), line)
	return out.String()
}

// serve starts a line, and has it end once it has said something.
func (d *documentation) serve(page, line string, local bool) {
	d.t.Helper()
	cmd := d.command(d.t.Context(), "exec "+line, local)
	var said syncBuffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	await(d.t, line+" to say something", func() bool { return said.Len() > 0 || len(ended) > 0 })
	_ = cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
	if err := <-ended; err != nil {
		d.t.Errorf("%s: %s: %v\n%s", page, line, err, &said)
	}
}

// files writes the files that the pages speak of. The examples train one epoch.
func (d *documentation) files() {
	d.t.Helper()
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) == 0 {
		d.t.Fatalf("no examples: %v", err)
	}
	for _, name := range []string{"examples", "data/ucr", "trainers"} {
		if err := os.MkdirAll(filepath.Join(d.dir, name), 0o755); err != nil {
			d.t.Fatal(err)
		}
	}
	short := strings.NewReplacer("epochs: {value: 300}", "epochs: {value: 1}", "epochs: {value: 8}", "epochs: {value: 1}",
		"steps: {value: 800}", "steps: {value: 8}", "max: 10000", "max: 20", "replicates: 10", "replicates: 2",
		"{values: [mlp, spectral-mlp]}", "{values: [mlp, spectral-mlp]}\n  epochs: {value: 1}")
	for _, name := range examples {
		text, err := os.ReadFile(name)
		if err != nil {
			d.t.Fatal(err)
		}
		write(d.t, d.dir, "examples/"+filepath.Base(name), short.Replace(string(text)))
	}
	const ucr = "name: ucr\nreplicates: 3\nparameters:\n  dataset: {value: generated-cbf}\n" +
		"  model: {values: [rnn, lstm, ornn, spectral-rnn]}\n  lr: {values: [0.003, 0.01]}\n  hidden: {values: [4, 6]}\n" +
		"  m1: {value: 2}\n  m2: {value: 2}\n  input_size: {value: 1}\n  gradient_norms: {value: 2}\n" +
		"  epochs: {value: 1}\nartifacts: [weights, probabilities]\n" +
		"select: {group: [dataset, model], by: validation_loss, goal: minimize}\n"
	write(d.t, d.dir, "ucr.yaml", ucr)
	write(d.t, d.dir, "examples/more.yaml", strings.ReplaceAll(ucr, "[0.003, 0.01]", "[0.02]"))
	const two = "parameters:\n  dataset: {value: generated-cbf}\n  model: {values: [rnn, lstm]}\n  epochs: {value: 1}\n"
	write(d.t, d.dir, "before.yaml", "name: before\n"+two)
	write(d.t, d.dir, "after.yaml", "name: after\n"+two)
	write(d.t, d.dir, "prefixes.txt", "mic\nusb\n")
	write(d.t, d.dir, "sweep.yaml", "program: train.py\nmethod: random\nrun_cap: 2\nmetric: {name: loss, goal: minimize}\n"+
		"parameters:\n  lr: {min: 0.1, max: 1.0}\n")
	write(d.t, d.dir, "train.py", `import wandb
run = wandb.init()
wandb.log({"loss": wandb.config.lr, "predictions": wandb.Table(columns=["a"], data=[[1]])})
`)
	write(d.t, d.dir, "tune.py", `import wandb
id = wandb.sweep({"method": "random", "metric": {"name": "loss", "goal": "minimize"},
                  "parameters": {"lr": {"min": 0.1, "max": 1.0}}})
def train():
    wandb.init()
    wandb.log({"loss": wandb.config.lr})
wandb.agent(id, function=train, count=3)
`)
	certificate(d.t, d.dir)
}

// local reports whether a command is run on this machine alone: what trains here, and what the pages on scripts show.
func (d *documentation) local(l pageLine) bool {
	scripts := l.page == "docs/scripts.md" && l.starts(servers) < 0
	return scripts || l.starts([]string{"run", "exec", "ui", "mcp", "report"}) >= 0
}

// here is a line with the addresses of this test.
func (d *documentation) here(line string) string {
	own := freeAddress(d.t)
	line = strings.NewReplacer("nats://head:4222", "nats://"+d.c.nats, "postgres://sweep@db/sweep", "'"+d.c.url+"'",
		" | psql postgres://admin@db/sweep", " > migrations.sql", "--listen 127.0.0.1:4222", "--listen "+own,
		":8080", "127.0.0.1:0", "127.0.0.1:7777", "127.0.0.1:0", "--ui :7766", "--ui=127.0.0.1:0").Replace(line)
	if strings.HasPrefix(line, "sweep run ") {
		line = regexp.MustCompile(`--ui( |$)`).ReplaceAllString(line, "--ui=127.0.0.1:0$1")
	}
	return line
}

// TestDocumentedCommandsRun runs every command line of every page that no sh block has, as a user types it, with the
// files, sweeps and servers that the pages speak of.
func TestDocumentedCommandsRun(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &documentation{t: t, dir: t.TempDir(), bin: t.TempDir(), c: newCluster(t)}
	if err := os.Symlink(self, filepath.Join(d.bin, "sweep")); err != nil {
		t.Fatal(err)
	}
	d.files()
	d.c.start("coordinator", "coordinator")
	d.c.start("worker", "worker", "--slots", "2", "--name", "host-1")
	d.c.answered()

	var submitting, controlling, serving []pageLine
	ran := 0
	do := func(l pageLine) {
		ran++
		d.run(l.page, d.here(l.line), d.local(l))
	}
	for _, file := range []string{"examples/queries.yaml", "before.yaml", "after.yaml", "examples/cbf.yaml", "ucr.yaml"} {
		d.run("preparation", "sweep submit "+file+" --watch", false)
	}
	d.run("preparation", "sweep run sweep.yaml", true)
	for _, l := range documentedLines(t) {
		switch {
		case l.elsewhere():
		case l.starts(controls) >= 0:
			controlling = append(controlling, l)
		case l.starts(servers) >= 0:
			serving = append(serving, l)
		case l.starts([]string{"submit"}) >= 0: // these are later than the sweep that is to be the latest
			submitting = append(submitting, l)
		default:
			do(l)
		}
	}
	for _, l := range submitting {
		do(l)
	}
	// The trials of the sweep that is changed wait: they keep no processor from the commands.
	const waiting = "name: ucr\ntrainer: noop\nreplicates: %d\nparameters:\n  x: {values: [%s]}\n  " +
		"milliseconds: {value: %d}\n"
	write(t, d.dir, "ucr.yaml", fmt.Sprintf(waiting, 3, "0, 1", 1))
	write(t, d.dir, "examples/more.yaml", fmt.Sprintf(waiting, 3, "2", 1))
	id := d.c.submit(write(t, d.dir, "endless.yaml", fmt.Sprintf(waiting, 1000, "0, 1", 3_600_000)))
	slices.SortStableFunc(controlling, func(a, b pageLine) int { return a.starts(controls) - b.starts(controls) })
	for _, l := range controlling {
		l.line = strings.ReplaceAll(l.line, "20260301-120000-x7k2", id)
		do(l)
	}
	for _, l := range serving {
		ran++
		d.serve(l.page, d.here(l.line), d.local(l))
	}
	if ran < 150 {
		t.Errorf("%d documented commands were run", ran)
	}
}
