// Package sqlite is the store of one machine: a sweep.Store in one SQLite file
// (WAL mode), in pure Go.
//
// One connection writes, in turn; any number read beside it, each from the
// snapshot of its own transaction. Other processes may open the same file: a
// writer waits for the other's transaction (busy timeout).
//
// Durability: with synchronous = FULL a transaction that has been committed
// survives a power failure, and with it every event that was acknowledged to
// the broker after its commit. NORMAL would lose the last transactions (never
// corrupt the file), so that trials with a result would run again. The sync
// costs a few milliseconds a transaction, whatever its size: in batches of 200
// events the two could not be told apart.
//
// The file belongs on a local disk: WAL mode needs memory that all processes
// of the file share, which a network file system does not give.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	engine "modernc.org/sqlite"

	"sweep/sweep"
)

// Store implements sweep.Store.
type Store struct {
	path      string
	writer    *writer
	writers   *sql.DB
	readers   *sql.DB
	questions *sql.DB

	lock    sync.RWMutex
	numbers map[string]int64 // sweep_no by sweep_id
}

var _ sweep.Store = (*Store)(nil)

// timeLayout is how times are stored: fixed width, so that they sort as text.
const timeLayout = "2006-01-02T15:04:05.000000Z"

const (
	// busyTimeout is how long a writer waits for other processes' transactions.
	busyTimeout = 30 * time.Second
	// busyPause is the mean time between two looks at them.
	busyPause = time.Millisecond
)

// Open opens the database at path, creates it if it is missing, and brings its
// schema up to date. A database of a newer version of the program is
// sweep.ErrNewerSchema, wrapped.
func Open(ctx context.Context, path string) (*Store, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sweep database %s: %w", path, err)
	}
	if strings.IndexByte(path, 0) >= 0 {
		return nil, fmt.Errorf("sweep database %q: a file name has no zero byte", path)
	}
	s := &Store{path: absolute, numbers: map[string]int64{}}
	s.writers = sql.OpenDB(s.connector(nil,
		"page_size(8192)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		"wal_autocheckpoint(2000)", "journal_size_limit(67108864)", "cache_size(-65536)", "temp_store(MEMORY)"))
	s.writers.SetMaxOpenConns(1)
	s.readers = sql.OpenDB(s.connector(nil, "query_only(1)", "cache_size(-16384)", "temp_store(MEMORY)"))
	s.readers.SetMaxIdleConns(4)
	s.questions = sql.OpenDB(s.connector(authorize, "query_only(1)", "cache_size(-16384)", "temp_store(MEMORY)"))
	s.questions.SetMaxIdleConns(1)
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(s.explain("open", err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	conn, err := s.writers.Conn(ctx)
	if err != nil {
		return err
	}
	// From here on the writer itself waits.
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return errors.Join(err, conn.Close())
	}
	s.writer = newWriter(conn)
	return s.migrate(ctx)
}

// Close implements sweep.Store.
func (s *Store) Close() error {
	var errs []error
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	for _, pool := range []*sql.DB{s.questions, s.readers, s.writers} {
		errs = append(errs, pool.Close())
	}
	return errors.Join(errs...)
}

// connector opens connections with a driver of its own, so that nothing is
// registered for the whole process.
func (s *Store) connector(authorizer engine.AuthorizerFn, pragmas ...string) driver.Connector {
	values := url.Values{
		"_busy_timeout": {fmt.Sprint(busyTimeout.Milliseconds())},
		"_pragma":       pragmas,
		"_dqs":          {"0"},
		"_defensive":    {"1"},
	}
	name := url.URL{Scheme: "file", Path: s.path, RawQuery: values.Encode()}
	c := &connector{name: name.String()}
	c.err = c.driver.RegisterModule(curvePointsModule, curvePoints{})
	if authorizer != nil {
		c.driver.RegisterConnectionHook(func(conn engine.ExecQuerierContext, _ string) error {
			registerer, ok := conn.(engine.AuthorizerRegisterer)
			if !ok {
				return errors.New("the SQLite driver has no authorizer")
			}
			return registerer.RegisterAuthorizer(authorizer)
		})
	}
	return c
}

type connector struct {
	driver engine.Driver
	name   string
	err    error
}

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.driver.Open(c.name)
}

func (c *connector) Driver() driver.Driver { return &c.driver }

// number finds a sweep's internal number.
func (s *Store) number(ctx context.Context, q querier, id string) (int64, error) {
	s.lock.RLock()
	number, ok := s.numbers[id]
	s.lock.RUnlock()
	if ok {
		return number, nil
	}
	err := q.queryRow(ctx, `SELECT sweep_no FROM sweeps WHERE sweep_id = ?`, id).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("sweep %q: %w", id, sweep.ErrNotFound)
	}
	return number, err
}

// remember caches the number of a sweep whose transaction has been committed.
func (s *Store) remember(id string, number int64) {
	s.lock.Lock()
	s.numbers[id] = number
	s.lock.Unlock()
}

func formatTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(timeLayout)
}

func parseTime(s sql.NullString) (time.Time, error) {
	if !s.Valid {
		return time.Time{}, nil
	}
	t, err := time.Parse(timeLayout, s.String)
	if err != nil {
		return t, fmt.Errorf("stored time: %w", err)
	}
	return t, nil
}
