package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
)

// ends waits for a channel to be closed.
func ends(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: nothing happened", what)
	}
}

// TestLeaderLosesServer: with the server the lead is lost, and to be had again
// when it is back.
func TestLeaderLosesServer(t *testing.T) {
	server := postgrestest.Start(t)
	s := open(t, server.Database(t))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lead, err := s.Lead(ctx, "host", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	ends(t, "the server died", lead.Lost())
	_ = lead.Resign(ctx) // its session is broken
	if _, err := s.Lead(ctx, "host", nil); err == nil {
		t.Error("there is a lead without a server")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	again, err := s.Lead(ctx, "host", nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.Term() != 2 {
		t.Errorf("term %d", again.Term())
	}
	if err := again.Resign(ctx); err != nil {
		t.Error(err)
	}
}

// TestLeaderLetsVacuumWork: the session that holds the lead for weeks keeps no
// snapshot, with which no row that dies meanwhile could be removed.
func TestLeaderLetsVacuumWork(t *testing.T) {
	server := postgrestest.Start(t)
	address := server.Database(t)
	s := open(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	execute(t, address, `CREATE USER reading; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reading`)
	for _, beside := range []string{`SELECT 1`, leaderOfFirstEdition} { // of a reader, which means nothing
		hold(t, strings.Replace(address, "sweep@", "reading@", 1), beside)
		watcher := hold(t, address, `SELECT 1`)
		lead, err := s.Lead(ctx, "host", nil)
		if err != nil {
			t.Fatal(err)
		}
		for holding, snapshots := 0, 1; holding != 1 || snapshots > 0; {
			err := watcher.QueryRow(ctx, `SELECT count(*), count(backend_xmin) FROM pg_stat_activity
				WHERE state = 'idle in transaction'`).Scan(&holding, &snapshots)
			if err != nil {
				t.Fatalf("beside %s: %d sessions hold, %d of them a snapshot: %v", beside, holding, snapshots, err)
			}
		}
		if err := lead.Resign(ctx); err != nil {
			t.Error(err)
		}
	}
}

// hold connects and runs a statement, whose locks the session keeps.
func hold(t *testing.T, address, text string) *pgx.Conn {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) }) // it may be closed
	if _, err := conn.Exec(ctx, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

const (
	leaderOfFirstEdition = `SELECT pg_advisory_lock(x'7377656570000002'::bigint)`
	leaderOfThisEdition  = `BEGIN; LOCK TABLE schema_migrations IN SHARE UPDATE EXCLUSIVE MODE`
)

// TestFirstEditionLeads: a coordinator of the first edition that leads by its
// advisory lock is not led beside.
func TestFirstEditionLeads(t *testing.T) {
	server := postgrestest.Start(t)
	address := server.Database(t)
	s := open(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	first := hold(t, address, leaderOfFirstEdition)
	short, giveUp := context.WithCancel(ctx)
	holder := ""
	_, err := s.Lead(short, "host", func(h string) { holder = h; giveUp() })
	if !errors.Is(err, context.Canceled) || !strings.Contains(holder, "user sweep") {
		t.Errorf("%q: %v", holder, err)
	}
	if err := first.Close(ctx); err != nil {
		t.Fatal(err)
	}
	lead, err := s.Lead(ctx, "host", nil)
	if err != nil {
		t.Fatal(err)
	}
	var taken bool
	conn := hold(t, address, `SELECT 1`)
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(x'7377656570000002'::bigint)`).Scan(&taken); err != nil || taken {
		t.Errorf("a coordinator of the first edition leads too: %v", err)
	}
	if err := lead.Resign(ctx); err != nil {
		t.Error(err)
	}
}

// TestReaderCannotLead: a user that only reads keeps nobody from leading.
func TestReaderCannotLead(t *testing.T) {
	server := postgrestest.Start(t)
	address := server.Database(t)
	s := open(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	execute(t, address, `CREATE USER reading; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reading`)
	reader := strings.Replace(address, "sweep@", "reading@", 1)
	hold(t, reader, leaderOfFirstEdition)
	conn := hold(t, reader, `SELECT 1`)
	if _, err := conn.Exec(ctx, leaderOfThisEdition); err == nil {
		t.Error("a user that only reads took the lock")
	}
	lead, err := s.Lead(ctx, "host", func(holder string) { t.Errorf("it waits for %s", holder) })
	if err != nil {
		t.Fatal(err)
	}
	if err := lead.Resign(ctx); err != nil {
		t.Error(err)
	}
}

// TestLeadWithLimitedRights: who may write rows but not change the schema leads
// a database that is up to date.
func TestLeadWithLimitedRights(t *testing.T) {
	server := postgrestest.Start(t)
	address := server.Database(t)
	open(t, address)
	execute(t, address, `CREATE USER coordinator; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO coordinator`)
	s, err := store.Connect(context.Background(), strings.Replace(address, "sweep@", "coordinator@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var lead sweep.Lead
	if lead, err = s.Lead(context.Background(), "host", nil); err != nil {
		t.Fatal(err)
	}
	if err := lead.Resign(context.Background()); err != nil {
		t.Error(err)
	}
}
