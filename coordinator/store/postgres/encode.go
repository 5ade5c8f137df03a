package postgres

import (
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
	column *database.Column
	rows   int
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
	return appendArray(dst, uint32(p), a.rows, func(dst []byte, i int) []byte {
		return appendValue(dst, a.column, i)
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

// typeOf returns the type of a column.
func typeOf(c *database.Column) string {
	switch {
	case c.Int32 != nil:
		return "integer"
	case c.Float != nil:
		return "double precision"
	case c.Bool != nil:
		return "boolean"
	case c.Text != nil:
		return "text"
	case c.JSON != nil:
		return "json"
	case c.Time != nil:
		return "timestamptz"
	}
	return "bigint"
}

// appendValue writes the length of a value and the value.
func appendValue(dst []byte, c *database.Column, row int) []byte {
	switch {
	case c.Null != nil && c.Null(row):
		return append32(dst, null)
	case c.Int != nil:
		return append64(dst, uint64(c.Int(row)))
	case c.Int32 != nil:
		return append32(append32(dst, 4), uint32(c.Int32(row)))
	case c.Key != nil:
		if key := c.Key(row); key != 0 {
			return append64(dst, uint64(key))
		}
		return append32(dst, null)
	case c.Time != nil:
		if t := c.Time(row); !t.IsZero() {
			return append64(dst, uint64(t.UnixMicro()-epoch))
		}
		return append32(dst, null)
	case c.Float != nil:
		if v := c.Float(row); !math.IsNaN(v) {
			return append64(dst, math.Float64bits(v))
		}
		return append32(dst, null)
	case c.Bool != nil:
		if c.Bool(row) {
			return append(append32(dst, 1), 1)
		}
		return append(append32(dst, 1), 0)
	case c.Text != nil:
		return appendText(dst, c.Text(row))
	case c.JSON != nil:
		return appendText(dst, c.JSON(row))
	case c.Bytes != nil:
		return appendText(dst, c.Bytes(row))
	}
	start := len(dst)
	dst = append32(dst, 0)
	if c.Steps != nil {
		steps := c.Steps(row)
		dst = appendArray(dst, pgtype.Int8OID, len(steps), func(dst []byte, i int) []byte {
			return append64(dst, uint64(steps[i]))
		})
	} else {
		values := c.Values(row)
		dst = appendArray(dst, pgtype.Float4OID, len(values), func(dst []byte, i int) []byte {
			return append32(append32(dst, 4), math.Float32bits(values[i]))
		})
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
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
	batch  *database.Batch
	row    int
	buffer []byte
	read   int
}

const chunk = 64 << 10

// Read implements io.Reader.
func (r *copyReader) Read(p []byte) (int, error) {
	if r.read == len(r.buffer) {
		if r.row > r.batch.Rows {
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
	for ; r.row < r.batch.Rows && len(dst) < chunk; r.row++ {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.batch.Columns)))
		for i := range r.batch.Columns {
			dst = appendValue(dst, &r.batch.Columns[i], r.row)
		}
	}
	if r.row == r.batch.Rows {
		dst = binary.BigEndian.AppendUint16(dst, math.MaxUint16)
		r.row++
	}
	r.buffer, r.read = dst, 0
}
