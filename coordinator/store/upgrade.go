package store

import (
	"context"
	"errors"
	"fmt"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/migrate"
	"sweep/sweep"
)

// prepare brings the database of a leader up to date: the schema, what else
// the database needs, and the tables that are computed from results.
func (s *Store) prepare(ctx context.Context) error {
	if err := migrate.Up(ctx, s.db, s.write); err != nil {
		return err
	}
	if err := s.db.Prepare(ctx); err != nil {
		return err
	}
	for {
		more, err := s.fillPage(ctx, fillable)
		if err != nil {
			return fmt.Errorf("entering earlier results: %w", err)
		}
		if !more {
			return nil
		}
	}
}

// behind reports whether the schema is older than the program's, or earlier results are still
// to be entered.
func (s *Store) behind(ctx context.Context) (behind bool, err error) {
	missing, _, err := migrate.Missing(ctx, s.db)
	if err != nil || len(missing) > 0 {
		return true, err
	}
	err = s.db.View(ctx, func(tx database.Tx) error {
		return tx.Query(ctx, func(row database.Row) error {
			return row.Scan(&behind)
		}, `SELECT EXISTS (SELECT 1 FROM unscored)`)
	})
	return behind, err
}

// upgrade brings the schema up to date if nobody leads.
func (s *Store) upgrade(ctx context.Context) error {
	p, err := s.patience(ctx, openPatience)
	if err != nil {
		return err
	}
	err = s.bringUp(ctx, func(holder string) error { return p.waitForSchema(ctx, holder) })
	if errors.Is(err, sweep.ErrLed) {
		if p.missing == 0 {
			return nil
		}
		failure := &sweep.SchemaError{Database: s.db.Name(), Has: p.known - p.missing, Needs: p.known}
		failure.Leader, failure.Since = s.leader(ctx, p.holder)
		return failure
	}
	if err != nil {
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	return nil
}

// bringUp brings the schema up to date: under the lock of earlier programs as far as to
// leases, and from there on as a leader.
func (s *Store) bringUp(ctx context.Context, waiting func(holder string) error) error {
	o, _, err := s.await(ctx, waiting, func(context.Context) (int64, error) { return 0, nil })
	if err != nil {
		return err
	}
	behind, err := s.behind(ctx)
	if err == nil && !behind {
		err = s.db.Prepare(ctx)
	}
	if err = errors.Join(err, o.close(ctx)); err != nil || !behind {
		return err
	}
	l, err := s.take(ctx, sweep.LeadOptions{Holder: "a program that brings the database up to date"}, waiting)
	if err != nil {
		return err
	}
	return errors.Join(s.prepare(ctx), l.Resign(context.WithoutCancel(ctx)))
}
