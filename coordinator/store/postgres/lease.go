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
	register := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		d.excludes.Store(false)
		return register(ctx, conn)
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// excludeFirstVersion takes the lock of the leaders of the first version, so that none of them
// that stands by begins to lead. If one holds the lock although the schema is newer, its session
// is ended. Nothing else depends on the lock, and it may be lost with the connection.
func (d *Database) excludeFirstVersion(ctx context.Context, t interface {
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
	Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
}) error {
	if d.excludes.Load() {
		return nil
	}
	var taken bool
	if err := t.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(firstVersionLock)).Scan(&taken); err != nil {
		return err
	}
	d.excludes.Store(taken)
	if taken {
		return nil
	}
	_, err := t.Exec(ctx, `SELECT pg_terminate_backend(l.pid)`+holders+` AND l.locktype = 'advisory'
		AND pg_has_role(a.usesysid, 'USAGE')`, int64(firstVersionLock)>>32, int64(firstVersionLock)&0xffffffff)
	return err
}

// UpdateLead implements database.Database.
func (d *Database) UpdateLead(ctx context.Context, step database.Step, do func(database.Tx) error) error {
	pool := d.lease
	if step == database.Fenced {
		pool = d.pool
	}
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{BeginQuery: steps[step]}, func(t pgx.Tx) error {
		if step == database.Fenced {
			return do(tx{t, d})
		}
		if err := d.lockLead(ctx, t); err != nil {
			return err
		}
		if err := do(tx{t, d}); err != nil {
			return err
		}
		return d.excludeFirstVersion(ctx, t)
	})
}

const (
	// unsynced has the statement not wait for the server's disk.
	unsynced = ` FROM (SELECT set_config('synchronous_commit', 'off', TRUE) OFFSET 0) AS unsynced`
	renew    = `UPDATE cluster SET expires_at = clock_timestamp() + $2::bigint * interval '1 microsecond'` + unsynced +
		` WHERE term = $1`
	// resign unlocks in the same message, which is why it has no argument.
	resign = `UPDATE cluster SET leader = '', expires_at = NULL` + unsynced + ` WHERE term = %d;
		SELECT pg_advisory_unlock_all()`
)

// Renew implements database.Database.
func (d *Database) Renew(ctx context.Context, term int64, last time.Duration) (held bool, err error) {
	conn, err := d.lease.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	tag, err := conn.Exec(ctx, renew, term, last.Microseconds())
	if held = tag.RowsAffected() > 0; held && err == nil {
		err = d.excludeFirstVersion(ctx, conn)
	}
	return held, err
}

// Resign implements database.Database.
func (d *Database) Resign(ctx context.Context, term int64) error {
	d.excludes.Store(false)
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
