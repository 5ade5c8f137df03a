package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sweep/sweep"
)

// tinyData writes a data set Tiny in which one value of each series is the given one.
func tinyData(t *testing.T, value string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	folder := filepath.Join(dir, "ucr", "Tiny")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 12 {
		fmt.Fprintf(&text, "%d\t0.5\t%d\t%s\t0.25\n", i%2+1, i, value)
	}
	for _, part := range []string{"TRAIN", "TEST"} {
		write(t, folder, "Tiny_"+part+".tsv", text.String())
	}
	return dir
}

// What a worker refuses is shown wherever a sweep is looked at.
func TestRefusalsAreShown(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	data, other := tinyData(t, "0.125"), tinyData(t, "0.126")
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	c.start("worker", "worker", "--slots", "1", "--name", "host-1", "--data", other)
	await(t, "the worker to be ready", func() bool {
		stdout, _, _ := c.output("workers")
		return strings.Contains(stdout, "ready")
	})
	file := write(t, t.TempDir(), "tiny.yaml",
		"name: tiny\nparameters:\n  dataset: {value: Tiny}\n  epochs: {value: 2}\n")
	id := c.submit(file, "--data", data)
	await(t, "the refusal", func() bool { return c.progress(id).Refused > 0 })
	for _, line := range []struct {
		want string
		args []string
	}{
		{"by workers, which are not failures", []string{"status"}},
		{"by workers, which are not failures", []string{"status", id}},
		{`refused (\d+ times, last )?by worker host-1: `, []string{"trials", id}},
		{`refused (\d+ times, last )?by worker host-1: `, []string{"trials", id, "--where", "refusals>0"}},
		{`"refused_by":"host-1"`, []string{"trials", id, "--json"}},
		{"host-1", []string{"sql", "SELECT worker, reason FROM refusals"}},
	} {
		stdout, stderr, code := c.output(line.args...)
		if code != 0 || !regexp.MustCompile(line.want).MatchString(stdout) {
			t.Errorf("sweep %s lacks %q: exit code %d: %s%s", strings.Join(line.args, " "), line.want, code,
				stdout, stderr)
		}
	}
	watching := c.program(filepath.Join(c.dir, "watching"), "watch", id)
	var shown bytes.Buffer
	watching.Stderr = &shown
	if err := watching.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the sweep to wait", func() bool {
		stdout, _, _ := c.output("status", id)
		return strings.Contains(stdout, "waiting")
	})
	c.start("right", "worker", "--slots", "1", "--name", "host-2", "--data", data)
	if err := watching.Wait(); err != nil {
		t.Errorf("watch: %v", err)
	}
	if text := shown.String(); !strings.Contains(text, " refused") || !strings.Contains(text, "1 completed") {
		t.Errorf("watch shows %s", text)
	}
	if p := c.progress(id); p.Completed != 1 || p.Failed != 0 {
		t.Errorf("%+v", p)
	}
}

// A coordinator with another database is told which one the cluster belongs to,
// and ends; with --adopt it moves the cluster there.
func TestCoordinatorOfAnotherDatabase(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := newCluster(t)
	here, there := freeAddress(t), freeAddress(t)
	c.start("production", "coordinator", "--listen", here)
	c.start("worker", "worker", "--slots", "1")
	await(t, "the first to lead", func() bool { return leads(here) && get(here, "/readyz") == "ok\n" })
	file := write(t, t.TempDir(), "some.yaml", "name: some\ntrainer: noop\nparameters:\n  milliseconds: {value: "+
		"20}\n  x: {min: 1, max: 200}\n")
	id := c.submit(file)
	await(t, "some results", func() bool { return c.progress(id).Completed >= 20 })
	production := c.url
	c.url = "sqlite:" + filepath.Join(t.TempDir(), "sweep.db") // as by default
	c.start("stranger", "coordinator", "--listen", there)
	<-c.parts["stranger"].exited
	log := c.parts["stranger"].log.String()
	if code := c.parts["stranger"].cmd.ProcessState.ExitCode(); code != exitFailure ||
		!strings.Contains(log, "test_1") || !strings.Contains(log, "--adopt") {
		t.Errorf("exit code %d: %s", code, log)
	}
	await(t, "all results", func() bool { return c.progress(id).Completed == 200 })
	if n := c.progress(id); n.Total() != 200 {
		t.Errorf("%+v", n)
	}
	c.terminate("production")
	c.start("stranger", "coordinator", "--listen", there, "--adopt")
	await(t, "the stranger to lead", func() bool { return leads(there) && get(there, "/readyz") == "ok\n" })
	moved := c.submit(file)
	await(t, "its results", func() bool { return c.progress(moved).Completed == 200 })
	// The one before is the stranger now.
	c.url = production
	c.again("production")
	<-c.parts["production"].exited
	if log := c.parts["production"].log.String(); !strings.Contains(log, "sweep.db") ||
		!strings.Contains(log, "--adopt") {
		t.Errorf("the first after the move: %s", log)
	}
}

// A second sweep that is submitted while the first runs, of whatever priority, has
// none of the first's trials run again.
func TestSecondSubmissionRunsNothingAgain(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := newCluster(t)
	// Nothing is lost here, and what a busy machine delays is not to run again.
	c.environment = append(c.environment, "SWEEP_ACK_WAIT=10m", "SWEEP_LEASE=10m")
	c.start("coordinator", "coordinator")
	for i := range 2 {
		c.start(fmt.Sprint("worker-", i), "worker", "--slots", "2")
	}
	dir := t.TempDir()
	file := func(name string, priority, trials int) string {
		return write(t, dir, name+".yaml", fmt.Sprintf("name: %s\ntrainer: noop\npriority: %d\nparameters:\n  "+
			"milliseconds: {value: 5}\n  x: {min: 1, max: %d}\n", name, priority, trials))
	}
	first := c.submit(file("first", 0, 600))
	count := c.counter()
	done := func(id string) int64 {
		return count(`SELECT count(*) FROM trials JOIN sweeps USING (sweep_no) WHERE sweep_id = $1 AND trials.state = 'completed'`, id)
	}
	ids := map[string]int64{first: 600}
	for i := range 3 {
		await(t, "some results", func() bool { return done(first) >= int64(100*(i+1)) })
		ids[c.submit(file(fmt.Sprint("next-", i), i%2, 50), "--reuse=false")] = 50
	}
	for id, trials := range ids {
		await(t, "all results", func() bool { return done(id) == trials })
	}
	if n := count(`SELECT sum(executions) FROM trials`); n != 750 {
		t.Errorf("%d executions of 750 trials", n)
	}
}

// A submission says at once that nobody can run it, and is made once under one
// key; what is in quarantine is shown.
func TestSubmissionsOfASharedCluster(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	c := newCluster(t)
	address := freeAddress(t)
	c.start("coordinator", "coordinator", "--listen", address)
	await(t, "the coordinator to lead", func() bool { return leads(address) && get(address, "/readyz") == "ok\n" })
	file := write(t, t.TempDir(), "some.yaml", "name: some\ntrainer: noop\nparameters:\n  x: {min: 1, max: 20}\n")
	for _, other := range []string{"first", "second"} {
		if stdout, stderr, code := c.output("submit", file, "--require-workers", "--key", other); code != exitFailure ||
			stdout != "" || !strings.Contains(stderr, "no worker") {
			t.Errorf("without workers: exit code %d: %s%s", code, stdout, stderr)
		}
	}
	var ids []string
	for range 3 {
		stdout, stderr, code := c.output("submit", file, "--key", "third")
		if code != 0 || len(ids) == 0 && !strings.Contains(stderr, "no worker") {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
		ids = append(ids, strings.TrimSpace(stdout))
	}
	if ids[0] == "" || ids[1] != ids[0] || ids[2] != ids[0] {
		t.Errorf("the sweeps of one key are %q", ids)
	}
	first := c.submit(file, "--key", "third")
	if stdout, _, _ := c.output("status"); strings.Count(stdout, " some ") != 1 {
		t.Errorf("status shows\n%s", stdout)
	}
	c.start("worker", "worker", "--slots", "1")
	await(t, "all results", func() bool { return c.progress(first).Completed == 20 })
	guilty := sweep.Event{Kind: sweep.EventResult, TrialID: sweep.TrialID{Sweep: first, Index: 3},
		Execution: "e", Worker: "w"}
	if err := c.results.Quarantine(t.Context(), []sweep.Quarantined{{Event: guilty, Problem: "too long"}}); err != nil {
		t.Fatal(err)
	}
	if stdout, _, _ := c.output("status", first); !strings.Contains(stdout, "1 event of workers in quarantine") {
		t.Errorf("status shows\n%s", stdout)
	}
	if stdout, _, _ := c.output("sql", "SELECT error FROM quarantine", "--format",
		"csv"); stdout != "error\ntoo long\n" {
		t.Errorf("the quarantine holds %s", stdout)
	}
}
