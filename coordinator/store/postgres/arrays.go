package postgres

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgtype"
)

// realArray and bigintArray are written as real[] and bigint[] in one loop,
// where pgx's own way costs a few calls an element: curves are nearly all that
// a store writes. They are structs because pgx takes a nil slice for NULL.
type (
	realArray   struct{ elements []float32 }
	bigintArray struct{ elements []int64 }
)

// arrayCodec is pgx's codec of an array type, with a plan of its own for the
// types above.
type arrayCodec struct{ pgtype.Codec }

// PlanEncode implements pgtype.Codec.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	switch value.(type) {
	case realArray, bigintArray:
		if format == pgtype.BinaryFormatCode {
			return arrayPlan{}
		}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type arrayPlan struct{}

// Encode implements pgtype.EncodePlan: the binary form of array_send in
// src/backend/utils/adt/arrayfuncs.c.
func (arrayPlan) Encode(value any, dst []byte) ([]byte, error) {
	switch v := value.(type) {
	case realArray:
		dst = appendArrayHeader(dst, pgtype.Float4OID, len(v.elements))
		for _, x := range v.elements {
			dst = binary.BigEndian.AppendUint32(dst, 4)
			dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(x))
		}
		return dst, nil
	case bigintArray:
		dst = appendArrayHeader(dst, pgtype.Int8OID, len(v.elements))
		for _, x := range v.elements {
			dst = binary.BigEndian.AppendUint32(dst, 8)
			dst = binary.BigEndian.AppendUint64(dst, uint64(x))
		}
		return dst, nil
	}
	return nil, fmt.Errorf("cannot encode %T as an array", value)
}

// appendArrayHeader writes the number of dimensions, whether there are nulls,
// the element type, and the dimension's length and lower bound.
func appendArrayHeader(dst []byte, element uint32, length int) []byte {
	if length == 0 {
		for _, word := range []uint32{0, 0, element} {
			dst = binary.BigEndian.AppendUint32(dst, word)
		}
		return dst
	}
	for _, word := range []uint32{1, 0, element, uint32(length), 1} {
		dst = binary.BigEndian.AppendUint32(dst, word)
	}
	return dst
}

// registerArrays makes a connection's types use arrayCodec.
func registerArrays(m *pgtype.Map) {
	for _, oid := range []uint32{pgtype.Float4ArrayOID, pgtype.Int8ArrayOID} {
		if t, ok := m.TypeForOID(oid); ok {
			m.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: arrayCodec{t.Codec}})
		}
	}
}
