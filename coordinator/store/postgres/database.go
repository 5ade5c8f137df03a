// Package postgres is the database of a cluster: Postgres, version 14 or later.
//
// A write transaction first locks the counters of the sweeps that it changes,
// in order of their numbers: writers of one sweep take turns, and none wait
// for each other in a circle. Only one coordinator writes at a time anyway;
// see lease.go. Readers never wait.
//
// Bulk goes in by COPY and in arrays, one statement a table, so that a batch
// of events costs a handful of round trips whatever its size.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"sweep/coordinator/store/database"
)

// Database implements database.Database.
type Database struct {
	// pool has the connections that write, views those that read: however many
	// questions are asked and however slowly their answers are taken, recording
	// does not wait for a connection.
	pool, views *pgxpool.Pool
	// lease has the connection that takes and renews the lead.
	lease *pgxpool.Pool
	// name is the database in errors: host and name, never the password.
	name string
	// readers run the queries of users.
	readers readers
	// expanded has statements with their batches written out.
	expanded sync.Map
}

var _ database.Database = (*Database)(nil)

const (
	// writeConnections are more than one, though writers of one sweep take turns.
	writeConnections = 4
	// viewConnections leave room for readers that use the store while they stream.
	viewConnections = 16
)

// planning holds the store's own statements to the indices, whatever statistics
// of the tables there are: without any, as while the first sweep is written,
// Postgres would rather read whole tables, or fetch all pending trials and sort
// them. One plan does for every batch.
var planning = map[string]string{
	"enable_bitmapscan": "off", "enable_seqscan": "off", "plan_cache_mode": "force_generic_plan", "jit": "off",
}

// Open connects to the database at a postgres:// address. The usual variables
// (PGPASSWORD, PGSSLMODE, …) fill in what the address leaves out.
func Open(ctx context.Context, address string) (*Database, error) {
	config, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "sweep"
	}
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	for name, value := range planning {
		config.ConnConfig.RuntimeParams[name] = value
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerArrays(conn.TypeMap())
		return nil
	}
	d := &Database{name: fmt.Sprintf("%s on %s", config.ConnConfig.Database, config.ConnConfig.Host)}
	writing, viewing, leading := config.Copy(), config.Copy(), config.Copy()
	writing.MaxConns, writing.MinConns = writeConnections, min(config.MinConns, writeConnections)
	writing.MinIdleConns = 0
	viewing.MaxConns = max(config.MaxConns, viewConnections)
	d.pool, err = pgxpool.NewWithConfig(ctx, writing)
	if err == nil {
		d.views, err = pgxpool.NewWithConfig(ctx, viewing)
	}
	if err == nil {
		d.lease, err = d.newLease(ctx, leading)
	}
	if err != nil {
		return nil, errors.Join(d.Explain(err), d.Close())
	}
	d.readers.config = config
	return d, nil
}

// Close implements database.Database.
func (d *Database) Close() error {
	d.readers.close()
	for _, pool := range []*pgxpool.Pool{d.lease, d.views, d.pool} {
		if pool != nil { // Open failed before it
			pool.Close()
		}
	}
	return nil
}

// Name implements database.Database.
func (d *Database) Name() string { return "Postgres database " + d.name }

// Dialect implements database.Database.
func (d *Database) Dialect() *database.Dialect { return &dialect }

var dialect = database.Dialect{
	Terms: database.Terms{
		Postgres: true, Length: "cardinality", Value: "v.value::double precision",
		Members: map[string]string{
			"text": "json_text(%s, '%s')", "number": "json_number(%s, '%s')", "integer": "json_integer(%s, '%s')",
			"without": "json_without(%s, '%s')",
		},
		Times:      "%s",
		Aggregates: "(p.metrics -> '%s' ->> %d)::double precision",
	},
	// Whoever reads for users reads the views; where that login is not made yet, it is granted them when it is.
	Grant: `DO $$
DECLARE
    statement text;
BEGIN
    FOR statement IN SELECT format('GRANT SELECT ON %I TO %I', v.name, r.role) FROM schema_views AS v, reader_login AS r
        WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = r.role)
    LOOP
        EXECUTE statement;
    END LOOP;
END
$$`,
	Described: `SELECT CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, c.relname::text, a.name,
			coalesce(d.description, '')
		FROM pg_class AS c
		CROSS JOIN LATERAL (SELECT 0 AS number, '' AS name UNION ALL SELECT attnum, attname::text FROM pg_attribute
			WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS a
		LEFT JOIN pg_description AS d
			ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = a.number
		WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
			AND (c.relkind = 'r' OR c.relkind = 'v' AND c.relname IN (SELECT name FROM schema_views))`,
	TableExists: `SELECT to_regclass($1) IS NOT NULL`,
	CreateMigrations: `CREATE TABLE IF NOT EXISTS schema_migrations (
    number     integer     PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL
)`,
	Anew:           "then begin a new database",
	Collation:      `"C"`,
	NestedComments: true,
	LongestColumn:  63,
	Label:          func(name string) string { return name },
	Selection:      `SET LOCAL enable_seqscan = on; SET LOCAL plan_cache_mode = auto`,
	Member:         member,
}

// member extracts a value once a row, wherever it is used: OFFSET 0 keeps
// Postgres from doing so anew. Texts compare by code point, as in SQLite.
func member(name, label string, objects []string) database.Member {
	value := name + ".value"
	kind := "json_typeof(" + value + ")"
	plain := "(" + value + " #>> '{}')"
	of := func(kinds, kindOf string) string {
		return "CASE WHEN " + kind + " IN (" + kinds + ") THEN " + plain + "::" + kindOf + " END"
	}
	return database.Member{
		Join: fmt.Sprintf("CROSS JOIN LATERAL (SELECT coalesce(%s) AS value OFFSET 0) AS %s",
			strings.Join(objects, " -> "+label+", ")+" -> "+label, name),
		Kind: kind, Present: "coalesce(" + kind + ", 'null') <> 'null'",
		Typed: map[string]string{
			"number": of("'number'", "numeric"), "text": of("'string'", "text"), "boolean": of("'boolean'", "boolean"),
			"json": of("'array', 'object'", "text"),
		},
		Order: func(direction string) string {
			numbers := " NULLS LAST"
			if direction != "" {
				numbers = " NULLS FIRST"
			}
			return "coalesce(" + kind + ", 'null') = 'null', CASE " + kind + " WHEN 'number' THEN " + plain +
				"::numeric END" + direction + numbers + ", " + plain + ` COLLATE "C"` + direction
		},
	}
}

// Update implements database.Database.
func (d *Database) Update(ctx context.Context, do func(database.Tx) error) error {
	return pgx.BeginFunc(ctx, d.pool, func(t pgx.Tx) error { return do(tx{t, d}) })
}

// View implements database.Database.
func (d *Database) View(ctx context.Context, do func(database.Tx) error) error {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, viewer{d}, snapshot, func(t pgx.Tx) error { return do(tx{t, d}) })
}

// viewer begins transactions that read.
type viewer struct{ *Database }

// BeginTx begins one on another connection if that of the pool turns out to be
// broken, as all are behind a server that was restarted.
func (v viewer) BeginTx(ctx context.Context, options pgx.TxOptions) (t pgx.Tx, err error) {
	for range v.views.Config().MaxConns + 1 {
		t, err = v.views.BeginTx(ctx, options)
		var connecting *pgconn.ConnectError
		var refused *pgconn.PgError
		if err == nil || ctx.Err() != nil || errors.As(err, &connecting) || errors.As(err, &refused) {
			break
		}
	}
	return t, err
}

// tx implements database.Tx.
type tx struct {
	pgx.Tx
	database *Database
}

// Exec implements database.Tx.
func (t tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	text, args = t.database.expand(text, args)
	tag, err := t.Tx.Exec(ctx, text, args...)
	return tag.RowsAffected(), err
}

// Query implements database.Tx.
func (t tx) Query(ctx context.Context, each func(database.Row) error, text string, args ...any) error {
	text, args = t.database.expand(text, args)
	rows, err := t.Tx.Query(ctx, text, args...)
	return drain(rows, err, func() error { return each(row{rows}) })
}

// row implements database.Row.
type row struct{ pgx.Rows }

// Scan implements database.Row.
func (r row) Scan(dest ...any) error {
	for i := range dest {
		if t, ok := dest[i].(*time.Time); ok {
			dest[i] = (*instant)(t)
		}
	}
	return r.Rows.Scan(dest...)
}

// instant is a time in UTC, zero for NULL.
type instant time.Time

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (i *instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	*i = instant(v.Time.UTC())
	return nil
}

// drain calls each for every row.
func drain(rows pgx.Rows, err error, each func() error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Insert implements database.Tx by COPY.
func (t tx) Insert(ctx context.Context, table string, rows database.Batch) error {
	text := "COPY " + table + " (" + rows.Columns + ") FROM STDIN BINARY"
	_, err := t.Conn().PgConn().CopyFrom(ctx, &copyReader{batch: rows}, text)
	return err
}

// Claim implements database.Tx.
func (t tx) Claim(ctx context.Context, numbers ...int64) error {
	_, err := t.Tx.Exec(ctx, `SELECT FROM counters WHERE sweep_no = ANY($1) ORDER BY sweep_no FOR UPDATE`, numbers)
	return err
}

// Script implements database.Tx. Without arguments pgx uses the simple
// protocol, which takes many statements.
func (t tx) Script(ctx context.Context, text string) error {
	_, err := t.Tx.Exec(ctx, text)
	return err
}

// expand writes out what {v} stands for, and makes an argument of each of the
// batch's columns. A time of zero is NULL.
func (d *Database) expand(text string, args []any) (string, []any) {
	all := make([]any, 0, len(args)+16)
	for _, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			if v.IsZero() {
				arg = nil
			}
		case database.Batch:
			first := v.Row(0, nil)
			width := len(first)
			rows, values := make([][]any, v.Count), make([]any, v.Count*width)
			for i := range rows {
				rows[i] = v.Row(i, values[i*width:i*width:(i+1)*width])
			}
			for i := range width {
				all = append(all, array{rows, i})
			}
			return d.item(text, len(args), &v, first), all
		}
		all = append(all, arg)
	}
	return text, all
}

// item writes out {v} for columns that are arguments from the given one on. row is one of the
// batch's rows.
func (d *Database) item(text string, from int, batch *database.Batch, row []any) string {
	if expanded, ok := d.expanded.Load(text); ok {
		return expanded.(string)
	}
	arrays := make([]string, len(row))
	for i, value := range row {
		arrays[i] = fmt.Sprintf("$%d::%s[]", from+i, typeOf(value))
	}
	item := "unnest(" + strings.Join(arrays, ", ") + ") AS v (" + batch.Columns + ")"
	expanded := strings.Replace(text, "{v}", item, 1)
	d.expanded.Store(text, expanded)
	return expanded
}
