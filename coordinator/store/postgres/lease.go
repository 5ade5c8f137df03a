package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sweep/coordinator/store/database"
)

// The leader is whom the table cluster names, until its lease runs out by the
// server's clock. No session and no lock need to last for that, so transactions may
// be pooled.
//
// Each of the leader's transactions first locks that table in a mode that hinders
// neither readers nor vacuum nor the renewal of the lease, and then checks its term.
// Who takes over locks it in a mode that waits for these transactions: whatever the
// predecessor has not committed by then, it never will. Only who may write the table
// can lock it so.

const (
	// fencedBegin begins the leader's transactions. A leader that hangs inside of one
	// keeps rows locked: the server ends its session.
	fencedBegin = `BEGIN ISOLATION LEVEL READ COMMITTED;
		SET LOCAL idle_in_transaction_session_timeout = '3s'; LOCK TABLE cluster IN ROW SHARE MODE`
	// takeoverBegin begins the transactions that take over. They wait no longer than
	// a person would.
	takeoverBegin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '3s';
		SET LOCAL lock_timeout = '10s'`
	// renewBegin begins the transactions that renew the lease, which need not wait
	// for the server's disk.
	renewBegin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '3s';
		SET LOCAL synchronous_commit = off`

	// grace is how long who takes over waits for the predecessor's transactions
	// before it has them ended, and then between two looks at them.
	grace = 250 * time.Millisecond
)

// evict ends the sessions whose leader's transactions keep the session $1 waiting, as
// far as this user may.
const evict = `SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
	WHERE l.relation = 'cluster'::regclass AND l.mode IN ('RowShareLock', 'RowExclusiveLock') AND l.granted
	AND l.pid = ANY (pg_blocking_pids($1)) AND pg_has_role(a.usesysid, 'USAGE')`

// newLease returns the pool of the one connection by which the lead is taken and
// renewed, however busy the others are.
func (d *Database) newLease(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
	register := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		d.excludes.Store(false)
		return register(ctx, conn)
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// excludeFirstVersion takes the lock by which coordinators of the first version lead:
// one of them that stands by would otherwise lead as well. One that has it although
// the schema is a later one, as a leader before this may, loses its session. Nothing
// else depends on the lock, and it may be lost with the connection.
func (d *Database) excludeFirstVersion(ctx context.Context, t pgx.Tx) error {
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
	_,
		err := t.Exec(ctx,
		`SELECT pg_terminate_backend(l.pid)`+holders+` AND l.locktype = 'advisory'
			AND pg_has_role(a.usesysid, 'USAGE')`,
		int64(firstVersionLock)>>32, int64(firstVersionLock)&0xffffffff)
	return err
}

// Fenced implements database.Database.
func (d *Database) Fenced(ctx context.Context, term int64, do func(database.Tx) error) error {
	return pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{BeginQuery: fencedBegin}, func(t pgx.Tx) error {
		if err := database.CheckTerm(ctx, tx{t, d}, term); err != nil {
			return err
		}
		return do(tx{t, d})
	})
}

// Takeover implements database.Database.
func (d *Database) Takeover(ctx context.Context, do func(database.Tx) error) error {
	return pgx.BeginTxFunc(ctx, d.lease, pgx.TxOptions{BeginQuery: takeoverBegin}, func(t pgx.Tx) error {
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
		if err := do(tx{t, d}); err != nil {
			return err
		}
		return d.excludeFirstVersion(ctx, t)
	})
}

// evict ends what a session waits for, until ctx ends.
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

// Renew implements database.Database.
func (d *Database) Renew(ctx context.Context, do func(database.Tx) error) error {
	return pgx.BeginTxFunc(ctx, d.lease, pgx.TxOptions{BeginQuery: renewBegin}, func(t pgx.Tx) error {
		if err := do(tx{t, d}); err != nil {
			return err
		}
		return d.excludeFirstVersion(ctx, t)
	})
}

// Resign implements database.Database.
func (d *Database) Resign(ctx context.Context, do func(database.Tx) error) error {
	return pgx.BeginTxFunc(ctx, d.lease, pgx.TxOptions{BeginQuery: renewBegin}, func(t pgx.Tx) error {
		if err := do(tx{t, d}); err != nil {
			return err
		}
		d.excludes.Store(false)
		_, err := t.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
		return err
	})
}

// Now implements database.Database.
func (d *Database) Now(ctx context.Context, t database.Tx) (now time.Time, err error) {
	err = t.Query(ctx, func(row database.Row) error { return row.Scan(&now) }, `SELECT clock_timestamp()`)
	return now, err
}
