package store

import (
	"context"
	"testing"
	"time"

	"sweep/sweep"
)

// TestUnheardAfterClockSetBack: times of before the clock was set back are in the future.
// Trials last heard of then must not count as heard of until the clock gets there.
func TestUnheardAfterClockSetBack(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, 2)
		must(err)
		id := func(i int64) sweep.TrialID { return sweep.TrialID{Sweep: "s1", Index: i} }
		_, err = s.AddTrials(ctx, "s1", 0, 0, []sweep.Trial{{TrialID: id(0)}, {TrialID: id(1)}}, nil)
		must(err)
		_, err = s.TakePending(ctx, "s1", 0, 2)
		must(err)
		must(s.update(ctx, "set the clock back", func(tx *transaction) {
			tx.run(`UPDATE trials SET heard_at = $1 WHERE trial_index = 1`, tx.now.Add(time.Hour))
		}))
		trials, err := s.Unheard(ctx, time.Now().Add(-30*time.Minute), nil, 10)
		must(err)
		if len(trials) != 1 || trials[0].TrialID != id(1) {
			t.Fatalf("unheard of for half an hour are %v, want the trial heard of an hour ahead", trials)
		}
		n, err := s.RequeueUnheard(ctx, trials)
		must(err)
		if n != 1 {
			t.Errorf("%d trials went back, want 1", n)
		}
	})
}
