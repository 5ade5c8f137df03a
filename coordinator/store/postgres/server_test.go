package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// execute runs statements past the store.
func execute(t testing.TB, address, text string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	if _, err := conn.Exec(ctx, text); err != nil {
		t.Fatal(err)
	}
}

// as is the address for another user.
func as(address, user string) string { return strings.Replace(address, "sweep@", user+"@", 1) }

func TestOpen(t *testing.T) {
	server := postgrestest.Start(t)
	ctx := context.Background()

	t.Run("AtOnce", func(t *testing.T) { // several programs migrate at once
		address := server.Database(t)
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				s, err := store.Open(ctx, address)
				for errors.Is(err, sweep.ErrLed) { // another one stood still for a while
					s, err = store.Open(ctx, address)
				}
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	})

	t.Run("NewerSchema", func(t *testing.T) {
		address := server.Database(t)
		open(t, address)
		execute(t, address,
			`INSERT INTO schema_migrations (number, name, applied_at) VALUES (1000, 'time_travel', now())`)
		_, err := store.Open(ctx, address)
		if !errors.Is(err, sweep.ErrNewerSchema) {
			t.Fatalf("%v", err)
		}
		for _, want := range []string{"test_", "1000", "time_travel"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not name %s: %v", want, err)
			}
		}
	})

	t.Run("Refused", func(t *testing.T) {
		for address, want := range map[string]string{
			"postgres://user:secret@127.0.0.1:1/x?connect_timeout=2":  "cannot reach",
			"postgres://user:secret@127.0.0.1:notaport/x":             "address",
			server.URL("no_such_database") + "&password=secret":       "no_such_database",
			"postgres://user:secret@127.0.0.1:1/x?sslmode=impossible": "sslmode",
			"postgres://user:%zzsecret@127.0.0.1:1/x":                 "address",
			"postgres://user:a%secret@127.0.0.1:1/x":                  "address",
			"postgres://user:a#secret@127.0.0.1:1/x":                  "address",
			"postgres://user:1/secret@127.0.0.1:1/x":                  "address",
			"postgres://user:a@secret@127.0.0.1:1/x":                  "address",
			"postgres://user:1,secret@127.0.0.1:1/x":                  "cannot reach",
			"postgres://user:a?secret@127.0.0.1:1/x":                  "address",
			"postgres://127.0.0.1:1/x?password=a%secret":              "address",
			"postgres://127.0.0.1:1/x?password=a#secret":              "address",
			"postgres://127.0.0.1:1/x?password=a@secret":              "address",
			"postgres://127.0.0.1:1/x?password=secret&port=x":         "port",
			"postgres://127.0.0.1:1/x?sslpassword=secret&sslmode=no":  "sslmode",
			"postgres://127.0.0.1:1/x?pass%77ord=secret&sslmode=no":   "sslmode",
		} {
			_, err := store.Open(ctx, address)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", address, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
		}
	})

	t.Run("WithoutRights", func(t *testing.T) { // a user that may not make roles
		address := server.Database(t)
		execute(t, address, `CREATE USER plain; GRANT CREATE ON SCHEMA public TO plain`)
		s := open(t, as(address, "plain"))
		if _, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, 1); err != nil {
			t.Fatal(err)
		}
	})
}

// TestUserWithoutSchemaRights: one role migrates, another one coordinates.
func TestUserWithoutSchemaRights(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	address := server.Database(t)
	ctx := context.Background()
	execute(t, address, `CREATE USER coordinator`)
	coordinator := as(address, "coordinator")
	if _, err := store.Open(ctx, coordinator); err == nil || !strings.Contains(err.Error(), "right") {
		t.Errorf("a user without rights made the schema: %v", err)
	}
	open(t, address)
	execute(t, address, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO coordinator`)
	s := open(t, coordinator)
	if _, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddTrials(ctx, "s1", 0, 0, []sweep.Trial{{TrialID: sweep.TrialID{Sweep: "s1"}}}, nil); err != nil {
		t.Fatal(err)
	}
	// The first one made the reader's login, and this one may read its password.
	if err := s.Query(ctx, `SELECT count(*) FROM results`, func([]string, []any) error { return nil }); err != nil {
		t.Error(err)
	}
	leader, err := s.Lead(ctx, sweep.LeadOptions{Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Resign(ctx); err != nil {
		t.Error(err)
	}
}

// TestTypes: values come in the types that SQLite has.
func TestTypes(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	s := open(t, server.Database(t))
	var row []any
	err := s.Query(context.Background(),
		`SELECT 1::smallint, 2::integer, 3::bigint, 4::numeric, 4.5::numeric, 1e30::numeric, 1.5::real, TRUE, 'x'::text, 'x'::char(2), '{"a": 1}'::jsonb,
			TIMESTAMPTZ '2026-03-01 12:00:00.5+02', ARRAY[1,2], NULL::text, 'a'::"char", INTERVAL '1 day', DATE '2026-03-01', 7::oid`,
		func(_ []string, r []any) error { row = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := []any{int64(1), int64(2), int64(3), int64(4), 4.5, 1e30, 1.5, true, "x", "x ", `{"a": 1}`,
		"2026-03-01T10:00:00.500000Z", "[1,2]", nil}
	for i := range want {
		if row[i] != want[i] {
			t.Errorf("column %d: %#v, want %#v", i, row[i], want[i])
		}
	}
}

// TestServerKilled: what was recorded before the server died is there after,
// and the store goes on by itself.
func TestServerKilled(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	s := open(t, server.Database(t))
	ctx := context.Background()
	const n = 300
	if _, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, n); err != nil {
		t.Fatal(err)
	}
	for i := range int64(n) {
		id := sweep.TrialID{Sweep: "s1", Index: i}
		if i%100 == 50 {
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			_, err := s.Record(ctx, []sweep.Event{{Kind: sweep.EventStarted, TrialID: id, Execution: "x"}})
			if err == nil {
				t.Fatal("something was recorded without a server")
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
		}
		// A broken connection of the pool may fail one call more: every method may be repeated.
		begin := time.Now()
		for {
			_, err := s.AddTrials(ctx, "s1", 0, i,
				[]sweep.Trial{{TrialID: id, Fingerprint: sweep.Fingerprint(fmt.Sprint(i))}}, nil)
			if err == nil {
				_, err = s.Record(ctx, []sweep.Event{{Kind: sweep.EventResult, TrialID: id, Execution: fmt.Sprint(i),
					Result: &sweep.Result{State: sweep.Completed}}})
			}
			if err == nil {
				break
			}
			if time.Since(begin) > sweeptest.Patience {
				t.Fatal(err)
			}
		}
	}
	progress, err := s.Progress(ctx, "s1")
	if err != nil || progress != (sweep.Progress{Completed: n}) {
		t.Errorf("%+v %v", progress, err)
	}
}
