package sqlite

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"modernc.org/sqlite/vtab"
)

// function is a table-valued function in Go: a virtual table with a hidden
// column for each argument, all of which must be given.
type function struct {
	name      string
	columns   []string
	arguments []string
	// rows estimates how many rows it returns.
	rows int64
	// call returns the rows.
	call func(args []vtab.Value) (answer, error)
}

// answer is what a function returned.
type answer interface {
	count() int
	value(row, column int) vtab.Value
}

// callable is the plan that can run.
const callable = 1

// Create implements vtab.Module.
func (f *function) Create(c vtab.Context, args []string) (vtab.Table, error) {
	return f.Connect(c, args)
}

// Connect implements vtab.Module.
func (f *function) Connect(c vtab.Context, _ []string) (vtab.Table, error) {
	return f, c.Declare(fmt.Sprintf("CREATE TABLE %s (%s, %s HIDDEN)", f.name, strings.Join(f.columns, ", "),
		strings.Join(f.arguments, " HIDDEN, ")))
}

// Disconnect implements vtab.Table.
func (f *function) Disconnect() error { return nil }

// Destroy implements vtab.Table.
func (f *function) Destroy() error { return nil }

// BestIndex implements vtab.Table: a plan must have all arguments, or it is
// made too dear to be chosen.
func (f *function) BestIndex(info *vtab.IndexInfo) error {
	given := make([]*vtab.Constraint, len(f.arguments))
	for i := range info.Constraints {
		c := &info.Constraints[i]
		if argument := c.Column - len(f.columns); argument >= 0 && c.Op == vtab.OpEQ && c.Usable {
			given[argument] = c
		}
	}
	if slices.Contains(given, nil) {
		info.EstimatedCost, info.EstimatedRows = math.MaxInt32, math.MaxInt32
		return nil
	}
	for i, c := range given {
		c.ArgIndex, c.Omit = i, true
	}
	info.IdxNum = callable
	info.EstimatedCost, info.EstimatedRows = float64(f.rows), f.rows
	return nil
}

// Open implements vtab.Table.
func (f *function) Open() (vtab.Cursor, error) { return &cursor{function: f}, nil }

type cursor struct {
	function *function
	answer   answer
	row      int
	rows     int
}

// Filter implements vtab.Cursor.
func (c *cursor) Filter(plan int, _ string, args []vtab.Value) (err error) {
	c.row, c.rows = 0, 0
	if plan != callable || len(args) != len(c.function.arguments) {
		return fmt.Errorf("%s needs its arguments: %s", c.function.name, strings.Join(c.function.arguments, ", "))
	}
	if c.answer, err = c.function.call(args); err == nil {
		c.rows = c.answer.count()
	}
	return err
}

// Next implements vtab.Cursor.
func (c *cursor) Next() error {
	c.row++
	return nil
}

// Eof implements vtab.Cursor.
func (c *cursor) Eof() bool { return c.row >= c.rows }

// Column implements vtab.Cursor.
func (c *cursor) Column(column int) (vtab.Value, error) {
	if column >= len(c.function.columns) {
		return nil, nil // an argument
	}
	return c.answer.value(c.row, column), nil
}

// Rowid implements vtab.Cursor.
func (c *cursor) Rowid() (int64, error) { return int64(c.row), nil }

// Close implements vtab.Cursor.
func (c *cursor) Close() error { return nil }
