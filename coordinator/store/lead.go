package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/migrate"
	"sweep/sweep"
)

// Cluster implements sweep.Store.
func (s *Store) Cluster(ctx context.Context) (c sweep.Cluster, err error) {
	err = s.view(ctx, "look at the cluster", func(t *transaction) {
		c = t.cluster()
		c.Database = s.db.Name()
	})
	return c, err
}

func (t *transaction) cluster() (c sweep.Cluster) {
	t.one([]any{&c.ID, &c.MadeAt, &c.Term, &c.Leader, &c.LedSince}, `SELECT cluster_id, made_at, term, leader, led_since FROM cluster`)
	return c
}

// lead implements sweep.Lead.
type lead struct {
	database.Lock
	s    *Store
	term int64
}

// Lead implements sweep.Store. The schema is brought up to date under the lock,
// so never under another leader.
func (s *Store) Lead(ctx context.Context, holder string, waiting func(holder string)) (sweep.Lead, error) {
	lock, err := s.db.Lock(ctx, func(who string) error {
		if waiting != nil {
			leader, _ := s.leader(ctx, who)
			waiting(leader)
			waiting = nil
		}
		return nil
	})
	if err != nil {
		return nil, s.explain("take the lead", err)
	}
	l := &lead{Lock: lock, s: s}
	if err = s.prepare(ctx); err == nil {
		err = s.db.Update(ctx, func(tx database.Tx) error {
			return tx.Query(ctx, func(row database.Row) error { return row.Scan(&l.term) },
				`UPDATE cluster SET term = term + 1, leader = $1, led_since = $2 RETURNING term`, holder, time.Now())
		})
	}
	if err != nil {
		return nil, s.explain("take the lead", errors.Join(err, lock.Release(context.WithoutCancel(ctx))))
	}
	return l, nil
}

// Term implements sweep.Lead.
func (l *lead) Term() int64 { return l.term }

// Resign implements sweep.Lead.
func (l *lead) Resign(ctx context.Context) error {
	err := l.s.update(ctx, "resign", func(t *transaction) {
		t.run(`UPDATE cluster SET leader = '' WHERE term = $1`, l.term)
	})
	return errors.Join(err, l.Release(ctx))
}

// Leader says who leads the database now, and since when; "" if nobody does.
func (s *Store) Leader(ctx context.Context) (leader string, since time.Time, err error) {
	who, held, err := s.db.Holder(ctx)
	if err != nil || !held {
		return "", time.Time{}, s.explain("find out who leads", err)
	}
	leader, since = s.leader(ctx, who)
	return leader, since, nil
}

// leader says who leads and since when, as far as the database or its lock tell.
func (s *Store) leader(ctx context.Context, who string) (leader string, since time.Time) {
	// An older schema does not have the table.
	if c, err := s.Cluster(ctx); err == nil && c.Leader != "" {
		return c.Leader, c.LedSince
	}
	if who == "" {
		who = "its name is not known"
	}
	return who, time.Time{}
}

// patience is how long Open waits for the lock, which another program has that
// migrates too.
const patience = 3 * time.Second

// upgrade brings the schema up to date if nobody leads.
func (s *Store) upgrade(ctx context.Context) error {
	led := errors.New("led")
	start := time.Now()
	who := ""
	lock, err := s.db.Lock(ctx, func(holder string) error {
		if who = holder; time.Since(start) > patience {
			return led
		}
		return nil
	})
	if errors.Is(err, led) {
		missing, known, err := migrate.Missing(ctx, s.db)
		if err != nil || len(missing) == 0 {
			return err
		}
		failure := &sweep.SchemaError{Database: s.db.Name(), Has: known - len(missing), Needs: known}
		failure.Leader, failure.Since = s.leader(ctx, who)
		return failure
	}
	if err != nil {
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	err = s.prepare(ctx)
	return errors.Join(err, lock.Release(ctx))
}
