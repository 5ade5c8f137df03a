package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// queryTimeout bounds the time that the server spends on each page of rows.
	queryTimeout = 60 * time.Second
	// queryPage is how many rows are fetched at a time.
	queryPage = 1000
	// timeLayout is how queries show times, as in SQLite.
	timeLayout = "2006-01-02T15:04:05.000000Z"
)

// Query implements sweep.Store. The statement becomes a cursor, which only
// SELECT, VALUES and WITH can, in a transaction that is read-only, by the role
// that only reads if the database has it. Values come as from SQLite: int64,
// float64, string, bool and nil; times and JSON are texts.
func (s *Store) Query(ctx context.Context, text string, yield func(columns []string, row []any) error) error {
	err := s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		err = s.answer(ctx, tx, text, yield)
		// Rolled back, what functions of the query set is gone, and so are their locks; a connection for which that
		// fails is broken, and the pool drops it.
		end := context.WithoutCancel(ctx)
		if failure := tx.Rollback(end); failure == nil {
			_, failure = conn.Exec(end, `SELECT pg_advisory_unlock_all()`)
			err = errors.Join(err, failure)
		}
		return err
	})
	return s.explain("run the query", err)
}

// answer runs the query and yields its rows.
func (s *Store) answer(ctx context.Context, tx pgx.Tx, text string, yield func(columns []string, row []any) error) error {
	settings := fmt.Sprintf(`SET LOCAL enable_bitmapscan = on; SET LOCAL statement_timeout = %d`, queryTimeout.Milliseconds())
	if s.reader {
		settings += `; SET LOCAL ROLE sweep_reader`
	}
	if _, err := tx.Exec(ctx, settings); err != nil {
		return err
	}
	// The extended protocol takes one statement alone.
	_, err := tx.Conn().PgConn().ExecParams(ctx, "DECLARE answer NO SCROLL CURSOR FOR "+text, nil, nil, nil, nil).Close()
	if err != nil {
		return refusal(err)
	}
	for {
		n, err := fetch(ctx, tx, yield)
		if err != nil || n < queryPage {
			return err
		}
	}
}

// fetch yields the next page of the cursor and returns its number of rows.
func fetch(ctx context.Context, tx pgx.Tx, yield func(columns []string, row []any) error) (int, error) {
	n := 0
	rows, err := tx.Query(ctx, fmt.Sprintf("FETCH %d FROM answer", queryPage), pgx.QueryExecModeExec)
	var columns []string
	err = each(rows, err, func() error {
		if columns == nil {
			for _, field := range rows.FieldDescriptions() {
				columns = append(columns, field.Name)
			}
		}
		row, err := values(rows)
		if err != nil {
			return err
		}
		n++
		if err := yield(columns, row); err != nil {
			return passed{err}
		}
		return nil
	})
	return n, err
}

// values returns a row in the types that SQLite has.
func values(rows pgx.Rows) ([]any, error) {
	types := rows.Conn().TypeMap()
	row := make([]any, len(rows.FieldDescriptions()))
	for i, field := range rows.FieldDescriptions() {
		raw := rows.RawValues()[i]
		if raw == nil {
			continue
		}
		if field.DataTypeOID == pgtype.JSONOID || field.DataTypeOID == pgtype.JSONBOID {
			var text string
			if err := types.Scan(field.DataTypeOID, field.Format, raw, &text); err != nil {
				return nil, fmt.Errorf("column %s: %w", field.Name, err)
			}
			row[i] = text
			continue
		}
		t, known := types.TypeForOID(field.DataTypeOID)
		if !known {
			row[i] = string(raw)
			continue
		}
		value, err := t.Codec.DecodeValue(types, field.DataTypeOID, field.Format, raw)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", field.Name, err)
		}
		if row[i], err = plain(value); err != nil {
			return nil, fmt.Errorf("column %s: %w", field.Name, err)
		}
	}
	return row, nil
}

// plain turns a decoded value into one of the types that Query yields.
func plain(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, int64, float64:
		return v, nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case time.Time:
		return v.UTC().Format(timeLayout), nil
	case pgtype.Numeric:
		return number(v)
	case []byte:
		return v, nil
	case fmt.Stringer:
		return v.String(), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// number returns a numeric without decimals as an integer if it fits, any
// other as float64: sums of integers are integers, averages are not.
func number(v pgtype.Numeric) (any, error) {
	if !v.NaN && v.InfinityModifier == pgtype.Finite && v.Exp >= 0 {
		n := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.Exp)), nil)
		if n.Mul(n, v.Int).IsInt64() {
			return n.Int64(), nil
		}
	}
	f, err := v.Float64Value()
	return f.Float64, err
}

// refusal makes clear what is allowed, where Postgres reports the syntax.
func refusal(err error) error {
	var failure *pgconn.PgError
	if !errors.As(err, &failure) {
		return err
	}
	switch failure.Code {
	case "42601", "0A000", "25006", "42P11": // syntax, not supported, read-only transaction, no cursor can be made of it
		return fmt.Errorf("only one statement that reads (SELECT, VALUES, WITH) is allowed: %w", err)
	}
	return err
}
