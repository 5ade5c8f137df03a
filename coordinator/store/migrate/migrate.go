// Package migrate reads the numbered migrations of one kind of database, tells
// which of them a database still needs, and applies them, each in a transaction
// of its own in which it is also recorded.
package migrate

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"sweep/coordinator/store/database"
	"sweep/migrations"
	"sweep/sweep"
)

// Migration is one numbered SQL file.
type Migration struct {
	Number int
	// Name is the file's name without number and ending.
	Name string
	SQL  string
}

// Missing returns the migrations that a database lacks, and how many the
// program knows.
func Missing(ctx context.Context, db database.Database) (missing []Migration, known int, err error) {
	err = db.View(ctx, func(tx database.Tx) error {
		missing, known, err = Look(ctx, tx, db)
		return err
	})
	return missing, known, err
}

// Up brings the schema of a database up to date, in transactions that write runs. The
// caller leads the database: one program at a time may do it.
func Up(ctx context.Context, db database.Database,
	write func(ctx context.Context, do func(tx database.Tx) error) error) error {
	for done := false; !done; {
		err := write(ctx, func(tx database.Tx) error {
			missing, _, err := Look(ctx, tx, db)
			if done = len(missing) == 0; err != nil || done {
				return err
			}
			next := missing[0]
			if next.Number == 1 {
				if err := tx.Script(ctx, db.Dialect().CreateMigrations); err != nil {
					return err
				}
			}
			if err := tx.Script(ctx, next.SQL); err != nil {
				return fmt.Errorf("migration %d (%s): %w", next.Number, next.Name, err)
			}
			_, err = tx.Exec(ctx, `INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, $3)`,
				next.Number, next.Name, time.Now())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Look is Missing in a transaction.
func Look(ctx context.Context, tx database.Tx, db database.Database) (missing []Migration, known int, err error) {
	dialect := db.Dialect()
	all, err := Load(migrations.Files, dialect.Folder)
	if err != nil {
		return nil, 0, err
	}
	exists := false
	if err := tx.Query(ctx, func(row database.Row) error {
		return row.Scan(&exists)
	}, dialect.TableExists, "schema_migrations"); err != nil {
		return nil, 0, err
	}
	var applied []Migration
	if exists {
		err = tx.Query(ctx, func(row database.Row) error {
			var a Migration
			err := row.Scan(&a.Number, &a.Name)
			applied = append(applied, a)
			return err
		}, `SELECT number, name FROM schema_migrations ORDER BY number`)
		if err != nil {
			return nil, 0, err
		}
	}
	missing, err = Pending(all, applied, db.Name())
	return missing, len(all), err
}

// Load reads the files NNNN_name.sql of a folder, which must be numbered
// 1, 2, 3, ….
func Load(files fs.FS, folder string) ([]Migration, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	var all []Migration
	for _, entry := range entries {
		number, name, ok := strings.Cut(strings.TrimSuffix(entry.Name(), ".sql"), "_")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n != len(all)+1 {
			return nil, fmt.Errorf("migrations: %s/%s: expected %04d_name.sql", folder, entry.Name(), len(all)+1)
		}
		text, err := fs.ReadFile(files, path.Join(folder, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		all = append(all, Migration{Number: n, Name: name, SQL: string(text)})
	}
	return all, nil
}

// Pending returns the migrations that a database lacks which has applied, in
// order of number. One that the program does not know is ErrNewerSchema,
// wrapped; database names the database in errors.
func Pending(all []Migration, applied []Migration, database string) ([]Migration, error) {
	for i, a := range applied {
		if i >= len(all) {
			newest := applied[len(applied)-1]
			return nil, fmt.Errorf("%s has schema version %d (%s), this program knows up to version %d: %w; use the "+
				"newer program",
				database, newest.Number, newest.Name, len(all), sweep.ErrNewerSchema)
		}
		if a.Number != all[i].Number || a.Name != all[i].Name {
			return nil, fmt.Errorf("%s has migration %d %q where this program has %d %q: it belongs to another "+
				"program or version",
				database, a.Number, a.Name, all[i].Number, all[i].Name)
		}
	}
	return all[len(applied):], nil
}
