// Package parquet reads the rows of Parquet files whose columns are numbers, texts, or lists of numbers. It is the one
// place that knows the library.
//
//	table, err := parquet.Open(data)
//	err = table.Rows(func(row [][]parquet.Value) error { … })
package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Column is a column of a [Table].
type Column struct {
	Name string
	List bool // a row has any number of values, not one
}

// Value is what a row has in a column.
type Value struct {
	Null, Numeric bool // neither: a text
	Number        float64
	Text          string
}

// Table is an open file.
type Table struct {
	Columns []Column
	file    *parquet.File
	leaves  []leaf
}

// leaf is what a column's values need to be understood.
type leaf struct {
	element int  // definition level from which on a value is an element of a list
	boolean bool // of type boolean
}

// Open reads the head of a file. A column of another kind is an error, as is a file that is damaged.
func Open(data []byte) (t *Table, err error) {
	defer damaged(&err)
	t = new(Table)
	if t.file, err = parquet.OpenFile(bytes.NewReader(data), int64(len(data))); err != nil {
		return nil, err
	}
	for _, top := range t.file.Root().Columns() {
		of, depth := top, 0
		for !of.Leaf() && len(of.Columns()) == 1 {
			of, depth = of.Columns()[0], depth+1
		}
		list := of.MaxRepetitionLevel() == 1
		if !of.Leaf() || of.MaxRepetitionLevel() > 1 || depth > 0 && !list {
			return nil, fmt.Errorf("column %s is neither of numbers nor of texts nor of lists of numbers", top.Name())
		}
		if problem := unusable(of); problem != "" {
			return nil, fmt.Errorf("column %s is of type %s", top.Name(), problem)
		}
		l := leaf{element: of.MaxDefinitionLevel(), boolean: of.Type().Kind() == parquet.Boolean}
		if of.Optional() {
			l.element--
		}
		t.Columns, t.leaves = append(t.Columns, Column{top.Name(), list}), append(t.leaves, l)
	}
	return t, nil
}

// unusable names the type of a column whose values are neither numbers nor texts.
func unusable(c *parquet.Column) string {
	if logical := c.Type().LogicalType(); logical != nil {
		if _, is := logical.Value.(*format.DecimalType); is {
			return logical.String()
		}
	}
	if kind := c.Type().Kind(); kind == parquet.Int96 || kind == parquet.FixedLenByteArray {
		return c.Type().String()
	}
	return ""
}

// Rows calls yield with each row: the values of each column, one, or those of its list. They are valid until the next
// call.
func (t *Table) Rows(yield func(row [][]Value) error) (err error) {
	defer damaged(&err)
	row := make([][]Value, len(t.Columns))
	for _, group := range t.file.RowGroups() {
		if err := t.group(group, row, yield); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) group(group parquet.RowGroup, row [][]Value, yield func(row [][]Value) error) (err error) {
	rows := group.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	buffer := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buffer)
		for _, values := range buffer[:n] {
			for i := range row {
				row[i] = row[i][:0]
			}
			for _, v := range values {
				if i := v.Column(); i < 0 || i >= len(row) {
					return fmt.Errorf("a value of column %d of %d", i, len(row))
				} else if l := t.leaves[i]; !t.Columns[i].List || v.DefinitionLevel() >= l.element {
					row[i] = append(row[i], l.value(v))
				}
			}
			if err := yield(row); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (l leaf) value(v parquet.Value) Value {
	switch {
	case v.IsNull():
		return Value{Null: true}
	case l.boolean && v.Boolean():
		return Value{Numeric: true, Number: 1}
	case l.boolean:
		return Value{Numeric: true}
	}
	switch v.Kind() {
	case parquet.Int32:
		return Value{Numeric: true, Number: float64(v.Int32())}
	case parquet.Int64:
		return Value{Numeric: true, Number: float64(v.Int64())}
	case parquet.Float:
		return Value{Numeric: true, Number: float64(v.Float())}
	case parquet.Double:
		return Value{Numeric: true, Number: v.Double()}
	}
	return Value{Text: string(v.ByteArray())}
}

// damaged makes an error of a panic of the library, as by a file that is not what it says.
func damaged(err *error) {
	if problem := recover(); problem != nil {
		*err = fmt.Errorf("damaged file: %v", problem)
	}
}
