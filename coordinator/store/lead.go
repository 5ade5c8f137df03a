package store

import (
	"context"
	"errors"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// The lead is a lease: the table cluster names the term, its leader and when the lease
// runs out, by the database's clock. The leader renews it as long as it can do its
// work; see renew.go. Once it has run out a standby may begin the next term; until one does, the leader
// may still renew it. A write of the leader checks its term in its
// own transaction, so that none of an earlier term is committed after a later one has
// begun.

const (
	// poll is how often a standby reads the lease, lockPoll how often it looks at a lock that shows who leads.
	poll     = 500 * time.Millisecond
	lockPoll = 100 * time.Millisecond
	// If more than impossible is left of a lease, the database's clock was set back.
	impossible = longestLease + 10*time.Second
)

// Cluster implements sweep.Store.
func (s *Store) Cluster(ctx context.Context) (c sweep.Cluster, err error) {
	err = s.view(ctx, "look at the cluster", func(t *transaction) {
		t.one([]any{&c.ID, &c.MadeAt, &c.Term, &c.Leader, &c.LedSince},
			`SELECT cluster_id, made_at, term, leader, led_since FROM cluster`)
		c.Database = s.db.Name()
	})
	return c, err
}

// lease is the row in the table cluster, read at now by the database's clock.
type lease struct {
	term           int64
	leader         string
	since, expires time.Time
	now            time.Time
}

// left is for how long the lease still lasts.
func (l *lease) left() time.Duration {
	left := l.expires.Sub(l.now)
	if l.leader == "" || left > impossible {
		return 0
	}
	return max(left, 0)
}

// lease reads the lease.
func (s *Store) lease(ctx context.Context, tx database.Tx) (l lease, err error) {
	if l.now, err = s.db.Now(ctx, tx); err != nil {
		return l, err
	}
	return l, tx.Query(ctx, func(row database.Row) error { return row.Scan(&l.term, &l.leader, &l.since, &l.expires) },
		`SELECT term, leader, led_since, expires_at FROM cluster`)
}

// errHeld is the error of a lead that another process has.
var errHeld = errors.New("another process leads")

// opening is a lead that can be taken now, or the reason why it cannot.
type opening struct {
	// lock is the database's lock, where it was needed.
	lock database.Lock
	// holder is the leader, "" if there is none, and left for how long its lease lasts.
	holder string
	left   time.Duration
}

func (o *opening) close(ctx context.Context) error {
	if o.lock == nil {
		return nil
	}
	return o.lock.Release(context.WithoutCancel(ctx))
}

// locking returns the database if its leader holds a lock, else nil.
func (s *Store) locking() database.Locking {
	db, _ := s.db.(database.Locking)
	return db
}

// open looks whether the lead can be taken. It makes the schema of an empty database.
func (s *Store) open(ctx context.Context) (o opening, err error) {
	state, err := s.schema.Look(ctx, s.db)
	if err != nil {
		return o, err
	}
	if db := s.locking(); db != nil {
		if o.lock, err = db.Lock(ctx); err != nil {
			return o, err
		}
		if o.lock == nil {
			o.holder, _ = s.leader(ctx)
			return o, nil
		}
	}
	if state.Empty() {
		err = s.schema.Up(ctx, s.db, func(ctx context.Context, do func(tx database.Tx) error) error {
			return s.db.UpdateLead(ctx, database.Founding, do)
		})
	}
	if err == nil && o.lock == nil {
		err = s.db.View(ctx, func(tx database.Tx) error {
			l, err := s.lease(ctx, tx)
			if o.left = l.left(); o.left > 0 {
				o.holder = l.leader
			}
			return err
		})
	}
	if err != nil {
		return opening{}, errors.Join(err, o.close(ctx))
	}
	return o, nil
}

// await waits until the lead can be taken. While another process leads waiting is called
// again and again with the name of that process; its error ends the wait.
func (s *Store) await(ctx context.Context, waiting func(holder string) error,
	check func(ctx context.Context) (int64, error)) (o opening, term int64, err error) {
	for {
		if o, err = s.open(ctx); err != nil {
			return o, 0, err
		}
		if o.holder == "" {
			if term, err = bounded(ctx, check); err == nil {
				return o, term, nil
			}
			err = nil // who checks tells of it
		} else {
			err = waiting(o.holder)
		}
		if err := errors.Join(err, o.close(ctx)); err != nil {
			return o, 0, err
		}
		pause := poll
		if s.locking() != nil {
			pause = lockPoll
		} else if o.left > 0 {
			pause = min(pause, o.left)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return o, 0, ctx.Err()
		}
	}
}

// Lead implements sweep.Store.
func (s *Store) Lead(ctx context.Context, options sweep.LeadOptions) (sweep.Lead, error) {
	var p *patience
	l, err := s.take(ctx, options, func(holder string) (err error) {
		switch {
		case p != nil:
			return p.wait(ctx, holder)
		case options.Waiting != nil:
			options.Waiting(holder)
		}
		p, err = s.patience(ctx, options.Patience)
		return err
	})
	if err == nil {
		if err = s.prepare(ctx); err == nil {
			return l, nil
		}
		err = errors.Join(err, l.Resign(context.WithoutCancel(ctx)))
	}
	return nil, s.explain("take the lead", err)
}

// take waits for the lead and takes it.
func (s *Store) take(ctx context.Context, options sweep.LeadOptions, waiting func(holder string) error) (*lead, error) {
	l := &lead{s: s, check: options.Check, lost: make(chan struct{}), done: make(chan struct{}),
		ending: make(chan struct{})}
	if l.check == nil {
		l.check = func(context.Context) (int64, error) { return 0, nil }
	}
	for {
		o, other, err := s.await(ctx, waiting, l.check)
		if err != nil {
			return nil, err
		}
		l.lock = o.lock
		err = s.db.UpdateLead(ctx, database.Takeover, func(tx database.Tx) error {
			asked := time.Now()
			was, err := s.lease(ctx, tx)
			if err != nil {
				return err
			}
			if l.lock == nil && was.left() > 0 {
				return errHeld
			}
			l.renewals = pace{} // an earlier attempt may have failed
			l.renewals.note(time.Since(asked))
			last := l.renewals.lease()
			l.term, l.until, l.answered = max(was.term, other)+1, asked.Add(last), asked
			_, err = tx.Exec(ctx, `UPDATE cluster SET term = $1, leader = $2, led_since = $3, expires_at = $4`,
				l.term, options.Holder, was.now, was.now.Add(last))
			return err
		})
		if errors.Is(err, errHeld) { // another one was faster
			continue
		}
		if err != nil && l.lock != nil {
			err = errors.Join(err, l.lock.Release(context.WithoutCancel(ctx)))
		}
		if err != nil {
			return nil, err
		}
		var renewing context.Context
		renewing, l.stop = context.WithCancel(context.WithoutCancel(ctx))
		s.lead.Store(l)
		go l.keep(renewing)
		return l, nil
	}
}

// Resign implements sweep.Lead.
func (l *lead) Resign(ctx context.Context) error {
	l.cease(ctx)
	l.end(l.Problem())
	err := l.s.db.Resign(ctx, l.term)
	if l.lock != nil {
		err = errors.Join(err, l.lock.Release(ctx))
	}
	return l.s.explain("resign", err)
}

// write runs do in a transaction that writes: a leader's, if this store has led.
func (s *Store) write(ctx context.Context, do func(tx database.Tx) error) error {
	l := s.lead.Load()
	if l == nil {
		return s.db.Update(ctx, do)
	}
	err := s.db.UpdateLead(ctx, database.Fenced, func(tx database.Tx) error {
		if err := l.checkTerm(ctx, tx); err != nil {
			return err
		}
		return do(tx)
	})
	if deposed := (*sweep.DeposedError)(nil); errors.As(err, &deposed) {
		l.end(err)
	}
	return err
}

// Leader returns the database's leader and since when it leads; "" if there is none.
func (s *Store) Leader(ctx context.Context) (leader string, since time.Time, err error) {
	if db := s.locking(); db != nil {
		var held bool
		if held, err = db.Held(ctx); held && err == nil {
			leader, since = s.leader(ctx)
		}
	} else {
		err = s.db.View(ctx, func(tx database.Tx) error {
			if state, err := s.schema.LookIn(ctx, tx, s.db); err != nil || state.Empty() {
				return err
			}
			l, err := s.lease(ctx, tx)
			if l.left() > 0 {
				leader, since = l.leader, l.since
			}
			return err
		})
	}
	if err != nil {
		return "", time.Time{}, s.explain("find out who leads", err)
	}
	return leader, since, nil
}

// leader returns who has the database's lock and since when it leads, if the database shows it.
func (s *Store) leader(ctx context.Context) (leader string, since time.Time) {
	// An empty database does not have the table.
	if c, err := s.Cluster(ctx); err == nil && c.Leader != "" {
		return c.Leader, c.LedSince
	}
	return "its name is not known", time.Time{}
}
