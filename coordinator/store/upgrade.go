package store

import (
	"context"
	"errors"
	"fmt"

	"sweep/sweep"
)

// prepare brings the database of a leader up to date: the schema, and what else the database needs.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.schema.Up(ctx, s.db, s.write); err != nil {
		return err
	}
	return s.db.Prepare(ctx)
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
		failure.Leader, failure.Since = s.leader(ctx)
		return failure
	}
	if err != nil {
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	return nil
}

// bringUp brings the schema up to date as a leader, unless it was empty: whoever finds such a database makes its
// schema.
func (s *Store) bringUp(ctx context.Context, waiting func(holder string) error) error {
	o, _, err := s.await(ctx, waiting, func(context.Context) (int64, error) { return 0, nil })
	if err != nil {
		return err
	}
	state, err := s.schema.Look(ctx, s.db)
	behind := len(state.Missing) > 0 || state.Views
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
