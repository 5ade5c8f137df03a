package store

import (
	"sweep/coordinator/store/database"
	"sweep/coordinator/store/ledger"
	"sweep/sweep"
)

// countEnds is count for recorded events, which may end trials: it also adds to the errors in a row of classes.
func (r *recording) countEnds(deltas ledger.Counts[class]) {
	r.countSweeps(sumsOf(deltas))
	classes, streaks, none := changedClasses(deltas), r.ledger.Streaks(), &ledger.Streak{}
	const columns = "sweep_no, class_no, pending, queued, running, completed, broken, errors, cause, error, error_index"
	r.run(countClassEnds+whereClass, database.Rows(len(classes), columns, func(i int, row []any) []any {
		d, s := deltas[classes[i]], streaks[classes[i]]
		if s == nil {
			s = none
		}
		return append(row, &classes[i].Sweep, &classes[i].Number, &d.Pending, &d.Queued, &d.Running, &s.Completed,
			&s.Broken, &s.Count, &s.Cause, &s.Last, &s.Trial)
	}))
}

const countClassEnds = countClasses + `, tried = c.tried OR v.completed,
	errors = CASE WHEN v.broken OR v.errors > 0 AND c.cause <> v.cause THEN v.errors ELSE c.errors + v.errors END,
	cause = CASE WHEN v.broken OR v.errors > 0 THEN v.cause ELSE c.cause END,
	error = CASE WHEN v.broken OR v.errors > 0 THEN v.error ELSE c.error END,
	error_index = CASE WHEN v.broken OR v.errors > 0 THEN v.error_index ELSE c.error_index END`

const noErrors = `errors = 0, cause = '', error = '', error_index = 0`

// stopped is the condition that a sweep s is paused because its trials fail.
const stopped = `s.state = 'paused' AND substr(s.reason, 1, length($1)) = $1`

// forgetErrors has a sweep, which is to go on after a change, count its errors from now on. If they have paused it, the
// first trial of each class that failed runs before the others again, and errors of trials that run already do not
// count.
func (t *transaction) forgetErrors(number int64) {
	t.run(`UPDATE sweeps AS s SET retried_at = $3 WHERE s.sweep_no = $2 AND `+stopped, sweep.ErrorReason, number, t.now)
	t.run(`UPDATE classes SET tried = FALSE WHERE sweep_no = $2 AND tried AND errors > 0
		AND EXISTS (SELECT 1 FROM sweeps AS s WHERE s.sweep_no = $2 AND `+stopped+`)`, sweep.ErrorReason, number)
	t.run(`UPDATE classes SET `+noErrors+` WHERE sweep_no = $1 AND errors > 0`, number)
}

// renewErrors does so for a sweep that has not been active before an extension. Further points do not end the
// row of errors of an active one.
func (t *transaction) renewErrors(number int64) {
	active := false
	t.one([]any{&active}, `SELECT state = 'active' FROM sweeps WHERE sweep_no = $1`, number)
	if !active {
		t.forgetErrors(number)
	}
}

// overlookErrors has a sweep that is paused because its trials fail go on as it is.
func (t *transaction) overlookErrors(number int64) {
	t.run(`UPDATE classes SET tried = TRUE, `+noErrors+` WHERE sweep_no = $2 AND errors > 0
		AND EXISTS (SELECT 1 FROM sweeps AS s WHERE s.sweep_no = $2 AND `+stopped+`)`, sweep.ErrorReason, number)
}

// revive has sweeps go on whose trials, which had failed, are pending after all.
func (t *transaction) revive(trials database.Batch) {
	t.run(`UPDATE classes SET `+noErrors+` WHERE errors > 0 AND (sweep_no, class_no) IN (
		SELECT t.sweep_no, t.class_no FROM {v} JOIN trials AS t USING (trial_no))`, trials)
	t.run(`UPDATE sweeps AS s SET state = 'active', reason = '', updated_at = $2
		WHERE (s.state = 'finished' OR `+stopped+`) AND s.sweep_no IN (
			SELECT t.sweep_no FROM {v} JOIN trials AS t USING (trial_no))`, sweep.ErrorReason, t.now, trials)
}
