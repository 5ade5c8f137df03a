package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sweep/coordinator/store/database"
)

// lock is a lock on the table of migrations in a transaction of a session of
// its own, which the server gives up when the session ends, whatever ended it. The
// programs before there were leases lead by it. It is held while a schema of theirs
// is brought up to date, and no longer.
//
// Only a user that may write that table can take it. Of an advisory lock that
// is not so: every login of the server may take each of them, also one that is
// there to read.
type lock struct {
	conn *pgx.Conn
	// first says that the session has the first version's lock too.
	first bool
}

const (
	// lockPoll is how often who waits for the lock asks for it.
	lockPoll = 250 * time.Millisecond
	// lockAnswer is how long the server may take to answer that it is given up.
	lockAnswer = 2 * time.Second
	// firstVersionLock is the advisory lock by which coordinators of the first
	// version lead. It is taken too, so that a cluster can be brought up to date one
	// coordinator after another.
	firstVersionLock = 0x73776565_70000002
)

// lockTable does not hinder those who use the table.
const lockTable = `LOCK TABLE schema_migrations IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`

// Lock implements database.Database.
func (d *Database) Lock(ctx context.Context, waiting func(holder string) error) (database.Lock, error) {
	config := d.pool.Config().ConnConfig.Copy()
	// If this host vanishes, the server must notice by itself.
	for name, value := range map[string]string{"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1",
		"tcp_keepalives_count": "2"} {
		config.RuntimeParams[name] = value
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	l := &lock{conn: conn}
	if err := l.wait(ctx, waiting); err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return l, nil
}

// wait takes the lock when it is free.
func (l *lock) wait(ctx context.Context, waiting func(holder string) error) error {
	// The server must not end a session that only holds. Not every version has all of these.
	_, err := l.conn.Exec(ctx, `SELECT set_config(name, '0', FALSE) FROM pg_settings
		WHERE name IN ('idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout',
		'statement_timeout')`)
	if err != nil {
		return err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		// A lock that is refused is an error in the server's log: it is asked for only
		// where nobody is seen to have it.
		who, held, err := holder(ctx, l.conn)
		if err == nil && !held {
			var taken bool
			if taken, err = l.try(ctx); taken {
				return nil
			}
		}
		if err != nil {
			return err
		}
		if waiting != nil {
			err = waiting(who)
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try takes the lock if it is free, and keeps the transaction open that has it.
func (l *lock) try(ctx context.Context) (taken bool, err error) {
	if err := l.makeTable(ctx); err != nil {
		return false, err
	}
	if _, err := l.conn.Exec(ctx, `BEGIN ISOLATION LEVEL READ COMMITTED`); err != nil {
		return false, err
	}
	if _, err = l.conn.Exec(ctx, lockTable); err == nil {
		taken, err = l.alone(ctx)
	}
	if answered := (*pgconn.PgError)(nil); errors.As(err, &answered) && answered.Code == "55P03" { // lock_not_available
		err = nil
	}
	if taken || err != nil {
		return taken, err
	}
	_, err = l.conn.Exec(ctx, `ROLLBACK`)
	return false, err
}

// alone takes the first version's lock, once, and reports whether none of its
// coordinators leads.
func (l *lock) alone(ctx context.Context) (alone bool, err error) {
	if !l.first {
		if err := l.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`,
			int64(firstVersionLock)).Scan(&l.first); err != nil {
			return false, err
		}
	}
	if l.first {
		return true, nil
	}
	err = l.conn.QueryRow(ctx, `SELECT NOT EXISTS (SELECT `+holders+` AND l.locktype = 'advisory')`,
		int64(firstVersionLock)>>32, int64(firstVersionLock)&0xffffffff).Scan(&alone)
	return alone, err
}

// holders are the sessions of others that have one of the locks. The first version's
// means nothing with a user that may only read.
const holders = ` FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
	WHERE l.granted AND l.pid <> pg_backend_pid() AND l.database = (SELECT oid FROM pg_database
	WHERE datname = current_database())
		AND (l.relation = to_regclass('schema_migrations') AND l.mode = 'ShareUpdateExclusiveLock'
			OR l.locktype = 'advisory' AND l.classid = $1 AND l.objid = $2 AND l.objsubid = 1
				AND (to_regclass('trials') IS NULL
				OR has_table_privilege(a.usesysid, to_regclass('trials'), 'UPDATE')))`

// makeTable makes the table that is to be locked. Another program may make it
// at the same time.
func (l *lock) makeTable(ctx context.Context) error {
	var exists bool
	if err := l.conn.QueryRow(ctx, dialect.TableExists, "schema_migrations").Scan(&exists); err != nil || exists {
		return err
	}
	_, err := l.conn.Exec(ctx, dialect.CreateMigrations)
	if answered := (*pgconn.PgError)(nil); errors.As(err, &answered) {
		switch answered.Code {
		case "42P07", "42710", "23505": // the table, its row type or their entries in the catalog are there by now
			err = nil
		}
	}
	return err
}

// Holder implements database.Database.
func (d *Database) Holder(ctx context.Context) (who string, held bool, err error) {
	return holder(ctx, d.pool)
}

// holder describes the session that has the lock, if another than the one asked has it.
func holder(ctx context.Context, in interface {
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
}) (who string, held bool, err error) {
	var user, name, address string
	var since time.Time
	err = in.QueryRow(ctx, `SELECT coalesce(a.usename, '?'), coalesce(a.application_name, ''),
		coalesce(host(a.client_addr), 'a local socket'), coalesce(a.backend_start, now())`+holders+`
		ORDER BY l.relation NULLS LAST LIMIT 1`,
		int64(firstVersionLock)>>32, int64(firstVersionLock)&0xffffffff).Scan(&user, &name, &address, &since)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return fmt.Sprintf("user %s (%s) from %s, connected since %s", user, name, address,
		since.UTC().Format(time.RFC3339)), err == nil, err
}

// Release implements database.Lock: it gives the locks up and ends the session. That
// alone would do, too, but the server takes a moment to notice it.
func (l *lock) Release(ctx context.Context) error {
	answer, cancel := context.WithTimeout(ctx, lockAnswer)
	defer cancel()
	_, _ = l.conn.PgConn().Exec(answer, `ROLLBACK; SELECT pg_advisory_unlock_all()`).ReadAll()
	return l.conn.Close(ctx)
}
