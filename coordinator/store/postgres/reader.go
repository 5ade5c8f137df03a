package postgres

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"sweep/coordinator/store/query"
)

// What users ask in SQL runs by a login of its own, which may read results and
// nothing else, over connections of its own. No session of the store ever
// becomes the reader: it could become itself again.
//
// The login's name and password are in the table reader_login. The store makes
// the login where its user may; where not, queries are refused until an
// administrator has run the statements that CheckReader returns. There is no
// weaker way to run them.

// What queries of users may take of the server, besides what package query says.
const (
	// readerSessions bounds the login's sessions on the server: those of several
	// coordinators.
	readerSessions = 4 * query.Places
	// readerDisk bounds what a query spills; setting it takes an administrator.
	readerDisk = "4GB"
	// readerIdle is how long a session waits for another query.
	readerIdle = time.Minute
	// readerEnd is how long the end of a query may take.
	readerEnd = time.Second
)

// readerSettings are those of a reader's session.
var readerSettings = map[string]string{
	"application_name":                    "sweep sql",
	"default_transaction_read_only":       "on",
	"statement_timeout":                   fmt.Sprint(query.Timeout.Milliseconds()),
	"idle_in_transaction_session_timeout": "60s",
	"lock_timeout":                        "10s",
	"work_mem":                            "64MB",
	"hash_mem_multiplier":                 "1",
	"max_parallel_workers_per_gather":     "0",
	// Compiling a statement over many metrics takes longer than most statements run.
	"jit": "off",
	// How calls reads a statement.
	"standard_conforming_strings": "on",
}

// readable are the tables that queries of users may read, besides all views; a table that is not named is not for them.
var readable = []string{
	"sweeps", "budgets", "grids", "counters", "trials", "outcomes", "curve_arrays",
	"stored_executions",
	"reproducibility_faults",
	"scores", "metric_values", "metric_names", "point_aggregates", "groups", "cluster", "classes", "standings",
	"trial_refusals", "quarantine", "trial_artifacts", "kept_artifacts", "lineages",
	"trial_notes", "stored_observations", "stored_decisions", "pruned_curves", "input_lists", "trial_inputs",
	"stored_inputs",
	"schema_views",
}

// varying are the volatile functions that queries may call all the same: they
// vary but do nothing.
var varying = []string{
	"random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "bernoulli", "system",
	"pg_relation_size", "pg_table_size", "pg_indexes_size", "pg_total_relation_size", "pg_database_size",
}

// readers run the queries of users.
type readers struct {
	// config is the store's own.
	config *pgxpool.Config
	// timeout replaces query.Timeout in tests.
	timeout time.Duration

	lock  sync.Mutex
	login readerLogin // by which they run; no role if it is not known
	pool  *pgxpool.Pool
}

// readerLogin is a user of the database and its password, and what it reads.
type readerLogin struct{ role, password, database, schema string }

// errNoReader is why queries are refused.
var errNoReader = errors.New(`queries of users run by a login of their own, which this database has not: ` +
	`an administrator makes it by the statements that "sweep migrate" prints`)

// known is the login; it has no role if it is not known.
func (r *readers) known() readerLogin {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.login
}

// close ends the readers' sessions.
func (r *readers) close() {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.pool != nil {
		r.pool.Close()
	}
}

// Prepare implements database.Database: it makes the reader's login. Where the
// user may not, queries say what is to be done.
func (d *Database) Prepare(ctx context.Context) error {
	if _, err := d.openReader(ctx); err != nil && !errors.Is(err, errNoReader) {
		return err
	}
	return nil
}

// openReader returns the readers' connections. It makes the login first, where
// the store's user may and it is missing.
func (d *Database) openReader(ctx context.Context) (*pgxpool.Pool, error) {
	r := &d.readers
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.pool != nil {
		return r.pool, nil
	}
	err := d.makeReader(ctx)
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		err = fmt.Errorf("%w (the store's own user could not make it: %s)", errNoReader, failure.Message)
	}
	if err == nil {
		r.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), r.poolConfig())
	}
	return r.pool, err
}

// makeReader makes the login, its name and its rights, as far as they are
// missing.
func (d *Database) makeReader(ctx context.Context) error {
	login := &d.readers.login
	err := d.pool.QueryRow(ctx, `SELECT current_database(), current_schema()`).Scan(&login.database, &login.schema)
	if err != nil {
		return err
	}
	const read = `SELECT role, password FROM reader_login`
	err = d.pool.QueryRow(ctx, read).Scan(&login.role, &login.password)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err = d.pool.Exec(ctx, `INSERT INTO reader_login (role, password) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			readerName(login.database), rand.Text())
		if err == nil { // another program may have been faster
			err = d.pool.QueryRow(ctx, read).Scan(&login.role, &login.password)
		}
	}
	if err != nil {
		return err
	}
	missing, err := d.missing(ctx, *login)
	if err != nil || len(missing) == 0 {
		return err
	}
	var may bool
	err = d.pool.QueryRow(ctx, `SELECT rolsuper OR rolcreaterole OR EXISTS (SELECT FROM pg_roles WHERE rolname = $1)
		FROM pg_roles WHERE rolname = current_user`, login.role).Scan(&may)
	if err != nil {
		return err
	}
	if !may {
		return fmt.Errorf("%w (the store's own user may make no roles)", errNoReader)
	}
	return d.run(ctx, missing)
}

// poolConfig is how readers connect.
func (r *readers) poolConfig() *pgxpool.Config {
	config := r.config.Copy()
	config.MaxConns, config.MinConns, config.MinIdleConns = query.Places, 0, 0
	config.MaxConnIdleTime = readerIdle
	config.AfterConnect = r.harmless
	c := config.ConnConfig
	c.User, c.Password = r.login.role, r.login.password
	for name := range planning {
		delete(c.RuntimeParams, name)
	}
	c.RuntimeParams["search_path"] = pgx.Identifier{r.login.schema}.Sanitize()
	for name, value := range readerSettings {
		c.RuntimeParams[name] = value
	}
	if r.timeout > 0 {
		c.RuntimeParams["statement_timeout"] = fmt.Sprint(r.timeout.Milliseconds())
	}
	// Nothing of a statement is kept on a session, which is cleared after each query.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.MaxProtocolMessageBodyLen = query.Row
	// The server ends at once what nobody waits for.
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: readerEnd}
	}
	return config
}

// readerName is the login's name: roles belong to the whole server, so each
// database has one of its own.
func readerName(database string) string {
	const prefix = "sweep_reader_"
	if plainDatabase().MatchString(database) {
		return prefix + database
	}
	sum := sha256.Sum256([]byte(database))
	return fmt.Sprintf("%s%x", prefix, sum[:8])
}

// plainDatabase is a name that needs no quotes, and with which the login's is not
// longer than the 63 bytes of a name in Postgres.
var plainDatabase = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9_]{1,50}$`) })

// missing returns the statements that are to be run before the login can read.
func (d *Database) missing(ctx context.Context, login readerLogin) ([]string, error) {
	var exists bool
	err := d.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1 AND rolcanlogin)`,
		login.role).Scan(&exists)
	if err != nil {
		return nil, err
	}
	quote := func(names ...string) string { return pgx.Identifier(names).Sanitize() }
	if !exists {
		statements, err := login.create()
		if err != nil {
			return nil, err
		}
		relations, err := d.relations(ctx)
		if err != nil {
			return nil, err
		}
		for _, relation := range relations {
			statements = append(statements,
				fmt.Sprintf("GRANT SELECT ON %s TO %s", quote(login.schema, relation), quote(login.role)))
		}
		return append(statements,
			fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", quote(login.schema), quote(login.role)),
			fmt.Sprintf("GRANT CONNECT ON DATABASE %s TO %s", quote(login.database), quote(login.role))), nil
	}
	relations, err := d.relations(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := d.pool.Query(ctx, `
		SELECT format('GRANT SELECT ON %I.%I TO %I', $2::text, r.name, $1::text) FROM unnest($3::text[]) AS r (name)
		WHERE NOT has_table_privilege($1, format('%I.%I', $2::text, r.name), 'SELECT')
		UNION ALL
		SELECT format('GRANT USAGE ON SCHEMA %I TO %I', $2::text, $1::text)
		WHERE NOT has_schema_privilege($1, $2, 'USAGE')
		UNION ALL
		SELECT format('GRANT CONNECT ON DATABASE %I TO %I', $4::text, $1::text)
		WHERE NOT has_database_privilege($1, $4, 'CONNECT')`,
		login.role, login.schema, relations, login.database)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// relations are the tables and views that queries of users may read.
func (d *Database) relations(ctx context.Context) ([]string, error) {
	rows, err := d.pool.Query(ctx, `SELECT name FROM schema_views ORDER BY ordinal`)
	if err != nil {
		return nil, err
	}
	views, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return slices.Concat(readable, views), err
}

// create returns the statements that make the login. They do not have its
// password, so that whoever prints or logs them does not have it either.
func (l readerLogin) create() ([]string, error) {
	verifier, err := l.verifier()
	if err != nil {
		return nil, err
	}
	role := pgx.Identifier{l.role}.Sanitize()
	return []string{
		"DO $$ BEGIN CREATE ROLE " + role + "; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
		fmt.Sprintf("ALTER ROLE %s LOGIN CONNECTION LIMIT %d PASSWORD '%s'", role, readerSessions, verifier),
		// For administrators only; without it the server's own limit holds, or none.
		fmt.Sprintf("DO $$ BEGIN ALTER ROLE %s SET temp_file_limit = '%s'; EXCEPTION WHEN insufficient_privilege "+
			"THEN NULL; END $$", role, readerDisk),
	}, nil
}

// verifier is the password as Postgres keeps it (RFC 5803, with its defaults).
func (l readerLogin) verifier() (string, error) {
	const iterations = 4096
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // it never fails
	salted, err := pbkdf2.Key(sha256.New, l.password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	sign := func(key []byte, text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(sign(salted, "Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, encode(salt), encode(stored[:]),
		encode(sign(salted, "Server Key"))), nil
}

// run runs statements, all or none.
func (d *Database) run(ctx context.Context, statements []string) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// CheckReader connects as the login by which queries of users run. If that is
// not possible it returns why, and the statements by which an administrator
// mends it, if there are such.
func (d *Database) CheckReader(ctx context.Context) (statements []string, problem error) {
	try := func() error { return d.useReader(ctx, func(*pgx.Conn) error { return nil }) }
	problem = try()
	login := d.readers.known()
	if problem == nil || login.role == "" {
		return nil, problem
	}
	if !isRefused(problem) {
		statements, err := d.missing(ctx, login)
		return statements, errors.Join(problem, err)
	}
	// It has another password, as after a restore, or may not log in.
	statements, err := login.create()
	if err == nil && d.run(ctx, statements) == nil {
		if problem = try(); problem == nil {
			return nil, nil
		}
	}
	return statements, errors.Join(problem, err)
}

// isRefused reports whether the server refuses a login.
func isRefused(err error) bool {
	var failure *pgconn.PgError
	return errors.As(err, &failure) && (failure.Code == "28P01" || failure.Code == "28000")
}

// useReader runs do in a session of the reader's login, of which nothing is left
// for the next one.
func (d *Database) useReader(ctx context.Context, do func(conn *pgx.Conn) error) error {
	pool, err := d.openReader(ctx)
	if err != nil {
		return err
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return d.readers.explain(err)
	}
	defer conn.Release()
	err = do(conn.Conn())
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), readerEnd)
	defer cancel()
	var failure error
	if conn.Conn().PgConn().TxStatus() != 'I' {
		_, failure = conn.Exec(end, `ROLLBACK`)
	}
	if failure == nil {
		_, failure = conn.Exec(end, `DISCARD ALL`)
	}
	if failure != nil || ctx.Err() != nil { // the server's answer to a cancellation may be on its way
		_ = conn.Conn().Close(end) // the pool drops it
	}
	return err
}

// explain says what to do when the login is refused.
func (r *readers) explain(err error) error {
	role := r.known().role
	var failure *pgconn.PgError
	switch {
	case isRefused(err):
		return fmt.Errorf("the server refuses the login %s of users' queries: run \"sweep migrate\"; if that "+
			"changes nothing, let it in by its password in pg_hba.conf, as in \"host %s %s samehost "+
			"scram-sha-256\", above other lines for it: %w", role, r.config.ConnConfig.Database, role, err)
	case errors.As(err, &failure) && failure.Code == "53300":
		return fmt.Errorf("other coordinators run as many queries as the login %s may: try again later: %w", role,
			err)
	}
	return err
}

// harmless makes sure of a new session that it may do nothing that a reader
// needs not.
func (r *readers) harmless(ctx context.Context, conn *pgx.Conn) error {
	registerTexts(conn.TypeMap())
	var strong, member bool
	role := conn.Config().User
	err := conn.QueryRow(ctx, `
		SELECT session_user <> $1 OR rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls,
			EXISTS (SELECT FROM pg_auth_members AS m WHERE m.member = r.oid)
		FROM pg_roles AS r WHERE rolname = session_user`, role).Scan(&strong, &member)
	switch {
	case err != nil:
		return err
	case strong:
		return fmt.Errorf("no query is run by the login %s: it may do more than read (superuser, createrole, "+
			"createdb, replication or bypassrls): take that from it", role)
	case member:
		return fmt.Errorf("no query is run by the login %s: it is a member of other roles: revoke them", role)
	}
	return nil
}

// refuseActing returns an error if a statement may call a function that does
// something rather than compute: take a lock, end a session, write to the
// server's log, run a statement that it is given as text. Postgres marks its own
// volatile; those of extensions do as they like.
func refuseActing(ctx context.Context, conn *pgx.Conn, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var name string
	err := conn.QueryRow(ctx, `
		SELECT proname FROM pg_catalog.pg_proc AS p
		WHERE proname = ANY($1::name[]) AND (
			provolatile = 'v' AND prokind <> 'a'
			AND NOT (pronamespace = 'pg_catalog'::regnamespace AND proname = ANY($2::name[]))
			OR EXISTS (SELECT FROM pg_catalog.pg_depend
			WHERE classid = 'pg_catalog.pg_proc'::regclass AND objid = p.oid AND deptype = 'e'))
		LIMIT 1`, names, varying).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("a query may not call %s: only functions that compute, not those that act", name)
}
