package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"sweep/sweep"
)

func testReading(t *testing.T, open func(t *testing.T) sweep.Store) {
	t.Run("NotFound", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 1)
		for _, id := range []sweep.TrialID{trialID("nil", 0), trialID("s1", 1), trialID("s1", -1)} {
			_, err := f.Trial(f.ctx, id)
			wantError(t, err, sweep.ErrNotFound)
			_, err = f.Curves(f.ctx, id)
			wantError(t, err, sweep.ErrNotFound)
		}
		wantError(t, f.Trials(f.ctx, sweep.TrialQuery{Sweeps: []string{"s1", "nil"}}, nil), sweep.ErrNotFound)
	})

	t.Run("Curves", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 2, 2)
		id := trialID("s1", 0)
		if curves, err := f.Curves(f.ctx, id); err != nil || len(curves) != 0 {
			t.Errorf("%v %v", curves, err)
		}
		want := completed(1, "a")
		want.Curves = append(want.Curves, sweep.Curve{Metric: "a\"b$'", Steps: []int64{9}, Values: []float32{1}})
		f.complete(id, want)
		for _, test := range []struct {
			metrics []string
			want    []sweep.Curve
		}{
			{nil, want.Curves},
			{[]string{"validation_loss"}, want.Curves[1:2]},
			{[]string{"validation_loss", "train_loss", "nil"}, want.Curves[:2]},
			{[]string{"a\"b$'"}, want.Curves[2:]},
			{[]string{"nil"}, []sweep.Curve{}},
		} {
			got, err := f.Curves(f.ctx, id, test.metrics...)
			f.must(err)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("curves %q: %+v, want %+v", test.metrics, got, test.want)
			}
		}
	})

	t.Run("Steps", func(t *testing.T) { // equal, different, none: alone and together
		f := newFixture(t, open(t))
		all := map[string]sweep.Curve{
			"none":   {Metric: "none", Steps: []int64{}, Values: []float32{}},
			"one":    {Metric: "one", Steps: []int64{5}, Values: []float32{1}},
			"two":    {Metric: "two", Steps: []int64{1, 2}, Values: []float32{2, 3}},
			"also":   {Metric: "also", Steps: []int64{1, 2}, Values: []float32{4, 5}},
			"other":  {Metric: "other", Steps: []int64{1, 3}, Values: []float32{6, 7}},
			"none 2": {Metric: "none 2", Steps: []int64{}, Values: []float32{}},
		}
		orders := [][]string{
			{"two", "also", "other", "none", "one"}, {"none", "two", "also", "one"},
			{"other", "none", "also", "two", "none 2"}, {"one"}, {"none", "none 2"},
		}
		f.create("s1", int64(len(orders)), int64(len(orders)))
		for i, order := range orders {
			id := trialID("s1", int64(i))
			result := completed(1, "a")
			result.Curves = nil
			var want [][]any
			for _, name := range order {
				result.Curves = append(result.Curves, all[name])
			}
			f.complete(id, result)
			if got, err := f.Curves(f.ctx, id); err != nil || !reflect.DeepEqual(got, result.Curves) {
				t.Errorf("%v: %v (%v)", order, got, err)
			}
			for _, name := range order {
				got, err := f.Curves(f.ctx, id, name)
				if err != nil || !reflect.DeepEqual(got, []sweep.Curve{all[name]}) {
					t.Errorf("%v, %s: %v (%v)", order, name, got, err)
				}
			}
			sorted := slices.Sorted(slices.Values(order))
			for _, name := range sorted {
				for j, step := range all[name].Steps {
					want = append(want, []any{name, step, float64(all[name].Values[j])})
				}
			}
			got := f.rows(
				fmt.Sprintf(`SELECT metric, step, value FROM curves WHERE trial_index = %d ORDER BY metric, step`, i))
			if !equalRows(got, want) {
				t.Errorf("%v: %v, want %v", order, got, want)
			}
		}
	})

	t.Run("Stream", func(t *testing.T) {
		f := newFixture(t, open(t))
		f.create("s1", 500, 500)
		var n int64
		stop := errors.New("enough")
		err := f.Trials(f.ctx, sweep.TrialQuery{}, func(r *sweep.TrialRecord) error {
			if r.Index != n {
				return fmt.Errorf("trial %d, want %d", r.Index, n)
			}
			if n++; n == 100 {
				return stop
			}
			_, err := f.Trial(f.ctx, r.TrialID) // the store can be used meanwhile
			return err
		})
		if !errors.Is(err, stop) || n != 100 {
			t.Errorf("%v after %d trials", err, n)
		}
	})
}
