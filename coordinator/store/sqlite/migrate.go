package sqlite

import (
	"context"

	"sweep/coordinator/store/migrate"
	"sweep/migrations"
)

const createMigrations = `
CREATE TABLE IF NOT EXISTS schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at TEXT NOT NULL
)`

// migrate brings the schema up to date. Two processes may do it at once: each
// migration looks again inside its transaction.
func (s *Store) migrate(ctx context.Context) error {
	all, err := migrate.Load(migrations.Files, "sqlite")
	if err != nil {
		return err
	}
	for {
		done := false
		err := s.writer.update(ctx, func(t *transaction) error {
			if _, err := t.exec(createMigrations); err != nil {
				return err
			}
			var applied []migrate.Applied
			rows, err := t.query(ctx, `SELECT number, name FROM schema_migrations ORDER BY number`)
			var a migrate.Applied
			if err := each(rows, err, func() error {
				if err := rows.Scan(&a.Number, &a.Name); err != nil {
					return err
				}
				applied = append(applied, a)
				return nil
			}); err != nil {
				return err
			}
			pending, err := migrate.Pending(all, applied, "the database "+s.path)
			if err != nil {
				return err
			}
			if len(pending) == 0 {
				done = true
				return nil
			}
			if _, err := t.w.conn.ExecContext(ctx, pending[0].SQL); err != nil {
				return err
			}
			_, err = t.exec(`INSERT INTO schema_migrations (number, name, applied_at) VALUES (?, ?, ?)`,
				pending[0].Number, pending[0].Name, formatTime(t.now))
			return err
		})
		if err != nil || done {
			return err
		}
	}
}
