package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Calls are the names that a statement may call.
var Calls = calls

// AskUnchecked is Ask without a look at the functions that a statement calls.
func (d *Database) AskUnchecked(ctx context.Context, text string, yield func([]string, []any) error) error {
	return d.useReader(ctx, func(conn *pgx.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		return answer(ctx, tx, text, yield)
	})
}

// SetQueryTimeout replaces the time of a page; nothing may have been asked yet.
func (d *Database) SetQueryTimeout(t time.Duration) {
	d.readers.close()
	d.readers.pool, d.readers.timeout = nil, t
}

// ReaderIdle is how long a session of the reader's login waits for another query.
const ReaderIdle = readerIdle
