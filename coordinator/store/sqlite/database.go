// Package sqlite is the database of one machine: a SQLite file in WAL mode, in pure Go.
//
// One connection writes, one transaction at a time; any number read beside it, each from the
// snapshot of its transaction. Other processes may open the file too: a writer waits for their
// transactions. The file must be on a local disk, as WAL mode shares memory between processes.
//
// With synchronous = FULL a committed transaction survives a power failure, and so do the events
// that are acknowledged to the broker after it. NORMAL could lose the last transactions. The sync
// costs a few milliseconds per transaction of any size; in batches of 200 events the two are
// equally fast.
//
// Foreign keys are not checked: the store finds a row's parent in the same transaction, and
// looking for it again took a tenth of the time.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	engine "modernc.org/sqlite"

	"sweep/coordinator/store/database"
	"sweep/coordinator/store/query"
	"sweep/sweep"
)

// Database implements database.Database.
type Database struct {
	path string
	// file is what path was when it was opened.
	file fs.FileInfo
	// mode has the parameters of a file on a read-only file system, which is only read.
	mode url.Values
	// writer is used by whoever has the turn, and nil until the first has; who closes it keeps the turn. Most commands
	// only read, and a connection takes as long to open as many of them to answer.
	writer *conn
	turn   chan struct{}
	closed chan struct{}

	// readers are the connections of View, questions those of users' queries.
	readers, questions *sql.DB
	// queryTimeout bounds the time until a query's next row.
	queryTimeout time.Duration
}

var _ database.Database = (*Database)(nil)

const (
	// busyTimeout is how long a writer waits for other processes' transactions.
	busyTimeout = 30 * time.Second
	// busyPause is the mean time between two looks at them.
	busyPause = time.Millisecond
)

// waiting is the pragma for busyTimeout.
var waiting = fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())

// The pragmas of connections that write, that read, and that users ask on.
var (
	writing = []string{
		"page_size(8192)", "journal_mode(WAL)", "synchronous(FULL)",
		"wal_autocheckpoint(2000)", "journal_size_limit(67108864)", "cache_size(-65536)", "temp_store(MEMORY)",
	}
	// Readers read most pages once, and the system has them; a cache takes twice its size.
	reading = []string{"cache_size(-4096)", "temp_store(MEMORY)"}
	// What a query sorts goes to files when it is more than the cache, not into this process' memory.
	asking = []string{waiting, "query_only(1)", "cache_size(-16384)", "temp_store(FILE)"}
)

// Open opens the database at path and creates it if it is missing.
func Open(ctx context.Context, path string) (*Database, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sweep database %s: %w", path, err)
	}
	if strings.IndexByte(path, 0) >= 0 {
		return nil, fmt.Errorf("sweep database %q: a file name has no zero byte", path)
	}
	d := &Database{path: absolute, turn: make(chan struct{}, 1), closed: make(chan struct{}),
		queryTimeout: query.Timeout}
	d.readers = sql.OpenDB(connector(func() (driver.Conn, error) {
		return d.connect(&plain, reading, createBatch, `PRAGMA query_only = 1`)
	}))
	d.readers.SetMaxIdleConns(4)
	d.questions = sql.OpenDB(connector(func() (driver.Conn, error) {
		return dial(&guarded, d.path, d.mode, asking...)
	}))
	d.questions.SetMaxIdleConns(1)
	d.questions.SetMaxOpenConns(query.Places)
	file, err := os.Stat(absolute)
	switch {
	case err == nil && onReadOnlySystem(absolute):
		d.mode = url.Values{"mode": {"ro"}}
		// Without a log nobody can be writing. One with content is read with its index, if that is there, too.
		if log, err := os.Stat(absolute + "-wal"); err != nil || log.Size() == 0 {
			d.mode.Set("immutable", "1")
		}
	case err != nil || file.Size() == 0: // there is nothing to read yet
		createPrivate(d.path)
		if err := d.openWriter(); err != nil {
			return nil, d.Explain(err)
		}
	}
	if d.file, err = os.Stat(d.path); err != nil {
		return nil, errors.Join(fmt.Errorf("sweep database %s: %w", path, err), d.Close())
	}
	return d, ctx.Err()
}

// replaced returns an error if path is no longer the file that is open, as when the state directory was removed, and
// perhaps made again: SQLite would read and write a file that nobody else can find.
func (d *Database) replaced() error {
	now, err := os.Stat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was removed: %w", d.path, sweep.ErrReplaced)
	case err == nil && !os.SameFile(now, d.file):
		return fmt.Errorf("%s was removed, and made again or replaced: %w", d.path, sweep.ErrReplaced)
	}
	return nil // whatever keeps it from being looked at, SQLite says
}

// creating has one file be created at a time.
var creating sync.Mutex

// createPrivate creates a missing file that only its owner may read, as SQLite makes the files beside it, too. What
// fails here fails again when SQLite opens the file. No file that others may have open is opened: to close it would
// give up this process' locks on it.
func createPrivate(path string) {
	creating.Lock()
	defer creating.Unlock()
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = f.Close() // nothing was written
	}
}

// openWriter opens the connection that writes, unless it is open.
func (d *Database) openWriter() (err error) {
	if d.writer == nil { // from here on it waits itself
		d.writer, err = d.connect(&plain, writing, createBatch, `PRAGMA busy_timeout = 0`)
	}
	return err
}

// Close implements database.Database. It waits for the running transaction.
func (d *Database) Close() (err error) {
	select {
	case d.turn <- struct{}{}:
		close(d.closed)
		if d.writer != nil {
			err = d.writer.Close()
		}
	case <-d.closed:
	}
	return errors.Join(err, d.questions.Close(), d.readers.Close())
}

// Name implements database.Database.
func (d *Database) Name() string { return "SQLite file " + d.path }

// Dialect implements database.Database.
func (d *Database) Dialect() *database.Dialect { return &dialect }

var dialect = database.Dialect{
	Terms: database.Terms{
		SQLite: true, WithoutRowid: " WITHOUT ROWID", Length: "length", Value: "v.value",
		Members: map[string]string{
			"text":    "CASE json_type(%[1]s, '$.%[2]s') WHEN 'text' THEN %[1]s ->> '$.%[2]s' END",
			"number":  "CAST(%s ->> '$.%s' AS REAL)",
			"integer": "%s ->> '$.%s'",
			"without": "json_remove(%s, '$.%s')",
		},
		// Negative ones are before 1970.
		Times: "strftime('%%Y-%%m-%%dT%%H:%%M:%%S', (%[1]s - (%[1]s %% 1000000 + 1000000) %% 1000000) / 1000000, " +
			"'unixepoch') || printf('.%%06dZ', (%[1]s %% 1000000 + 1000000) %% 1000000)",
		Aggregates: "CAST(p.metrics ->> '$.%s[%d]' AS REAL)",
	},
	Types: func(sql string) string {
		return postgresType().ReplaceAllStringFunc(sql, func(found string) string {
			if found[0] == '\'' || found[0] == '-' { // a text, a comment
				return found
			}
			return types[found]
		})
	},
	TableExists: `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = $1)`,
	CreateMigrations: `CREATE TABLE IF NOT EXISTS schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
)`,
	Anew:      "then move that file away and begin a new one",
	Collation: `BINARY`,
	Member:    member,
	// A plain name may be taken for a path.
	Label: func(name string) string {
		text, _ := sweep.CanonicalJSON(name) // a text has a form
		return "$." + string(text)
	},
	FoldsColumns: true,
}

// types are those of SQLite by those of Postgres. It checks no foreign keys, and has no other collation.
var types = map[string]string{
	"bigint": "INTEGER", "integer": "INTEGER", "smallint": "INTEGER", "double precision": "REAL", "text": "TEXT",
	"json": "TEXT", "timestamptz": "INTEGER", "boolean": "BOOLEAN", "bytea": "BLOB", "bigint[]": "BLOB",
	"real[]": "BLOB", " GENERATED ALWAYS AS IDENTITY": "", ` COLLATE "C"`: "",
}

var postgresType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'[^']*'|--[^\n]*|\b(?:(?:bigint|real)\[\]|(?:bigint|integer|smallint|double precision|` +
		`text|json|timestamptz|boolean|bytea)\b)| GENERATED ALWAYS AS IDENTITY| COLLATE "C"| +REFERENCES \w+`)
})

// member reads a value with SQLite's JSON functions.
func member(_, path string, objects []string) database.Member {
	last := len(objects) - 1
	value, kind := "json_extract("+objects[last]+", "+path+")", "json_type("+objects[last]+", "+path+")"
	for _, object := range objects[:last] {
		has := "CASE WHEN json_type(" + object + ", " + path + ") IS NOT NULL THEN "
		value = has + "json_extract(" + object + ", " + path + ") ELSE " + value + " END"
		kind = has + "json_type(" + object + ", " + path + ") ELSE " + kind + " END"
	}
	of := func(kinds string) string { return "CASE WHEN (" + kind + ") IN (" + kinds + ") THEN " + value + " END" }
	return database.Member{
		Kind: "(" + kind + ")", Present: "(" + value + ") IS NOT NULL",
		Typed: map[string]string{
			"number": of("'integer', 'real'"), "text": of("'text'"), "boolean": of("'true', 'false'"),
			"json": of("'array', 'object'"),
		},
		// Numbers come before texts by themselves; truth values, which are numbers here, are among the texts.
		Order: func(direction string) string {
			return "CASE " + kind + " WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE " + value + " END" +
				direction + " NULLS LAST"
		},
	}
}

// plain opens the connections of the store, guarded those of users' queries:
// drivers of their own, so that nothing is registered for the whole process.
var plain, guarded engine.Driver

// register fills the drivers once.
var register = sync.OnceValue(func() error {
	guarded.RegisterConnectionHook(func(conn engine.ExecQuerierContext, _ string) error {
		registerer, ok := conn.(engine.AuthorizerRegisterer)
		if !ok {
			return errors.New("the SQLite driver has no authorizer")
		}
		return registerer.RegisterAuthorizer(authorize)
	})
	return errors.Join(
		plain.RegisterModule(curvePoints.name, curvePoints),
		plain.RegisterModule(batches.name, batches),
		guarded.RegisterModule(curvePoints.name, curvePoints))
})

// connect opens a connection and runs statements on it.
func (d *Database) connect(by *engine.Driver, pragmas []string, statements ...string) (*conn, error) {
	c, err := open(by, d.path, d.mode, append([]string{waiting}, pragmas...)...)
	if err != nil {
		return nil, err
	}
	for _, text := range statements {
		if err := c.Script(context.Background(), text); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func open(by *engine.Driver, path string, mode url.Values, pragmas ...string) (*conn, error) {
	opened, err := dial(by, path, mode, pragmas...)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: opened, statements: map[string]driver.Stmt{}}, nil
}

func dial(by *engine.Driver, path string, mode url.Values, pragmas ...string) (opened driver.Conn, err error) {
	if err := register(); err != nil {
		return nil, err
	}
	values := url.Values{"_pragma": pragmas, "_dqs": {"0"}, "_defensive": {"1"}}
	maps.Copy(values, mode)
	name := url.URL{Scheme: "file", Path: path, RawQuery: values.Encode()}
	err = patiently(context.Background(), func() (err error) {
		opened, err = by.Open(name.String())
		return err
	})
	return opened, err
}

// Prepare implements database.Database.
func (d *Database) Prepare(context.Context) error { return nil }

// View implements database.Database.
func (d *Database) View(ctx context.Context, do func(tx database.Tx) error) error {
	if err := d.replaced(); err != nil {
		return err
	}
	taken, err := d.readers.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = taken.Close() }() // it goes back
	return taken.Raw(func(raw any) error {
		c := raw.(*conn)
		if err := c.begin(ctx, `BEGIN`); err != nil {
			return err
		}
		// Nothing was written.
		defer func() { _ = c.Script(context.WithoutCancel(ctx), `ROLLBACK`) }()
		return do(c)
	})
}

// connector implements driver.Connector.
type connector func() (driver.Conn, error)

// Connect implements driver.Connector.
func (open connector) Connect(context.Context) (driver.Conn, error) { return open() }

// Driver implements driver.Connector.
func (open connector) Driver() driver.Driver { return &plain }
