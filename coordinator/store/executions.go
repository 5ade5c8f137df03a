package store

import (
	"context"
	"fmt"

	"sweep/sweep"
)

// The text of a log is bytes to octet_length, in both kinds.
const listExecutions = `SELECT execution, worker, started_at, ended_at, outcome, charged, forgotten, checkpoint,
	reason, note, octet_length(stderr)
	FROM executions WHERE trial_no = $1 ORDER BY started_at, execution`

// trialNo is the key of a trial. The view of executions finds those of a key by its index, and no others.
func (t *transaction) trialNo(number, index int64) (trial int64) {
	if !t.one([]any{&trial}, `SELECT trial_no FROM trials WHERE sweep_no = $1 AND trial_index = $2`, number, index) {
		t.fail(t.unknown(number, index))
	}
	return trial
}

// Executions implements sweep.Store.
func (s *Store) Executions(ctx context.Context, id sweep.TrialID) (list []sweep.Execution, err error) {
	err = s.viewSweep(ctx, "list the executions of trial "+id.String(), id.Sweep, func(t *transaction, number int64) {
		list = collect(t, func(e *sweep.Execution) []any {
			return []any{&e.ID, &e.Worker, &e.StartedAt, &e.EndedAt, (*string)(&e.Outcome), &e.Charged, &e.Forgotten,
				&e.Checkpoint, &e.Reason, &e.Note, &e.LogSize}
		}, listExecutions, t.trialNo(number, id.Index))
	})
	return list, err
}

const replaced = `SELECT s.sweep_id, t.trial_index, e.execution, e.worker, e.ended_at
	FROM stored_executions AS e JOIN trials AS t USING (trial_no) JOIN sweeps AS s USING (sweep_no)
	WHERE e.replaced AND NOT e.charged AND NOT e.forgotten AND e.outcome = 'lost'
	AND t.state IN ('pending', 'queued', 'running')
	ORDER BY e.trial_no, e.ended_at`

// Replaced implements sweep.Store.
func (s *Store) Replaced(ctx context.Context) (list []sweep.Event, err error) {
	err = s.view(ctx, "look for executions that were replaced", func(t *transaction) {
		list = collect(t, func(e *sweep.Event) []any {
			e.Kind = sweep.EventLost
			return []any{&e.Sweep, &e.Index, &e.Execution, &e.Worker, &e.Time}
		}, replaced)
	})
	return list, err
}

const executionLog = `SELECT stderr, log_start FROM executions WHERE trial_no = $1 AND ($2 = '' OR execution = $2)
	ORDER BY started_at DESC, execution DESC LIMIT 1`

// ExecutionLog implements sweep.Store.
func (s *Store) ExecutionLog(ctx context.Context, id sweep.TrialID, execution string) (*sweep.Log, error) {
	log := &sweep.Log{}
	err := s.viewSweep(ctx, "load the log of trial "+id.String(), id.Sweep, func(t *transaction, number int64) {
		if !t.one([]any{&log.Text, &log.Start}, executionLog, t.trialNo(number, id.Index), execution) {
			t.fail(fmt.Errorf("execution %q: there is none: %w", execution, sweep.ErrNotFound))
		}
	})
	return log, err
}
