package progress

import (
	"slices"
	"testing"

	"sweep/sweep"
	"sweep/sweep/policy"
)

// Parameters vary by the values of an axis, by what an extension has in their place, and by policies.
func TestVaried(t *testing.T) {
	axis := func(name string, values ...any) sweep.Axis {
		return sweep.Axis{Parameters: []sweep.AxisParameter{{Name: name, Values: sweep.Values{List: values}}}}
	}
	drawn := sweep.Axis{Parameters: []sweep.AxisParameter{{Name: "drawn",
		Values: sweep.Values{Distribution: &sweep.Distribution{Kind: "uniform", Low: 0, High: 1}}}}}
	halving := policy.Of(&policy.Halving{Parameter: "epochs", Rungs: []int64{1, 2, 4}, Eta: 2, Cohort: 4})
	for name, test := range map[string]struct {
		grids []sweep.Spec
		want  []string
	}{
		"axes": {[]sweep.Spec{{Axes: []sweep.Axis{axis("x", 1, 2), axis("one", 1), drawn}}}, []string{"x", "drawn"}},
		"another constant": {[]sweep.Spec{{Axes: []sweep.Axis{axis("x", 1, 2), axis("epochs", 4)}},
			{Axes: []sweep.Axis{axis("x", 1, 2), axis("epochs", 8)}}}, []string{"x", "epochs"}},
		"the same constant": {[]sweep.Spec{{Axes: []sweep.Axis{axis("epochs", 4)}}, {Axes: []sweep.Axis{axis("epochs", 4)}}},
			nil},
		"missing in one": {[]sweep.Spec{{}, {Axes: []sweep.Axis{axis("epochs", 4)}}}, []string{"epochs"}},
		"rungs": {[]sweep.Spec{{Axes: []sweep.Axis{axis("epochs", 4), axis("x", 1, 2)}, Policies: []sweep.Policy{halving}}},
			[]string{"epochs", "x"}},
		"rungs up to the default": {[]sweep.Spec{{Axes: []sweep.Axis{axis("x", 1, 2)}, Policies: []sweep.Policy{halving}}},
			[]string{"x", "epochs"}},
	} {
		record := &sweep.SweepRecord{}
		for _, spec := range test.grids {
			record.Grids = append(record.Grids, sweep.GridRecord{Submission: sweep.Submission{Spec: spec}})
		}
		if got := Varied(record, true); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
