package model

import (
	"slices"
	"testing"

	"sweep/sweep"
)

// With patience a trial is the one without it, cut off at the first validation that follows so many without a better one; the
// kept weights, and so the test, are those of the best validation before.
func TestPatience(t *testing.T) {
	t.Parallel()
	for _, base := range []sweep.Parameters{
		{"dataset": "generated-cbf", "model": "rnn", "epochs": int64(60), "lr": 0.02},
		{"dataset": "addition", "length": int64(10), "model": "rnn", "steps": int64(3000), "held": int64(64), "lr": 0.01,
			"validate_every": int64(50)},
	} {
		base["epoch_rule"] = "smallest-loss"
		whole := train(t, newTrainer(t), "", base)
		curve := curveOf(whole, "validation_loss")
		for _, patience := range []int{1, 3} {
			// By the definition: the first validation that so many before it, itself included, do not improve on.
			best, end := 0, len(curve.Values)
			for i, loss := range curve.Values {
				if loss < curve.Values[best] {
					best = i
				}
				if i-best == patience {
					end = i + 1
					break
				}
			}
			if end == len(curve.Values) {
				t.Fatalf("%v: validation always improves: %v", base, curve.Values)
			}
			p := sweep.Parameters{"patience": int64(patience)}
			for name, value := range base {
				p[name] = value
			}
			r := train(t, newTrainer(t), "", p)
			got := curveOf(r, "validation_loss")
			if !slices.Equal(got.Values, curve.Values[:end]) || r.Summary["best_epoch"] != float64(curve.Steps[best]) ||
				float32(r.Summary["validation_loss"]) != curve.Values[best] || r.Summary["flops"] >= whole.Summary["flops"] {
				t.Errorf("%v: %d validations, want %d; best %v, want %d", p, len(got.Values), end, r.Summary["best_epoch"],
					curve.Steps[best])
			}
		}
	}
}

func curveOf(r *sweep.Result, metric string) *sweep.Curve {
	for i := range r.Curves {
		if r.Curves[i].Metric == metric {
			return &r.Curves[i]
		}
	}
	return &sweep.Curve{}
}
