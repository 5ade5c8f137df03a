package noop_test

import (
	"testing"

	"sweep/sweep"
	"sweep/worker/trainer/noop"
	"sweep/worker/trainer/trainertest"
)

func TestTrainer(t *testing.T) {
	trainertest.Run(t, func(*testing.T) sweep.Trainer { return noop.New() }, trainertest.Fixture{
		Parameters: sweep.Parameters{"x": 3, "y": 0.5, "z": "text", "points": 1000},
	})
}

func TestValue(t *testing.T) {
	value := func(p sweep.Parameters) float64 {
		t.Helper()
		result, err := noop.New().Train(t.Context(), sweep.TrainRequest{Trial: sweep.Trial{Parameters: p}},
			&trainertest.Sink{})
		if err != nil {
			t.Fatal(err)
		}
		return result.Summary["value"]
	}
	if v := value(sweep.Parameters{"x": 3, "y": -4}); v < 25 || v >= 26 {
		t.Errorf("value of x = 3, y = −4 is %v, want 25 to 26", v)
	}
	base := value(sweep.Parameters{})
	for name, p := range map[string]sweep.Parameters{
		"z": {"z": "a"}, "seed": {"seed": 2},
	} {
		if value(p) == base {
			t.Errorf("%s makes no difference", name)
		}
	}
	for name, p := range map[string]sweep.Parameters{
		"milliseconds": {"milliseconds": 1}, "points": {"points": 2}, "1.0 for 1": {"seed": 1.0},
	} {
		if value(p) != base {
			t.Errorf("%s makes a difference", name)
		}
	}
}
