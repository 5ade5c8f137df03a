package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/worker/trainer/trainertest"
)

// trainerFolders returns three folders of trainers: what every worker has, what one
// has, and what none has.
func trainerFolders(t testing.TB) (common, rare, absent string) {
	t.Helper()
	common, rare, absent = t.TempDir(), t.TempDir(), t.TempDir()
	if err := trainertest.BuildExample(common); err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(filepath.Join(common, trainertest.ExampleName))
	if err != nil {
		t.Fatal(err)
	}
	for path, name := range map[string]string{rare: "rare", absent: "absent"} {
		if err := os.WriteFile(filepath.Join(path, name), binary, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return common, rare, absent
}

// toyData writes a small set in the form of the UCR archive whose values are
// moved by some amount.
func toyData(t testing.TB, moved float64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "ucr", "Toy"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"TRAIN", "TEST"} {
		var text strings.Builder
		for row := range 24 {
			fmt.Fprint(&text, row%2+1)
			for step := range 12 {
				fmt.Fprintf(&text, "\t%g", moved+float64(row%2)+float64((row*7+step*5)%11)/10)
			}
			text.WriteString("\n")
		}
		write(t, filepath.Join(dir, "ucr", "Toy"), "Toy_"+part+".tsv", text.String())
	}
	return dir
}

// On a shared cluster, what is wrong with a sweep is its owner's trouble: a sweep
// in good order ends with the same bits. What it costs in time a benchmark tells.
func TestBadSweepsCostTheirOwnersOnly(t *testing.T) {
	fullOnly(t)
	t.Parallel()
	besideBadSweeps(t, 30)
}

// BenchmarkBesideBadSweeps measures how much later than alone the sweep in good order
// ends. It means something on a machine that does nothing else.
//
//	go test ./cmd/sweep -run '^$' -bench BesideBadSweeps -benchtime 5x
func BenchmarkBesideBadSweeps(b *testing.B) {
	var ratios []float64
	for range b.N {
		alone, together := besideBadSweeps(b, 300)
		ratios = append(ratios, together.Seconds()/alone.Seconds())
		b.Logf("alone %v, beside five bad sweeps %v: %.2f times", alone.Round(time.Millisecond),
			together.Round(time.Millisecond), ratios[len(ratios)-1])
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "times-alone")
	b.ReportMetric(0, "ns/op")
}

// besideBadSweeps runs a sweep of so many trials on a cluster of its own, alone and
// beside bad ones, checks what became of them all, and returns how long it took.
func besideBadSweeps(t testing.TB, trials int) (alone, together time.Duration) {
	common, rare, absent := trainerFolders(t)
	data, otherData := toyData(t, 0), toyData(t, 0.5)
	c := newCluster(t)
	c.start("coordinator", "coordinator")
	for i, folders := range []string{common, common + "," + rare, common} {
		here := data
		if i == 2 {
			here = otherData
		}
		c.start(fmt.Sprint("worker-", i), "worker", "--name", fmt.Sprint("worker-", i), "--slots", "1", "--memory",
			"512MiB", "--trainer-path", folders, "--data", here)
	}
	var list []wire.WorkerStatus
	three := func() bool {
		stdout, stderr, code := c.output("workers", "--json")
		if list = nil; code != 0 {
			t.Logf("workers: exit code %d: %s", code, stderr)
			return false
		}
		if err := json.Unmarshal([]byte(stdout), &list); err != nil {
			t.Fatalf("%v in %s", err, stdout)
		}
		return len(list) == 3
	}
	await(t, "three workers", three)

	dir := t.TempDir()
	submit := func(name, text string) string {
		file := write(t, dir, name+".yaml", "name: "+name+"\n"+text)
		return c.submit(file, "--reuse=false", "--trainer-path", common+","+rare+","+absent, "--data", data)
	}
	healthy := fmt.Sprintf(
		"trainer: quadratic\nreplicates: %d\nparameters:\n  epochs: {value: 10}\n  pause: {value: 6}\n", trials)
	// run returns the digests of the healthy sweep and how long it took.
	run := func(name string) (string, time.Duration) {
		start := time.Now()
		id := submit(name, healthy)
		await(t, name, func() bool { return c.progress(id).Done() == int64(trials) })
		took := time.Since(start)
		stdout, stderr, code := c.output("sql",
			"SELECT trial_index, state, digest FROM results WHERE sweep_id = '"+id+"' ORDER BY trial_index",
			"--format", "csv")
		if code != 0 || strings.Count(stdout, ",completed,") != trials {
			t.Fatalf("%s: exit code %d: %s%s", name, code, stderr, stdout)
		}
		return stdout, took
	}
	want, alone := run("alone")

	faulty := "trainer: quadratic\nreplicates: 3\nparameters:\n  epochs: {value: 2}\n  fault: {value: %s}\n"
	ids := map[string]string{
		"absent": submit("absent", "trainer: absent\nreplicates: 2000\nparameters:\n  epochs: {value: 1}\n"),
		"rare":   submit("rare", "trainer: rare\nreplicates: 20\nparameters:\n  epochs: {value: 1}\n"),
		"data":   submit("data", "replicates: 6\nparameters:\n  dataset: {value: Toy}\n  epochs: {value: 2}\n"),
		"memory": submit("memory", fmt.Sprintf(faulty, "allocate")),
		"panic":  submit("panic", fmt.Sprintf(faulty, "panic")),
	}
	got, together := run("together")
	if got != want {
		t.Errorf("beside bad sweeps the results are\n%s\nwant\n%s", got, want)
	}

	for name, want := range map[string]sweep.Progress{
		"rare": {Completed: 20}, "data": {Completed: 6}, "memory": {Failed: 3}, "panic": {Failed: 3},
	} {
		id := ids[name]
		await(t, name, func() bool { p := c.progress(id); return p.Done() == p.Total() })
		if p := c.progress(id); p.Completed != want.Completed || p.Failed != want.Failed {
			t.Errorf("%s: %+v, want %+v", name, p, want)
		}
	}
	for _, q := range []struct {
		command, name string
		want          []string
	}{
		{"status", "absent", []string{"waiting", "no worker offers trainer absent; 3 workers have none of this name"}},
		{"trials", "memory", []string{"failed", "512 MiB"}},
		{"trials", "panic", []string{"failed", "the panic that was asked for"}},
	} {
		stdout, stderr, code := c.output(q.command, ids[q.name])
		for _, want := range q.want {
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("%s of %s lacks %q: exit code %d: %s%s", q.command, q.name, want, code, stderr, stdout)
			}
		}
	}
	for sweepName, worker := range map[string]string{"rare": "worker-1", "data": "worker-2"} {
		query := fmt.Sprintf("SELECT DISTINCT worker FROM results WHERE sweep_id = '%s' AND worker LIKE '%s%%'",
			ids[sweepName], worker)
		stdout, stderr, code := c.output("sql", query, "--format", "csv")
		if ran := strings.Contains(stdout, worker); code != 0 || ran != (sweepName == "rare") {
			t.Errorf("%s on %s: %s%s", sweepName, worker, stdout, stderr)
		}
	}
	await(t, "the three workers to be left", three)
	for _, w := range list {
		if w.State != wire.WorkerReady {
			t.Errorf("%s is %s: %s", w.Name, w.State, w.Reason)
		}
	}
	return alone, together
}
