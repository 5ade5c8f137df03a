package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sweep/sweep"
)

// testRows holds that the trials in bulk are those that Trials lists.
func testRows(t *testing.T, open func(t *testing.T) sweep.Store) {
	f := newFixture(t, open(t))
	f.create("s0", 3, 3)
	f.create("s1", 9, 6)
	labelled := completed(0.5, "a")
	labelled.Labels = &sweep.RunLabels{Name: "fox", Group: "folds", Tags: []string{"b", "a"}}
	f.complete(trialID("s1", 2), labelled)
	f.must(f.SetAnnotation(f.ctx, "s1", sweep.Edit{Index: new(int64(3)), Tags: []string{"odd"}}))
	diverged := completed(0.5, "b")
	diverged.Diverged = true
	f.complete(trialID("s1", 4), diverged)
	var want []*sweep.TrialRecord
	f.must(f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1"}}, func(r *sweep.TrialRecord) error {
		want = append(want, r)
		return nil
	}))
	var indices []int64
	f.must(f.Rows(f.ctx, "s1", 1, 5, func(row *sweep.TrialRow) error {
		record := want[row.Index]
		indices = append(indices, row.Index)
		var parameters sweep.Parameters
		f.must(parameters.UnmarshalJSON(row.Parameters))
		if !sweep.Equal(map[string]any(parameters), map[string]any(record.Parameters)) || row.State != record.State ||
			row.Executions != record.Executions || row.RunName != record.RunName || row.RunGroup != record.RunGroup ||
			row.Tags != strings.Join(record.Tags, ",") {
			t.Errorf("%+v, want %+v", row, record)
		}
		if record.Result == nil {
			if len(row.Summary) > 0 || row.Seconds != 0 {
				t.Errorf("%+v has a result", row)
			}
			return nil
		}
		summary := sweep.Parameters{}
		f.must(summary.UnmarshalJSON(row.Summary))
		if len(summary) != len(record.Result.Summary) || row.Diverged != record.Result.Diverged ||
			row.Seconds != record.Result.Seconds {
			t.Errorf("%+v, want %+v", row, record.Result)
		}
		return nil
	}))
	if !slices.Equal(indices, []int64{1, 2, 3, 4}) {
		t.Errorf("rows %v", indices)
	}
	own := errors.New("enough")
	if err := f.Rows(f.ctx, "s1", 0, 9, func(*sweep.TrialRow) error { return own }); !errors.Is(err, own) {
		t.Errorf("%v, want the caller's own error", err)
	}
	wantError(t, f.Rows(f.ctx, "nil", 0, 9, nil), sweep.ErrNotFound)
}
