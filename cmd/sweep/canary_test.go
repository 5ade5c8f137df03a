package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wrongProgram are the files of a sweep of 100,000 trials whose program runs a library with an error, which is no part of
// the program. It waits for a file first.
var wrongProgram = map[string]string{
	"train.sh":   "while [ ! -e go ]; do sleep 0.1; done\n. ./library.sh\necho '{\"y\": 1}' >> $SWEEP_EVENTS\n",
	"library.sh": "lerning_rate\n",
	"sweep.yaml": "name: wrong\nprogram: train.sh\ncommand: [sh, -e, \"${program}\", \"${args}\"]\n" +
		"parameters: {x: {min: 1, max: 1000}, z: {min: 1, max: 100}}\n",
}

// In a cluster of four slots a program with an error is executed once, although the coordinator is killed meanwhile. The
// sweep is paused, and everybody learns why. After a retry it goes on, until errors in a row pause it again.
func TestErrorInProgram(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	dir := folder(t, wrongProgram)
	c := newCluster(t)
	address := freeAddress(t)
	c.start("coordinator", "coordinator", "--ui", address)
	c.start("worker", "worker", "--name", "worker", "--slots", "4", "--script-dir", dir)
	id := c.submit(filepath.Join(dir, "sweep.yaml"))
	executions := func() (n int64) {
		t.Helper()
		err := c.results.Query(context.Background(), "SELECT count(*) FROM executions", func(_ []string, row []any) error {
			n = row[0].(int64)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	await(t, "the first trial", func() bool { return c.progress(id).Running == 1 })
	c.kill("coordinator")
	write(t, dir, "go", "")
	c.again("coordinator")
	const reason = "stopped by an error of trial 0: exit status 127: "
	_, stderr, code := c.output("watch", id)
	if code != exitHalted || strings.Count(stderr, reason) != 1 || !strings.Contains(stderr, `"sweep retry `+id+`"`) {
		t.Errorf("watch: exit code %d: %s", code, stderr)
	}
	for range 2 {
		stdout, _, _ := c.output("status", id)
		if !strings.Contains(stdout, "paused") || !strings.Contains(stdout, reason) {
			t.Errorf("status: %s", stdout)
		}
		_, answer := ask(http.DefaultClient, "GET", "http://"+address+"/api/sweeps/"+id, "", "")
		var page struct{ State, Reason string }
		if err := json.Unmarshal([]byte(answer), &page); err != nil || page.State != "paused" ||
			!strings.HasPrefix(page.Reason, reason) {
			t.Errorf("dashboard: %v: %s", err, answer)
		}
		if p := c.progress(id); executions() != 1 || p.Failed != 1 || p.Pending != 99_999 {
			t.Errorf("%d executions: %+v", executions(), p)
		}
		c.kill("coordinator") // a successor changes nothing
		c.again("coordinator")
		c.answered()
	}

	write(t, dir, "library.sh", ":\n")
	if stdout, stderr, code := c.output("retry", id); code != 0 || !strings.Contains(stdout, "retrying 1 trial") {
		t.Fatalf("retry: exit code %d: %s%s", code, stdout, stderr)
	}
	await(t, "the sweep to go on", func() bool { p := c.progress(id); return p.Completed > 50 && p.Failed == 0 })
	write(t, dir, "library.sh", "exit 9\n")
	_, stderr, code = c.output("watch", id)
	inARow := regexp.MustCompile(`stopped by an error of \d{2,} trials in a row, the last of them trial \d+: exit status 9`)
	if code != exitHalted || !inARow.MatchString(stderr) {
		t.Errorf("watch: exit code %d: %s", code, stderr)
	}
	if _, stderr, code := c.output("cancel", id); code != 0 {
		t.Errorf("cancel: exit code %d: %s", code, stderr)
	}
}

// On one machine the same command retries what failed when the error is corrected; what the program has become is
// another sweep.
func TestErrorInLocalProgram(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	dir, home := folder(t, wrongProgram), t.TempDir()
	write(t, dir, "go", "")
	file := write(t, dir, "sweep.yaml", strings.Replace(wrongProgram["sweep.yaml"], "1000}, z: {min: 1, max: 100}", "60}", 1))
	run := func(want int, words string) {
		t.Helper()
		_, stderr, code := output(t, home, "run", file, "--slots", "4", "--progress", "quiet")
		if code != want || strings.Count(stderr, words) != 1 {
			t.Errorf("exit code %d, want %d, and %q once in: %s", code, want, words, stderr)
		}
	}
	executions := func(want string) {
		t.Helper()
		stdout, stderr, _ := output(t, home, "sql", "SELECT count(*) AS n FROM executions", "--format", "csv")
		if stdout != "n\n"+want+"\n" {
			t.Errorf("%s executions, want %s: %s", stdout, want, stderr)
		}
	}
	run(exitHalted, "stopped by an error of trial 0: exit status 127")
	executions("1")
	run(exitHalted, "stopped by an error of trial 0: exit status 127")
	executions("2")
	if stdout, _, _ := output(t, home, "status"); !strings.Contains(stdout, "stopped by an error of trial 0") ||
		!strings.Contains(stdout, "run the file again") {
		t.Errorf("status: %s", stdout)
	}
	write(t, dir, "library.sh", ":\n")
	run(0, "60 completed (0 reused from earlier sweeps, 0 diverged), 0 failed")
	executions("62")

	// The program itself is corrected: other trials, which the program before has not run.
	write(t, dir, "train.sh", "nothing\n")
	run(exitHalted, "stopped by an error of trial 0: exit status 127")
	write(t, dir, "train.sh", wrongProgram["train.sh"])
	run(0, "60 completed (60 reused from earlier sweeps, 0 diverged), 0 failed")
	executions("63")

	// Trials that fail for themselves: nothing is paused without either.
	write(t, dir, "train.sh", "exit 3\n")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "sweep.yaml", string(text)+"canary: false\nlimits: {errors: 0}\n")
	run(exitTrials, "60 of the trials failed: exit status 3")
	executions("123")
}
