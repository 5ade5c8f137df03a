package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// AddTrials implements sweep.Store.
func (s *Store) AddTrials(ctx context.Context, id string, ordinal int, from int64, trials []sweep.Trial,
	classes map[int]sweep.Requirement) (reused int, err error) {
	parameters := make([]string, len(trials))
	for i := range trials {
		if parameters[i], err = ledger.EncodeParameters(trials[i].Parameters); err != nil {
			return 0, fmt.Errorf("add trials to sweep %s: trial %d: %w", id, trials[i].Index, err)
		}
	}
	err = s.updateSweep(ctx, "add trials to", id, func(t *transaction, number int64) {
		var first, points, written int64
		var cancelled, reuse bool
		var wanted string
		found := t.one([]any{&first, &points, &written, &cancelled, &reuse, &wanted},
			`SELECT first_index, points, written, cancelled, reuse, artifacts FROM grids
				WHERE sweep_no = $1 AND ordinal = $2`, number, ordinal)
		switch {
		case !found:
			t.fail(fmt.Errorf("grid %d: %w", ordinal, sweep.ErrNotFound))
		case written != from:
			return
		case int64(len(trials)) > points-from:
			t.fail(fmt.Errorf("%d trials from point %d on: grid %d has %d points", len(trials), from, ordinal, points))
		}
		for i := range trials {
			if want := first + from + int64(i); trials[i].Index != want {
				t.fail(fmt.Errorf("trial %d where trial %d was expected", trials[i].Index, want))
			}
		}
		page := page{transaction: t, number: number, trials: trials, parameters: parameters, state: sweep.Pending}
		if cancelled {
			page.state = sweep.Cancelled
		} else if reuse {
			names, err := artifactNames(wanted)
			if err != nil {
				t.fail(err)
			}
			page.findSources(names)
		}
		deltas := page.write(classes)
		t.run(`UPDATE grids SET written = written + $1 WHERE sweep_no = $2 AND ordinal = $3`, int64(len(trials)),
			number, ordinal)
		t.count(deltas)
		t.finish(number)
		for _, counts := range deltas {
			reused += int(counts.Reused)
		}
	})
	return reused, err
}

// page writes the trials of one AddTrials.
type page struct {
	*transaction
	number     int64
	trials     []sweep.Trial
	parameters []string
	state      sweep.State
	sources    map[sweep.Fingerprint]source
}

// source is a trial whose result can be reused.
type source struct {
	trialNo  int64
	diverged bool
}

// reusable finds the first completed trial of each fingerprint, which an index
// has by its beginning, that left the artifacts of a list: $1 as JSON, $2 of them.
const reusable = `SELECT s.fingerprint, s.trial_no, s.diverged FROM trials AS s WHERE s.trial_no IN (
	SELECT (SELECT t.trial_no FROM trials AS t
		WHERE substr(t.fingerprint, 1, 16) = substr(v.fingerprint, 1, 16) AND t.fingerprint = v.fingerprint
			AND t.state = 'completed' AND t.source_no IS NULL
			AND NOT EXISTS (SELECT 1 FROM sweeps AS d WHERE d.sweep_no = t.sweep_no AND d.deleted_at IS NOT NULL)
			AND ($1 = '' OR (SELECT count(*) FROM trial_artifacts AS a
				WHERE a.trial_no = t.trial_no AND a.problem = '' AND replace($1, '"' || a.name || '"', '') <> $1) = $2)
		ORDER BY t.trial_no LIMIT 1)
	FROM {v})`

// findSources looks for results to reuse, of trials that have these artifacts.
func (p *page) findSources(artifacts []string) {
	p.sources = map[sweep.Fingerprint]source{}
	var fingerprints []sweep.Fingerprint
	for i := range p.trials {
		if p.trials[i].Fingerprint != "" {
			fingerprints = append(fingerprints, p.trials[i].Fingerprint)
		}
	}
	p.each(func(row database.Row) error {
		var fingerprint string
		var found source
		err := row.Scan(&fingerprint, &found.trialNo, &found.diverged)
		p.sources[sweep.Fingerprint(fingerprint)] = found
		return err
	}, reusable, p.encodeArtifacts(artifacts), len(artifacts), list("fingerprint", fingerprints))
}

// write inserts the trials, and returns how many of each class are in which state.
func (p *page) write(requirements map[int]sweep.Requirement) map[class]*sweep.Progress {
	deltas := map[class]*sweep.Progress{}
	if len(p.trials) == 0 {
		return deltas
	}
	of := func(i int) source { return p.sources[p.trials[i].Fingerprint] }
	state := func(i int) sweep.State {
		if of(i).trialNo != 0 {
			return sweep.Completed
		}
		return p.state
	}
	reused := false
	for i := range p.trials {
		counts := deltas[class{p.number, int64(p.trials[i].Class)}]
		if counts == nil {
			counts = &sweep.Progress{}
			deltas[class{p.number, int64(p.trials[i].Class)}] = counts
		}
		ledger.Count(counts, state(i), 1)
		if state(i) == sweep.Pending {
			p.s.taken.back(class{p.number, int64(p.trials[i].Class)}, p.trials[i].Index)
		}
		if found := of(i); found.trialNo != 0 {
			reused = true
			counts.Reused++
			if found.diverged {
				counts.Diverged++
			}
		}
	}
	p.addClasses(deltas, requirements)
	by := p.comparison(p.number)
	p.insert("trials", database.Batch{Rows: len(p.trials), Columns: append([]database.Column{
		{Name: "sweep_no", Int: func(int) int64 { return p.number }},
		{Name: "trial_index", Int: func(i int) int64 { return p.trials[i].Index }},
		{Name: "state", Text: func(i int) string { return string(state(i)) }},
		{Name: "diverged", Bool: func(i int) bool { return of(i).diverged }},
		{Name: "finished_at", Time: func(i int) time.Time {
			if of(i).trialNo != 0 {
				return p.now
			}
			return time.Time{}
		}},
		{Name: "source_no", Key: func(i int) int64 { return of(i).trialNo }},
		{Name: "fingerprint", Text: func(i int) string { return string(p.trials[i].Fingerprint) }},
		{Name: "dataset_digest", Text: func(i int) string { return p.trials[i].DatasetDigest }},
		{Name: "class_no", Int32: func(i int) int64 { return int64(p.trials[i].Class) }},
		{Name: "parameters", JSON: func(i int) string { return p.parameters[i] }},
		{Name: "point_key", Int: func(i int) int64 { return by.pointKey(p.parameters[i]) }},
	}, parameterColumns(len(p.trials), func(i int) sweep.Parameters { return p.trials[i].Parameters }, false)...)})
	if reused {
		p.run(`INSERT INTO outcomes (trial_no, summary, best_epoch, parameter_count, weights_digest, kernel_level,
			seconds, flops, error, stderr, digest)
			SELECT t.trial_no, o.summary, o.best_epoch, o.parameter_count, o.weights_digest, o.kernel_level,
			o.seconds, o.flops, o.error, o.stderr, o.digest
			FROM trials AS t JOIN outcomes AS o ON o.trial_no = t.source_no
			WHERE t.sweep_no = $1 AND t.trial_index BETWEEN $2 AND $3`,
			p.number, p.trials[0].Index, p.trials[len(p.trials)-1].Index)
		p.score(p.entries(p.number,
			selectEntries+` WHERE t.sweep_no = $1 AND t.trial_index BETWEEN $2 AND $3 AND t.source_no IS NOT NULL`,
			p.number, p.trials[0].Index, p.trials[len(p.trials)-1].Index))
	}
	return deltas
}

// addClasses makes the classes of the trials that the sweep does not have yet.
// The default requirement is the sweep's trainer.
func (p *page) addClasses(deltas map[class]*sweep.Progress, requirements map[int]sweep.Requirement) {
	for class := range deltas {
		requirement, given := requirements[int(class.number)]
		if !given {
			p.one([]any{&requirement.Trainer}, `SELECT trainer FROM sweeps WHERE sweep_no = $1`, p.number)
		}
		p.run(`INSERT INTO classes (sweep_no, class_no, requirement) VALUES ($1, $2, $3)
			ON CONFLICT (sweep_no, class_no) DO NOTHING`,
			p.number, class.number, p.encode(requirement))
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
		c = class{number, int64(classNo)}
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
		t.count(map[class]*sweep.Progress{c: {Pending: -n, Queued: n}})
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
		trial := sweep.Trial{TrialID: sweep.TrialID{Sweep: id}, Class: int(c.number)}
		var parameters []byte
		if err := row.Scan(&trial.Index, &parameters, (*string)(&trial.Fingerprint), &trial.DatasetDigest); err != nil {
			return err
		}
		if err := trial.Parameters.UnmarshalJSON(parameters); err != nil {
			return fmt.Errorf("parameters of trial %v: %w", trial.TrialID, err)
		}
		trials = append(trials, trial)
		return nil
	}, takePending, c.sweep, c.number, limit, after, t.now)
	return trials
}

// keys are trials by the numbers of their sweeps.
type keys struct{ numbers, indices []int64 }

// heardKeys are trials and the times at which they were last heard of, zero for any.
type heardKeys struct {
	keys
	heard []time.Time
}

func (k heardKeys) batch() database.Batch {
	b := k.keys.batch()
	b.Columns = append(b.Columns, database.Column{Name: "heard_at", Time: func(i int) time.Time { return k.heard[i] }})
	return b
}

// claimTrials finds and claims the sweeps of trials.
func (t *transaction) claimTrials(ids []sweep.TrialID) (k keys) {
	for _, id := range ids {
		k.numbers, k.indices = append(k.numbers, t.number(id.Sweep)), append(k.indices, id.Index)
	}
	t.claim(slices.Compact(slices.Sorted(slices.Values(k.numbers)))...)
	return k
}

func (k keys) batch() database.Batch {
	return database.Batch{Rows: len(k.numbers), Columns: []database.Column{
		{Name: "sweep_no", Int: func(i int) int64 { return k.numbers[i] }},
		{Name: "trial_index", Int: func(i int) int64 { return k.indices[i] }},
	}}
}

// movedTrial is a trial by its class and its index.
type movedTrial struct {
	class
	index int64
}

// move runs an UPDATE that moves trials from one state to another and returns
// their sweep_no, class_no and trial_index, and counts them.
func (t *transaction) move(from, to sweep.State, text string, args ...any) (moved []movedTrial) {
	totals := map[class]int64{}
	t.each(func(row database.Row) error {
		var m movedTrial
		err := row.Scan(&m.sweep, &m.number, &m.index)
		totals[m.class]++
		if to == sweep.Pending {
			t.s.taken.back(m.class, m.index)
		}
		moved = append(moved, m)
		return err
	}, text, args...)
	deltas := map[class]*sweep.Progress{}
	for c, n := range totals {
		deltas[c] = &sweep.Progress{}
		ledger.Count(deltas[c], from, -n)
		ledger.Count(deltas[c], to, n)
	}
	t.count(deltas)
	return moved
}

const requeue = `UPDATE trials SET state = 'pending'
	FROM {v} WHERE trials.sweep_no = v.sweep_no AND trials.trial_index = v.trial_index AND trials.state = $1
		AND (v.heard_at IS NULL OR trials.heard_at = v.heard_at)
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

// Requeue implements sweep.Store.
func (s *Store) Requeue(ctx context.Context, trials []sweep.TrialID) (int64, error) {
	return s.requeue(ctx, trials, make([]time.Time, len(trials)))
}

// RequeueUnheard implements sweep.Store.
func (s *Store) RequeueUnheard(ctx context.Context, trials []sweep.Heard) (int64, error) {
	ids, heard := make([]sweep.TrialID, len(trials)), make([]time.Time, len(trials))
	for i, h := range trials {
		ids[i], heard[i] = h.TrialID, h.At
	}
	return s.requeue(ctx, ids, heard)
}

func (s *Store) requeue(ctx context.Context, trials []sweep.TrialID, heard []time.Time) (total int64, err error) {
	err = s.update(ctx, "put trials back to pending", func(t *transaction) {
		k := heardKeys{t.claimTrials(trials), heard}
		for _, state := range []sweep.State{sweep.Queued, sweep.Running} {
			total += int64(len(t.move(state, sweep.Pending, requeue, string(state), k.batch())))
		}
	})
	return total, err
}

func indexBatch(indices []int64) database.Batch {
	return database.Batch{Rows: len(indices), Columns: []database.Column{{Name: "trial_index", Int: func(i int) int64 {
		return indices[i]
	}}}}
}

func numberBatch(trials []int64) database.Batch {
	return database.Batch{Rows: len(trials), Columns: []database.Column{{Name: "trial_no", Int: func(i int) int64 {
		return trials[i]
	}}}}
}

const unheard = `SELECT s.sweep_id, t.trial_index, t.heard_at FROM trials AS t JOIN sweeps AS s USING (sweep_no)
	WHERE t.state IN ('queued', 'running') AND (t.sweep_no, t.trial_index) > ($1, $2)
		AND s.state IN ('active', 'paused') AND (t.heard_at < $3 OR t.heard_at > $4)
	ORDER BY t.sweep_no, t.trial_index LIMIT $5`

// Unheard implements sweep.Store. It looks at the queued and running trials
// alone, whose number the dispatch window bounds.
func (s *Store) Unheard(ctx context.Context, before time.Time, after *sweep.TrialID,
	limit int) (trials []sweep.Heard, err error) {
	ahead := time.Now().Add(time.Since(before))
	err = s.view(ctx, "find trials unheard of", func(t *transaction) {
		var number, index int64 = 0, -1
		if after != nil {
			number, index = t.number(after.Sweep), after.Index
		}
		t.each(func(row database.Row) error {
			var h sweep.Heard
			err := row.Scan(&h.Sweep, &h.Index, &h.At)
			trials = append(trials, h)
			return err
		}, unheard, number, index, before, ahead, limit)
	})
	return trials, err
}

const states = `SELECT t.sweep_no, t.trial_index, t.state FROM {v} JOIN trials AS t USING (sweep_no, trial_index)`

// States implements sweep.Store.
func (s *Store) States(ctx context.Context, trials []sweep.TrialID) (map[sweep.TrialID]sweep.State, error) {
	found := make(map[sweep.TrialID]sweep.State, len(trials))
	err := s.view(ctx, "look at the states of trials", func(t *transaction) {
		names := map[int64]string{}
		var k keys
		for _, id := range trials {
			if number, ok := t.lookup(id.Sweep); ok {
				names[number] = id.Sweep
				k.numbers, k.indices = append(k.numbers, number), append(k.indices, id.Index)
			}
		}
		t.each(func(row database.Row) error {
			var number, index int64
			var state string
			err := row.Scan(&number, &index, &state)
			found[sweep.TrialID{Sweep: names[number], Index: index}] = sweep.State(state)
			return err
		}, states, k.batch())
		if missing := slices.DeleteFunc(slices.Clone(trials), func(id sweep.TrialID) bool {
			return found[id] != ""
		}); len(missing) > 0 {
			deleted := t.deleted(missing)
			for _, id := range missing {
				if deleted[id.Sweep] {
					found[id] = sweep.Cancelled // nobody needs it any more
				}
			}
		}
	})
	return found, err
}

// deleted returns which of the sweeps of trials were deleted.
func (t *transaction) deleted(trials []sweep.TrialID) map[string]bool {
	ids, deleted := map[string]bool{}, map[string]bool{}
	for _, id := range trials {
		ids[id.Sweep] = true
	}
	t.each(func(row database.Row) error {
		var id string
		err := row.Scan(&id)
		deleted[id] = true
		return err
	}, `SELECT s.sweep_id FROM {v} JOIN sweeps AS s USING (sweep_id) WHERE s.deleted_at IS NOT NULL`,
		list("sweep_id", slices.Sorted(maps.Keys(ids))))
	return deleted
}

const (
	// cancelPending cancels the next pending trials of a sweep, in the order of the
	// index that has them.
	cancelPending = `UPDATE trials SET state = 'cancelled', finished_at = $1
	FROM (SELECT t.trial_no FROM trials AS t
	WHERE t.sweep_no = $2 AND t.state = 'pending' AND (t.class_no, t.trial_index) > ($3, $4)
		ORDER BY t.class_no, t.trial_index LIMIT $5) AS k
	WHERE trials.trial_no = k.trial_no
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

	// cancelActive cancels those that are queued or running, whose number the
	// dispatch window bounds.
	cancelActive = `UPDATE trials SET state = 'cancelled', finished_at = $1
	WHERE sweep_no = $2 AND state IN ('queued', 'running') AND state = $3
	RETURNING sweep_no, class_no, trial_index`
)

// cancelling is why a sweep is paused between the transactions that cancel it.
const cancelling = "it is being cancelled; if that was interrupted, cancel it again"

// CancelTrials implements sweep.Store.
func (s *Store) CancelTrials(ctx context.Context, id string) (active []sweep.TrialID, err error) {
	before, found := movedTrial{index: -1}, false
	for after, more := before, true; more && err == nil; {
		err = s.updateSweep(ctx, "cancel the trials of", id, func(t *transaction, number int64) {
			pending := t.move(sweep.Pending, sweep.Cancelled, cancelPending, t.now, number, after.number,
				after.index, pageful)
			found = found || len(pending) > 0
			for _, state := range []sweep.State{sweep.Queued, sweep.Running} {
				for _, m := range t.move(state, sweep.Cancelled, cancelActive, t.now, number, string(state)) {
					active = append(active, sweep.TrialID{Sweep: id, Index: m.index})
					found = true
				}
			}
			grids := t.run(
				`UPDATE grids SET cancelled = TRUE WHERE sweep_no = $1 AND written < points AND NOT cancelled`, number)
			found = found || grids > 0 || t.one([]any{new(int)},
				`SELECT 1 FROM sweeps WHERE sweep_no = $1 AND reason = $2`, number, cancelling)
			switch {
			case len(pending) == pageful:
				after = slices.MaxFunc(pending, func(a, b movedTrial) int {
					return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.index, b.index))
				})
			case after != before:
				after = before // trials may have become pending again behind it
			default:
				more = false
			}
			switch {
			case found && more: // a process that is killed now leaves the reason what to do
				t.setState(number, sweep.SweepPaused, cancelling)
			case found:
				t.setState(number, sweep.SweepCancelled, "")
			}
		})
	}
	slices.SortFunc(active, func(a, b sweep.TrialID) int { return cmp.Compare(a.Index, b.Index) })
	return active, err
}

const cancelSome = `UPDATE trials SET state = 'cancelled', finished_at = $1
	FROM {v} WHERE trials.sweep_no = $2 AND trials.trial_index = v.trial_index AND trials.state = $3
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

// CancelSome implements sweep.Store.
func (s *Store) CancelSome(ctx context.Context, id string,
	indices []int64) (cancelled int64, active []sweep.TrialID, err error) {
	err = s.updateSweep(ctx, "cancel trials of", id, func(t *transaction, number int64) {
		cancelled, active = 0, nil
		t.known(number, indices)
		for _, state := range []sweep.State{sweep.Pending, sweep.Queued, sweep.Running} {
			for _, m := range t.move(state, sweep.Cancelled, cancelSome, t.now, number, string(state),
				indexBatch(indices)) {
				cancelled++
				if state != sweep.Pending {
					active = append(active, sweep.TrialID{Sweep: id, Index: m.index})
				}
			}
		}
		t.finish(number)
	})
	return cancelled, active, err
}

// retried are, before a SELECT list, the trials of a batch that a retry puts back.
const retried = ` FROM {v} JOIN trials AS t USING (trial_index)
	WHERE t.sweep_no = $1 AND t.state IN ('failed', 'cancelled'))`

// forgetting takes away what a retry forgets of trials.
var forgetting = []string{
	`DELETE FROM outcomes WHERE trial_no IN (SELECT t.trial_no` + retried,
	`DELETE FROM curve_arrays WHERE trial_no IN (SELECT t.trial_no` + retried,
	`DELETE FROM trial_artifacts WHERE trial_no IN (SELECT t.trial_no` + retried,
	`DELETE FROM scores WHERE sweep_no = $1 AND trial_index IN (SELECT t.trial_index` + retried,
	`DELETE FROM metrics WHERE sweep_no = $1 AND (metric_no, trial_index) IN (SELECT n.metric_no, t.trial_index
		FROM {v} JOIN trials AS t USING (trial_index) JOIN metric_names AS n USING (sweep_no)
		WHERE t.sweep_no = $1 AND t.state IN ('failed', 'cancelled'))`,
	`UPDATE executions SET forgotten = TRUE, outcome = CASE outcome WHEN 'running' THEN 'lost' ELSE outcome END
		WHERE trial_no IN (SELECT t.trial_no` + retried,
}

const retrySome = `UPDATE trials SET state = 'pending', charged = 0, losses = 0, finished_at = NULL, heard_at = NULL
	FROM {v} WHERE trials.sweep_no = $1 AND trials.trial_index = v.trial_index AND trials.state = $2
	RETURNING trials.sweep_no, trials.class_no, trials.trial_index`

// ended are the states that a retry leads out of.
var ended = []sweep.State{sweep.Failed, sweep.Cancelled}

// retry puts those of a sweep's trials back to pending that failed or were
// cancelled, and makes the sweep active.
func (t *transaction) retry(number int64, indices []int64) (total int64) {
	for _, text := range forgetting {
		t.run(text, number, indexBatch(indices))
	}
	for _, state := range ended {
		total += int64(len(t.move(state, sweep.Pending, retrySome, number, string(state), indexBatch(indices))))
	}
	if total > 0 {
		t.setState(number, sweep.SweepActive, "")
	}
	return total
}

// RetrySome implements sweep.Store.
func (s *Store) RetrySome(ctx context.Context, id string, indices []int64) (total int64, err error) {
	err = s.updateSweep(ctx, "retry trials of", id, func(t *transaction, number int64) {
		t.known(number, indices)
		total = t.retry(number, indices)
	})
	return total, err
}

// RetryTrials implements sweep.Store.
func (s *Store) RetryTrials(ctx context.Context, id string) (total int64, err error) {
	var sweepNo, written int64
	err = s.updateSweep(ctx, "retry the trials of", id, func(t *transaction, number int64) {
		sweepNo = number
		t.one([]any{&written, &total},
			`SELECT c.failed + c.cancelled,
				CAST(coalesce(sum(g.points - g.written) FILTER (WHERE g.cancelled), 0) AS bigint)
			FROM counters AS c JOIN grids AS g USING (sweep_no) WHERE c.sweep_no = $1 GROUP BY c.sweep_no`, number)
		t.run(`UPDATE grids SET cancelled = FALSE WHERE sweep_no = $1 AND cancelled`, number)
		if total > 0 {
			t.setState(number, sweep.SweepActive, "")
		}
	})
	if err != nil || written == 0 {
		return total, err
	}
	err = s.pages(ctx, "retry the trials of sweep "+id, sweepNo, ended, func(t *transaction, _, indices []int64) {
		t.claim(sweepNo)
		total += t.retry(sweepNo, indices)
	})
	return total, err
}
