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

// lock is a lock on the table of migrations, in a transaction of its own session. The server
// releases it however the session ends. Programs older than leases hold it while they lead;
// this program holds it only while it migrates a schema of theirs.
//
// Only users who may write that table can take the lock, whereas any login of the server, even
// a reader's, can take any advisory lock.
type lock struct{ conn *pgx.Conn }

const (
	// lockAnswer bounds the server's answer to a release.
	lockAnswer = 2 * time.Second
	// firstVersionLock is the advisory lock that leaders of the first version hold. It is
	// taken too, so that you can upgrade one coordinator of a cluster after another.
	firstVersionLock = 0x73776565_70000002
)

// lockTable does not block users of the table.
const lockTable = `LOCK TABLE schema_migrations IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`

// Lock implements database.Database.
func (d *Database) Lock(ctx context.Context) (taken database.Lock, who string, err error) {
	config := d.pool.Config().ConnConfig.Copy()
	// The server must notice by itself if this host vanishes.
	for name, value := range map[string]string{"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1",
		"tcp_keepalives_count": "2"} {
		config.RuntimeParams[name] = value
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, "", err
	}
	l := &lock{conn: conn}
	// The server must not end the idle session. Not every version of it has all these settings.
	_, err = conn.Exec(ctx, `SELECT set_config(name, '0', FALSE) FROM pg_settings
		WHERE name IN ('idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout',
		'statement_timeout')`)
	held := false
	if err == nil {
		who, held, err = holder(ctx, conn)
	}
	// A refused lock is an error in the server's log, so try only if nobody seems to hold it.
	if err == nil && !held {
		if held, err = l.try(ctx); held {
			return l, "", nil
		}
	}
	return nil, who, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

// try takes the lock if it is free, and then leaves its transaction open.
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
	return taken, err
}

// alone takes the first version's lock and reports whether no coordinator of that version leads.
func (l *lock) alone(ctx context.Context) (alone bool, err error) {
	err = l.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(firstVersionLock)).Scan(&alone)
	if alone || err != nil {
		return alone, err
	}
	err = l.conn.QueryRow(ctx, `SELECT NOT EXISTS (SELECT `+holders+` AND l.locktype = 'advisory')`,
		int64(firstVersionLock)>>32, int64(firstVersionLock)&0xffffffff).Scan(&alone)
	return alone, err
}

// holders are the other sessions that hold one of the locks. The first version's lock counts only
// if its user may write.
const holders = ` FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
	WHERE l.granted AND l.pid <> pg_backend_pid() AND l.database = (SELECT oid FROM pg_database
	WHERE datname = current_database())
		AND (l.relation = to_regclass('schema_migrations') AND l.mode = 'ShareUpdateExclusiveLock'
			OR l.locktype = 'advisory' AND l.classid = $1 AND l.objid = $2 AND l.objsubid = 1
				AND (to_regclass('trials') IS NULL
				OR has_table_privilege(a.usesysid, to_regclass('trials'), 'UPDATE')))`

// makeTable creates the table to be locked. Another program may create it at the same time.
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

// holder describes the session that holds the lock, if another than the one in holds it.
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

// Release implements database.Lock. It unlocks before it ends the session, because the server
// takes a moment to notice that a session ended.
func (l *lock) Release(ctx context.Context) error {
	answer, cancel := context.WithTimeout(ctx, lockAnswer)
	defer cancel()
	_, _ = l.conn.PgConn().Exec(answer, `ROLLBACK; SELECT pg_advisory_unlock_all()`).ReadAll()
	return l.conn.Close(ctx)
}
