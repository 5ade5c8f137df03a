package task

import (
	"fmt"
	"math"
	"slices"

	"sweep/model/loss"
	"sweep/sweep"
)

// A Measure is what the outputs for a task are compared by besides their loss. Its metrics have the part's name before
// its own, as in test_accuracy.
type Measure struct {
	Name, Goal string
	// Of is its value for the rows of a part.
	Of func(score *loss.Score) float64
	// Train, Validation and Test document its metrics. Without Train there is none of training, where the mean loss
	// alone is known.
	Train, Validation, Test string
	// Gap says that with gap_curves training is measured, too, by its minibatches.
	Gap bool
}

// Metric is the name of its metric of a part.
func (m *Measure) Metric(part string) string { return part + "_" + m.Name }

// Metrics describes its metrics. Those of validation are absent in trials that absent matches.
func (m *Measure) Metrics(absent sweep.Match) []sweep.MetricSchema {
	all := []sweep.MetricSchema{
		{Name: m.Metric("train"), Doc: m.Train, Part: sweep.TrainPart},
		{Name: m.Metric("validation"), Doc: m.Validation, Part: sweep.ValidationPart, AbsentWhen: absent},
		{Name: m.Metric("test"), Doc: m.Test, Part: sweep.TestPart},
	}
	for i := range all {
		all[i].Goal, all[i].Curve, all[i].Summary = m.Goal, true, true
	}
	if m.Goal == sweep.Maximize { // a share, of which diverged trials have none
		all[len(all)-1].Diverged = new(0.0)
	}
	if m.Train == "" {
		return all[1:]
	}
	return all
}

// Measures are those of all tasks, each once.
func Measures() (all []*Measure) {
	for _, k := range All {
		for _, m := range k.Measures {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}

var accuracy = Measure{
	Name: "accuracy", Goal: sweep.Maximize, Of: (*loss.Score).Accuracy, Gap: true,
	Validation: "validation accuracy; in the summary that of the kept weights, or the last before the refit",
	Test:       "test accuracy; in the summary that of the kept weights",
}

// maxNats keeps perplexities within what curves can hold.
const maxNats = 80

// perplexity is exp(loss): of how many equally likely words or characters one would have to guess.
var perplexity = Measure{
	Name: "perplexity", Goal: sweep.Minimize,
	Of:    func(score *loss.Score) float64 { return math.Exp(min(score.Mean(), maxNats)) },
	Train: "exp(train_loss) of a model of words or characters",
	Validation: "validation perplexity, every word or character counted once, ends of lines too; in the summary " +
		"that of the kept weights",
	Test: "test perplexity, likewise",
}

// precisions are the precision at k of tasks whose targets are sets of labels, for each k of [loss.Ranks].
var precisions = func() (all []*Measure) {
	for i, k := range loss.Ranks {
		all = append(all, &Measure{
			Name: fmt.Sprintf("precision_at_%d", k), Goal: sweep.Maximize,
			Of: func(score *loss.Score) float64 { return score.Precision()[i] },
			Validation: fmt.Sprintf("share of right labels among the %d most probable of a validation row, of "+
				"multilabel; in the summary that of the kept weights", k),
			Test: "likewise of a test row",
		})
	}
	return all
}()
