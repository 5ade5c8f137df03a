package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// BenchmarkAnswers times questions to databases of many trials, as commands,
// from the start of the process to its end:
//
//	go test ./cmd/sweep -run '^$' -bench Answers -benchtime 1x
//
// SWEEP_TRIALS is the number of trials, 300,000 if it is not set: 4 models, 2
// rates, the rest seeds. SWEEP_BASELINE names another program of the same schema,
// which is asked first.
func BenchmarkAnswers(b *testing.B) {
	trials := int64(300_000)
	if text := os.Getenv("SWEEP_TRIALS"); text != "" {
		var err error
		if trials, err = strconv.ParseInt(text, 10, 64); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("SQLite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "sweep.db")
		benchAnswers(b, path, trials, func() int64 {
			size := int64(0)
			for _, suffix := range []string{"", "-wal"} {
				if info, err := os.Stat(path + suffix); err == nil {
					size += info.Size()
				}
			}
			return size
		})
	})
	b.Run("Postgres", func(b *testing.B) {
		address := postgrestest.Start(b, "shared_buffers=512MB", "max_wal_size=4GB").Database(b)
		benchAnswers(b, address, trials, func() (size int64) {
			s, err := store.Connect(context.Background(), address)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }() // it has answered
			err = s.(*store.Store).Database().View(context.Background(), func(tx database.Tx) error {
				return tx.Query(context.Background(), func(row database.Row) error {
					return row.Scan(&size)
				}, `SELECT pg_database_size(current_database())`)
			})
			if err != nil {
				b.Fatal(err)
			}
			return size
		})
	})
}

// questions are asked in turn.
var questions = []struct {
	name string
	args []string
}{
	{"start", []string{"sql", "SELECT 1"}},
	{"best_trials", []string{"sql", "SELECT * FROM best_trials", "--format", "csv"}},
	{"ucr_table", []string{"sql", "SELECT * FROM ucr_table", "--format", "csv"}},
	{"trials_by_loss", []string{"trials", "big", "--sort", "validation_loss", "--json"}},
	{"trials_by_accuracy", []string{"trials", "big", "--sort", "test_accuracy", "--descending", "--json"}},
	{"group_by", []string{"sql", "--sweep", "big", "SELECT dataset, model, avg(test_accuracy), count(*) FROM t WHERE state = " +
		"'completed' GROUP BY dataset, model", "--format", "csv"}},
}

// slow questions are asked once, others three times, of which the middle counts.
const slow = 5 * time.Second

func benchAnswers(b *testing.B, address string, trials int64, size func() int64) {
	for b.Loop() {
		fillAnswers(b, address, trials)
		ask := func(label string, command func(args ...string) *exec.Cmd) {
			for _, q := range questions {
				var times []time.Duration
				for len(times) < 3 && (len(times) == 0 || times[0] < slow) {
					cmd := command(append(slices.Clone(q.args), "--store", address)...)
					var errs strings.Builder
					cmd.Stdout, cmd.Stderr = io.Discard, &errs
					began := time.Now()
					if err := cmd.Run(); err != nil {
						b.Logf("%s, %s: no answer after %v: %s", label, q.name, time.Since(began).Round(time.Second),
							errs.String())
						break
					}
					times = append(times, time.Since(began))
				}
				if len(times) > 0 {
					slices.Sort(times)
					b.ReportMetric(times[len(times)/2].Seconds(), label+"-"+q.name+"-s")
				}
			}
			b.ReportMetric(float64(size())/float64(trials), label+"-bytes/trial")
		}
		home := b.TempDir()
		if baseline := os.Getenv("SWEEP_BASELINE"); baseline != "" {
			ask("before", func(args ...string) *exec.Cmd {
				cmd := exec.Command(baseline, args...)
				cmd.Env = append(os.Environ(), "SWEEP_HOME="+home, "SWEEP_STORE=", "SWEEP_NATS=",
					"SWEEP_CONFIG=/dev/null")
				return cmd
			})
		}
		ask("after", func(args ...string) *exec.Cmd { return program(b, home, args...) })
	}
}

// fillAnswers records a finished sweep of many trials, whose replicates are an eighth of them.
func fillAnswers(b *testing.B, address string, trials int64) {
	b.Helper()
	ctx := context.Background()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	s, err := store.Open(ctx, address)
	must(err)
	submission := sweep.Submission{Spec: sweep.Spec{
		Name: "big", Trainer: "builtin", Pool: "cpu",
		Axes: []sweep.Axis{{Parameters: []sweep.AxisParameter{{Name: "seed",
			Values: sweep.Values{List: []any{int64(1), int64(2)}}}}}},
		Select: sweep.Select{Group: []string{"dataset", "model"}, By: "validation_loss", Goal: "minimize"},
	}, Description: sweep.Description{Name: "builtin", Metrics: []sweep.MetricSchema{
		{Name: "validation_loss", Goal: "minimize", Summary: true},
		{Name: "test_accuracy", Goal: "maximize", Summary: true}}}}
	_, err = s.CreateSweep(ctx, "big", &submission, trials)
	must(err)
	const page = 10_000
	for from := int64(0); from < trials; from += page {
		all := completedPage(b, from, min(page, trials-from), max(trials/8, 1))
		_, err := s.AddTrials(ctx, "big", 0, from, all.trials, nil)
		must(err)
		_, err = s.Record(ctx, all.events)
		must(err)
	}
	db := s.(*store.Store).Database()
	if db.Dialect().Terms.Postgres {
		must(db.Update(ctx, func(tx database.Tx) error { return tx.Script(ctx, `ANALYZE`) }))
	}
	must(s.Close())
}

// completed are trials with their results.
type completed struct {
	trials []sweep.Trial
	events []sweep.Event
}

// completedPage makes n trials with all that a short execution leaves.
func completedPage(b *testing.B, from, n, seeds int64) (all completed) {
	b.Helper()
	models := []string{"rnn", "lstm", "ornn", "spectral-rnn"}
	random := rand.New(rand.NewPCG(1, uint64(from)))
	now := time.Now()
	for index := from; index < from+n; index++ {
		point, loss := index/seeds, random.Float64()
		p := sweep.Parameters{
			"activation": "leaky_relu", "batch": int64(16), "beta1": 0.9, "beta2": 0.999, "clip": int64(1),
			"dataset": "generated-cbf", "decay": int64(1),
			"dropout": int64(0), "epoch_rule": "last-smallest-error", "epochs": int64(1), "epsilon": 1e-8,
			"exchange": "auto", "forget_bias": int64(1),
			"hidden": int64(4), "initial_state": "trained", "input_scale": 0.25, "input_size": int64(0),
			"limit": int64(0), "loss": "cross_entropy",
			"lr": []float64{0.001, 0.01}[point/4%2], "m1": int64(4), "m2": int64(4), "model": models[point%4],
			"momentum": int64(0), "optimizer": "adam",
			"order": "pieces", "output_scale": 0.05, "permutation": int64(1), "r": 0.1, "seed": index%seeds + 1,
			"sigma_center": int64(1),
			"slope":        0.2, "start": "random", "test_every": int64(0), "validation": 0.2,
		}
		canonical, err := p.Canonical()
		if err != nil {
			b.Fatal(err)
		}
		fingerprint := sweep.NewFingerprint("builtin", "5", "", canonical)
		trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: "big", Index: index}, Parameters: p, Fingerprint: fingerprint,
			DatasetDigest: string(fingerprint)}
		result := sweep.Result{State: sweep.Completed, WeightsDigest: string(fingerprint), KernelLevel: "avx512",
			Seconds: 0.002, Digest: string(fingerprint), Summary: map[string]float64{
				"validation_loss": loss, "validation_accuracy": random.Float64(), "test_accuracy": random.Float64(),
				"train_loss": random.Float64(),
				"test_loss":  random.Float64(), "spectral_margin": random.Float64(), "train_size": 30, "test_size": 900,
				"length": 128, "classes": 3, "depth": 16, "input_size": 8,
				sweep.BestEpochMetric: 1, sweep.ParameterCountMetric: 64, sweep.FlopsMetric: 1e6,
			}}
		for _, metric := range []string{"train_loss", "validation_loss", "validation_accuracy", "test_accuracy"} {
			result.Curves = append(result.Curves, sweep.Curve{Metric: metric, Steps: []int64{1},
				Values: []float32{float32(loss)}})
		}
		all.trials = append(all.trials, trial)
		all.events = append(all.events, sweep.Event{Kind: sweep.EventResult, TrialID: trial.TrialID,
			Execution: fmt.Sprintf("host-1-%x", index), Worker: "host-1", Time: now, Result: &result})
	}
	return all
}
