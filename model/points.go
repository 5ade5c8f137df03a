package model

import (
	"context"

	"sweep/model/loss"
)

// addGaps adds what training and test of an epoch come to, and how far they are apart (SGORNN
// paper, figure 4). Training is measured in its minibatches, dropout included, as the weights
// were then.
func (t *training) addGaps(train *epochSum, test *loss.Score) {
	t.add("test_loss", test.Mean())
	t.add("loss_gap", test.Mean()-train.Loss/float64(train.Rows))
	for _, m := range t.measures {
		if m.Gap {
			trained := m.Of(&loss.Score{Correct: train.Correct, Rows: train.Rows})
			t.add(m.Metric("train"), trained)
			t.add(m.Name+"_gap", trained-m.Of(test))
		}
	}
}

// reportStep adds the points of the first step and of each that report_every asks for: loss and
// gradient of its minibatch, and what the weights are after it.
func (t *training) reportStep(ctx context.Context, loss, gradient float64) error {
	every, step := t.s.reportEvery, t.position()
	if every == 0 || t.diverged || step > 1 && step%every > 0 {
		return nil
	}
	t.curves.add("step_train_loss", step, loss)
	if t.net.Recurs() {
		t.curves.add("step_gradient_norm", step, gradient)
	}
	if alpha, beta, ok := t.net.Gates(); ok {
		t.curves.add("step_alpha", step, alpha)
		t.curves.add("step_beta", step, beta)
		t.curves.add("step_alpha_t", step, alpha*float64(t.shape.Steps))
	}
	margin, ok, err := t.net.SpectralMargin(ctx)
	if ok && err == nil {
		t.curves.add("step_spectral_margin", step, margin)
	}
	return err
}
