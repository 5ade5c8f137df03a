package storetest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"sweep/sweep"
)

// equalRows compares rows; numbers may differ in their last bits.
func equalRows(got, want [][]any) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if len(got[i]) != len(want[i]) {
			return false
		}
		for j := range got[i] {
			a, aIs := got[i][j].(float64)
			b, bIs := want[i][j].(float64)
			if aIs && bIs && math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b)) {
				continue
			}
			if got[i][j] != want[i][j] {
				return false
			}
		}
	}
	return true
}

// A diverged trial counts for nothing in a metric that the sweep's trials do not report.
func testAbsentMetrics(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	for i, held := range []int64{0, 5} {
		id := fmt.Sprint("s", i)
		s := compared(id, sweep.Select{By: "reward", Goal: sweep.Maximize})
		s.Spec.Axes = append(s.Spec.Axes, sweep.Axis{Parameters: []sweep.AxisParameter{{Name: "held",
			Values: sweep.Values{List: []any{held}}}}})
		for m := range s.Description.Metrics {
			if s.Description.Metrics[m].Name == "validation_loss" {
				s.Description.Metrics[m].AbsentWhen = sweep.Match{"held": {int64(0)}}
			}
		}
		f.makeSweep(id, s, 2)
		var page []sweep.Trial
		for seed := range int64(2) {
			page = append(page, sweep.Trial{TrialID: trialID(id, seed), Parameters: sweep.Parameters{"dataset": "CBF",
				"model": "rnn", "held": held, "seed": seed}, Fingerprint: sweep.Fingerprint(fmt.Sprint(id, "-", seed))})
		}
		f.write(id, 0, 0, page)
		summary := map[string]float64{"reward": 1, "test_accuracy": 0.75}
		if held > 0 {
			summary["validation_loss"] = 1
		}
		f.complete(trialID(id, 0), &sweep.Result{State: sweep.Completed, Summary: summary})
		f.complete(trialID(id, 1), &sweep.Result{State: sweep.Completed, Diverged: true})
	}
	want := [][]any{{"s0", int64(2), int64(1), nil, 0.5}, {"s1", int64(2), int64(1), 4.0, 0.5}}
	var got [][]any
	f.must(f.Query(f.ctx, `SELECT sweep_id, replicates, diverged, validation_loss, test_accuracy FROM accuracy_table
		WHERE selection = 'mean' ORDER BY 1`, func(_ []string, row []any) error {
		got = append(got, slices.Clone(row))
		return nil
	}))
	if !equalRows(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func testViews(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	// Each grid point (data set, model, lr) with its replicates' validation loss and test accuracy; a negative loss
	// means a replicate that diverged, 0 one that has not ended.
	type replicate struct{ loss, accuracy float64 }
	grid := []struct {
		dataset, model string
		lr             float64
		replicates     []replicate
	}{
		// By the mean the second point wins, by the single trial the first; the third would win if its diverged
		// replicate did not count.
		{"CBF", "rnn", 0.1, []replicate{{0.125, 0.75}, {1, 0.5}}},
		{"CBF", "rnn", 0.01, []replicate{{0.25, 0.875}, {0.5, 0.625}}},
		{"CBF", "rnn", 1, []replicate{{0.1875, 0.9375}, {-1, 0}}},
		{"CBF", "lstm", 0.1, []replicate{{0.5, 0.5}, {0, 0}, {0.75, 0.75}}},
		{"Adiac", "rnn", 0.1, []replicate{{-1, 0}, {-1, 0}}},
		{"Adiac", "lstm", 0.1, []replicate{{2, 0.25}}},
		{"mnist", "rnn", 0.1, []replicate{{0.5, 0.875}, {0.25, 0.75}}},
		{"permuted-MNIST", "rnn", 0.1, []replicate{{0.5, 0.5}}},
		// What is neither of the archive nor MNIST is in neither table.
		{"copy", "rnn", 0.1, []replicate{{0.5, 0.5}}},
		{"har-2", "rnn", 0.1, []replicate{{0.5, 0.5}}},
		{"Fashion-MNIST", "rnn", 0.1, []replicate{{0.5, 0.5}}},
		{"Lighting 7", "rnn", 0.1, []replicate{{0.5, 0.5}}},
	}
	var page []sweep.Trial
	var results []*sweep.Result
	for _, g := range grid {
		for seed, r := range g.replicates {
			index := int64(len(page))
			page = append(page, sweep.Trial{
				TrialID: trialID("s1", index),
				Parameters: sweep.Parameters{"dataset": g.dataset, "model": g.model, "lr": g.lr, "decay": 1,
					"batch": int64(16), "seed": int64(seed + 1)},
				Fingerprint: sweep.Fingerprint(fmt.Sprint("view-", index)),
			})
			switch {
			case r.loss < 0:
				results = append(results, &sweep.Result{State: sweep.Completed, Diverged: true,
					Summary: map[string]float64{"validation_loss": 0.001, "test_accuracy": 1, "parameter_count": 100}})
			case r.loss == 0:
				results = append(results, nil)
			default:
				results = append(results, &sweep.Result{State: sweep.Completed,
					Summary: map[string]float64{
						"validation_loss": r.loss, "test_accuracy": r.accuracy, "validation_accuracy": 0.75,
						"train_size": 30, "test_size": 900, "length": 128, "classes": 4, "depth": 16,
						"parameter_count": 100,
						"clock":           1e9 + r.loss, // its deviation is small beside its mean
					}})
			}
		}
	}
	// A trial without the usual parameters and metrics must not get in the way.
	page = append(page, sweep.Trial{TrialID: trialID("s1", int64(len(page))),
		Parameters: sweep.Parameters{"dataset": int64(3), "lr": "auto", "seed": 1.5, "batch": []any{}}})
	results = append(results, &sweep.Result{State: sweep.Completed, Summary: map[string]float64{"reward": 5}})
	f.makeSweep("s1", submission("views"), int64(len(page)))
	f.write("s1", 0, 0, page)
	for i, result := range results {
		if result != nil {
			f.complete(trialID("s1", int64(i)), result)
		}
	}
	sd := math.Sqrt(2 * 0.125 * 0.125)
	for sql, want := range map[string][][]any{
		`SELECT parameters ->> 'dataset' AS dataset, parameters ->> 'model' AS model, trial_index, score, ties, seed
			FROM best_trials
		WHERE sweep_id = 's1' AND parameters ->> 'dataset' IN ('Adiac', 'CBF', 'mnist', 'permuted-MNIST')
			ORDER BY 1, 2`: {
			{"Adiac", "lstm", int64(11), 2.0, int64(0), int64(1)},
			{"CBF", "lstm", int64(6), 0.5, int64(0), int64(1)},
			{"CBF", "rnn", int64(0), 0.125, int64(0), int64(1)},
			{"mnist", "rnn", int64(13), 0.25, int64(0), int64(2)},
			{"permuted-MNIST", "rnn", int64(14), 0.5, int64(0), int64(1)},
		},
		`SELECT dataset, model, selection, replicates, diverged, validation_loss, test_accuracy, test_accuracy_sd,
			parameter_count, trial_index
		FROM ucr_table WHERE sweep_id = 's1' ORDER BY dataset, model, selection`: {
			{"Adiac", "lstm", "mean", int64(1), int64(0), 2.0, 0.25, nil, int64(100), nil},
			{"Adiac", "lstm", "single", int64(1), int64(0), 2.0, 0.25, nil, int64(100), int64(11)},
			{"Adiac", "rnn", "mean", int64(2), int64(2), 20.0, 0.0, 0.0, int64(100), nil},
			{"CBF", "lstm", "mean", int64(2), int64(0), 0.625, 0.625, sd, int64(100), nil},
			{"CBF", "lstm", "single", int64(1), int64(0), 0.5, 0.5, nil, int64(100), int64(6)},
			{"CBF", "rnn", "mean", int64(2), int64(0), 0.375, 0.75, sd, int64(100), nil},
			{"CBF", "rnn", "single", int64(1), int64(0), 0.125, 0.75, nil, int64(100), int64(0)},
			{"Lighting 7", "rnn", "mean", int64(1), int64(0), 0.5, 0.5, nil, int64(100), nil},
			{"Lighting 7", "rnn", "single", int64(1), int64(0), 0.5, 0.5, nil, int64(100), int64(18)},
		},
		`SELECT dataset, selection, replicates, test_accuracy FROM mnist_table ORDER BY dataset, selection`: {
			{"mnist", "mean", int64(2), 0.8125}, {"mnist", "single", int64(1), 0.75},
			{"permuted-MNIST", "mean", int64(1), 0.5}, {"permuted-MNIST", "single", int64(1), 0.5},
		},
		`SELECT train_size, test_size, length, classes, depth, grid_point FROM ucr_table
			WHERE dataset = 'CBF' AND model = 'rnn' ORDER BY selection`: {
			{int64(30), int64(900), int64(128), int64(4), int64(16),
				`{"batch":16,"dataset":"CBF","decay":1,"lr":0.01,"model":"rnn"}`},
			{int64(30), int64(900), int64(128), int64(4), int64(16),
				`{"batch":16,"dataset":"CBF","decay":1,"lr":0.1,"model":"rnn"}`},
		},
		// A point whose replicates all diverged has no row.
		`SELECT metric, n, mean, sd, smallest, largest, diverged, grid_point FROM point_means
			WHERE sweep_id = 's1' AND (grid_point LIKE '%"CBF"%"lstm"%' OR grid_point LIKE '%"Adiac"%')
				AND metric IN ('validation_loss', 'train_size', 'clock')
			ORDER BY grid_point, metric`: {
			{"clock", int64(1), 1e9 + 2, nil, 1e9 + 2, 1e9 + 2, int64(0),
				`{"batch":16,"dataset":"Adiac","decay":1,"lr":0.1,"model":"lstm"}`},
			{"train_size", int64(1), 30.0, nil, 30.0, 30.0, int64(0),
				`{"batch":16,"dataset":"Adiac","decay":1,"lr":0.1,"model":"lstm"}`},
			{"validation_loss", int64(1), 2.0, nil, 2.0, 2.0, int64(0),
				`{"batch":16,"dataset":"Adiac","decay":1,"lr":0.1,"model":"lstm"}`},
			{"clock", int64(2), 1e9 + 0.625, sd, 1e9 + 0.5, 1e9 + 0.75, int64(0),
				`{"batch":16,"dataset":"CBF","decay":1,"lr":0.1,"model":"lstm"}`},
			{"train_size", int64(2), 30.0, 0.0, 30.0, 30.0, int64(0),
				`{"batch":16,"dataset":"CBF","decay":1,"lr":0.1,"model":"lstm"}`},
			{"validation_loss", int64(2), 0.625, sd, 0.5, 0.75, int64(0),
				`{"batch":16,"dataset":"CBF","decay":1,"lr":0.1,"model":"lstm"}`},
		},
		`SELECT n, mean, sd, diverged FROM point_means
			WHERE grid_point LIKE '%"CBF"%"rnn"%' AND metric = 'validation_loss' ORDER BY mean`: {
			{int64(1), 0.1875, nil, int64(1)}, {int64(2), 0.375, sd, int64(0)},
			{int64(2), 0.5625, math.Sqrt(2 * 0.4375 * 0.4375), int64(0)},
		},
		`SELECT metric, n, mean FROM point_means WHERE sweep_name = 'views' AND metric = 'reward'`: {
			{"reward", int64(1), 5.0}},
		`SELECT sweep_id, metric, value FROM metrics WHERE trial_index = 19 OR trial_index = 6 AND metric = 'classes'
			ORDER BY trial_index`: {{"s1", "classes", 4.0}, {"s1", "reward", 5.0}},
		`SELECT seed FROM results WHERE trial_index = 19`: {{nil}},
		`SELECT count(*) FROM curves`:                     {{int64(0)}},
	} {
		if got := f.rows(sql); !equalRows(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", sql, got, want)
		}
	}
	for view, columns := range map[string]string{
		"results": "sweep_id sweep_name trial_index state diverged parameters summary kernel_level seconds " +
			"weights_digest digest executions charged worker reused_from_sweep reused_from_index error queued_at " +
			"started_at finished_at fingerprint seed",
		"metrics": "sweep_id sweep_name trial_index metric value",
		"best_trials": "sweep_id sweep_name trial_index score ties seed seconds kernel_level " +
			"weights_digest parameters summary",
		"point_means": "sweep_id sweep_name metric n mean sd smallest largest diverged grid_point",
		"ucr_table": "sweep_id sweep_name dataset model selection replicates diverged validation_loss test_accuracy " +
			"test_accuracy_sd " +
			"parameter_count train_size test_size length classes depth trial_index grid_point ties",
		"mnist_table": "sweep_id sweep_name dataset model selection replicates diverged validation_loss " +
			"test_accuracy test_accuracy_sd " +
			"parameter_count train_size test_size length classes depth trial_index grid_point ties",
	} {
		got := ""
		f.must(f.Query(f.ctx, `SELECT * FROM `+view+` LIMIT 1`, func(names []string, _ []any) error {
			got = fmt.Sprint(names)
			return nil
		}))
		if got != "["+columns+"]" {
			t.Errorf("columns of %s: %s", view, got)
		}
	}
	f.complete(trialID("s1", 7), &sweep.Result{State: sweep.Completed, Curves: []sweep.Curve{
		{Metric: "loss", Steps: []int64{1, 3}, Values: []float32{0.1, float32(math.NaN())}},
	}})
	f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Tags: []string{"timed"}}))
	for view, column := range map[string]string{"results": "finished_at", "executions": "started_at",
		"notes": "edited_at"} {
		for _, row := range f.rows(`SELECT ` + column + ` FROM ` + view + ` WHERE ` + column + ` > '1970-01-02'`) {
			if at, err := time.Parse("2006-01-02T15:04:05.000000Z", fmt.Sprint(row[0])); err != nil || at.Year() < 2026 {
				t.Errorf("%s.%s: %v", view, column, row[0])
			}
		}
		if f.rows(`SELECT count(*) FROM ` + view + ` WHERE ` + column + ` > '2026-01-01'`)[0][0] == int64(0) {
			t.Errorf("%s has no times", view)
		}
	}
	want := [][]any{{"s1", int64(7), "loss", int64(1), float64(float32(0.1))}, {"s1", int64(7), "loss", int64(3), nil}}
	if got := f.rows(`SELECT sweep_id, trial_index, metric, step, value FROM curves
		ORDER BY step`); !equalRows(got, want) {
		t.Errorf("curves %v, want %v", got, want)
	}
}
