package main

import (
	"context"
	"encoding/json"
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
	"sweep/coordinator/store/migrate"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/migrations"
	"sweep/sweep"
)

// BenchmarkAnswers times questions to databases of many trials, as commands,
// from the start of the process to its end:
//
//	go test ./cmd/sweep -run '^$' -bench Answers -benchtime 1x
//
// SWEEP_TRIALS is the number of trials, 300,000 if it is not set: 4 models, 2
// rates, the rest seeds. SWEEP_BASELINE names an older program, which is asked
// first, over the schema of its time; the database is then brought up to date,
// which is timed too, and asked again.
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
		fillOld(b, address, trials)
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
		began := time.Now()
		s, err := store.Open(context.Background(), address)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "upgrade-s")
		ask("after", func(args ...string) *exec.Cmd { return program(b, home, args...) })
	}
}

// lastOld is the last migration of the schema that kept results in JSON alone.
const lastOld = 5

// fillOld makes a database of that schema with a finished sweep in it.
func fillOld(b *testing.B, address string, trials int64) {
	b.Helper()
	ctx := context.Background()
	opened, err := store.Connect(ctx, address)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := opened.Close(); err != nil {
			b.Fatal(err)
		}
	}()
	db := opened.(*store.Store).Database()
	update := func(do func(tx database.Tx) error) {
		if err := db.Update(ctx, do); err != nil {
			b.Fatal(err)
		}
	}
	all, err := migrate.Load(migrations.Files, db.Dialect().Folder)
	if err != nil {
		b.Fatal(err)
	}
	update(func(tx database.Tx) error {
		if err := tx.Script(ctx, db.Dialect().CreateMigrations); err != nil {
			return err
		}
		for _, m := range all[:lastOld] {
			if err := tx.Script(ctx, m.SQL); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, $3)`,
				m.Number, m.Name, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	submission := sweep.Submission{Spec: sweep.Spec{
		Name: "big", Trainer: "builtin", Pool: "cpu",
		Axes: []sweep.Axis{{Parameters: []sweep.AxisParameter{{Name: "seed",
			Values: sweep.Values{List: []any{int64(1), int64(2)}}}}}},
		Select: sweep.Select{Group: []string{"dataset", "model"}, By: "validation_loss", Goal: "minimize"},
	}, Description: sweep.Description{Name: "builtin", Metrics: []sweep.MetricSchema{
		{Name: "validation_loss", Goal: "minimize", Summary: true},
		{Name: "test_accuracy", Goal: "maximize", Summary: true}}}}
	text, err := json.Marshal(&submission)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	update(func(tx database.Tx) error {
		for _, statement := range []struct {
			text string
			args []any
		}{
			{`INSERT INTO sweeps (sweep_id, name, trainer, pool, priority, state, created_at, updated_at) VALUES ('big', 'big', 'builtin', 'cpu', 0, 'finished', $1, $1)`, []any{now}},
			{`INSERT INTO grids (sweep_no, ordinal, first_index, points, written, cancelled, attempts, reuse, submission, created_at)
				VALUES (1, 0, 0, $1, $1, FALSE, 3, TRUE, $2, $3)`, []any{trials, string(text), now}},
			{`INSERT INTO counters (sweep_no, completed) VALUES (1, $1)`, []any{trials}},
		} {
			if _, err := tx.Exec(ctx, statement.text, statement.args...); err != nil {
				return err
			}
		}
		return nil
	})
	const page = 10_000
	for from := int64(0); from < trials; from += page {
		update(func(tx database.Tx) error { return insertOld(ctx, tx, from, min(page, trials-from), trials/8) })
	}
	if db.Dialect().Folder == "postgres" {
		update(func(tx database.Tx) error { return tx.Script(ctx, `ANALYZE`) })
	}
}

// insertOld writes completed trials with all that a short execution leaves.
func insertOld(ctx context.Context, tx database.Tx, from, n, seeds int64) error {
	models := []string{"rnn", "lstm", "ornn", "spectral-rnn"}
	random := rand.New(rand.NewPCG(1, uint64(from)))
	now := time.Now()
	parameters, summaries, fingerprints, losses := make([]string, n), make([]string, n), make([]string, n),
		make([]float64, n)
	for i := range n {
		index := from + i
		point := index / max(seeds, 1)
		losses[i] = random.Float64()
		p := sweep.Parameters{
			"activation": "leaky_relu", "batch": int64(16), "beta1": 0.9, "beta2": 0.999, "clip": int64(1),
			"dataset": "generated-cbf", "decay": int64(1),
			"dropout": int64(0), "epoch_rule": "last-smallest-error", "epochs": int64(1), "epsilon": 1e-8,
			"exchange": "auto", "forget_bias": int64(1),
			"hidden": int64(4), "initial_state": "trained", "input_scale": 0.25, "input_size": int64(0),
			"limit": int64(0), "loss": "cross_entropy",
			"lr": []float64{0.001, 0.01}[point/4%2], "m1": int64(4), "m2": int64(4), "model": models[point%4],
			"momentum": int64(0), "optimizer": "adam",
			"order": "pieces", "output_scale": 0.05, "permutation": int64(1), "r": 0.1, "seed": index%max(seeds, 1) + 1,
			"sigma_center": int64(1),
			"slope":        0.2, "start": "random", "test_every": int64(0), "validation": 0.2,
		}
		canonical, err := p.Canonical()
		if err != nil {
			return err
		}
		parameters[i] = string(canonical)
		fingerprints[i] = string(sweep.NewFingerprint("builtin", "5", "", canonical))
		summary, err := json.Marshal(map[string]float64{
			"validation_loss": losses[i], "validation_accuracy": random.Float64(), "test_accuracy": random.Float64(),
			"train_loss": random.Float64(),
			"test_loss":  random.Float64(), "spectral_margin": random.Float64(), "train_size": 30, "test_size": 900,
			"length": 128, "classes": 3, "depth": 16, "input_size": 8,
		})
		if err != nil {
			return err
		}
		summaries[i] = string(summary)
	}
	trial := func(i int) int64 { return from + int64(i) + 1 }
	execution := func(i int) *string { return new(fmt.Sprintf("host-1-%x", trial(i))) }
	host := "host-1"
	err := tx.Insert(ctx, "trials", database.Rows(int(n), "sweep_no, trial_index, state, executions, execution, worker, "+
		"heard_at, queued_at, started_at, finished_at, fingerprint, dataset_digest, parameters", func(i int, row []any) []any {
		return append(row, new(int64(1)), new(trial(i)-1), new("completed"), new(1), execution(i), &host, &now, &now, &now,
			&now, &fingerprints[i], &fingerprints[i], (*database.JSON)(&parameters[i]))
	}))
	if err != nil {
		return err
	}
	err = tx.Insert(ctx, "outcomes", database.Rows(int(n), "trial_no, summary, best_epoch, parameter_count, "+
		"weights_digest, kernel_level, seconds, flops, error, stderr, digest", func(i int, row []any) []any {
		return append(row, new(trial(i)), (*database.JSON)(&summaries[i]), new(int64(1)), new(int64(64)), &fingerprints[i],
			new("avx512"), new(0.002), new(1e6), new(""), new(""), &fingerprints[i])
	}))
	if err != nil {
		return err
	}
	err = tx.Insert(ctx, "executions", database.Rows(int(n), "trial_no, execution, worker, started_at, ended_at, outcome, "+
		"charged, forgotten, checkpoint, reason, stderr", func(i int, row []any) []any {
		return append(row, new(trial(i)), execution(i), &host, &now, &now, new("result"), new(false), new(false),
			new(int64(0)), new(""), new(""))
	}))
	if err != nil {
		return err
	}
	metrics := []string{"train_loss", "validation_loss", "validation_accuracy", "test_accuracy"}
	return tx.Insert(ctx, "curve_arrays", database.Rows(int(n)*len(metrics),
		"trial_no, metric, ordinal, step_array, value_array", func(i int, row []any) []any {
			at, ordinal := i/len(metrics), i%len(metrics)
			steps := []int64{}
			if ordinal == 0 {
				steps = []int64{1}
			}
			return append(row, new(trial(at)), &metrics[ordinal], &ordinal, &steps, &[]float32{float32(losses[at])})
		}))
}
