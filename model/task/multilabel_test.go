package task

import (
	"errors"
	"fmt"
	"testing"

	"sweep/model/dataset"
	"sweep/sweep"
)

// Every row comes once an epoch, as the data set has it, with a 1 for each of its labels.
func TestMultiLabelByDefinition(t *testing.T) {
	set := dataset.GenerateMultiLabel(0)
	want := map[string]int{}
	for part, rows := range map[Part]*dataset.LabelledRows{Train: &set.Train, Test: &set.Test} {
		for row := range rows.Count() {
			x, y := make([]float32, set.Features), make([]float32, len(set.Names))
			columns, values := rows.Features(row)
			for i, column := range columns {
				x[column] = values[i]
			}
			for _, label := range rows.Labels(row) {
				y[label] = 1
			}
			want[fmt.Sprint(part == Test, x, y)]++
		}
	}
	for _, part := range []Part{Train, Validation, Test} {
		task, stream, b := opened(t, sweep.Parameters{"dataset": "generated-multilabel"}, part, 4)
		if s := task.Shape(); s.Steps != 1 || s.Inputs != set.Features || s.Outputs != len(set.Names) || s.Classes {
			t.Fatalf("shape %+v", s)
		}
		for count := 0; count < task.Count(part) && stream.Next(b); count += b.Size {
			for _, s := range sequencesOf(b) {
				want[fmt.Sprint(part == Test, s.x, s.values)]--
			}
		}
	}
	for row, n := range want {
		if n != 0 {
			t.Errorf("%s: %d times too few", row, n)
		}
	}
}

// Recurrent networks have no sequences here, and rows no one class to stratify by.
func TestMultiLabelRefuses(t *testing.T) {
	point := sweep.Parameters{"dataset": "generated-multilabel"}
	for name, change := range map[string]func(o *Options){
		"model":       func(o *Options) { o.FeedForward = false },
		"split":       func(o *Options) { o.Parameters["split"] = "stratified" },
		"index_base":  func(o *Options) { o.Parameters["index_base"] = "one" },
		"no data set": func(o *Options) { o.Parameters["dataset"] = "multilabel" },
	} {
		o := trial(t, point)
		change(o)
		_, err := Open(o)
		var refused *sweep.ParameterError
		var data *sweep.DataError
		if !errors.As(err, &data) && (!errors.As(err, &refused) || refused.Parameter != name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
