package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"sweep/coordinator/store/migrate"
	"sweep/migrations"
)

// The keys of advisory locks, which belong to one database each.
const (
	migrationLock = 0x73776565_70000001 // "sweep", 1
	leaderLock    = 0x73776565_70000002
)

const createMigrations = `
CREATE TABLE schema_migrations (
    number     integer     PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL
)`

// migrate brings the schema up to date, one program at a time. A user that may
// not change the schema can open a database that is up to date.
func (s *Store) migrate(ctx context.Context) error {
	all, err := migrate.Load(migrations.Files, "postgres")
	if err != nil {
		return err
	}
	for done := false; !done && err == nil; {
		err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
				return err
			}
			applied, err := appliedMigrations(ctx, tx)
			if err != nil {
				return err
			}
			pending, err := migrate.Pending(all, applied, "the database "+s.name)
			if err != nil || len(pending) == 0 {
				done = true
				return err
			}
			// Without arguments pgx uses the simple protocol, which takes many statements.
			if _, err := tx.Exec(ctx, pending[0].SQL); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, now())`,
				pending[0].Number, pending[0].Name)
			return err
		})
	}
	return err
}

// appliedMigrations reads which migrations the database has, and makes the
// table of them if it is missing.
func appliedMigrations(ctx context.Context, tx pgx.Tx) ([]migrate.Applied, error) {
	var exists bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass('schema_migrations') IS NOT NULL`).Scan(&exists); err != nil {
		return nil, err
	}
	if !exists {
		_, err := tx.Exec(ctx, createMigrations)
		return nil, err
	}
	var applied []migrate.Applied
	rows, err := tx.Query(ctx, `SELECT number, name FROM schema_migrations ORDER BY number`)
	err = each(rows, err, func() error {
		var a migrate.Applied
		err := rows.Scan(&a.Number, &a.Name)
		applied = append(applied, a)
		return err
	})
	return applied, err
}
