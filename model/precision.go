package model

import (
	"fmt"

	"sweep/model/loss"
	"sweep/sweep"
)

// precisionAt is the name of a part's precision at k.
func precisionAt(part string, k int) string { return fmt.Sprintf("%s_precision_at_%d", part, k) }

// precisionMetrics are those of the tasks whose targets are sets of labels.
func precisionMetrics() (all []sweep.MetricSchema) {
	for _, k := range loss.Ranks {
		all = append(all, sweep.MetricSchema{
			Name: precisionAt("validation", k), Goal: "maximize", Curve: true, Summary: true,
			Part: sweep.ValidationPart, AbsentWhen: heldOutNone,
			Doc: fmt.Sprintf("share of right labels among the %d most probable of a validation row, of multilabel; "+
				"in the summary that of the kept weights", k),
		}, sweep.MetricSchema{
			Name: precisionAt("test", k), Goal: "maximize", Curve: true, Summary: true, Part: sweep.TestPart,
			Diverged: new(0.0), Doc: "likewise of a test row",
		})
	}
	return all
}

// addPrecision adds the points of a part's evaluation.
func (t *training) addPrecision(part string, score *loss.Score) {
	for i, precision := range score.Precision() {
		t.add(precisionAt(part, loss.Ranks[i]), precision)
	}
}
