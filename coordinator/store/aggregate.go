package store

import (
	"math"

	"sweep/coordinator/store/database"
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

// meanLoss and meanAccuracy are the metrics of loss and accuracy.
const (
	meanLoss     = "validation_loss"
	meanAccuracy = "test_accuracy"
)

// add adds a replicate.
func (a *aggregate) add(by *comparison, e *entry) {
	if a.replicates == 0 || e.index < a.first {
		a.first = e.index
	}
	if a.replicates == 0 || a.replicates == a.diverged && !e.diverged {
		a.trial = e.trial
	}
	score, loss, accuracy := e.metric(by.By), e.metric(meanLoss), e.metric(meanAccuracy)
	if e.diverged {
		score, loss, accuracy = by.diverged.score, by.diverged.loss, by.diverged.accuracy
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

const aggregateColumns = "sweep_no, point_key, group_key, first_index, trial_no, replicates, diverged, score_mean, " +
	"loss_n, loss_mean, accuracy_n, accuracy_mean, accuracy_m2, parameter_count"

func (a *aggregate) columns(row []any) []any {
	return append(row, &a.sweep, &a.key, &a.group, &a.first, &a.trial, &a.replicates, &a.diverged, &a.score,
		&a.losses, &a.loss, &a.accuracies, &a.accuracy, &a.m2, &a.parameterCount)
}

func aggregateBatch(all []*aggregate) database.Batch {
	return database.Rows(len(all), aggregateColumns, func(i int, row []any) []any { return all[i].columns(row) })
}
