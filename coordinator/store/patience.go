package store

import (
	"context"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// openPatience is the patience of Open.
const openPatience = 10 * time.Second

// patience bounds the wait for a leader: limit without progress of its migrations.
type patience struct {
	store *Store
	// limit is how long there may be no progress, 0 for ever; since is when there was some.
	limit time.Duration
	since time.Time
	// missing of the known migrations were missing then.
	missing, known int
	// holder is what the leader calls itself.
	holder string
}

func (s *Store) patience(ctx context.Context, limit time.Duration) (*patience, error) {
	state, err := s.schema.Look(ctx, s.db)
	return &patience{store: s, limit: limit, since: time.Now(), missing: len(state.Missing), known: state.Known}, err
}

// wait returns ErrLed when the patience is exhausted.
func (p *patience) wait(ctx context.Context, holder string) error {
	p.holder = holder
	if p.limit == 0 || time.Since(p.since) <= p.limit {
		return nil
	}
	// In SQLite the transaction begins when a migration that is under way has ended.
	return p.store.db.Update(ctx, func(tx database.Tx) error {
		state, err := p.store.schema.LookIn(ctx, tx, p.store.db)
		if err != nil {
			return err
		}
		progress := len(state.Missing) < p.missing
		p.since, p.missing = time.Now(), len(state.Missing)
		if !progress {
			return sweep.ErrLed
		}
		return nil
	})
}

// waitForSchema is wait, but ends, likewise with ErrLed, as soon as the leader has brought the
// schema up to date.
func (p *patience) waitForSchema(ctx context.Context, holder string) error {
	state, err := p.store.schema.Look(ctx, p.store.db)
	switch {
	case err != nil:
		return err
	case len(state.Missing) > 0:
		return p.wait(ctx, holder)
	}
	p.missing = 0
	return sweep.ErrLed
}
