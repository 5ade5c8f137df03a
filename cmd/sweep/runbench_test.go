package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkRun measures what a trial of a thousand epochs costs "sweep run" beside its
// training: ms/trial is the processor time of the program's own process, without that of
// its trainers, for each trial; start and end of the program are part of it. The trials
// of Short take about a tenth of a second, those of Long half a second, so that their
// start is reported by itself.
//
//	go test ./cmd/sweep -run '^$' -bench 'Run$' -benchtime 1x -timeout 1h
//
// SWEEP_TRIALS is the number of trials, 500 if it is not set. SWEEP_PROFILE names a folder
// for profiles of the processor time, for go tool pprof.
func BenchmarkRun(b *testing.B) {
	trials, err := strconv.Atoi(cmp.Or(os.Getenv("SWEEP_TRIALS"), "500"))
	if err != nil {
		b.Fatal(err)
	}
	for _, load := range []struct {
		name, model string
		points      int
	}{
		{"Short", "rnn", 1000},
		{"Short-100-points", "rnn", 100},
		{"Long", "lstm", 1000},
	} {
		b.Run(load.name, func(b *testing.B) {
			file := write(b, b.TempDir(), "run.yaml", fmt.Sprintf("name: run\nreplicates: %d\nparameters:\n  "+
				"dataset: {value: generated-cbf}\n"+
				"  model: {value: %s}\n  epochs: {value: 1000}\nlimits: {points: %d}\n", trials, load.model,
				load.points))
			var all float64
			for range b.N {
				home := b.TempDir()
				profile := filepath.Join(cmp.Or(os.Getenv("SWEEP_PROFILE"), home), load.name+".pprof")
				cmd := program(b, home, "run", file, "--slots", "2", "--progress", "quiet")
				cmd.Env = append(cmd.Env, profileOf+"="+profile)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				if err := cmd.Run(); err != nil {
					b.Fatalf("%v: %s", err, stderr.String())
				}
				all += usedTime(b, profile)
			}
			b.ReportMetric(1000*all/float64(b.N*trials), "ms/trial")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// usedSuffix follows the name of a profile in that of the file with the processor time.
const usedSuffix = ".seconds"

// saveUsedTime writes the processor time of this process, in seconds, beside its profile.
func saveUsedTime(profile string) error {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	seconds := float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
	return os.WriteFile(profile+usedSuffix, []byte(strconv.FormatFloat(seconds, 'f', 3, 64)), 0o644)
}

// usedTime reads what saveUsedTime wrote.
func usedTime(b *testing.B, profile string) float64 {
	b.Helper()
	text, err := os.ReadFile(profile + usedSuffix)
	if err != nil {
		b.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		b.Fatal(err)
	}
	return seconds
}
