package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// conn is a connection with its prepared statements, and the transaction that
// runs on it. It is used by one goroutine at a time, past database/sql, which
// costs as much for every row and column as SQLite itself.
type conn struct {
	driver.Conn
	statements map[string]driver.Stmt
}

// maxStatements bounds the prepared statements that are kept.
const maxStatements = 100

// timeLayout is how views show times: fixed width, so that they sort as text.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Close closes the statements and the connection.
func (c *conn) Close() error { return errors.Join(c.forget(), c.Conn.Close()) }

func (c *conn) forget() error {
	var errs []error
	for _, statement := range c.statements {
		errs = append(errs, statement.Close())
	}
	clear(c.statements)
	return errors.Join(errs...)
}

// Script implements database.Tx.
func (c *conn) Script(ctx context.Context, text string) error {
	_, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

// begin begins a transaction, or fails. The driver reports a context that ends
// late as the failure of a statement that was carried out, so that nobody would
// end the transaction: the statement is not cut short, and does not wait.
func (c *conn) begin(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.Script(context.WithoutCancel(ctx), text)
}

// Claim implements database.Tx: the transaction has the whole database.
func (c *conn) Claim(context.Context, ...int64) error { return nil }

// Exec implements database.Tx.
func (c *conn) Exec(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = c.with(ctx, text, args, func(statement driver.Stmt, values []driver.NamedValue) error {
		result, err := statement.(driver.StmtExecContext).ExecContext(ctx, values)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	return n, err
}

// Insert implements database.Tx.
func (c *conn) Insert(ctx context.Context, table string, rows database.Batch) error {
	_, err := c.Exec(ctx, "INSERT INTO "+table+" ("+rows.Columns+") SELECT "+rows.Columns+" FROM {v}", rows)
	return err
}

// Query implements database.Tx.
func (c *conn) Query(ctx context.Context, each func(row database.Row) error, text string, args ...any) error {
	return c.with(ctx, text, args, func(statement driver.Stmt, values []driver.NamedValue) error {
		rows, err := statement.(driver.StmtQueryContext).QueryContext(ctx, values)
		if err != nil {
			return err
		}
		answer := make(row, len(rows.Columns()))
		for err == nil {
			if err = rows.Next(answer); errors.Is(err, io.EOF) {
				return rows.Close()
			}
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				err = each(answer)
			}
		}
		return errors.Join(err, rows.Close())
	})
}

// with runs a statement, which is prepared once, with its arguments.
func (c *conn) with(ctx context.Context, text string, args []any,
	run func(statement driver.Stmt, values []driver.NamedValue) error) error {
	statement, err := c.prepare(ctx, text, args)
	if err != nil {
		return err
	}
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
		switch v := arg.(type) {
		case int:
			values[i].Value = int64(v)
		case time.Time:
			values[i].Value = encodeTime(v)
		case database.Batch:
			handle := lastHandle.Add(1)
			running.Store(handle, &batch{Batch: v})
			defer running.Delete(handle)
			values[i].Value = handle
		}
	}
	return run(statement, values)
}

func (c *conn) prepare(ctx context.Context, text string, args []any) (driver.Stmt, error) {
	if statement := c.statements[text]; statement != nil {
		return statement, nil
	}
	if len(c.statements) == maxStatements {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	expanded := text
	if n := len(args); n > 0 {
		if batch, ok := args[n-1].(database.Batch); ok {
			expanded = strings.Replace(text, "{v}", batchItem(&batch, n), 1)
		}
	}
	// A statement that fails ends its transaction, which is rolled back whole: SQLite need not keep what a part of a
	// statement changed.
	for _, verb := range []string{"UPDATE", "INSERT"} {
		if rest, ok := strings.CutPrefix(expanded, verb+" "); ok && !strings.Contains(rest, "ON CONFLICT") {
			expanded = verb + " OR FAIL " + rest
		}
	}
	statement, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, expanded)
	if err == nil {
		c.statements[text] = statement
	}
	return statement, err
}

// row is a row of an answer.
type row []driver.Value

// Scan implements database.Row.
func (r row) Scan(dest ...any) error {
	if len(dest) != len(r) {
		return fmt.Errorf("%d columns for %d variables", len(r), len(dest))
	}
	for i := range dest {
		if err := assign(dest[i], r[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// assign stores a value; NULL is the zero value.
func assign(dest any, value driver.Value) (err error) {
	integer, isInteger := value.(int64)
	text, isText := value.(string)
	blob, isBlob := value.([]byte)
	fits := value == nil
	switch d := dest.(type) {
	case *int64:
		*d, fits = integer, fits || isInteger
	case *int:
		*d, fits = int(integer), fits || isInteger
	case *bool:
		*d, fits = integer != 0, fits || isInteger
	case *float64:
		number, isFloat := value.(float64)
		*d, fits = number+float64(integer), fits || isFloat || isInteger
	case *string:
		*d, fits = text, fits || isText
	case *[]byte:
		if isText {
			blob = []byte(text)
		}
		*d, fits = blob, fits || isText || isBlob
	case *time.Time:
		*d = time.Time{}
		if isInteger {
			*d = time.UnixMicro(integer).UTC()
		} else if isText { // of a view
			*d, err = time.Parse(timeLayout, text)
		}
		fits = fits || isInteger || isText
	case *[]int64:
		*d, err = sweep.DecodeSteps(blob)
		fits = fits || isBlob
	case *[]float32:
		*d, err = sweep.DecodeValues(blob)
		fits = fits || isBlob
	}
	if !fits {
		return fmt.Errorf("cannot scan %T into %T", value, dest)
	}
	return err
}

// encodeTime returns a time as it is stored: microseconds since 1970.
func encodeTime(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}
