package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// taken remembers how far the pending trials of each class were taken, so that the search
// for the next ones starts there. Postgres keeps the index entries of taken trials until
// they are vacuumed, which an old snapshot prevents: a search from the first trial on would
// read all of them.
type taken struct {
	mu sync.Mutex
	// next has the index from which the pending trials of a class are looked for: all before
	// it were taken, as far as is known.
	next map[class]int64
}

// of returns the index from which the pending trials of a class are looked for.
func (k *taken) of(c class) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.next[c]
}

// advance notes that all trials before an index were taken. The caller has claimed the sweep.
func (k *taken) advance(c class, next int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == nil {
		k.next = map[class]int64{}
	}
	k.next[c] = next
}

// back notes that a trial is pending, or may be.
func (k *taken) back(c class, index int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next[c] > index {
		k.next[c] = index
	}
}

const (
	// pendingTrials finds the next pending trials of a class from an index on.
	pendingTrials = `SELECT t.trial_no FROM trials AS t
		WHERE t.sweep_no = $1 AND t.class_no = $2 AND t.state = 'pending' AND t.trial_index >= $4
			AND EXISTS (SELECT 1 FROM sweeps AS s WHERE s.sweep_no = $1 AND s.state = 'active')
		ORDER BY t.trial_index LIMIT $3`

	// pendingFrom finds the next pending trials of all classes from an index on.
	pendingFrom = `SELECT t.trial_index, t.class_no, t.parameters, t.fingerprint, t.dataset_digest, t.executions
		FROM trials AS t
		WHERE t.sweep_no = $1 AND t.state = 'pending' AND t.trial_index >= $2 ORDER BY t.trial_index LIMIT $3`

	// takeTrials has SQLite begin with the named trials, by CROSS JOIN and LIMIT: else it would go through all.
	takeTrials = `UPDATE trials SET state = 'queued', queued_at = $2, heard_at = $2
	FROM (SELECT t.trial_no FROM {v} CROSS JOIN trials AS t
		WHERE t.sweep_no = $1 AND t.trial_index = v.trial_index AND t.state = 'pending'
			AND EXISTS (SELECT 1 FROM sweeps AS s WHERE s.sweep_no = $1 AND s.state = 'active')
		LIMIT $3) AS k
	WHERE trials.trial_no = k.trial_no
	RETURNING trials.trial_index, trials.class_no, trials.parameters, trials.fingerprint, trials.dataset_digest,
		trials.executions`

	takePending = `UPDATE trials SET state = 'queued', queued_at = $5, heard_at = $5
	FROM (` + pendingTrials + `) AS k
	WHERE trials.trial_no = k.trial_no
	RETURNING trials.trial_index, trials.class_no, trials.parameters, trials.fingerprint, trials.dataset_digest,
		trials.executions`
)

// TakePending implements sweep.Store.
func (s *Store) TakePending(ctx context.Context, id string, classNo, limit int) (trials []sweep.Trial, err error) {
	var c class
	var before int64
	err = s.updateSweep(ctx, "take pending trials of", id, func(t *transaction, number int64) {
		c = class{Sweep: number, Number: int64(classNo)}
		before = s.taken.of(c)
		trials = t.take(id, c, limit, before)
		next := max(before, after(trials))
		if rest := limit - len(trials); rest > 0 && before > 0 { // another process may have put some back
			earlier := t.take(id, c, rest, 0)
			trials = append(trials, earlier...)
			if len(earlier) == rest {
				next = after(earlier)
			}
		}
		if t.err == nil {
			s.taken.advance(c, next)
		}
		n := int64(len(trials))
		t.count(ledger.Counts[class]{c: {Pending: -n, Queued: n}})
	})
	if err != nil { // those that were read are pending still
		s.taken.back(c, before)
	}
	slices.SortFunc(trials, func(a, b sweep.Trial) int { return cmp.Compare(a.Index, b.Index) })
	return trials, err
}

// PendingTrials implements sweep.Store.
func (s *Store) PendingTrials(ctx context.Context, id string, from int64, limit int) (trials []sweep.Trial, err error) {
	err = s.viewSweep(ctx, "look for pending trials of", id, func(t *transaction, number int64) {
		trials = t.trials(id, pendingFrom, number, from, limit)
	})
	return trials, err
}

// TakeTrials implements sweep.Store.
func (s *Store) TakeTrials(ctx context.Context, id string, indices []int64) (trials []sweep.Trial, err error) {
	if len(indices) == 0 {
		return nil, nil
	}
	err = s.updateSweep(ctx, "take trials of", id, func(t *transaction, number int64) {
		trials = t.trials(id, takeTrials, number, t.now, len(indices), ints("trial_index", indices))
		deltas := ledger.Counts[class]{}
		for i := range trials {
			c := deltas.Of(class{Sweep: number, Number: int64(trials[i].Class)})
			ledger.Count(c, sweep.Pending, -1)
			ledger.Count(c, sweep.Queued, 1)
		}
		t.count(deltas)
	})
	slices.SortFunc(trials, func(a, b sweep.Trial) int { return cmp.Compare(a.Index, b.Index) })
	return trials, err
}

// after returns the index that follows the largest one, 0 if there are no trials.
func after(trials []sweep.Trial) (next int64) {
	for i := range trials {
		next = max(next, trials[i].Index+1)
	}
	return next
}

// take moves pending trials of a class from an index on to queued.
func (t *transaction) take(id string, c class, limit int, from int64) (trials []sweep.Trial) {
	return t.trials(id, takePending, c.Sweep, c.Number, limit, from, t.now)
}

// lostExecutions counts the lost executions of trials, those included of which it is not known yet whether their
// workers vanished.
const lostExecutions = `SELECT t.trial_index, t.losses + (SELECT count(*) FROM stored_executions AS e
		WHERE e.trial_no = t.trial_no AND e.outcome = 'lost' AND e.replaced AND NOT e.charged AND NOT e.forgotten)
	FROM {v} CROSS JOIN trials AS t
	WHERE t.sweep_no = (SELECT s.sweep_no FROM sweeps AS s WHERE s.sweep_id = $1) AND t.trial_index = v.trial_index`

// trials runs a statement that returns trials of a sweep, and how often each was executed.
func (t *transaction) trials(id, text string, args ...any) (trials []sweep.Trial) {
	var again []int64 // those that were executed before
	t.each(func(row database.Row) error {
		trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: id}}
		var parameters []byte
		var executions int
		err := row.Scan(&trial.Index, &trial.Class, &parameters, (*string)(&trial.Fingerprint), &trial.DatasetDigest,
			&executions)
		if err != nil {
			return err
		}
		if err := trial.Parameters.UnmarshalJSON(parameters); err != nil {
			return fmt.Errorf("parameters of trial %v: %w", trial.TrialID, err)
		}
		if trial.Again = executions > 0; trial.Again {
			again = append(again, trial.Index)
		}
		trials = append(trials, trial)
		return nil
	}, text, args...)
	if len(again) == 0 {
		return trials
	}
	lost := map[int64]int{}
	t.each(func(row database.Row) error {
		var index int64
		var n int
		err := row.Scan(&index, &n)
		lost[index] = n
		return err
	}, lostExecutions, id, ints("trial_index", again))
	for i := range trials {
		trials[i].Lost = lost[trials[i].Index]
	}
	return trials
}
