package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	engine "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"sweep/coordinator/store/query"
)

// Ask implements database.Database. It runs on a connection that cannot write: the
// authorizer refuses everything but reading, and query_only holds behind it.
// Times are texts as stored, booleans bool.
func (d *Database) Ask(ctx context.Context, text string, columns int,
	yield func(columns []string, row []any) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, query.Longest, query.ErrLongest)
	defer cancel()
	err := cmp.Or(single(text), d.replaced())
	if err == nil {
		err = d.ask(bounded, text, columns, yield)
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = context.Cause(bounded)
	}
	return refusal(err)
}

// ownColumns is how many columns an answer may have besides those of a view.
const ownColumns = 100

// limits are of a connection for queries with so many columns: none is to take the memory
// of this process, or to compute for long where it cannot be interrupted. The more
// columns an answer may have, the less each may hold.
func limits(columns int) map[int]int {
	columns += ownColumns
	return map[int]int{
		codes.SQLITE_LIMIT_LENGTH:              query.Row / 2 * ownColumns / columns,
		codes.SQLITE_LIMIT_SQL_LENGTH:          1 << 20,
		codes.SQLITE_LIMIT_COLUMN:              columns,
		codes.SQLITE_LIMIT_ATTACHED:            0,
		codes.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
	}
}

// ask runs a statement and yields its rows. It is interrupted when the next one
// takes longer than the store's queryTimeout.
func (d *Database) ask(ctx context.Context, text string, columns int,
	yield func(columns []string, row []any) error) error {
	conn, err := d.questions.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it goes back
	for limit, value := range limits(columns) {
		if _, err := engine.Limit(conn, limit, value); err != nil {
			return err
		}
	}
	working, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	clock := time.AfterFunc(d.queryTimeout, func() { interrupt(query.ErrTimeout) })
	defer clock.Stop()
	err = yieldRows(working, conn, text, func(columns []string, row []any) error {
		clock.Stop()
		defer clock.Reset(d.queryTimeout)
		return yield(columns, row)
	})
	if cause := context.Cause(working); err != nil && errors.Is(cause, query.ErrTimeout) {
		return cause
	}
	return err
}

// yieldRows yields the rows of a statement.
func yieldRows(ctx context.Context, conn *sql.Conn, text string, yield func(columns []string, row []any) error) error {
	rows, err := conn.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err has what failed
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	columns := make([]string, len(types))
	boolean := make([]bool, len(types))
	for i, t := range types {
		columns[i], boolean[i] = t.Name(), t.DatabaseTypeName() == "BOOLEAN"
	}
	targets := make([]any, len(columns))
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			targets[i] = &row[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, value := range row {
			if n, ok := value.(int64); ok && boolean[i] {
				row[i] = n != 0
			}
		}
		if err := yield(columns, row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// refusal makes clear that it was not allowed, where SQLite says "not authorized".
func refusal(err error) error {
	var failure *engine.Error
	switch {
	case !errors.As(err, &failure):
	case failure.Code() == codes.SQLITE_TOOBIG:
		return query.ErrRow
	case strings.Contains(err.Error(), "not authorized"), strings.Contains(err.Error(), "readonly"),
		strings.Contains(err.Error(), "prohibited"):
		return fmt.Errorf("only statements that read are allowed: %w", err)
	}
	return err
}

// readPragmas tell of the schema and change nothing.
var readPragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true,
	"index_xinfo":      true,
	"foreign_key_list": true, "compile_options": true, "function_list": true,
}

// acting are the functions that do something rather than compute: load code,
// write to the log, run statements.
var acting = map[string]bool{
	"load_extension": true, "sqlite_log": true, "fts3_tokenizer": true, "fts5": true, "rtreecheck": true,
}

// authorize lets SELECTs through and nothing else.
func authorize(action engine.AuthorizerActionCode, arg1, arg2, _, _ string) engine.AuthorizerReturnCode {
	switch action {
	case engine.AuthSelect, engine.AuthRead, engine.AuthRecursive:
		return engine.AuthorizerOK
	case engine.AuthFunction:
		if !acting[strings.ToLower(arg2)] {
			return engine.AuthorizerOK
		}
	case engine.AuthPragma:
		if readPragmas[strings.ToLower(arg1)] {
			return engine.AuthorizerOK
		}
	}
	return engine.AuthorizerDeny
}
