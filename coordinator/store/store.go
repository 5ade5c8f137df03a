// Package store keeps sweeps, trials and results in a database, of whichever kind its address
// says. [Store] implements [sweep.Store] with one set of queries:
//
//	results, err := store.Open(ctx, "sqlite:sweep.db")
//	report, err := results.Record(ctx, events)
//
// What the kinds do differently is behind package database, in packages sqlite and postgres.
// Package ledger has the rules by which events change trials, migrate the numbered schemas, and
// storetest the suite that every kind passes. Besides the tables of sweeps, trials and events,
// three tables are updated with each result, so that no query reads all trials: see group.go.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/migrate"
	"sweep/coordinator/store/postgres"
	"sweep/coordinator/store/sqlite"
	"sweep/sweep"
)

// Store implements sweep.Store.
type Store struct {
	db database.Database
	// schema is what the database must have.
	schema migrate.Schema
	// numbers has the sweep_no of sweeps, by sweep_id.
	numbers sync.Map
	// taken is how far the pending trials of each class were taken.
	taken taken
	// comparisons has how sweeps are compared, by sweep_no.
	comparisons sync.Map
	// unchanged has the lists of inputs that the submitters of grids found unchanged, by gridKey.
	unchanged sync.Map
	// lead is the one that this store took last: its term is checked by whatever it
	// writes.
	lead atomic.Pointer[lead]
}

var _ sweep.Store = (*Store)(nil)

// Open opens the database at an address, creates its schema or brings it up to date, and
// returns its store:
//
//	sqlite:PATH, or PATH alone               a SQLite file
//	postgres://USER@HOST/NAME?…              a Postgres database (also postgresql://)
//
// A schema of a newer version of the program is sweep.ErrNewerSchema, wrapped.
// The schema is not changed while another process leads the database: that is a
// *sweep.SchemaError, wrapped.
//
// Whoever leads the database makes the views for users' queries, those of the arguments too: statements as they are in
// migrations/views.sql.
func Open(ctx context.Context, address string, views ...string) (sweep.Store, error) {
	return openWith(ctx, address, migrate.Program.With(views...))
}

func openWith(ctx context.Context, address string, schema migrate.Schema) (sweep.Store, error) {
	return opened(ctx, address, schema, func(s *Store, state migrate.State) error {
		if len(state.Missing) == 0 {
			return nil
		}
		return s.upgrade(ctx)
	})
}

// Connect opens the database at an address without changing its schema, which
// may be older than the program's: that of a store to be led.
func Connect(ctx context.Context, address string, views ...string) (sweep.Store, error) {
	return connectWith(ctx, address, migrate.Program.With(views...))
}

func connectWith(ctx context.Context, address string, schema migrate.Schema) (sweep.Store, error) {
	return opened(ctx, address, schema, func(*Store, migrate.State) error { return nil })
}

// opened connects to a database, looks at its schema, and has done with it what is to be done.
func opened(ctx context.Context, address string, schema migrate.Schema,
	do func(s *Store, state migrate.State) error) (sweep.Store, error) {
	db, err := connect(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Store{db: db, schema: schema}
	state, err := schema.Look(ctx, db)
	if err == nil {
		err = do(s, state)
	}
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", errors.Join(db.Explain(err), db.Close()))
	}
	return s, nil
}

func connect(ctx context.Context, address string) (database.Database, error) {
	scheme, path, found := strings.Cut(address, ":")
	switch {
	case address == "":
		return nil, errors.New("no address was given: expected sqlite:PATH or postgres://…")
	case found && scheme == "sqlite":
		return sqlite.Open(ctx, strings.TrimPrefix(path, "//"))
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return postgres.Open(ctx, address)
	case isSettings(address):
		return nil, errors.New("these are settings (host=…), and an address is expected: postgres://USER@HOST/NAME")
	case strings.Contains(address, "://"):
		return nil, fmt.Errorf("unknown kind %q: expected sqlite:PATH or postgres://…", scheme)
	}
	return sqlite.Open(ctx, address)
}

// isSettings reports whether an address is in libpq's other form, which as a file's
// name would show its password.
func isSettings(address string) bool {
	name, _, found := strings.Cut(address, "=")
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "host", "hostaddr", "port", "dbname", "user", "password", "passfile", "service", "sslmode":
		return found
	}
	return false
}

// CheckReader makes sure that users' queries can be run. If they cannot it returns
// why, and the statements by which an administrator mends it, if there are such.
func (s *Store) CheckReader(ctx context.Context) (statements []string, problem error) {
	if db, ok := s.db.(*postgres.Database); ok {
		return db.CheckReader(ctx)
	}
	return nil, nil
}

// Close implements sweep.Store.
func (s *Store) Close() error {
	if l := s.lead.Load(); l != nil { // nothing is renewed any more
		l.stop()
		<-l.done
	}
	return s.db.Close()
}

// Database is the database behind the store.
func (s *Store) Database() database.Database { return s.db }
