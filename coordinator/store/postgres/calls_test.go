package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sweep/coordinator/store/postgres"
	"sweep/coordinator/store/postgres/postgrestest"
)

func TestCalls(t *testing.T) {
	for statement, want := range map[string]string{
		`SELECT 1`:                                     "",
		`SELECT Count(*), AVG (x) FROM t`:              "count avg",
		"SELECT f/* a /* nested */ ( */ -- (\n (1)":    "f",
		`SELECT pg_catalog . "F" (1), "a""b"(2)`:       `F a"b`,
		`SELECT 'f(', E'\'f(', '\', g('x')`:            "g",
		`SELECT $$ f( $$, $a$ f( $b$ $$ f( $a$, h($1)`: "h",
		`SELECT a$b(1), 1e5, 1f(2), 0x1F`:              "a$b f",
		`SELECT U&'\0061(', u & f(1), N'f(', B'1'`:     "f",
		`SELECT 1 WHERE x IN (1, 2) OR (y)`:            "in or",
		`SELECT 'open f(`:                              "",
		`SELECT $open$ f(`:                             "",
		`SELECT /* open f(`:                            "",
		`SELECT "open f(`:                              "",
		`SELECT ärger(1), Ä(2)`:                        "ärger Ä",
		`SELECT f(f(f(1)))`:                            "f",
	} {
		names, err := postgres.Calls(statement)
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: %q %v, want %q", statement, names, err, want)
		}
	}
	for _, statement := range []string{
		`SELECT U&"\0066"(1)`, `SELECT u&"f"(1)`, "SELECT E'a'\n'\\', f(1), '", "SELECT e'a' -- b\n 'c'",
		"SELECT \xff(1)", "SELECT 1\x00",
	} {
		if names, err := postgres.Calls(statement); err == nil {
			t.Errorf("%q: %q", statement, names)
		}
	}
}

// TestCallsAsPostgres holds the scanner to the server's: what the server calls
// was found.
func TestCallsAsPostgres(t *testing.T) {
	fullOnly(t)
	conn := connect(t, postgrestest.Start(t).URL("postgres"))
	ctx := t.Context()
	if _,
		err := conn.Exec(ctx,
		`CREATE FUNCTION mark() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'called' USING ERRCODE = 'SW001'; END $$`); err != nil {
		t.Fatal(err)
	}
	pieces := []string{
		`mark()`, `mark`, `(`, `)`, `()`, `"mark"`, `'mark()'`, `'`, `''`, `E'\''`, `e'`, `\`, `$$`, `$a$`, `$`, `$1`,
		`"`, `""`, `U&'`, `U&"`, `&`,
		`--`, "\n", "\r", "\t", ` `, `/*`, `*/`, `*`, `/`, `-`, `,`, `||`, `1`, `1e`, `x'`, `b'0'`, `n'`, `a`, `_`, `ä`,
		`public.`, `::text`, `MARK()`, `||mark()`,
		` || mark ( )`, `, mark(), `, `'a' || 'b'`, `E'a'`, `$a$ mark() $a$`, `/* mark() */`, "-- mark()\n", `"a"`,
	}
	called, seed := 0, rand.New(rand.NewPCG(1, 2))
	for range 200 {
		statements := make([]string, 100)
		for i := range statements {
			var statement strings.Builder
			statement.WriteString("SELECT ''")
			for range 1 + seed.IntN(8) {
				statement.WriteString(pieces[seed.IntN(len(pieces))])
			}
			statements[i] = statement.String()
		}
		for i, err := range failures(t, conn, statements) {
			if pgCode(err) != "SW001" {
				continue
			}
			called++
			if names, err := postgres.Calls(statements[i]); err == nil && !slices.Contains(names, "mark") {
				t.Errorf("%q calls mark; found %q", statements[i], names)
			}
		}
	}
	if called < 150 {
		t.Errorf("of the statements only %d call anything", called)
	}
	t.Logf("%d statements called the function", called)
}

// failures runs statements, each for itself, in one message, and returns their errors.
func failures(t *testing.T, conn *pgx.Conn, statements []string) []error {
	t.Helper()
	pipeline := conn.PgConn().StartPipeline(t.Context())
	for _, text := range statements {
		pipeline.SendQueryParams(text, nil, nil, nil, nil)
		pipeline.SendPipelineSync()
	}
	if err := pipeline.Flush(); err != nil {
		t.Fatal(err)
	}
	all := make([]error, len(statements))
	for i := 0; i < len(all); {
		result, err := pipeline.GetResults()
		switch result := result.(type) {
		case *pgconn.PipelineSync:
			i++
		case *pgconn.ResultReader:
			_, all[i] = result.Close()
		default:
			if pgCode(err) == "" {
				t.Fatalf("%q: %v", statements[i], err)
			}
			all[i] = err
		}
	}
	if err := pipeline.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func FuzzCalls(f *testing.F) {
	for _, seed := range []string{`SELECT f('a', "b"(1)) -- c`, `E'\'`, `$a$b$a$`, `"`, `U&"`, `/* /* */`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, statement string) {
		names, err := postgres.Calls(statement)
		for _, name := range names {
			if err == nil && name == "" {
				t.Errorf("%q: an empty name", statement)
			}
		}
		// Behind white space and comments that end, a call stays one.
		more, err := postgres.Calls(fmt.Sprintf("f /* a */ --b\n (%s", statement))
		if err == nil && !slices.Contains(more, "f") {
			t.Errorf("%q: %q", statement, more)
		}
	})
}
