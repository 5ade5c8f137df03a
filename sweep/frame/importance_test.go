package frame_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// importances returns the importance of each parameter for the metric loss.
func importances(t *testing.T, trials []trial) map[string]frame.Importance {
	t.Helper()
	found, err := load(t, trials).Importance(t.Context(), frame.ImportanceQuery{Metric: "loss"})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]frame.Importance{}
	for _, one := range found.Parameters {
		all[one.Parameter] = one
	}
	return all
}

// drawn makes trials of a random search whose loss only lr and, where the optimizer is sgd, momentum decide; of
// several hundreds one has a loss of 1e4.
func drawn(n int, seed uint64, outlier bool) (trials []trial) {
	random := rand.New(rand.NewPCG(seed, 7))
	for i := range n {
		p := map[string]any{"lr": math.Exp(-8 * random.Float64()), "null": random.Float64(),
			"layers": float64(random.IntN(20)), "kind": fmt.Sprint("k", random.IntN(3)), "flag": random.IntN(2) == 0,
			"optimizer": []string{"adam", "sgd"}[random.IntN(2)]}
		loss := 1.5*math.Abs(math.Log(p["lr"].(float64))+4) + 0.2*random.NormFloat64()
		if p["optimizer"] == "sgd" {
			p["momentum"] = random.Float64()
			p["useless"] = random.Float64()
			loss += 5 * p["momentum"].(float64)
		}
		if outlier && i == n/2 {
			loss = 1e4
		}
		trials = append(trials, trial{state: sweep.Completed, parameters: p, summary: map[string]float64{"loss": loss}})
	}
	return trials
}

func TestImportanceOfDrawnParameters(t *testing.T) {
	t.Parallel()
	const draws = 20
	for _, n := range []int{60, 200, 1000, 5000} {
		for _, outlier := range []bool{false, true} {
			exceeded, judged := 0, 0
			for seed := range min(draws, 20_000/uint64(n)) {
				all := importances(t, drawn(n, seed, outlier))
				for _, name := range []string{"null", "layers", "kind", "flag", "useless"} {
					one, ok := all[name]
					if !ok {
						t.Fatalf("%d trials: nothing about %s", n, name)
					}
					if judged++; one.Variance >= 0.05 || one.Share >= 0.05 {
						exceeded++
					}
				}
				// lr is the distance from its best value, momentum of half the trials.
				if lr := all["lr"]; lr.Variance < 0.1 || !lr.Binned || lr.Levels > 12 || lr.Few {
					t.Errorf("%d trials, draw %d, outlier %v: %+v", n, seed, outlier, lr)
				}
				if m := all["momentum"]; n > 60 && (m.Variance < 0.1 || m.Trials >= int64(n)) {
					t.Errorf("%d trials, draw %d, outlier %v: %+v", n, seed, outlier, m)
				}
			}
			if exceeded > judged/25 { // a test at three standard deviations errs in one of a hundred
				t.Errorf("%d trials, outlier %v: %d of %d parameters without effect have one of 5 %% or more", n, outlier,
					exceeded, judged)
			}
		}
	}
}

func TestImportanceOfFewTrials(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		trials, values int
		text, few      bool
	}{{9, 3, false, true}, {9, 3, true, true}, {10, 2, true, false}, {30, 30, false, false}, {100, 30, true, true},
		{300, 30, true, false}, {5, 5, false, true}} {
		var trials []trial
		for i := range c.trials {
			p := map[string]any{"x": float64(i % c.values)}
			if c.text {
				p["x"] = fmt.Sprint("x", i%c.values)
			}
			trials = append(trials, trial{state: sweep.Completed, parameters: p,
				summary: map[string]float64{"loss": random.Float64()}})
		}
		x := importances(t, trials)["x"]
		if x.Few != c.few || x.Few && (x.Variance != 0 || x.Share != 0) || x.Trials != int64(c.trials) {
			t.Errorf("%+v: %+v", c, x)
		}
	}
}

// Equal metrics have no variance to explain.
func TestImportanceOfConstantMetric(t *testing.T) {
	t.Parallel()
	var trials []trial
	for i := range 100 {
		trials = append(trials, trial{state: sweep.Completed, parameters: map[string]any{"x": float64(i % 4)},
			summary: map[string]float64{"loss": 0.1}})
	}
	if x := importances(t, trials)["x"]; x.Variance != 0 || x.Share != 0 || x.Few {
		t.Errorf("%+v", x)
	}
}
