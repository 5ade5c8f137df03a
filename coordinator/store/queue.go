package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// taken remembers how far the pending trials of each class were taken, so that the search
// for the next ones starts there. Postgres keeps the index entries of taken trials until
// they are vacuumed, which an old snapshot prevents: a search from the first trial on would
// read all of them.
type taken struct {
	mu sync.Mutex
	// last has the largest index below which no trial is known to be pending.
	last map[class]int64
}

// none is before the first index.
const none int64 = -1

// of is the index after which the pending trials of a class are looked for.
func (k *taken) of(c class) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last, known := k.last[c]; known {
		return last
	}
	return none
}

// advance notes that all trials up to an index were taken. The caller has claimed the sweep.
func (k *taken) advance(c class, last int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = map[class]int64{}
	}
	k.last[c] = last
}

// back notes that a trial is pending, or may be.
func (k *taken) back(c class, index int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last, known := k.last[c]; known && last >= index {
		k.last[c] = index - 1
	}
}

const (
	// pendingTrials finds the next pending trials of a class behind an index.
	pendingTrials = `SELECT t.trial_no FROM trials AS t
		WHERE t.sweep_no = $1 AND t.class_no = $2 AND t.state = 'pending' AND t.trial_index > $4
			AND EXISTS (SELECT 1 FROM sweeps AS s WHERE s.sweep_no = $1 AND s.state = 'active')
		ORDER BY t.trial_index LIMIT $3`

	takePending = `UPDATE trials SET state = 'queued', queued_at = $5, heard_at = $5
	FROM (` + pendingTrials + `) AS k
	WHERE trials.trial_no = k.trial_no
	RETURNING trials.trial_index, trials.parameters, trials.fingerprint, trials.dataset_digest`
)

// TakePending implements sweep.Store.
func (s *Store) TakePending(ctx context.Context, id string, classNo, limit int) (trials []sweep.Trial, err error) {
	var c class
	before := none
	err = s.updateSweep(ctx, "take pending trials of", id, func(t *transaction, number int64) {
		c = class{Sweep: number, Number: int64(classNo)}
		before = s.taken.of(c)
		trials = t.take(id, c, limit, before)
		last := before
		for i := range trials {
			last = max(last, trials[i].Index)
		}
		if rest := limit - len(trials); rest > 0 && before != none { // another process may have put some back
			earlier := t.take(id, c, rest, none)
			trials = append(trials, earlier...)
			if len(earlier) == rest {
				last = none
				for i := range earlier {
					last = max(last, earlier[i].Index)
				}
			}
		}
		if t.err == nil {
			s.taken.advance(c, last)
		}
		n := int64(len(trials))
		t.count(counts[class]{c: {Pending: -n, Queued: n}})
	})
	if err != nil { // those that were read are pending still
		s.taken.back(c, before+1)
	}
	slices.SortFunc(trials, func(a, b sweep.Trial) int { return cmp.Compare(a.Index, b.Index) })
	return trials, err
}

// take moves pending trials of a class behind an index to queued.
func (t *transaction) take(id string, c class, limit int, after int64) (trials []sweep.Trial) {
	t.each(func(row database.Row) error {
		trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: id}, Class: int(c.Number)}
		var parameters []byte
		if err := row.Scan(&trial.Index, &parameters, (*string)(&trial.Fingerprint), &trial.DatasetDigest); err != nil {
			return err
		}
		if err := trial.Parameters.UnmarshalJSON(parameters); err != nil {
			return fmt.Errorf("parameters of trial %v: %w", trial.TrialID, err)
		}
		trials = append(trials, trial)
		return nil
	}, takePending, c.Sweep, c.Number, limit, after, t.now)
	return trials
}
