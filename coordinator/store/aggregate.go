package store

import (
	"math"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// aggregate has the means over the replicates of a grid point, and the sum of the squared
// deviations of their accuracies (Welford's algorithm, which takes one result at a time).
type aggregate struct {
	sweepKey
	group                int64
	first, trial         int64
	replicates, diverged int64
	score                float64
	losses               int64
	loss                 float64
	accuracies           int64
	accuracy, m2         float64
	parameterCount       int64
	// stored reports whether the table has it.
	stored bool
}

// add adds a replicate.
func (a *aggregate) add(by *comparison, e *entry) {
	if a.replicates == 0 || e.index < a.first {
		a.first = e.index
	}
	if a.replicates == 0 || a.replicates == a.diverged && !e.diverged {
		a.trial = e.trial
	}
	score, loss, accuracy := e.metric(by.By), e.metric("validation_loss"), e.metric("test_accuracy")
	if e.diverged {
		score, loss, accuracy = by.Worst(), sweep.LossOfDiverged, 0
		a.diverged++
	}
	a.replicates++
	a.score += (score - a.score) / float64(a.replicates)
	if !math.IsNaN(loss) {
		a.losses++
		a.loss += (loss - a.loss) / float64(a.losses)
	}
	if !math.IsNaN(accuracy) {
		a.accuracies++
		off := accuracy - a.accuracy
		a.accuracy += off / float64(a.accuracies)
		a.m2 += float64(off * (accuracy - a.accuracy))
	}
	a.parameterCount = max(a.parameterCount, e.parameterCount)
}

func aggregateBatch(all []*aggregate) database.Batch {
	return database.Batch{Rows: len(all), Columns: []database.Column{
		{Name: "sweep_no", Int: func(i int) int64 { return all[i].sweep }},
		{Name: "point_key", Int: func(i int) int64 { return all[i].key }},
		{Name: "group_key", Int: func(i int) int64 { return all[i].group }},
		{Name: "first_index", Int: func(i int) int64 { return all[i].first }},
		{Name: "trial_no", Int: func(i int) int64 { return all[i].trial }},
		{Name: "replicates", Int: func(i int) int64 { return all[i].replicates }},
		{Name: "diverged", Int: func(i int) int64 { return all[i].diverged }},
		{Name: "score_mean", Float: func(i int) float64 { return all[i].score }},
		{Name: "loss_n", Int: func(i int) int64 { return all[i].losses }},
		{Name: "loss_mean", Float: func(i int) float64 { return all[i].loss }},
		{Name: "accuracy_n", Int: func(i int) int64 { return all[i].accuracies }},
		{Name: "accuracy_mean", Float: func(i int) float64 { return all[i].accuracy }},
		{Name: "accuracy_m2", Float: func(i int) float64 { return all[i].m2 }},
		{Name: "parameter_count", Int: func(i int) int64 { return all[i].parameterCount }},
	}}
}
