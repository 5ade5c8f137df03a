package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sweep/coordinator/store"
	"sweep/coordinator/store/postgres"
	"sweep/coordinator/store/postgres/postgrestest"
	"sweep/coordinator/store/query"
	"sweep/sweep"
	"sweep/sweep/sweeptest"
)

// connect opens a session past the store.
func connect(t testing.TB, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // its server may be gone
	return conn
}

// postgresOf is the database behind a store.
func postgresOf(s sweep.Store) *postgres.Database {
	return s.(*store.Store).Database().(*postgres.Database)
}

// one asks for one value.
func one[T any](t testing.TB, conn *pgx.Conn, text string, args ...any) (value T) {
	t.Helper()
	if err := conn.QueryRow(context.Background(), text, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// keep returns what collects the rows of a query as text.
func keep(rows *[]string) func([]string, []any) error {
	return func(_ []string, row []any) error {
		*rows = append(*rows, strings.TrimSpace(fmt.Sprintln(row...)))
		return nil
	}
}

// How an attack goes when nothing looks at the functions that it calls: only
// the rights of the reader's login, and its session, are in the way.
const (
	refused  = iota // the server refuses it
	harmless        // it goes through and changes nothing; the test looks
)

// attacks are the ways out of reading that are known. Each must be refused; the
// number is what becomes of it without the look at the functions.
var attacks = map[string]int{
	// Become somebody else.
	`SELECT set_config('role', 'none', TRUE)`:                                                                      harmless,
	`SELECT set_config('role', 'sweep', TRUE)`:                                                                     refused,
	`SELECT set_config('session_authorization', 'sweep', TRUE)`:                                                    refused,
	`SELECT set_config('role', 'none', TRUE), query_to_xml('SELECT pg_read_file(''PG_VERSION'')', TRUE, TRUE, '')`: refused,
	`SELECT set_config('role', 'none', TRUE), query_to_xml('SET ROLE sweep', TRUE, TRUE, '')`:                      refused,
	`SELECT query_to_xml('SET SESSION AUTHORIZATION sweep', TRUE, TRUE, '')`:                                       refused,
	`SELECT query_to_xml('RESET SESSION AUTHORIZATION; SELECT pg_read_file(''PG_VERSION'')', TRUE, TRUE, '')`:      refused,
	`SELECT query_to_xml_and_xmlschema('SELECT pg_read_file(''PG_VERSION'')', TRUE, TRUE, '')`:                     refused,
	`SELECT "query_to_xml" /* ( */ ('SELECT pg_read_file(''PG_VERSION'')', TRUE, TRUE, '')`:                        refused,
	`SELECT table_to_xml('reader_login'::regclass, TRUE, TRUE, '')`:                                                refused,
	`SELECT table_to_xml('pg_catalog.pg_authid'::regclass, TRUE, TRUE, '')`:                                        refused,
	`SELECT cursor_to_xml('answer', 10, TRUE, TRUE, '')`:                                                           refused,
	`SELECT set_config('role', 'none', TRUE) FROM (SELECT 1) AS x UNION ALL SELECT password FROM reader_login`:     refused,
	`SELECT * FROM ts_stat('SELECT to_tsvector(pg_read_file(''PG_VERSION''))')`:                                    refused,
	`SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, pg_read_file(''PG_VERSION'')::tsquery')`:              refused,
	`SELECT dblink_connect('dbname=postgres user=sweep')`:                                                          refused,
	`SELECT * FROM dblink('dbname=postgres user=sweep', 'SELECT pg_read_file(''PG_VERSION'')') AS d (t text)`:      refused,
	`SELECT * FROM crosstab('SELECT pg_read_file(''PG_VERSION''), ''a'', ''b''') AS c (a text, b text)`:            refused,
	`SELECT * FROM crosstab('SELECT 1, 2, pg_advisory_lock(1)::text') AS c (a integer, b text)`:                    harmless,
	`SELECT pg_temp.made()`: refused,

	// Read secrets and files.
	`SELECT * FROM reader_login`:                                               refused,
	`SELECT * FROM schema_migrations`:                                          refused,
	`SELECT * FROM pg_authid`:                                                  refused,
	`SELECT * FROM pg_shadow`:                                                  refused,
	`SELECT * FROM pg_hba_file_rules`:                                          refused,
	`SELECT * FROM pg_file_settings`:                                           refused,
	`SELECT * FROM pg_largeobject`:                                             refused,
	`SELECT pg_read_file('PG_VERSION')`:                                        refused,
	`SELECT pg_read_file('/etc/passwd')`:                                       refused,
	`SELECT pg_read_binary_file('PG_VERSION')`:                                 refused,
	`SELECT pg_ls_dir('.')`:                                                    refused,
	`SELECT * FROM pg_ls_waldir()`:                                             refused,
	`SELECT * FROM pg_ls_logdir()`:                                             refused,
	`SELECT pg_stat_file('PG_VERSION')`:                                        refused,
	`SELECT lo_import('/etc/passwd')`:                                          refused,
	`SELECT lo_get(lo_import('/etc/passwd'))`:                                  refused,
	`SELECT lo_export(1, '/tmp/x')`:                                            refused,
	`SELECT lo_create(0)`:                                                      harmless, // rolled back
	`SELECT lo_from_bytea(0, 'x')`:                                             harmless,
	`COPY (SELECT 1) TO PROGRAM 'id'`:                                          refused,
	`COPY (SELECT 1) TO '/tmp/x'`:                                              refused,
	`COPY trials TO STDOUT`:                                                    refused,
	`SELECT 1) TO STDOUT; --`:                                                  refused,
	`SELECT query_to_xml('COPY (SELECT 1) TO PROGRAM ''id''', TRUE, TRUE, '')`: refused,

	// Disturb others.
	`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'sweep'`: refused,
	`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'sweep'`:    refused,
	`SELECT pg_reload_conf()`:                                         refused,
	`SELECT pg_rotate_logfile()`:                                      refused,
	`SELECT pg_switch_wal()`:                                          refused,
	`SELECT pg_stat_reset()`:                                          refused,
	`SELECT pg_create_restore_point('x')`:                             refused,
	`SELECT pg_create_logical_replication_slot('x', 'test_decoding')`: refused,
	`SELECT pg_advisory_lock(1)`:                                      harmless, // gone with the query
	`SELECT pg_advisory_lock_shared(1, 2)`:                            harmless,
	`SELECT pg_try_advisory_lock(1)`:                                  harmless,
	`SELECT pg_try_advisory_xact_lock(1)`:                             harmless,
	// when the server has no memory left for anybody's locks
	`SELECT count(pg_advisory_lock(i)) FROM generate_series(1, 1000000) AS i`: refused,
	// but it fills the server's log
	`SELECT pg_logical_emit_message(FALSE, 'x', repeat('x', 1000))`: harmless,
	`SELECT pg_notify('x', 'y')`:                                    harmless, // rolled back
	`SELECT pg_export_snapshot()`:                                   harmless,
	`SELECT pg_sleep(0.01)`:                                         harmless,
	`SELECT pg_sleep_for('0.01 s')`:                                 harmless,
	`SELECT pg_sleep_until(now())`:                                  harmless,
	`SELECT 1 FROM trials FOR UPDATE`:                               refused,
	`LOCK TABLE schema_migrations`:                                  refused,

	// Change something.
	`SELECT set_config('transaction_read_only', 'off', TRUE)`: refused,
	// gone with the query
	`SELECT set_config('statement_timeout', '0', FALSE)`:                                  harmless,
	`SELECT set_config('work_mem', '64kB', FALSE)`:                                        harmless,
	`SELECT set_config('temp_file_limit', '-1', FALSE)`:                                   refused,
	`SELECT nextval('trials_trial_no_seq')`:                                               refused,
	`SELECT setval('trials_trial_no_seq', 1)`:                                             refused,
	`DELETE FROM trials`:                                                                  refused,
	`WITH d AS (DELETE FROM trials RETURNING *) SELECT * FROM d`:                          refused,
	`WITH i AS (INSERT INTO counters (sweep_no) VALUES (99) RETURNING *) SELECT * FROM i`: refused,
	`SELECT 1 INTO t`:                                        refused,
	`SELECT 1 INTO TEMP t`:                                   refused,
	`CREATE TEMP TABLE t (a integer)`:                        refused,
	`DO $$ BEGIN PERFORM pg_read_file('PG_VERSION'); END $$`: refused,
	`CREATE FUNCTION pg_temp.made() RETURNS text LANGUAGE sql AS 'SELECT pg_read_file(''PG_VERSION'')'`:                  refused,
	`SELECT query_to_xml('CREATE FUNCTION pg_temp.made() RETURNS integer LANGUAGE sql AS ''SELECT 1''', TRUE, TRUE, '')`: refused,
	`SELECT query_to_xml('DELETE FROM trials', TRUE, TRUE, '')`:                                                          refused,
	`SELECT query_to_xml('DO ''BEGIN END''', TRUE, TRUE, '')`:                                                            refused,
	`PREPARE p AS SELECT 1`:                             refused,
	`EXPLAIN ANALYZE DELETE FROM trials`:                refused,
	`ALTER ROLE CURRENT_USER SET statement_timeout = 0`: refused,
	`LISTEN x`:           refused,
	`COMMIT`:             refused,
	`SELECT 1; SELECT 2`: refused,
}

// TestReaderCannotGetOut: a store whose own user may do everything runs queries
// of users that try what they must not, and refuses them; and where nothing
// looks at the functions that they call, the login's rights still hold.
func TestReaderCannotGetOut(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	address := server.Database(t)
	execute(t, address, `CREATE EXTENSION dblink; CREATE EXTENSION tablefunc`)
	s := open(t, address)
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	if _, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	leader, err := s.Lead(ctx, sweep.LeadOptions{Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	witness := connect(t, address)
	before := one[int64](t, witness, `SELECT last_value FROM trials_trial_no_seq`)

	for text, outcome := range attacks {
		var rows []string
		if err := s.Query(ctx, text, keep(&rows)); err == nil || len(rows) > 0 {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
		rows = nil
		err := postgresOf(s).AskUnchecked(ctx, text, keep(&rows))
		if refusal := err != nil && ctx.Err() == nil; refusal != (outcome == refused) {
			t.Errorf("without a look at its functions: %s: %v, %v", text, rows, err)
		}
		if outcome == refused && len(rows) > 0 {
			t.Errorf("without a look at its functions: %s gave %v", text, rows)
		}
	}

	// Nothing of it all has happened, or is left for the next query.
	var rows []string
	err = s.Query(ctx,
		`SELECT current_user::text, session_user::text, current_setting('statement_timeout'), current_setting('work_mem'),
		current_setting('transaction_read_only')`, keep(&rows))
	if want := "sweep_reader_test_1 sweep_reader_test_1 1min 64MB on"; err != nil || len(rows) != 1 || rows[0] != want {
		t.Errorf("%v %v, want %s", rows, err, want)
	}
	// A session that was closed may take a moment to end; one that keeps a lock stays for a minute.
	for begin, n := time.Now(), 1; n > 0; {
		n = one[int](t, witness, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
			AND NOT (classid = x'73776565'::integer AND objid = x'70000002'::integer)`) // the leader's
		if n > 0 && time.Since(begin) > postgres.ReaderIdle/2 {
			t.Fatalf("%d advisory locks outlive their queries", n)
		}
	}
	if n := one[int](t, witness, `SELECT count(*) FROM pg_largeobject_metadata`); n != 0 {
		t.Errorf("%d large objects", n)
	}
	if after := one[int64](t, witness, `SELECT last_value FROM trials_trial_no_seq`); after != before {
		t.Errorf("the sequence went from %d to %d", before, after)
	}
	select {
	case <-leader.Lost():
		t.Error("the leader's session was ended")
	default:
	}
	if err := leader.Resign(ctx); err != nil {
		t.Error(err)
	}
	if _, err := s.AddTrials(ctx, "s1", 0, 0, []sweep.Trial{{TrialID: sweep.TrialID{Sweep: "s1"}}}, nil); err != nil {
		t.Errorf("the store writes no more: %v", err)
	}
}

// TestReaderSeesNoOthersStatements: of other users' sessions it sees that they
// are there.
func TestReaderSeesNoOthersStatements(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	address := server.Database(t)
	s := open(t, address)
	other := connect(t, address)
	one[int](t, other, `SELECT 42 /* a secret */`)
	var rows []string
	if err := s.Query(t.Context(), `SELECT DISTINCT query FROM pg_stat_activity WHERE usename = 'sweep'`,
		keep(&rows)); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0] != "<insufficient privilege>" {
		t.Errorf("%q", rows)
	}
}

// TestVolatileMeansActing: what the check of functions rests on. No operator,
// cast or view of the catalogue that users may use calls a function that acts
// without naming it in the query.
func TestVolatileMeansActing(t *testing.T) {
	fullOnly(t)
	conn := connect(t, postgrestest.Start(t).URL("postgres"))
	for _, text := range []string{
		`SELECT count(*) FROM pg_operator AS o JOIN pg_proc AS p ON p.oid = o.oprcode WHERE p.provolatile = 'v'`,
		`SELECT count(*) FROM pg_cast AS c JOIN pg_proc AS p ON p.oid = c.castfunc WHERE p.provolatile = 'v'`,
		`SELECT count(*) FROM pg_type AS y JOIN pg_proc AS p ON p.oid = y.typinput WHERE p.provolatile = 'v'`,
	} {
		if n := one[int](t, conn, text); n != 0 {
			t.Errorf("%s: %d", text, n)
		}
	}
	// Those that would take a whole row, and so could be called as row.function.
	if n := one[int](t, conn, `SELECT count(*) FROM pg_proc WHERE provolatile = 'v' AND prokind = 'f' AND pronargs = 1
		AND proargtypes[0] IN ('record'::regtype, '"any"'::regtype, 'anyelement'::regtype, 'anynonarray'::regtype)`); n != 0 {
		t.Errorf("%d functions that act take a row", n)
	}
	for _, name := range []string{"pg_advisory_lock", "pg_try_advisory_lock", "set_config", "query_to_xml",
		"cursor_to_xml", "pg_terminate_backend",
		"pg_cancel_backend", "lo_create", "lo_from_bytea", "pg_notify", "pg_logical_emit_message", "pg_sleep",
		"nextval", "ts_stat", "pg_export_snapshot"} {
		if n := one[int](t, conn, `SELECT count(*) FROM pg_proc WHERE proname = $1 AND provolatile <> 'v'`,
			name); n != 0 {
			t.Errorf("%s is not volatile", name)
		}
	}
}

// TestReaderIsBounded: what a query can take of the server's time, and of this
// program's memory.
func TestReaderIsBounded(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	address := server.Database(t)
	s, hasty := open(t, address), open(t, address)
	postgresOf(hasty).SetQueryTimeout(300 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	for _, text := range []string{
		`SELECT sum(length(repeat('x', 1000000))) FROM generate_series(1, 100000000)`,
		`SELECT count(*) FROM generate_series(1, 1000000000000)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n ORDER BY md5(i::text)`,
	} {
		// The time bounds what the session does before the query, too, which is as short only on a quiet machine.
		err := error(&pgconn.PgError{Code: "57014"})
		for pgCode(err) == "57014" && ctx.Err() == nil {
			err = hasty.Query(ctx, text, func([]string, []any) error { return nil })
		}
		if !errors.Is(err, query.ErrTimeout) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		`SELECT repeat('x', 20000000)`,
		`SELECT array_agg(repeat('x', 1000000)) FROM generate_series(1, 20)`,
	} {
		if err := s.Query(ctx, text, func([]string, []any) error { return nil }); !errors.Is(err, query.ErrRow) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var rows []string
	if err := s.Query(ctx, `SELECT length(repeat('x', 20000000))`, keep(&rows)); err != nil || rows[0] != "20000000" {
		t.Errorf("after that: %v %v", rows, err)
	}
	if err := s.Query(ctx, `SELECT current_setting('temp_file_limit')`, keep(&rows)); err != nil || rows[1] != "4GB" {
		t.Errorf("what may be spilled: %v %v", rows, err)
	}
}

// TestReadersDoNotDelayRecording: while every place for queries is taken, and
// as many wait, the store goes on.
func TestReadersDoNotDelayRecording(t *testing.T) {
	server := postgrestest.Start(t)
	s := open(t, server.Database(t))
	ctx, cancel := context.WithTimeout(context.Background(), sweeptest.Patience)
	defer cancel()
	const queries = 32 // twice the connections of the store
	running := make(chan struct{}, queries)
	proceed := make(chan struct{})
	ends := make(chan error, queries)
	for range queries {
		go func() {
			ends <- s.Query(ctx, `SELECT 1`, func([]string, []any) error {
				running <- struct{}{}
				<-proceed
				return nil
			})
		}()
	}
	for range query.Places {
		select {
		case <-running:
		case <-ctx.Done():
			t.Fatal("the queries do not run")
		}
	}
	if _, err := s.CreateSweep(ctx, "s1", &sweep.Submission{}, 1); err != nil {
		t.Fatal(err)
	}
	id := sweep.TrialID{Sweep: "s1"}
	if _, err := s.AddTrials(ctx, "s1", 0, 0, []sweep.Trial{{TrialID: id}}, nil); err != nil {
		t.Fatal(err)
	}
	events := []sweep.Event{{Kind: sweep.EventResult, TrialID: id, Execution: "x",
		Result: &sweep.Result{State: sweep.Completed}}}
	if report, err := s.Record(ctx, events); err != nil || report.Terminal != 1 {
		t.Fatalf("%+v %v", report, err)
	}
	if n := len(running); n != 0 {
		t.Errorf("%d queries more than places run", n)
	}
	close(proceed)
	for range queries {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}

// TestWithoutReader: a store that may not make the login refuses queries and
// says what to do; what an administrator then runs is all it takes.
func TestWithoutReader(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	address := server.Database(t)
	execute(t, address, `CREATE USER plain; GRANT CREATE ON SCHEMA public TO plain`)
	s := open(t, as(address, "plain"))
	ctx := t.Context()
	var rows []string
	err := s.Query(ctx, `SELECT 1`, keep(&rows))
	if err == nil || len(rows) > 0 || !strings.Contains(err.Error(), `"sweep migrate"`) {
		t.Errorf("without a login: %v %v", rows, err)
	}
	statements, problem := postgresOf(s).CheckReader(ctx)
	if problem == nil || len(statements) == 0 {
		t.Fatalf("%q %v", statements, problem)
	}
	password := one[string](t, connect(t, address), `SELECT password FROM reader_login`)
	if len(password) < 20 || strings.Contains(strings.Join(statements, ";"), password) {
		t.Errorf("the statements show the password %q: %q", password, statements)
	}
	execute(t, address, strings.Join(statements, ";\n"))
	if err := s.Query(ctx, `SELECT count(*) FROM results`, keep(&rows)); err != nil ||
		!slices.Equal(rows, []string{"0"}) {
		t.Errorf("with the login: %v %v", rows, err)
	}
	if statements, problem := postgresOf(s).CheckReader(ctx); problem != nil || statements != nil {
		t.Errorf("%q %v", statements, problem)
	}
	// One that may read the schema but not the login's password.
	execute(t, address,
		`CREATE USER stranger; GRANT SELECT ON ALL TABLES IN SCHEMA public TO stranger; REVOKE ALL ON reader_login FROM stranger`)
	if err := open(t, as(address, "stranger")).Query(ctx, `SELECT 1`, keep(&rows)); err == nil ||
		!strings.Contains(err.Error(), "reader_login") {
		t.Errorf("%v", err)
	}
}

// TestReaderMustBeHarmless: a login to which somebody gave more than reading
// runs nothing.
func TestReaderMustBeHarmless(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	for _, change := range []string{`ALTER ROLE %s SUPERUSER`, `ALTER ROLE %s CREATEROLE`,
		`GRANT pg_read_server_files TO %s`, `GRANT sweep TO %s`} {
		address := server.Database(t)
		role := one[string](t, connect(t, open1(t, address)), `SELECT role FROM reader_login`)
		execute(t, address, fmt.Sprintf(change, role))
		var rows []string
		if err := open(t, address).Query(t.Context(), `SELECT 1`, keep(&rows)); err == nil || len(rows) > 0 ||
			!strings.Contains(err.Error(), role) {
			t.Errorf(change+": %v %v", role, rows, err)
		}
	}
}

// TestReaderOfOddDatabase: a database's name may be anything, and its tables need
// not be where everybody looks.
func TestReaderOfOddDatabase(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	ask := func(address string) {
		t.Helper()
		var rows []string
		if err := open(t, address).Query(t.Context(), `SELECT count(*) FROM results`, keep(&rows)); err != nil ||
			len(rows) != 1 {
			t.Errorf("%s: %v %v", address, rows, err)
		}
	}
	for _, name := range []string{`Odd $$ "name"; it's`, strings.Repeat("x", 63), "ä"} {
		execute(t, server.URL("postgres"), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
		ask(server.URL(name))
	}
	address := server.Database(t)
	execute(t, address, `CREATE SCHEMA "My Sweeps"; ALTER ROLE sweep SET search_path = "My Sweeps"`)
	ask(address)
}

// open1 opens a store, which makes the schema, and returns the address.
func open1(t testing.TB, address string) string {
	t.Helper()
	open(t, address)
	return address
}

// TestReaderPassword: the login is let in by the password that the store keeps,
// and one that has another gets it again.
func TestReaderPassword(t *testing.T) {
	fullOnly(t)
	server := postgrestest.Start(t)
	address := server.Database(t)
	open(t, address)
	conn := connect(t, address)
	role := one[string](t, conn, `SELECT role FROM reader_login`)
	hba := one[string](t, conn, `SHOW hba_file`)
	execute(t, address, fmt.Sprintf(`COPY (VALUES ('local all %s scram-sha-256'), ('local all all trust')) TO '%s'`,
		role, hba))
	execute(t, address, `SELECT pg_reload_conf()`)
	wrong := func() error {
		conn, err := pgx.Connect(t.Context(), as(address, role)+"&password=wrong")
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err
	}
	sweeptest.Until(t, "the server to refuse a wrong password", func() bool { return wrong() != nil })
	var rows []string
	if err := open(t, address).Query(t.Context(), `SELECT 1`, keep(&rows)); err != nil {
		t.Fatalf("with its password: %v", err)
	}
	execute(t, address, fmt.Sprintf(`ALTER ROLE %s PASSWORD 'another'`, role))
	s := open(t, address)
	if err := s.Query(t.Context(), `SELECT 1`, keep(&rows)); err == nil || !strings.Contains(err.Error(), role) ||
		!strings.Contains(err.Error(), "sweep migrate") {
		t.Errorf("with another password: %v", err)
	}
	if statements, problem := postgresOf(s).CheckReader(t.Context()); problem != nil {
		t.Errorf("not mended: %q %v", statements, problem)
	}
	if err := s.Query(t.Context(), `SELECT 1`, keep(&rows)); err != nil {
		t.Errorf("after it was mended: %v", err)
	}
}

// TestEveryRelationIsReadableOrNot: whoever adds a table or view decides
// whether queries of users may read it.
func TestEveryRelationIsReadableOrNot(t *testing.T) {
	fullOnly(t)
	secret := []string{"reader_login", "requests", "schema_migrations"}
	server := postgrestest.Start(t)
	address := server.Database(t)
	open(t, address)
	conn := connect(t, address)
	rows, err := conn.Query(t.Context(),
		`SELECT c.relname, has_table_privilege((SELECT role FROM reader_login), c.oid, 'SELECT'),
			has_table_privilege((SELECT role FROM reader_login), c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
		FROM pg_class AS c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'm', 'p', 'f')`)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var readable, writable bool
	n := 0
	if _, err := pgx.ForEachRow(rows, []any{&name, &readable, &writable}, func() error {
		n++
		if readable == slices.Contains(secret, name) {
			t.Errorf("%s: queries of users may read it: %v; decide in reader.go", name, readable)
		}
		if writable {
			t.Errorf("%s: queries of users may change it", name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n < 10 {
		t.Errorf("%d relations", n)
	}
}

// pgCode is the server's code of an error.
func pgCode(err error) string {
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}
