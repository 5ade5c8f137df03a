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
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"sweep/coordinator/store/query"
)

const (
	// queryPage is how many rows are fetched at a time.
	queryPage = 1000
	// timeLayout is how queries show times, as in SQLite.
	timeLayout = "2006-01-02T15:04:05.000000Z"
)

// Ask implements database.Database. The statement becomes a cursor, which only
// SELECT, VALUES and WITH can, in a transaction that is read-only, in a session
// of the reader's login. Values come as from SQLite: int64, float64, string,
// bool and nil; times and JSON are texts.
func (d *Database) Ask(ctx context.Context, text string, _ int, yield func(columns []string, row []any) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, query.Longest, query.ErrLongest)
	defer cancel()
	names, err := calls(text)
	if err == nil {
		err = d.useReader(bounded, func(conn *pgx.Conn) error {
			if err := refuseActing(bounded, conn, names); err != nil {
				return refusal(err)
			}
			tx, err := conn.BeginTx(bounded, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
			if err != nil {
				return refusal(err)
			}
			return answer(bounded, tx, text, yield)
		})
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = context.Cause(bounded)
	}
	return err
}

// answer runs the query and yields its rows.
func answer(ctx context.Context, tx pgx.Tx, text string, yield func(columns []string, row []any) error) error {
	// The extended protocol takes one statement alone.
	_, err := tx.Conn().PgConn().ExecParams(ctx, "DECLARE answer NO SCROLL CURSOR FOR "+text, nil, nil,
		nil, nil).Close()
	if err != nil {
		return refusal(err)
	}
	for {
		n, err := fetch(ctx, tx, yield)
		if err != nil || n < queryPage {
			return refusal(err)
		}
	}
}

// fetch yields the next page of the cursor and returns its number of rows.
func fetch(ctx context.Context, tx pgx.Tx, yield func(columns []string, row []any) error) (int, error) {
	n := 0
	rows, err := tx.Query(ctx, fmt.Sprintf("FETCH %d FROM answer", queryPage), pgx.QueryExecModeExec)
	var columns []string
	err = drain(rows, err, func() error {
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
		return yield(columns, row)
	})
	return n, err
}

// values returns a row in the types that SQLite has.
func values(rows pgx.Rows) ([]any, error) {
	row, err := rows.Values()
	for i := range row {
		if err == nil {
			row[i], err = plain(row[i])
		}
	}
	return row, err
}

// registerTexts makes a connection show JSON as the text that it is.
func registerTexts(m *pgtype.Map) {
	for name, oid := range map[string]uint32{"json": pgtype.JSONOID, "jsonb": pgtype.JSONBOID} {
		m.RegisterType(&pgtype.Type{Name: name, OID: oid, Codec: pgtype.TextCodec{}})
	}
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
	var large *pgproto3.ExceededMaxBodyLenErr
	if errors.As(err, &large) {
		return query.ErrRow
	}
	var failure *pgconn.PgError
	if !errors.As(err, &failure) {
		return err
	}
	switch failure.Code {
	case "57014": // query canceled
		return fmt.Errorf("%w: %s", query.ErrTimeout, failure.Message)
	// syntax, not supported, read-only transaction, no cursor can be made of it
	case "42601", "0A000", "25006", "42P11":
		return fmt.Errorf("only one statement that reads (SELECT, VALUES, WITH) is allowed: %w", err)
	case "42501": // insufficient privilege
		return fmt.Errorf("a query may read the tables and views of results, and nothing else: %s", failure.Message)
	}
	return err
}
