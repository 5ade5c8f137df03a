package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/migrate"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/migrations"
	"sweep/sweep"
)

// nextSchema is the program's schema with one more migration.
func nextSchema(t *testing.T) migrate.Schema {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: content}
	}
	files[next(len(names))] = &fstest.MapFile{Data: []byte(`ALTER TABLE sweeps ADD COLUMN colour text NOT NULL DEFAULT 'grey';
		UPDATE sweeps SET colour = 'blue' WHERE EXISTS (SELECT 1 FROM grids AS g WHERE g.sweep_no = sweeps.sweep_no
			AND g.points > 1)`)}
	return migrate.Schema{Files: files, Views: migrate.Program.Views}
}

// next is the name of the migration after n of them.
func next(n int) string {
	return fmt.Sprintf("%04d_colours.sql", n+1)
}

// addresses returns new databases of both kinds.
func addresses(t *testing.T) map[string]string {
	return map[string]string{"SQLite": filepath.Join(t.TempDir(), "sweep.db"), "Postgres": postgrestest.Start(t).Database(t)}
}

// TestUpgrade: a database gets the migrations that it lacks from whoever leads it, and from nobody while another
// program leads. What it has stays, and a program that does not know them refuses it from then on.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	later := nextSchema(t)
	for kind, address := range addresses(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			testUpgrade(t, address, later)
		})
	}
}

func testUpgrade(t *testing.T, address string, later migrate.Schema) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	closed := func(s sweep.Store) {
		t.Helper()
		must(s.Close())
	}
	before, err := Open(ctx, address)
	must(err)
	for id, points := range map[string]int64{"one": 1, "two": 2} {
		_, err := before.CreateSweep(ctx, id, &sweep.Submission{Source: id}, points)
		must(err)
	}
	had, err := before.Sweeps(ctx)
	must(err)
	lead, err := before.Lead(ctx, sweep.LeadOptions{Holder: "the program of before"})
	must(err)
	_, err = openWith(ctx, address, later)
	var refused *sweep.SchemaError
	if !errors.As(err, &refused) || refused.Needs != refused.Has+1 || refused.Leader != "the program of before" {
		t.Errorf("while another program leads: %v", err)
	}
	// A standby of the next version leads next, and brings the schema up to date.
	standby, err := connectWith(ctx, address, later)
	must(err)
	defer closed(standby)
	waits, led := make(chan struct{}), make(chan error, 1)
	go func() {
		lead, err := standby.Lead(ctx, sweep.LeadOptions{Holder: "standby", Waiting: func(string) { close(waits) }})
		if err == nil {
			err = lead.Resign(ctx)
		}
		led <- err
	}()
	<-waits
	must(lead.Resign(ctx))
	must(<-led)
	closed(before)
	for range 2 {
		s, err := openWith(ctx, address, later)
		must(err)
		has, err := s.Sweeps(ctx)
		must(err)
		if !reflect.DeepEqual(has, had) {
			t.Errorf("%+v, want %+v", has, had)
		}
		var colours []string
		must(s.Query(ctx, `SELECT colour FROM sweeps ORDER BY sweep_id`, func(_ []string, row []any) error {
			colours = append(colours, row[0].(string))
			return nil
		}))
		if !slices.Equal(colours, []string{"grey", "blue"}) {
			t.Errorf("the migration left %v", colours)
		}
		closed(s)
	}
	if _, err := Open(ctx, address); !errors.Is(err, sweep.ErrNewerSchema) {
		t.Errorf("a program that lacks the migration: %v", err)
	}
}

// TestUpgradeWithoutLeader: if nobody leads a database, whoever opens it brings it up to date, also from nothing.
func TestUpgradeWithoutLeader(t *testing.T) {
	t.Parallel()
	later := nextSchema(t)
	for kind, address := range addresses(t) {
		for _, schema := range []migrate.Schema{migrate.Program, later, later} {
			s, err := openWith(t.Context(), address, schema)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			state, err := schema.Look(t.Context(), s.(*Store).db)
			if err = errors.Join(err, s.Close()); err != nil || len(state.Missing) > 0 || state.Empty() {
				t.Errorf("%s: %+v, %v", kind, state, err)
			}
		}
	}
}

// TestViews: who leads makes the views of its program, and replaces those of another one; users may read them.
func TestViews(t *testing.T) {
	t.Parallel()
	const one, other = "\nCREATE VIEW extra AS\nSELECT sweep_id FROM results;\n",
		"\nCREATE VIEW more AS\nSELECT sweep_id FROM sweeps;\n\nCREATE VIEW extra AS\nSELECT sweep_id, 1 AS one FROM more;\n"
	for kind, address := range addresses(t) {
		t.Run(kind, func(t *testing.T) {
			ctx := t.Context()
			for _, test := range []struct {
				views, asked string
				leads, fails bool
			}{
				{one, "SELECT sweep_id FROM extra", false, false}, // an empty database
				{other, "SELECT one FROM extra", false, true},
				{other, "SELECT one FROM extra", true, false},
				{"", "SELECT one FROM extra", true, false}, // it knows no other
				{one, "SELECT sweep_id FROM extra", true, false},
				{one, "SELECT sweep_id FROM more", false, true},
			} {
				s, err := Open(ctx, address, test.views)
				if err != nil {
					t.Fatal(err)
				}
				if test.leads {
					lead, err := s.Lead(ctx, sweep.LeadOptions{Holder: "a leader"})
					if err == nil {
						err = lead.Resign(ctx)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				err = s.Query(ctx, test.asked, func([]string, []any) error { return nil })
				if (err != nil) != test.fails {
					t.Errorf("%+v: %v", test, err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestViewsOfOthers: a view that somebody made of one that is to be replaced keeps a program from leading, which says
// what is to be done.
func TestViewsOfOthers(t *testing.T) {
	t.Parallel()
	const made, dropped = `CREATE VIEW mine AS SELECT sweep_id FROM results`, `DROP VIEW mine`
	ctx, address := t.Context(), postgrestest.Start(t).Database(t)
	s, err := Open(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	run := func(sql string) {
		t.Helper()
		err := s.(*Store).db.Update(ctx, func(tx database.Tx) error { return tx.Script(ctx, sql) })
		if err != nil {
			t.Fatal(err)
		}
	}
	run(made)
	later, err := Connect(ctx, address, "\nCREATE VIEW extra AS\nSELECT sweep_id FROM results;\n")
	if err != nil {
		t.Fatal(err)
	}
	_, err = later.Lead(ctx, sweep.LeadOptions{Holder: "later"})
	if err == nil || !strings.Contains(err.Error(), "view mine depends on view results") ||
		!strings.Contains(err.Error(), "an administrator drops") {
		t.Errorf("with a view of a view: %v", err)
	}
	run(dropped)
	lead, err := later.Lead(ctx, sweep.LeadOptions{Holder: "later"})
	if err == nil {
		err = lead.Resign(ctx)
	}
	if err = errors.Join(err, later.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// columnsOf are the columns of a database's tables and views in their order, those of tables with their types and
// whether they may be NULL.
var columnsOf = map[string]string{
	"SQLite": `SELECT m.name, p.name, m.type, p.type, p."notnull" OR p.pk FROM sqlite_schema AS m
		JOIN pragma_table_info(m.name) AS p WHERE m.type IN ('table', 'view') AND m.name <> 'curve_points'
		ORDER BY m.name, p.cid`,
	"Postgres": `SELECT c.table_name, c.column_name, CASE t.table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END, c.data_type,
			c.is_nullable = 'NO'
		FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name)
		WHERE c.table_schema = 'public' AND c.table_name <> 'reader_login'
		ORDER BY c.table_name COLLATE "C", c.ordinal_position`,
}

// inSQLite are the types of SQLite that stand for those of Postgres.
var inSQLite = map[string]string{
	"bigint": "INTEGER", "integer": "INTEGER", "smallint": "INTEGER", "double precision": "REAL", "text": "TEXT",
	"json": "TEXT", "jsonb": "TEXT", "timestamp with time zone": "INTEGER", "boolean": "BOOLEAN", "bytea": "BLOB",
	"ARRAY": "BLOB",
}

// TestSameSchema: both kinds of database have the same tables and views with the same columns.
func TestSameSchema(t *testing.T) {
	t.Parallel()
	columns := map[string][]string{}
	for kind, address := range addresses(t) {
		s, err := Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		err = s.(*Store).db.View(t.Context(), func(tx database.Tx) error {
			return tx.Query(t.Context(), func(row database.Row) error {
				var relation, column, what, typ string
				var never bool
				if err := row.Scan(&relation, &column, &what, &typ, &never); err != nil {
					return err
				}
				if is, ok := inSQLite[typ]; ok {
					typ = is
				}
				text := fmt.Sprintf("%s %s.%s", what, relation, column)
				if what == "table" {
					text += fmt.Sprintf(" %s, never NULL: %v", typ, never)
				}
				columns[kind] = append(columns[kind], text)
				return nil
			}, columnsOf[kind])
		})
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	sqlite, postgres := columns["SQLite"], columns["Postgres"]
	if len(sqlite) < 100 {
		t.Errorf("%d columns", len(sqlite))
	}
	for i := range max(len(sqlite), len(postgres)) {
		if i >= len(sqlite) || i >= len(postgres) || sqlite[i] != postgres[i] {
			t.Fatalf("column %d is %q and %q", i, sqlite[min(i, len(sqlite)-1)], postgres[min(i, len(postgres)-1)])
		}
	}
}

// TestOtherSchema: a database whose migrations the program does not know is refused with what it is, how its results
// are kept, and what to do then; it stays as it is.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	for kind, address := range addresses(t) {
		t.Run(kind, func(t *testing.T) {
			ctx := context.Background()
			db, err := connect(ctx, address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := db.Update(ctx, func(tx database.Tx) error {
				return tx.Script(ctx, db.Dialect().CreateMigrations+`;
					INSERT INTO schema_migrations (number, name, applied_at) VALUES (1, 'tables', '2026-01-01'),
						(2, 'views', '2026-01-01')`)
			}); err != nil {
				t.Fatal(err)
			}
			for _, open := range []func(context.Context, string, ...string) (sweep.Store, error){Open, Connect} {
				_, err := open(ctx, address)
				if err == nil {
					t.Fatal("it was opened")
				}
				for _, want := range []string{db.Name(), `"1 tables"`, "sweep export", "the program that made it",
					map[string]string{"SQLite": "move that file away", "Postgres": "a new database"}[kind]} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in the error: %v", want, err)
					}
				}
			}
		})
	}
}
