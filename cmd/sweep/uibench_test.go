package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkOpenDashboards measures what three open dashboards cost a run, each asking
// what its page asks when the page asks it.
//
//	go test ./cmd/sweep -run '^$' -bench OpenDashboards -benchtime 1x -timeout 1h
//
// dashboards-% is the part of the run's processor time, its trainers' included, that
// goes into answering them: by the samples of a profile, whose part does not depend on
// what else the machine does. gc-% is their part of collecting garbage, by the share
// that they have of the time spent in allocating. Both are of SWEEP_ROUNDS runs together,
// 5 if it is not set.
//
// With SWEEP_PAIRS=1 each run stands beside one without dashboards, and the medians of
// what one took over what the other took are reported too: processor time, and time to
// the end. They mean something on a machine that does nothing else.
//
// All of Noop is the program's own work, on SWEEP_TRIALS trials that train nothing,
// 30,000 if it is not set; of Training little is.
func BenchmarkOpenDashboards(b *testing.B) {
	setting := func(name, otherwise string) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(name), otherwise))
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	rounds, trials, pairs := setting("SWEEP_ROUNDS", "5"), setting("SWEEP_TRIALS", "30000"),
		setting("SWEEP_PAIRS", "0") > 0
	for _, load := range []struct{ name, file string }{
		{"Noop", fmt.Sprintf("name: busy\ntrainer: noop\nparameters:\n  x: {min: 1, max: %d}\n", trials)},
		{"Training", "name: busy\nreplicates: 20\nparameters:\n  dataset: {value: generated-cbf}\n  model: {values: " +
			"[rnn, lstm]}\n  lr: {values: [0.001, 0.003, 0.01, 0.03]}\n  epochs: {value: 400}\n"},
	} {
		b.Run(load.name, func(b *testing.B) {
			file := write(b, b.TempDir(), "busy.yaml", load.file)
			var all benchedRun
			measured := map[string][]float64{}
			for round := range rounds {
				var with, without benchedRun
				if pairs && round%2 == 0 { // which comes first alternates
					without = benchRun(b, file, 0)
				}
				with = benchRun(b, file, 3)
				if pairs && round%2 == 1 {
					without = benchRun(b, file, 0)
				}
				all.processor += with.processor
				all.answering += with.answering
				all.collecting += with.collecting
				measured["answers"] = append(measured["answers"], float64(with.answers))
				b.Logf("round %d: %.2f s to the end, %.2f s of processor time, %.3f s of them for %d answers, and "+
					"%.3f s to collect their garbage",
					round, with.seconds, with.processor, with.answering, with.answers, with.collecting)
				if pairs {
					measured["processor-time-ratio"] = append(measured["processor-time-ratio"],
						with.processor/without.processor)
					measured["trials/s-ratio"] = append(measured["trials/s-ratio"], without.seconds/with.seconds)
					b.Logf("without dashboards: %.2f s to the end, %.2f s of processor time", without.seconds,
						without.processor)
				}
			}
			for name, list := range measured {
				slices.Sort(list)
				b.ReportMetric(list[rounds/2], name)
			}
			b.ReportMetric(100*all.answering/all.processor, "dashboards-%")
			b.ReportMetric(100*all.collecting/all.processor, "gc-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// benchedRun is what a run took, in seconds.
type benchedRun struct {
	processor, seconds float64
	// answering is the processor time spent on the dashboards, collecting their part
	// of that of the garbage collector; both are part of processor.
	answering, collecting float64
	answers               int
}

// benchRun runs a sweep file to its end while so many dashboards are open.
func benchRun(b *testing.B, file string, dashboards int) benchedRun {
	b.Helper()
	address := freeAddress(b)
	home, err := os.MkdirTemp(b.TempDir(), "home")
	if err != nil {
		b.Fatal(err)
	}
	cmd := program(b, home, "run", file, "--slots", "2", "--progress", "quiet", "--ui="+address)
	profile := filepath.Join(home, "cpu.pprof")
	cmd.Env = append(cmd.Env, profileOf+"="+profile)
	var said bytes.Buffer
	cmd.Stderr = &said
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var pages sync.WaitGroup
	answers := make([]int, dashboards)
	for i := range dashboards {
		pages.Go(func() { answers[i] = openDashboard(ctx, "http://"+address+"/api/", i) })
	}
	if err := cmd.Wait(); err != nil {
		b.Fatalf("%v: %s", err, said.String())
	}
	run := benchedRun{seconds: time.Since(begin).Seconds()}
	// its trainers' too, which it has waited for
	run.processor = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	cancel()
	pages.Wait()
	for _, n := range answers {
		if run.answers += n; n < 4 {
			b.Fatalf("a dashboard had %d answers: the run is too short", n)
		}
	}
	run.answering = profiledTime(b, profile, dashboardWork, "")
	if all := profiledTime(b, profile, allocating, ""); all > 0 {
		run.collecting = profiledTime(b, profile, garbage, "") * profiledTime(b, profile, dashboardWork,
			allocating) / all
	}
	return run
}

// What a profile's samples belong to, by the functions on their stacks: the dashboard
// serves and reads in goroutines of its own, and nothing else in a run speaks HTTP by
// net/http.
const (
	dashboardWork = `^sweep/coordinator/web\b|^net/http\.`
	allocating    = `^runtime\.mallocgc$`
	garbage       = `^runtime\.(gcBgMarkWorker|bgsweep|bgscavenge)$`
)

var profileTotal = regexp.MustCompile(`Showing nodes accounting for ([0-9.]+)s`)

// profiledTime returns the seconds of a profile's samples that have a function that
// fits one expression on their stack, and a function that fits the other.
func profiledTime(b *testing.B, profile, one, other string) float64 {
	b.Helper()
	args := []string{"tool", "pprof", "-top", "-unit=s", "-nodefraction=0", "-nodecount=1000000", "-focus=" + one}
	if other != "" {
		args = append(args, "-show="+other)
	}
	out, err := exec.Command("go", append(args, profile)...).CombinedOutput()
	if err != nil {
		b.Fatalf("go tool pprof: %v: %s", err, out)
	}
	found := profileTotal.FindSubmatch(out)
	if found == nil {
		return 0 // no sample fits
	}
	seconds, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return seconds
}

// profileOf names the file that a run's profile goes into.
const profileOf = "SWEEP_TEST_PROFILE"

// profiled runs the program's command line and keeps a profile of its processor time.
func profiled(path string) (code int) {
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	pprof.StopCPUProfile()
	if err := errors.Join(file.Close(), saveUsedTime(path)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// openDashboard does what an open page of a sweep does until ctx ends (assets/lib/answer.mjs):
// it listens for changes, and at a change asks for the sweep, its columns and what its
// view shows, every third second at most and one part in two hundred of the time. It
// returns how many answers it had.
func openDashboard(ctx context.Context, api string, view int) (answers int) {
	var slowest time.Duration
	get := func(path string, into any) bool {
		begin := time.Now()
		request, err := http.NewRequestWithContext(ctx, "GET", api+path, nil)
		if err != nil {
			return false
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		slowest = max(slowest*8/10, time.Since(begin))
		if err != nil || response.StatusCode != http.StatusOK {
			return false
		}
		answers++
		return into == nil || json.Unmarshal(data, into) == nil
	}
	var list struct{ Sweeps []struct{ ID string } }
	for !get("sweeps", &list) || len(list.Sweeps) == 0 { // until the run serves it
		select {
		case <-ctx.Done():
			return answers
		case <-time.After(20 * time.Millisecond):
		}
	}
	path := "sweeps/" + list.Sweeps[0].ID
	get(path, nil)
	ask := func() {
		var columns struct {
			Answer []struct {
				Name, Kind string
				Varies     bool
			}
		}
		get(path+"/columns", &columns)
		metric, shown := "", "&column=seconds"
		for _, c := range columns.Answer {
			if c.Kind == "metric" {
				metric = cmp.Or(metric, c.Name)
			}
			if c.Kind == "metric" || c.Kind == "parameter" && c.Varies {
				shown += "&column=" + c.Name
			}
		}
		if metric == "" {
			return
		}
		get([]string{
			path + "/trials?limit=50&descending=1&sort=" + metric + shown,
			path + "/groups?limit=50&sort=mean&metric=" + metric,
			path + "/curves?groups=8&trials=400&points=400&metric=" + metric + "&rank=" + metric,
		}[view%3], nil)
	}
	ask()
	last := time.Now()
	changed := make(chan struct{}, 1)
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() {
		request, err := http.NewRequestWithContext(ctx, "GET", api+"events", nil)
		if err != nil {
			return
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "event: sweep") {
				select {
				case changed <- struct{}{}:
				default: // one is known of
				}
			}
		}
	})
	for {
		select {
		case <-ctx.Done():
			return answers
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return answers
		case <-time.After(min(max(3*time.Second, 200*slowest), 20*time.Second) - time.Since(last)):
		}
		ask()
		last = time.Now()
	}
}
