package postgres

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"sweep/coordinator/store/database"
)

// The binary forms of values, of arrays and of COPY (the functions …_recv in
// src/backend/utils/adt), written in one loop where pgx's own way costs a few
// calls a value.

// array is a column of a batch as an array, an argument of a statement.
type array struct {
	rows   [][]any
	column int
}

// elements are the types of columns that come as arrays, by that of the array.
var elements = map[uint32]uint32{
	pgtype.Int8ArrayOID: pgtype.Int8OID, pgtype.Int4ArrayOID: pgtype.Int4OID, pgtype.Float8ArrayOID: pgtype.Float8OID,
	pgtype.BoolArrayOID: pgtype.BoolOID, pgtype.TextArrayOID: pgtype.TextOID, pgtype.JSONArrayOID: pgtype.JSONOID,
	pgtype.TimestamptzArrayOID: pgtype.TimestamptzOID,
}

// registerArrays makes a connection take columns as arrays.
func registerArrays(m *pgtype.Map) {
	for oid := range elements {
		if t, ok := m.TypeForOID(oid); ok {
			m.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: arrayCodec{t.Codec}})
		}
	}
}

// arrayCodec is pgx's codec of an array type, with a plan of its own for array.
type arrayCodec struct{ pgtype.Codec }

// PreferredFormat implements pgtype.Codec.
func (c arrayCodec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

// PlanEncode implements pgtype.Codec.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(array); ok && format == pgtype.BinaryFormatCode {
		return arrayPlan(elements[oid])
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

// arrayPlan encodes an array of elements of a type.
type arrayPlan uint32

// Encode implements pgtype.EncodePlan.
func (p arrayPlan) Encode(value any, dst []byte) ([]byte, error) {
	a, ok := value.(array)
	if !ok {
		return nil, fmt.Errorf("cannot encode %T as an array", value)
	}
	return appendArray(dst, uint32(p), len(a.rows), func(dst []byte, i int) []byte {
		return appendValue(dst, a.rows[i][a.column])
	}), nil
}

// appendArray writes the number of dimensions, whether there are nulls, the
// element type, the dimension's length and lower bound, and the elements.
func appendArray(dst []byte, element uint32, n int, appendElement func(dst []byte, i int) []byte) []byte {
	header := []uint32{1, 1, element, uint32(n), 1}
	if n == 0 {
		header = []uint32{0, 0, element}
	}
	for _, word := range header {
		dst = binary.BigEndian.AppendUint32(dst, word)
	}
	for i := range n {
		dst = appendElement(dst, i)
	}
	return dst
}

// epoch is that of Postgres' times.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// typeOf returns the type of a column from one of its values.
func typeOf(value any) string {
	switch value.(type) {
	case *int:
		return "integer"
	case *float64:
		return "double precision"
	case *bool:
		return "boolean"
	case *string, *sql.Null[string]:
		return "text"
	case *database.JSON:
		return "json"
	case *time.Time:
		return "timestamptz"
	}
	return "bigint"
}

// appendValue writes the length of a value and the value.
func appendValue(dst []byte, value any) []byte {
	switch v := value.(type) {
	case *int64:
		return append64(dst, uint64(*v))
	case *int:
		return append32(append32(dst, 4), uint32(*v))
	case *database.Key:
		if *v != 0 {
			return append64(dst, uint64(*v))
		}
	case *sql.Null[int64]:
		if v.Valid {
			return append64(dst, uint64(v.V))
		}
	case *time.Time:
		if !v.IsZero() {
			return append64(dst, uint64(v.UnixMicro()-epoch))
		}
	case *float64:
		if !math.IsNaN(*v) {
			return append64(dst, math.Float64bits(*v))
		}
	case *bool:
		if *v {
			return append(append32(dst, 1), 1)
		}
		return append(append32(dst, 1), 0)
	case *string:
		return appendText(dst, *v)
	case *database.JSON:
		return appendText(dst, string(*v))
	case *sql.Null[string]:
		if v.Valid {
			return appendText(dst, v.V)
		}
	case *[]byte:
		return appendText(dst, *v)
	case *[]int64:
		return withLength(dst, appendArray(append32(dst, 0), pgtype.Int8OID, len(*v), func(dst []byte, i int) []byte {
			return append64(dst, uint64((*v)[i]))
		}))
	case *[]float32:
		return withLength(dst, appendArray(append32(dst, 0), pgtype.Float4OID, len(*v), func(dst []byte, i int) []byte {
			return append32(append32(dst, 4), math.Float32bits((*v)[i]))
		}))
	}
	return append32(dst, null)
}

// withLength fills in the length of a value that was appended to before.
func withLength(before, after []byte) []byte {
	value := after[len(before):]
	binary.BigEndian.PutUint32(value, uint32(len(value)-4))
	return after
}

// null is the length of a value that is NULL.
const null = math.MaxUint32

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(append32(dst, uint32(len(text))), text...)
}

func append32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }

// append64 writes a value of eight bytes with its length.
func append64(dst []byte, v uint64) []byte {
	return binary.BigEndian.AppendUint64(append32(dst, 8), v)
}

// copyReader reads a batch as the binary form of COPY, about chunk bytes at a
// time.
type copyReader struct {
	batch  database.Batch
	row    int
	values []any // of the row
	buffer []byte
	read   int
}

const chunk = 64 << 10

// Read implements io.Reader.
func (r *copyReader) Read(p []byte) (int, error) {
	if r.read == len(r.buffer) {
		if r.row > r.batch.Count {
			return 0, io.EOF
		}
		r.encode()
	}
	n := copy(p, r.buffer[r.read:])
	r.read += n
	return n, nil
}

// encode encodes the next rows, what goes before the first, and what goes after
// the last.
func (r *copyReader) encode() {
	dst := r.buffer[:0]
	if r.row == 0 {
		// signature, no flags, no extension
		dst = append(dst, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	}
	for ; r.row < r.batch.Count && len(dst) < chunk; r.row++ {
		r.values = r.batch.Row(r.row, r.values[:0])
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.values)))
		for _, value := range r.values {
			dst = appendValue(dst, value)
		}
	}
	if r.row == r.batch.Count {
		dst = binary.BigEndian.AppendUint16(dst, math.MaxUint16)
		r.row++
	}
	r.buffer, r.read = dst, 0
}
