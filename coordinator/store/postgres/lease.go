package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"sweep/coordinator/store/database"
)

// The table cluster names the leader until its lease expires by the server's clock. This
// needs no session or lock that lasts, so a pooler may be between the program and Postgres.
//
// Each transaction of the leader first locks that table in a mode that allows reads, vacuum and
// the renewal of the lease, and then checks its term. A takeover locks it in a mode that waits
// for these transactions: what the predecessor has not committed by then never will be. Only
// users who may write the table can lock it in these modes.

// steps are the modes of transactions, by database.Step.
var steps = []string{
	// The server ends the session of a leader that hangs in a transaction, which holds locks.
	database.Fenced: idleEnds + `; LOCK TABLE cluster IN ROW SHARE MODE`,
	// A takeover waits no longer than a person would.
	database.Takeover: idleEnds + `; SET LOCAL lock_timeout = '10s'`,
	database.Founding: idleEnds + `; SET LOCAL lock_timeout = '10s'; LOCK TABLE schema_migrations IN EXCLUSIVE MODE`,
}

const (
	idleEnds = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '8s'`

	// grace is how long a takeover waits for the predecessor's transactions before it ends
	// them, and the time between two attempts to end them.
	grace = 250 * time.Millisecond
)

// evict ends the sessions of a leader that block session $1, as far as this user may.
const evict = `SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
	WHERE l.relation = 'cluster'::regclass AND l.mode IN ('RowShareLock', 'RowExclusiveLock') AND l.granted
	AND l.pid = ANY (pg_blocking_pids($1)) AND pg_has_role(a.usesysid, 'USAGE')`

// newLease returns the pool of the one connection that takes and renews the lead, however busy
// the others are.
func (d *Database) newLease(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	return pgxpool.NewWithConfig(ctx, config)
}

// UpdateLead implements database.Database.
func (d *Database) UpdateLead(ctx context.Context, step database.Step, do func(database.Tx) error) error {
	pool := d.lease
	switch step {
	case database.Fenced:
		pool = d.pool
	case database.Founding:
		if err := d.makeMigrations(ctx); err != nil {
			return err
		}
	}
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{BeginQuery: steps[step]}, func(t pgx.Tx) error {
		if step == database.Takeover {
			if err := d.lockLead(ctx, t); err != nil {
				return err
			}
		}
		return do(tx{t, d})
	})
}

// makeMigrations creates the table that Founding locks. Another program may create it at the same time.
func (d *Database) makeMigrations(ctx context.Context) error {
	var exists bool
	if err := d.lease.QueryRow(ctx, dialect.TableExists, "schema_migrations").Scan(&exists); err != nil || exists {
		return err
	}
	_, err := d.lease.Exec(ctx, dialect.CreateMigrations)
	if answered := (*pgconn.PgError)(nil); errors.As(err, &answered) {
		switch answered.Code {
		case "42P07", "42710", "23505": // the table, its row type or their entries in the catalog are there by now
			err = nil
		}
	}
	return err
}

const (
	// unsynced has the statement not wait for the server's disk.
	unsynced = ` FROM (SELECT set_config('synchronous_commit', 'off', TRUE) OFFSET 0) AS unsynced`
	renew    = `UPDATE cluster SET expires_at = clock_timestamp() + $2::bigint * interval '1 microsecond'` + unsynced +
		` WHERE term = $1`
	// resign has no argument, so that it is one message.
	resign = `UPDATE cluster SET leader = '', expires_at = NULL` + unsynced + ` WHERE term = %d`
)

// Renew implements database.Database.
func (d *Database) Renew(ctx context.Context, term int64, last time.Duration) (held bool, err error) {
	tag, err := d.lease.Exec(ctx, renew, term, last.Microseconds())
	return tag.RowsAffected() > 0, err
}

// Resign implements database.Database.
func (d *Database) Resign(ctx context.Context, term int64) error {
	_, err := d.lease.Exec(ctx, fmt.Sprintf(resign, term))
	return err
}

// lockLead waits until no transaction of a leader is open, and ends those that take too long.
func (d *Database) lockLead(ctx context.Context, t pgx.Tx) error {
	var process int32
	if err := t.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&process); err != nil {
		return err
	}
	evicting, done := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- d.evict(evicting, process) }()
	_, err := t.Exec(ctx, `LOCK TABLE cluster IN EXCLUSIVE MODE`)
	done()
	if evictErr := <-ended; err != nil {
		return errors.Join(err, evictErr)
	}
	return nil
}

// evict ends the sessions that block a session, until ctx ends.
func (d *Database) evict(ctx context.Context, process int32) error {
	tick := time.NewTicker(grace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := d.views.Exec(ctx, evict, process); err != nil && ctx.Err() == nil {
			return fmt.Errorf("ending the predecessor's transactions: %w", err)
		}
	}
}

// Now implements database.Database.
func (d *Database) Now(ctx context.Context, t database.Tx) (now time.Time, err error) {
	err = t.Query(ctx, func(row database.Row) error { return row.Scan(&now) }, `SELECT clock_timestamp()`)
	return now, err
}
