package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sweep/coordinator/store"
	"sweep/coordinator/store/database"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// ends waits for a channel to be closed.
func ends(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	sweeptest.Receive(t, what, done)
}

// TestLeaderLosesServer: with the server the lead is lost, and to be had again
// when it is back.
func TestLeaderLosesServer(t *testing.T) {
	server := postgrestest.Start(t)
	s := open(t, server.Database(t))
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	lead, err := s.Lead(ctx, sweep.LeadOptions{Holder: "host"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	ends(t, "the server died", lead.Lost())
	_ = lead.Resign(ctx) // its session is broken
	if _, err := s.Lead(ctx, sweep.LeadOptions{Holder: "host"}); err == nil {
		t.Error("there is a lead without a server")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	again, err := s.Lead(ctx, sweep.LeadOptions{Holder: "host"})
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

// TestLeaderLetsVacuumWork: whoever leads, and whoever stands by, keeps no session with
// a snapshot, nor a lock that vacuum would wait for, and writes nothing into the
// server's log.
func TestLeaderLetsVacuumWork(t *testing.T) {
	// Autovacuum and checkpoints would log that they meet the test's own VACUUM, and how they go.
	server := postgrestest.Start(t, "log_min_messages=error", "autovacuum=off", "log_checkpoints=off")
	address := server.Database(t)
	s, standby := open(t, address), open(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	lead, err := s.Lead(ctx, sweep.LeadOptions{Holder: "host"})
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	waiting, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := standby.Lead(waiting, sweep.LeadOptions{
			Holder:  "standby",
			Check:   func(context.Context) (int64, error) { return 0, errors.New("it may not lead") },
			Waiting: func(string) { close(waits) },
		})
		ended <- err
	}()
	ends(t, "the standby sees the leader", waits)
	watcher := hold(t, address, `SELECT 1`)
	before := server.Log()
	var expires, later time.Time
	if err := watcher.QueryRow(ctx, `SELECT expires_at FROM cluster`).Scan(&expires); err != nil {
		t.Fatal(err)
	}
	for later.Before(expires.Add(3 * time.Second)) { // while the lease is renewed several times
		if err := watcher.QueryRow(ctx, `SELECT expires_at FROM cluster`).Scan(&later); err != nil {
			t.Fatal(err)
		}
		// A session that lasts with a transaction open stays idle. A renewal may be slow on a busy machine.
		sweeptest.Until(t, "no session keeps a transaction open", func() bool {
			var idle int
			if err := watcher.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
				WHERE state = 'idle in transaction' AND xact_start < now() - interval '2 seconds'`).Scan(&idle); err != nil {
				t.Fatal(err)
			}
			return idle == 0
		})
		for _, text := range []string{`VACUUM cluster`, `VACUUM schema_migrations`, `VACUUM (ANALYZE)`} {
			if _, err := watcher.Exec(ctx, text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	for line := range strings.Lines(strings.TrimPrefix(server.Log(), before)) {
		// A renewal that is too slow is cancelled.
		if !strings.Contains(line, "canceling statement due to user request") && !strings.Contains(line, "STATEMENT:") {
			t.Errorf("the server logs %s", line)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the standby: %v", err)
	}
	if err := lead.Resign(ctx); err != nil {
		t.Error(err)
	}
}

// TestHungTransaction: a leader that hangs in the middle of a transaction keeps its
// successor neither from leading nor from writing the same rows, and nothing of its
// transaction is kept.
func TestHungTransaction(t *testing.T) {
	server := postgrestest.Start(t)
	address := server.Database(t)
	s, standby := open(t, address), open(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := s.CreateSweep(ctx, "s", &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	var hangs atomic.Bool
	lead, err := s.Lead(ctx, sweep.LeadOptions{Holder: "host", Check: func(context.Context) (int64, error) {
		if hangs.Load() {
			return 0, errors.New("it hangs")
		}
		return 0, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	inside, goesOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- postgresOf(s).UpdateLead(ctx, database.Fenced, func(tx database.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE sweeps SET priority = 13`)
			err = errors.Join(err, tx.Claim(ctx, 1))
			close(inside)
			<-goesOn
			return err
		})
	}()
	<-inside
	hangs.Store(true)
	next, err := standby.Lead(ctx, sweep.LeadOptions{Holder: "standby"})
	if err != nil {
		t.Fatal(err)
	}
	if err := standby.SetSweepState(ctx, "s", sweep.SweepPaused, ""); err != nil {
		t.Error(err)
	}
	close(goesOn)
	if err := <-ended; err == nil {
		t.Error("the deposed leader's transaction was kept")
	}
	if record, err := standby.Sweep(ctx, "s"); err != nil || record.Priority != 0 || record.State != sweep.SweepPaused {
		t.Errorf("%+v: %v", record, err)
	}
	for _, l := range []sweep.Lead{lead, next} {
		if err := l.Resign(ctx); err != nil {
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

// TestReaderCannotLead: a user that only reads keeps nobody from leading.
func TestReaderCannotLead(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	address := server.Database(t)
	s := open(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	execute(t, address, `CREATE USER reading; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reading`)
	reader := strings.Replace(address, "sweep@", "reading@", 1)
	conn := hold(t, reader, `SELECT 1`)
	for _, mode := range []string{"ROW SHARE", "EXCLUSIVE"} {
		if _, err := conn.Exec(ctx, `BEGIN; LOCK TABLE cluster, schema_migrations IN `+mode+` MODE`); err == nil {
			t.Errorf("a user that only reads took a lock in mode %s", mode)
		}
		if _, err := conn.Exec(ctx, `ROLLBACK`); err != nil {
			t.Fatal(err)
		}
	}
	lead, err := s.Lead(ctx, sweep.LeadOptions{Holder: "host", Waiting: func(holder string) {
		t.Errorf("it waits for %s", holder)
	}})
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
	fullOnly(t)
	server := postgrestest.Start(t)
	address := server.Database(t)
	open(t, address)
	execute(t, address,
		`CREATE USER coordinator; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO coordinator`)
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
	if lead, err = s.Lead(context.Background(), sweep.LeadOptions{Holder: "host"}); err != nil {
		t.Fatal(err)
	}
	if err := lead.Resign(context.Background()); err != nil {
		t.Error(err)
	}
}
