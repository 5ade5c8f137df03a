package model

import (
	"context"
	"errors"
	"testing"

	"sweep/sweep"
)

// Adversarial examples that hardly differ are classified as the test rows are, others worse, those that differ more
// worst; and nothing else of a trial depends on them.
func TestFGSM(t *testing.T) {
	point := sweep.Parameters{"dataset": "generated-cbf", "hidden": int64(16), "epochs": int64(60)}
	plain := train(t, newTrainer(t), "", point)
	if _, has := plain.Summary["fgsm_accuracy"]; has {
		t.Error("an accuracy on examples that nobody asked for")
	}
	before := plain.Summary["test_accuracy"]
	for _, c := range []struct{ epsilon, least, most float64 }{{1e-6, before, before}, {.2, .1, before - .02}, {2, 0, .2}} {
		point["fgsm"] = c.epsilon
		r := train(t, newTrainer(t), "", point)
		got := r.Summary["fgsm_accuracy"]
		t.Logf("ε = %v: %.3f of %.3f", c.epsilon, got, before)
		if got < c.least || got > c.most {
			t.Errorf("ε = %v: accuracy %v, want from %v to %v", c.epsilon, got, c.least, c.most)
		}
		delete(r.Summary, "fgsm_accuracy")
		volatile := description().Volatile()
		if r.ComputeDigest(volatile) != plain.ComputeDigest(volatile) {
			t.Errorf("ε = %v: another result, %v in the place of %v", c.epsilon, r.Summary, plain.Summary)
		}
	}
	point["fgsm"] = -1.0
	_, err := newTrainer(t).Validate(context.Background(), sweep.ValidateRequest{Parameters: point})
	var refused *sweep.ParameterError
	if !errors.As(err, &refused) || refused.Parameter != "fgsm" {
		t.Errorf("a negative ε: %v", err)
	}
}
