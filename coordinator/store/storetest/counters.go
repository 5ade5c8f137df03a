package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sweep/sweep"
)

// testCounters does random things to two sweeps and compares, after each, the
// counters with a count of the rows, and checks that no trial left a terminal
// state but by a retry.
func testCounters(t *testing.T, open func(t *testing.T) sweep.Store) {
	const seeds = 2
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("Seed", seed), func(t *testing.T) {
			f := newFixture(t, open(t))
			random := rand.New(rand.NewPCG(seed, 1))
			const points = 12
			f.create("s0", points, 0)
			f.create("s1", points, 0)
			terminal := map[sweep.TrialID]sweep.State{}
			var past []sweep.Event
			for step := range 150 {
				id := fmt.Sprint("s", random.IntN(2))
				trial := trialID(id, random.Int64N(points))
				execution := fmt.Sprint("x", random.IntN(3))
				retried := false
				switch action := random.IntN(20); action {
				case 0, 1:
					for _, grid := range f.sweep(id).Grids {
						n := min(grid.Points-grid.Cursor, random.Int64N(4))
						page := trials(id, grid.First+grid.Cursor, n)
						for i := range page { // the two sweeps share fingerprints
							page[i].Fingerprint = sweep.Fingerprint(fmt.Sprint(page[i].Index))
						}
						f.write(id, grid.Ordinal, grid.Cursor, page)
					}
				case 2:
					if step%3 == 0 {
						_, err := f.AddGrid(f.ctx, id, submission("more"), random.Int64N(3))
						f.must(err)
					}
				case 3, 4, 5:
					f.mark([]sweep.TrialID{trial, trialID(id, random.Int64N(points))})
				case 6:
					f.putBack(trial)
				case 7:
					if random.IntN(4) == 0 {
						_, err := f.CancelTrials(f.ctx, id)
						f.must(err)
					}
				case 8:
					_, err := f.RetryTrials(f.ctx, id)
					f.must(err)
					retried = true
				default:
					var batch []sweep.Event
					for range 1 + random.IntN(4) {
						switch random.IntN(6) {
						case 0, 1:
							batch = append(batch, f.started(trial, execution))
						case 2:
							result := completed(1, fmt.Sprint(random.IntN(2)))
							result.State = []sweep.State{sweep.Completed, sweep.Completed, sweep.Failed,
								sweep.Cancelled}[random.IntN(4)]
							result.Diverged = random.IntN(2) == 0
							batch = append(batch, f.finished(trial, execution, result))
						case 3:
							batch = append(batch, f.released(trial, execution, random.IntN(2) == 0, "why not"))
						case 4:
							lost := f.event(sweep.EventLost, trial, []string{execution, ""}[random.IntN(2)])
							batch = append(batch, lost)
						case 5:
							if len(past) > 0 {
								batch = append(batch, past[random.IntN(len(past))])
							}
						}
						trial.Index = random.Int64N(points)
						execution = fmt.Sprint("x", random.IntN(3))
					}
					past = append(past, batch...)
					f.record(batch...)
				}
				for _, id := range []string{"s0", "s1"} {
					f.checkCounters(id)
					progress, err := f.Progress(f.ctx, id)
					f.must(err)
					record := f.sweep(id)
					if progress.Total() != record.Points() {
						t.Fatalf("step %d: %d trials, %d points", step, progress.Total(), record.Points())
					}
					done := expanded(record) && progress.Pending+progress.Queued+progress.Running == 0
					if done == (record.State == sweep.SweepActive) {
						t.Fatalf("step %d: sweep %s is %s with %+v", step, id, record.State, progress)
					}
				}
				f.must(f.Trials(f.ctx, sweep.TrialQuery{}, func(r *sweep.TrialRecord) error {
					if before, ok := terminal[r.TrialID]; ok && before != r.State && !retried {
						t.Fatalf("step %d: trial %v went from %s to %s", step, r.TrialID, before, r.State)
					}
					delete(terminal, r.TrialID)
					if r.State.Terminal() {
						terminal[r.TrialID] = r.State
					}
					return nil
				}))
				charged := f.rows(`SELECT count(*) FROM trials AS t WHERE t.charged <>
					(SELECT count(*) FROM executions AS e
					WHERE e.trial_no = t.trial_no AND e.outcome <> 'lost' AND e.charged AND NOT e.forgotten)
					OR t.losses <> (SELECT count(*) FROM executions AS e
					WHERE e.trial_no = t.trial_no AND e.outcome = 'lost' AND e.charged AND NOT e.forgotten)
					OR t.executions <> (SELECT count(*) FROM executions AS e WHERE e.trial_no = t.trial_no)`)
				if charged[0][0] != int64(0) {
					t.Fatalf("step %d: %v trials whose executions do not add up", step, charged[0][0])
				}
			}
		})
	}
}
