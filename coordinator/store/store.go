// Package store opens the database of sweeps, of whichever kind its address
// says. Packages sqlite and postgres implement sweep.Store; package ledger has
// the rules that both follow, storetest the suite that both pass.
package store

import (
	"context"
	"fmt"
	"strings"

	"sweep/coordinator/store/postgres"
	"sweep/coordinator/store/sqlite"
	"sweep/sweep"
)

// Open opens the database at an address, creates or migrates its schema, and
// returns its store:
//
//	sqlite:PATH, or PATH alone               a SQLite file
//	postgres://USER@HOST/NAME?…              a Postgres database (also postgresql://)
//
// A schema of a newer version of the program is sweep.ErrNewerSchema, wrapped.
func Open(ctx context.Context, address string) (sweep.Store, error) {
	scheme, path, found := strings.Cut(address, ":")
	switch {
	case address == "":
		return nil, fmt.Errorf("open the database: no address was given: expected sqlite:PATH or postgres://…")
	case found && scheme == "sqlite":
		return opened(sqlite.Open(ctx, strings.TrimPrefix(path, "//")))
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return opened(postgres.Open(ctx, address))
	case strings.Contains(address, "://"):
		return nil, fmt.Errorf("open the database: unknown kind %q: expected sqlite:PATH or postgres://…", scheme)
	}
	return opened(sqlite.Open(ctx, address))
}

// opened keeps a nil pointer from becoming a store.
func opened[S sweep.Store](s S, err error) (sweep.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
