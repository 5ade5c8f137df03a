// Package migrate reads the numbered migrations, writes them for a kind of database, tells
// which of them a database still needs, and applies them, each in a transaction
// of its own in which it is also recorded. It makes the views anew when their text differs.
package migrate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"slices"
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
	// Version is the file's name without number and ending, and a digest of it: a program with another file makes
	// another database.
	Version string
	// text is the file's.
	text string
}

// Schema has numbered files, and statements that create views.
type Schema struct {
	Files fs.FS
	Views []string
}

// Program is the schema that this program needs.
var Program = Schema{Files: migrations.Files, Views: []string{migrations.Views}}

// With is the schema with further views.
func (s Schema) With(views ...string) Schema { return Schema{s.Files, slices.Concat(s.Views, views)} }

// State is how far a database is: which migrations it lacks, and how many there are.
type State struct {
	Missing []Migration
	Known   int
	// Views is set if views are missing or differ, which the next leader makes.
	Views bool
}

// Empty reports whether the database has none of the schema.
func (s State) Empty() bool { return len(s.Missing) == s.Known }

// Look returns the state of a database.
func (s Schema) Look(ctx context.Context, db database.Database) (state State, err error) {
	err = db.View(ctx, func(tx database.Tx) error {
		state, err = s.LookIn(ctx, tx, db)
		return err
	})
	return state, err
}

// Up brings the schema of a database up to date, in transactions that write runs: one program at
// a time may do it.
func (s Schema) Up(ctx context.Context, db database.Database,
	write func(ctx context.Context, do func(tx database.Tx) error) error) error {
	for done := false; !done; {
		err := write(ctx, func(tx database.Tx) error {
			state, err := s.LookIn(ctx, tx, db)
			if err == nil && len(state.Missing) == 0 && state.Views {
				err = s.replaceViews(ctx, tx, db.Dialect())
			}
			if done = len(state.Missing) == 0; err != nil || done {
				return err
			}
			next := state.Missing[0]
			if next.Number == 1 {
				if err := tx.Script(ctx, db.Dialect().CreateMigrations); err != nil {
					return err
				}
			}
			sql, err := written(next.Version, next.text, db.Dialect())
			if err == nil {
				err = tx.Script(ctx, sql)
			}
			if err != nil {
				return fmt.Errorf("migration %d (%s): %w", next.Number, next.Version, err)
			}
			_, err = tx.Exec(ctx, `INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, $3)`,
				next.Number, next.Version, time.Now())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// LookIn is Look in a transaction.
func (s Schema) LookIn(ctx context.Context, tx database.Tx, db database.Database) (state State, err error) {
	dialect := db.Dialect()
	all, err := Load(s.Files)
	if err != nil {
		return state, err
	}
	exists := false
	if err := tx.Query(ctx, func(row database.Row) error {
		return row.Scan(&exists)
	}, dialect.TableExists, "schema_migrations"); err != nil {
		return state, err
	}
	var applied []Migration
	if exists {
		err = tx.Query(ctx, func(row database.Row) error {
			var a Migration
			err := row.Scan(&a.Number, &a.Version)
			applied = append(applied, a)
			return err
		}, `SELECT number, name FROM schema_migrations ORDER BY number`)
		if err != nil {
			return state, err
		}
	}
	state.Known = len(all)
	if state.Missing, err = Pending(all, applied, db); err == nil && len(state.Missing) < len(all) {
		state.Views, err = s.differ(ctx, tx, dialect)
	}
	return state, err
}

// Load reads the files NNNN_name.sql, which must be numbered 1, 2, 3, ….
func Load(files fs.FS) ([]Migration, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	var all []Migration
	for _, entry := range entries {
		number, name, ok := strings.Cut(strings.TrimSuffix(entry.Name(), ".sql"), "_")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n != len(all)+1 {
			return nil, fmt.Errorf("migrations: %s: expected %04d_name.sql", entry.Name(), len(all)+1)
		}
		text, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		sum := sha256.Sum256(text)
		all = append(all, Migration{Number: n, Version: fmt.Sprintf("%s %x", name, sum[:6]), text: string(text)})
	}
	return all, nil
}

// Pending returns the migrations that a database lacks which has applied, in
// order of number. One that follows those that the program knows is ErrNewerSchema,
// wrapped; db names the database in errors.
func Pending(all, applied []Migration, db interface {
	Name() string
	Dialect() *database.Dialect
}) ([]Migration, error) {
	for i, a := range applied {
		if i >= len(all) {
			newest := applied[len(applied)-1]
			return nil, fmt.Errorf("%s has schema version %d (%s), this program knows up to version %d: %w; use the "+
				"newer program",
				db.Name(), newest.Number, newest.Version, len(all), sweep.ErrNewerSchema)
		}
		if a.Number != all[i].Number || a.Version != all[i].Version {
			return nil, fmt.Errorf("%s was made by another version of this program, whose schema this one does not "+
				"know (it has \"%d %s\" where this one has \"%d %s\"): export its results with the program that made "+
				"it (sweep export, sweep sql, sweep table), %s",
				db.Name(), a.Number, a.Version, all[i].Number, all[i].Version, db.Dialect().Anew)
		}
	}
	return all[len(applied):], nil
}
