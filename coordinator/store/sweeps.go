package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// CreateSweep implements sweep.Store.
func (s *Store) CreateSweep(ctx context.Context, id string, submission *sweep.Submission,
	points int64) (string, error) {
	created := id
	err := s.update(ctx, "create sweep "+id, func(t *transaction) {
		created = id
		if number, _, repeated := t.repeated(submission.Key); repeated {
			t.one([]any{&created}, `SELECT sweep_id FROM sweeps WHERE sweep_no = $1`, number)
			return
		}
		var number int64
		spec := &submission.Spec
		made := t.one([]any{&number},
			`INSERT INTO sweeps (sweep_id, name, trainer, pool, priority, state, created_at, updated_at, asked_by,
				purpose, notes, keep, tags)
			VALUES ($1, $2, $3, $4, $5, 'active', $6, $6, $7, $8, $9, $10, $11)
			ON CONFLICT (sweep_id) DO NOTHING RETURNING sweep_no`,
			id, spec.Name, spec.Trainer, spec.Pool, spec.Priority, t.now, submission.AskedBy,
			submission.Purpose, spec.Description, t.encodeKeep(spec.Keep), joinTags(spec.Tags))
		if !made {
			t.sameSweep(id, submission, points)
			t.answer(submission.Key, t.number(id), 0)
			return
		}
		t.run(`INSERT INTO counters (sweep_no) VALUES ($1)`, number)
		if spec.Budget != nil {
			t.insertBudget(number, spec.Budget)
		}
		t.insertGrid(number, 0, 0, submission, submission.Key, points)
		t.describeMetrics(newComparison(number, submission))
		t.finish(number)
	})
	return created, err
}

// repeated reports whether a request's key was used already, and for which grid.
// A key that is new is reserved; another request with it waits here meanwhile.
func (t *transaction) repeated(key string) (number int64, ordinal int, repeated bool) {
	if key == "" || t.run(`INSERT INTO requests (request_key) VALUES ($1) ON CONFLICT (request_key) DO NOTHING`,
		key) > 0 || t.err != nil {
		return 0, 0, false
	}
	repeated = t.one([]any{&number, &ordinal}, `SELECT sweep_no, ordinal FROM requests WHERE request_key = $1`, key)
	return number, ordinal, repeated
}

// answer notes which grid came of a request.
func (t *transaction) answer(key string, number int64, ordinal int) {
	if key != "" {
		t.run(`UPDATE requests SET sweep_no = $1, ordinal = $2 WHERE request_key = $3`, number, ordinal, key)
	}
}

// sameSweep accepts a repeat of the same CreateSweep.
func (t *transaction) sameSweep(id string, submission *sweep.Submission, points int64) {
	same := false
	t.one([]any{&same},
		`SELECT CAST(g.submission AS text) = $1 AND g.points = $2 FROM grids AS g JOIN sweeps AS s USING (sweep_no)
		WHERE s.sweep_id = $3 AND g.ordinal = 0`, t.encode(submission), points, id)
	if !same {
		t.fail(fmt.Errorf("another sweep has this id: %w", sweep.ErrExists))
	}
}

// encode returns a value as JSON.
func (t *transaction) encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		t.fail(err)
	}
	return string(text)
}

// insertGrid writes a grid, which answers the request with a key.
func (t *transaction) insertGrid(number int64, ordinal int, first int64, submission *sweep.Submission, key string,
	points int64) {
	if points < 0 {
		t.fail(fmt.Errorf("a grid of %d points", points))
	}
	attempts := cmp.Or(max(submission.Spec.Limits.Attempts, 0), sweep.DefaultAttempts)
	losses := cmp.Or(max(submission.Spec.Limits.Losses, 0), sweep.DefaultLosses)
	t.run(`INSERT INTO grids (sweep_no, ordinal, first_index, points, written, cancelled, attempts, losses, reuse,
		submission, artifacts, created_at)
		VALUES ($1, $2, $3, $4, 0, FALSE, $5, $6, $7, $8, $9, $10)`,
		number, ordinal, first, points, attempts, losses, submission.Reuse, t.encode(submission),
		t.encodeArtifacts(submission.Spec.Artifacts), t.now)
	t.run(`UPDATE sweeps SET canary = $1, most_errors = $2 WHERE sweep_no = $3`,
		submission.Spec.Canary && points > sweep.CanaryPoints-first, max(submission.Spec.Limits.Errors, 0), number)
	t.answer(key, number, ordinal)
}

// AddGrid implements sweep.Store.
func (s *Store) AddGrid(ctx context.Context, id string, submission *sweep.Submission,
	points int64) (sweep.GridRecord, error) {
	grid := sweep.GridRecord{Submission: *submission, Points: points}
	err := s.updateSweep(ctx, "extend", id, func(t *transaction, number int64) {
		key := submission.Key
		other, ordinal, repeated := t.repeated(key)
		if repeated && other != number { // the key is that of a request about another sweep
			key = fmt.Sprintf("%s of sweep %d", key, number)
			_, ordinal, repeated = t.repeated(key)
		}
		if repeated {
			grid.Ordinal = ordinal
			t.one([]any{&grid.First, &grid.Points, &grid.Cursor, &grid.Cancelled},
				`SELECT first_index, points, written, cancelled FROM grids WHERE sweep_no = $1 AND ordinal = $2`,
				number, ordinal)
			return
		}
		t.one([]any{&grid.Ordinal, &grid.First},
			`SELECT ordinal + 1, first_index + points FROM grids WHERE sweep_no = $1 ORDER BY ordinal DESC LIMIT 1`,
			number)
		if points > math.MaxInt64-grid.First {
			t.fail(fmt.Errorf("%d points and %d more: %w", grid.First, points, sweep.ErrTooManyPoints))
		}
		t.insertGrid(number, grid.Ordinal, grid.First, submission, key, points)
		t.renewErrors(number)
		t.setState(number, sweep.SweepActive, "")
		t.finish(number)
	})
	return grid, err
}

// Sweep implements sweep.Store.
func (s *Store) Sweep(ctx context.Context, reference string) (*sweep.SweepRecord, error) {
	var records []sweep.SweepRecord
	err := s.view(ctx, "find sweep", func(t *transaction) {
		records = t.sweeps("g.submission", `s.sweep_id = $1`, t.resolve(reference))
		for i := range records {
			records[i].Metrics = collect(t, func(name *string) []any { return []any{name} },
				`SELECT m.metric FROM metric_names AS m JOIN sweeps AS s USING (sweep_no) WHERE s.sweep_id = $1`,
				records[i].ID)
			slices.Sort(records[i].Metrics)
		}
	})
	if err != nil {
		return nil, err
	}
	return &records[0], nil
}

// resolve finds the id that a reference means.
func (t *transaction) resolve(reference string) (id string) {
	if reference == "" || reference == "latest" {
		if !t.one([]any{&id}, `SELECT sweep_id FROM sweeps WHERE deleted_at IS NULL ORDER BY sweep_no DESC LIMIT 1`) {
			t.fail(notFound(`no sweeps yet: "sweep run FILE" starts one`))
		}
		return id
	}
	var prefixed, named []string
	exact := false
	t.each(func(row database.Row) error {
		var isPrefix, isName bool
		err := row.Scan(&id, &isPrefix, &isName)
		exact = exact || id == reference
		if isPrefix {
			prefixed = append(prefixed, id)
		}
		if isName {
			named = append(named, id)
		}
		return err
	}, `SELECT sweep_id, substr(sweep_id, 1, length($1)) = $1, name = $1 FROM sweeps
		WHERE (substr(sweep_id, 1, length($1)) = $1 OR name = $1) AND deleted_at IS NULL
		ORDER BY sweep_no DESC`, reference)
	switch {
	case exact:
		return reference
	case len(named) > 0: // a name that begins another sweep's id still names its own
		return named[0]
	case len(prefixed) == 1:
		return prefixed[0]
	case len(prefixed) > 1:
		t.fail(notFound("sweep %q: %d ids begin with it, among them %s: write more of the one that you mean",
			reference, len(prefixed), strings.Join(prefixed[:2], " and ")))
	}
	if t.one([]any{&id}, `SELECT s.sweep_id FROM requests AS r JOIN sweeps AS s USING (sweep_no)
		WHERE substr(r.request_key, 1, length($1)) = $1 AND s.deleted_at IS NULL
		ORDER BY s.sweep_no DESC LIMIT 1`, sweep.AgentKey(reference)) {
		return id
	}
	t.fail(notFound(`no sweep has the name %q, or an id that begins with it: "sweep status" lists all`, reference))
	return ""
}

// Sweeps implements sweep.Store.
func (s *Store) Sweeps(ctx context.Context, states ...sweep.SweepState) (records []sweep.SweepRecord, err error) {
	err = s.view(ctx, "list sweeps", func(t *transaction) {
		if len(states) == 0 {
			records = t.sweeps(noSubmission, `TRUE`)
			return
		}
		names := make([]string, len(states))
		for i, state := range states {
			names[i] = string(state)
		}
		records = t.sweeps(noSubmission,
			`(s.state IN (SELECT state FROM {v}) OR s.state = 'active' AND s.waiting AND $1)`,
			slices.Contains(states, sweep.SweepWaiting), texts("state", names))
	})
	return records, err
}

// noSubmission takes the place of a submission that is not read because it may be large.
const noSubmission = `'{}'`

// sweeps loads the sweeps that fit a condition on s, newest first.
func (t *transaction) sweeps(submissions, where string, args ...any) (records []sweep.SweepRecord) {
	t.each(func(row database.Row) error {
		var record sweep.SweepRecord
		var grid sweep.GridRecord
		var waiting bool
		var submission []byte
		var budget budgetRow
		var annotation annotationRow
		columns := append([]any{&record.ID, &record.Name, &record.Trainer, &record.Pool, &record.Priority,
			(*string)(&record.State), &waiting, &record.Reason, &record.CreatedAt, &record.UpdatedAt, &record.AskedBy,
			&record.Purpose, &grid.Ordinal, &grid.First, &grid.Points, &grid.Cursor, &grid.Cancelled, &submission},
			slices.Concat(annotation.columns(), budget.columns())...)
		if err := row.Scan(columns...); err != nil {
			return err
		}
		record.Budget, record.Annotation = budget.state(), annotation.annotation()
		if err := json.Unmarshal(submission, &grid.Submission); err != nil {
			return fmt.Errorf("submission %d of sweep %s: %w", grid.Ordinal, record.ID, err)
		}
		record.State = stateOf(record.State, waiting)
		if n := len(records); n == 0 || records[n-1].ID != record.ID {
			records = append(records, record)
		}
		last := &records[len(records)-1]
		last.Grids = append(last.Grids, grid)
		return nil
	}, `SELECT s.sweep_id, s.name, s.trainer, s.pool, s.priority, s.state, s.waiting, s.reason, s.created_at,
			s.updated_at, s.asked_by, s.purpose, g.ordinal, g.first_index, g.points, g.written, g.cancelled,
			`+submissions+`, s.notes, s.tags, s.edited_by, s.edited_at, `+budgetColumns+`
		FROM sweeps AS s JOIN grids AS g USING (sweep_no) LEFT JOIN budgets AS b USING (budget_no)
		WHERE s.deleted_at IS NULL AND `+where+`
		ORDER BY s.sweep_no DESC, g.ordinal`, args...)
	return records
}

// stateOf is a sweep's state as it is shown.
func stateOf(state sweep.SweepState, waiting bool) sweep.SweepState {
	if state == sweep.SweepActive && waiting {
		return sweep.SweepWaiting
	}
	return state
}

// SetSweepState implements sweep.Store.
func (s *Store) SetSweepState(ctx context.Context, id string, state sweep.SweepState, reason string) error {
	if !slices.Contains([]sweep.SweepState{sweep.SweepActive, sweep.SweepPaused, sweep.SweepCancelled,
		sweep.SweepFinished}, state) {
		return fmt.Errorf("set the state of sweep %s: no such state to be set: %q", id, state)
	}
	return s.updateSweep(ctx, "set the state of", id, func(t *transaction, number int64) {
		if state == sweep.SweepActive {
			t.overlookErrors(number)
		}
		t.setState(number, state, ledger.CleanTail(reason))
		t.finish(number)
	})
}

// setState sets a state that the sweep does not have, and why, unless it is being
// removed.
func (t *transaction) setState(number int64, state sweep.SweepState, reason string) {
	t.run(`UPDATE sweeps SET state = $1, waiting = FALSE, reason = $2, updated_at = $3
		WHERE sweep_no = $4 AND deleted_at IS NULL
		AND (state <> $1 OR waiting OR reason <> $2)`, string(state), reason, t.now, number)
}

// SetWaiting implements sweep.Store.
func (s *Store) SetWaiting(ctx context.Context, id string, waiting bool, reason string) error {
	return s.updateSweep(ctx, "say why it waits: ", id, func(t *transaction, number int64) {
		t.run(`UPDATE sweeps SET waiting = $1, reason = $2, updated_at = $3
			WHERE sweep_no = $4 AND state = 'active'
			AND (waiting <> $1 OR reason <> $2)`, waiting, ledger.CleanTail(reason), t.now, number)
	})
}

// Suspend implements sweep.Store.
func (s *Store) Suspend(ctx context.Context, id, reason string) error {
	return s.updateSweep(ctx, "pause", id, func(t *transaction, number int64) {
		t.run(`UPDATE sweeps SET state = 'paused', waiting = FALSE, reason = $1, updated_at = $2
			WHERE sweep_no = $3 AND state = 'active'`, ledger.CleanTail(reason), t.now, number)
	})
}

// finish makes an active sweep finished if all its trials are written and terminal.
func (t *transaction) finish(number int64) {
	t.run(`UPDATE sweeps SET state = 'finished', waiting = FALSE, reason = '', updated_at = $1
		WHERE sweep_no = $2 AND state = 'active'
			AND NOT EXISTS (SELECT 1 FROM counters WHERE sweep_no = $2 AND pending + queued + running > 0)
			AND NOT EXISTS (SELECT 1 FROM classes WHERE sweep_no = $2 AND unconfirmed > 0)
			AND NOT EXISTS (SELECT 1 FROM grids WHERE sweep_no = $2 AND written < points AND NOT cancelled)`,
		t.now, number)
}

// RenameSweep implements sweep.Store.
func (s *Store) RenameSweep(ctx context.Context, id, name string) error {
	return s.updateSweep(ctx, "rename", id, func(t *transaction, number int64) {
		t.run(`UPDATE sweeps SET name = $1, updated_at = $2 WHERE sweep_no = $3`, name, t.now, number)
	})
}

// SetSweepPriority implements sweep.Store.
func (s *Store) SetSweepPriority(ctx context.Context, id string, priority int) error {
	return s.updateSweep(ctx, "set the priority of", id, func(t *transaction, number int64) {
		t.run(`UPDATE sweeps SET priority = $1, updated_at = $2 WHERE sweep_no = $3`, priority, t.now, number)
	})
}

// Progress implements sweep.Store.
func (s *Store) Progress(ctx context.Context, id string) (p sweep.Progress, err error) {
	err = s.viewSweep(ctx, "count the trials of sweep "+id, id, func(t *transaction, number int64) {
		var waiting, cancelled int64
		dest := ledger.Columns([]any{&waiting, &cancelled}, &p)
		t.one(dest, `SELECT CAST(sum(CASE WHEN g.cancelled THEN 0 ELSE g.points - g.written END) AS bigint),
				CAST(sum(CASE WHEN g.cancelled THEN g.points - g.written ELSE 0 END) AS bigint),
				`+qualified("c", counterNames)+`
			FROM counters AS c JOIN grids AS g USING (sweep_no) WHERE c.sweep_no = $1 GROUP BY c.sweep_no`, number)
		p.Pending += waiting
		p.Cancelled += cancelled
	})
	return p, err
}

// counterNames are the columns of the counters, counterSums adds those of v to those of c.
var counterNames, counterSums = func() (string, string) {
	var names, sums []string
	for _, counter := range ledger.Counters {
		names = append(names, counter.Name)
		sums = append(sums, fmt.Sprintf("%[1]s = c.%[1]s + v.%[1]s", counter.Name))
	}
	return strings.Join(names, ", "), strings.Join(sums, ", ")
}()

// class is a class of trials by its sweep's number and its own.
type class = ledger.Class

// count adds to the counters of classes and of their sweeps.
func (t *transaction) count(deltas ledger.Counts[class]) {
	t.countSweeps(sumsOf(deltas))
	classes := changedClasses(deltas)
	const columns = "sweep_no, class_no, pending, queued, running"
	t.run(countClasses+whereClass, database.Rows(len(classes), columns, func(i int, row []any) []any {
		d := deltas[classes[i]]
		return append(row, &classes[i].Sweep, &classes[i].Number, &d.Pending, &d.Queued, &d.Running)
	}))
}

// sumsOf adds up the counters of classes by the numbers of their sweeps.
func sumsOf(deltas ledger.Counts[class]) ledger.Counts[int64] {
	sums := ledger.Counts[int64]{}
	for class, delta := range deltas {
		for _, counter := range ledger.Counters {
			*counter.Of(sums.Of(class.Sweep)) += *counter.Of(delta)
		}
	}
	return sums
}

// changedClasses are the classes whose own counters change.
func changedClasses(deltas ledger.Counts[class]) []class {
	return slices.DeleteFunc(slices.Collect(maps.Keys(deltas)), func(c class) bool {
		d := deltas[c]
		return d.Pending == 0 && d.Queued == 0 && d.Running == 0
	})
}

// countSweeps adds to the counters of sweeps, by their numbers.
func (t *transaction) countSweeps(deltas ledger.Counts[int64]) {
	numbers := slices.Sorted(maps.Keys(deltas))
	t.run(`UPDATE counters AS c SET `+counterSums+` FROM {v} WHERE c.sweep_no = v.sweep_no`,
		database.Rows(len(numbers), "sweep_no, "+counterNames, func(i int, row []any) []any {
			return ledger.Columns(append(row, &numbers[i]), deltas[numbers[i]])
		}))
}

const (
	countClasses = `UPDATE classes AS c
	SET pending = c.pending + v.pending, queued = c.queued + v.queued, running = c.running + v.running`
	whereClass = ` FROM {v} WHERE c.sweep_no = v.sweep_no AND c.class_no = v.class_no`
)
