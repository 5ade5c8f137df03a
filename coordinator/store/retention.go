package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// DeleteSweep implements sweep.Store. It hides the sweep first, then deletes its rows, page
// by page. The sweep's own row is kept, so that its number is never reused. A deletion that
// is interrupted continues when this is called again, or by PruneSweeps.
func (s *Store) DeleteSweep(ctx context.Context, id string) (removed sweep.Removed, err error) {
	var number int64
	gone := sweep.DeletedSweep{ID: id}
	err = s.update(ctx, "delete sweep "+id, func(t *transaction) {
		var hidden, active bool
		found := t.one([]any{&number, &gone.Pool, &hidden, &active},
			`SELECT s.sweep_no, s.pool, s.deleted_at IS NOT NULL,
				s.state = 'active' OR EXISTS (SELECT 1 FROM counters AS c
				WHERE c.sweep_no = s.sweep_no AND c.queued + c.running > 0)
			FROM sweeps AS s WHERE s.sweep_id = $1`, id)
		switch {
		case !found:
			t.fail(sweep.ErrNotFound)
		case hidden:
		case active:
			t.fail(fmt.Errorf("%w: cancel it first, and wait until what runs has stopped", sweep.ErrRunning))
		}
		t.claim(number)
		if !hidden {
			t.run(`UPDATE sweeps SET state = 'cancelled', deleted_at = $1 WHERE sweep_no = $2`, t.now, number)
			removed.Sweeps = 1
		}
	})
	if err != nil {
		return removed, err
	}
	s.numbers.Delete(id)
	// An AddTrials in progress may have found results to reuse before the sweep was hidden.
	// It claims its sweep until it commits.
	err = s.update(ctx, "delete sweep "+id, func(t *transaction) {
		t.claim(t.integers(`SELECT sweep_no FROM sweeps WHERE state = 'active'`)...)
	})
	if err != nil {
		return removed, err
	}
	trials, err := s.removeRows(ctx, id, number)
	removed.Trials = trials
	if err == nil {
		removed.Deleted = []sweep.DeletedSweep{gone}
	}
	return removed, err
}

// removeRows deletes all rows of a hidden sweep except its own.
func (s *Store) removeRows(ctx context.Context, id string, number int64) (trials int64, err error) {
	defer s.comparisons.Delete(number)
	defer s.unchanged.Range(func(key, _ any) bool {
		if key.(gridKey).sweep == number {
			s.unchanged.Delete(key)
		}
		return true
	})
	err = s.pages(ctx, "remove the trials of sweep "+id, number, nil, func(t *transaction, gone, _ []int64) {
		trials += t.removeTrials(number, gone)
	})
	for _, table := range []struct{ name, key string }{{"point_aggregates", "point_key"}, {"groups", "group_key"}} {
		for last, more := int64(0), true; more && err == nil; {
			err = s.update(ctx, "remove the grid points and groups of sweep "+id, func(t *transaction) {
				from := last
				more = t.one([]any{&last},
					`SELECT `+table.key+` FROM `+table.name+` WHERE sweep_no = $1 AND `+table.key+` > $2
						ORDER BY `+table.key+` LIMIT $3`,
					number, from, pageful)
				if more {
					t.run(`DELETE FROM `+table.name+`
						WHERE sweep_no = $1 AND `+table.key+` > $2 AND `+table.key+` <= $3`, number, from, last)
				}
			})
		}
	}
	if err != nil {
		return trials, err
	}
	return trials, s.update(ctx, "remove sweep "+id, func(t *transaction) {
		for _, table := range []string{"standings", "classes", "counters", "grids", "requests",
			"metric_names", "trial_notes"} {
			t.run(`DELETE FROM `+table+` WHERE sweep_no = $1`, number)
		}
		t.run(`DELETE FROM quarantine WHERE sweep_id = $1`, id)
		// A result that is being recorded may take a list that no trial has: no sweep records meanwhile.
		t.claim(t.integers(`SELECT s.sweep_no FROM sweeps AS s WHERE s.deleted_at IS NULL AND (s.state = 'active'
			OR EXISTS (SELECT 1 FROM counters AS c WHERE c.sweep_no = s.sweep_no AND c.queued + c.running > 0))
			ORDER BY s.sweep_no`)...)
		t.removeLists()
	})
}

// newOwners finds, for each trial to delete, the first trial of another sweep that reuses
// its result.
const newOwners = `SELECT v.trial_no, o.trial_no, o.sweep_no FROM {v}
	JOIN trials AS o ON o.source_no = v.trial_no
		WHERE o.sweep_no <> $1 AND NOT EXISTS (SELECT 1 FROM trials AS e
		WHERE e.source_no = v.trial_no AND e.sweep_no <> $1 AND e.trial_no < o.trial_no)`

// owned are the tables whose rows belong to a trial, by trial_no, and whether the rows move
// to the result's new owner.
var owned = []struct {
	table string
	moved bool
}{
	{"curve_arrays", true}, {"stored_executions", true}, {"trial_artifacts", true},
	{"trial_inputs", true},
	{"outcomes", false}, {"lineages", false}, {"stored_observations", false}, {"stored_decisions", false},
	{"kept_artifacts", false}, {"trial_refusals", false}, {"reproducibility_faults", false}, {"pruned_curves", false},
}

// transfer is a trial to delete and the new owner of its result, with the owner's sweep.
type transfer struct{ source, owner, sweep int64 }

// removeTrials deletes trials of a sweep.
func (t *transaction) removeTrials(number int64, trials []int64) (removed int64) {
	gone := ints("trial_no", trials)
	for _, text := range deleteMetrics {
		t.run(text, gone)
	}
	t.transfer(number, gone)
	for _, o := range owned {
		t.run(deleteOf(o.table), gone)
	}
	return t.run(deleteOf("trials"), gone)
}

// storeImplied gives executions of which the trials' rows tell everything rows of their own.
const storeImplied = `INSERT INTO stored_executions (` + executionColumns + `)
	SELECT e.trial_no, e.execution, e.worker, t.started_at, t.finished_at, e.outcome, e.charged, e.forgotten,
		e.replaced, FALSE, e.checkpoint, e.reason, e.stderr, e.log_start, e.note
	FROM {v} JOIN trials AS t ON t.trial_no = v.source CROSS JOIN executions AS e
	WHERE e.trial_no = v.source AND e.alone IS NULL`

// transfer moves results that other sweeps reuse to their new owners.
func (t *transaction) transfer(number int64, gone database.Batch) {
	all := collect(t, func(r *transfer) []any { return []any{&r.source, &r.owner, &r.sweep} }, newOwners, number, gone)
	if len(all) == 0 {
		return
	}
	sweeps := ledger.Counts[int64]{}
	for _, r := range all {
		sweeps.Of(r.sweep).Reused--
	}
	t.claim(slices.Sorted(maps.Keys(sweeps))...)
	pairs := database.Rows(len(all), "source, owner", func(i int, row []any) []any {
		return append(row, &all[i].source, &all[i].owner)
	})
	t.run(storeImplied, pairs)
	for _, o := range owned {
		if o.moved {
			t.run(`UPDATE `+o.table+` SET trial_no = v.owner FROM {v} WHERE `+o.table+`.trial_no = v.source`, pairs)
		}
	}
	t.run(`UPDATE trials AS t SET source_no = v.owner FROM {v} WHERE t.source_no = v.source`, pairs)
	t.run(`UPDATE trials AS t
		SET source_no = NULL, executions = f.executions, charged = f.charged, losses = f.losses,
		execution = f.execution, worker = f.worker, queued_at = f.queued_at, started_at = f.started_at
		FROM {v} JOIN trials AS f ON f.trial_no = v.source WHERE t.trial_no = v.owner`, pairs)
	t.countSweeps(sweeps)
}

// PruneSweeps implements sweep.Store.
func (s *Store) PruneSweeps(ctx context.Context, keep sweep.Retention) (removed sweep.Removed, err error) {
	type ended struct {
		id     string
		number int64
		at     time.Time
		hidden bool
	}
	var all []ended
	err = s.view(ctx, "look for sweeps that have ended", func(t *transaction) {
		all = collect(t, func(e *ended) []any {
			return []any{&e.id, &e.number, &e.at, &e.hidden}
		}, `SELECT s.sweep_id, s.sweep_no, s.updated_at, s.deleted_at IS NOT NULL FROM sweeps AS s
			WHERE s.state IN ('finished', 'cancelled') AND (s.deleted_at IS NULL OR EXISTS (SELECT 1 FROM grids AS g
			WHERE g.sweep_no = s.sweep_no))
			ORDER BY s.sweep_no`)
	})
	for _, e := range all {
		switch {
		case err != nil:
			return removed, err
		case e.hidden || e.at.Before(keep.Sweeps):
			var gone sweep.Removed
			gone, err = s.DeleteSweep(ctx, e.id)
			removed.Sweeps += gone.Sweeps
			removed.Trials += gone.Trials
			removed.Deleted = append(removed.Deleted, gone.Deleted...)
			continue
		}
		if e.at.Before(keep.Events) {
			var n int64
			n, err = s.prune(ctx, e.id, e.number, "", deleteOf("stored_executions"), deleteOf("trial_refusals"))
			removed.Events += n
		}
		if err == nil && e.at.Before(keep.Curves) {
			var n int64
			n, err = s.prune(ctx, e.id, e.number, noteCurves, removeCurves)
			removed.Curves += n
		}
	}
	if err == nil && !keep.Events.IsZero() {
		err = s.update(ctx, "clear the quarantine", func(t *transaction) {
			removed.Events += t.run(`DELETE FROM quarantine WHERE received_at < $1`, keep.Events)
		})
	}
	return removed, err
}

// removeCurves deletes the curves of trials, except those that another sweep reuses.
const removeCurves = `DELETE FROM curve_arrays WHERE trial_no IN (SELECT v.trial_no FROM {v}
		WHERE NOT EXISTS (SELECT 1 FROM trials AS h JOIN trials AS f ON f.trial_no = v.trial_no
		WHERE h.source_no = v.trial_no AND h.sweep_no <> f.sweep_no))`

// noteCurves notes the trials of which removeCurves deletes curves: their results are not reused, because the trials of
// another sweep would have no curves.
const noteCurves = `INSERT INTO pruned_curves (trial_no) SELECT v.trial_no FROM {v}
		WHERE EXISTS (SELECT 1 FROM curve_arrays AS c WHERE c.trial_no = v.trial_no)
		AND NOT EXISTS (SELECT 1 FROM trials AS h JOIN trials AS f ON f.trial_no = v.trial_no
		WHERE h.source_no = v.trial_no AND h.sweep_no <> f.sweep_no) ON CONFLICT (trial_no) DO NOTHING`

// prune runs statements over the trials of a sweep, as long as it has ended: one that notes what is to be removed, if
// it is not empty, and those that remove it.
func (s *Store) prune(ctx context.Context, id string, number int64, note string, statements ...string) (removed int64,
	err error) {
	err = s.pages(ctx, "prune sweep "+id, number, nil, func(t *transaction, trials, _ []int64) {
		t.claim(number)
		if !t.one([]any{new(int64)},
			`SELECT sweep_no FROM sweeps WHERE sweep_no = $1 AND state IN ('finished', 'cancelled')`, number) {
			return
		}
		if note != "" {
			t.run(note, ints("trial_no", trials))
		}
		for _, statement := range statements {
			removed += t.run(statement, ints("trial_no", trials))
		}
	})
	return removed, err
}
