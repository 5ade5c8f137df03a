// Package postgres is the store of a cluster: a sweep.Store in a Postgres
// database, version 14 or later.
//
// A write transaction first locks the counters of the sweeps that it changes,
// in order of their numbers: writers of one sweep take turns, and none wait
// for each other in a circle. Only one coordinator writes at a time anyway;
// see Leader. Readers never wait.
//
// Bulk goes in by COPY and in arrays, one statement a table, so that a batch
// of events costs a handful of round trips whatever its size.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sweep/sweep"
)

// Store implements sweep.Store.
type Store struct {
	pool *pgxpool.Pool
	// name is the database in errors: host and name, never the password.
	name string
	// reader says that queries run as the role that only reads.
	reader bool

	lock    sync.RWMutex
	numbers map[string]int64 // sweep_no by sweep_id
}

var _ sweep.Store = (*Store)(nil)

// minimumConnections leaves room for readers that use the store while they
// stream.
const minimumConnections = 16

// Open connects to the database at a postgres:// address and brings its schema
// up to date. The usual variables (PGPASSWORD, PGSSLMODE, …) fill in what the
// address leaves out. A schema of a newer version of the program is
// sweep.ErrNewerSchema, wrapped.
func Open(ctx context.Context, address string) (*Store, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err) // pgx hides the password
	}
	config.MaxConns = max(config.MaxConns, minimumConnections)
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "sweep"
	}
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// Everything but Query reads along an index. Without statistics, as while the first sweep is written, Postgres
	// would rather fetch all pending trials and sort them.
	config.ConnConfig.RuntimeParams["enable_bitmapscan"] = "off"
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerArrays(conn.TypeMap())
		return nil
	}
	s := &Store{
		name:    fmt.Sprintf("%s on %s", config.ConnConfig.Database, config.ConnConfig.Host),
		numbers: map[string]int64{},
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, s.explain("open", err)
	}
	if err := s.prepare(ctx); err != nil {
		s.pool.Close()
		return nil, s.explain("open", err)
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	if err := s.migrate(ctx); err != nil {
		return err
	}
	err := s.pool.QueryRow(ctx,
		`SELECT pg_has_role(current_user, oid, 'MEMBER') AND has_table_privilege(oid, 'trials', 'SELECT')
		FROM pg_roles WHERE rolname = 'sweep_reader'`).Scan(&s.reader)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// Close implements sweep.Store.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// transaction is a running write transaction; now is its one time.
type transaction struct {
	pgx.Tx
	now time.Time
}

// update runs do in a transaction, which is kept only if do returns nil. what
// names the work in errors.
func (s *Store) update(ctx context.Context, what string, do func(t *transaction) error) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		return do(&transaction{tx, time.Now().UTC().Truncate(time.Microsecond)})
	})
	return s.explain(what, err)
}

// view runs do in a transaction that reads from one snapshot.
func (s *Store) view(ctx context.Context, what string, do func(tx pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, do)
	return s.explain(what, err)
}

// number finds a sweep's internal number.
func (s *Store) number(ctx context.Context, tx pgx.Tx, id string) (int64, error) {
	s.lock.RLock()
	number, ok := s.numbers[id]
	s.lock.RUnlock()
	if ok {
		return number, nil
	}
	err := tx.QueryRow(ctx, `SELECT sweep_no FROM sweeps WHERE sweep_id = $1`, id).Scan(&number)
	if errors.Is(err, pgx.ErrNoRows) {
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

// claim locks sweeps for the rest of the transaction.
func (t *transaction) claim(ctx context.Context, numbers ...int64) error {
	_, err := t.Exec(ctx, `SELECT FROM counters WHERE sweep_no = ANY($1) ORDER BY sweep_no FOR UPDATE`, numbers)
	return err
}

// claimTrials finds and locks the sweeps of trials, and returns each trial's
// sweep number and index.
func (s *Store) claimTrials(ctx context.Context, t *transaction, ids []sweep.TrialID) (numbers, indices []int64, err error) {
	for _, id := range ids {
		number, err := s.number(ctx, t, id.Sweep)
		if err != nil {
			return nil, nil, err
		}
		numbers = append(numbers, number)
		indices = append(indices, id.Index)
	}
	return numbers, indices, t.claim(ctx, numbers...)
}

// each collects rows by scan.
func each(rows pgx.Rows, err error, scan func() error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

func utc(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
