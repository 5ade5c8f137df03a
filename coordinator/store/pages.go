package store

import (
	"context"
	"slices"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// pageful is how many trials a transaction goes over at most. What is done to all
// trials of a sweep takes many transactions, so that nobody waits for it longer
// than for any other.
const pageful = 500

const nextPage = `SELECT trial_no, trial_index, state FROM trials WHERE sweep_no = $1 AND trial_index >= $2
	ORDER BY trial_index LIMIT $3`

// pages calls do for each page of a sweep's trials, in a transaction of its own,
// with those in one of the states, or all if none is named. Each begins where the
// one before ended: what was removed is still in the way of Postgres' index scans
// until it is vacuumed.
func (s *Store) pages(ctx context.Context, what string, number int64, states []sweep.State,
	do func(t *transaction, trials, indices []int64)) (err error) {
	for next, more := int64(0), true; more && err == nil; {
		err = s.update(ctx, what, func(t *transaction) {
			var trials, indices []int64
			more = false
			t.each(func(row database.Row) error {
				var trial int64
				var state sweep.State
				err := row.Scan(&trial, &next, (*string)(&state))
				if len(states) == 0 || slices.Contains(states, state) {
					trials, indices = append(trials, trial), append(indices, next)
				}
				next, more = next+1, true
				return err
			}, nextPage, number, next, pageful)
			if t.err == nil && len(trials) > 0 {
				do(t, trials, indices)
			}
		})
	}
	return err
}
