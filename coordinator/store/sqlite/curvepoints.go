package sqlite

import (
	"fmt"
	"math"

	"modernc.org/sqlite/vtab"

	"sweep/sweep"
)

// curvePointsModule is the name of the virtual table behind the view curves.
const curvePointsModule = "curve_points"

// curvePoints is the table-valued function curve_points(step_array,
// value_array): a row (step, value) for each point of a stored curve, decoded
// without a detour over JSON. A value that is not a number is NULL.
type curvePoints struct{}

// Columns of the virtual table; the hidden ones are its arguments.
const (
	stepColumn = iota
	valueColumn
	stepArrayColumn
	valueArrayColumn
)

// bothArguments is the plan that can run.
const bothArguments = 1

const curvePointsTable = `CREATE TABLE curve_points (step INTEGER, value REAL, step_array HIDDEN, value_array HIDDEN)`

// Create implements vtab.Module.
func (m curvePoints) Create(c vtab.Context, args []string) (vtab.Table, error) {
	return m.Connect(c, args)
}

// Connect implements vtab.Module.
func (m curvePoints) Connect(c vtab.Context, _ []string) (vtab.Table, error) {
	if err := c.Declare(curvePointsTable); err != nil {
		return nil, err
	}
	return m, nil
}

// Disconnect implements vtab.Table.
func (curvePoints) Disconnect() error { return nil }

// Destroy implements vtab.Table.
func (curvePoints) Destroy() error { return nil }

// BestIndex implements vtab.Table: a plan must have both arguments, or it is
// made too dear to be chosen.
func (curvePoints) BestIndex(info *vtab.IndexInfo) error {
	var steps, values *vtab.Constraint
	for i := range info.Constraints {
		c := &info.Constraints[i]
		c.ArgIndex = -1
		switch {
		case c.Op != vtab.OpEQ || !c.Usable:
		case c.Column == stepArrayColumn:
			steps = c
		case c.Column == valueArrayColumn:
			values = c
		}
	}
	if steps == nil || values == nil {
		info.EstimatedCost, info.EstimatedRows = math.MaxInt32, math.MaxInt32
		return nil
	}
	steps.ArgIndex, steps.Omit = 0, true
	values.ArgIndex, values.Omit = 1, true
	info.IdxNum = bothArguments
	info.EstimatedCost, info.EstimatedRows = 1000, 1000
	return nil
}

// Open implements vtab.Table.
func (curvePoints) Open() (vtab.Cursor, error) { return &curveCursor{}, nil }

type curveCursor struct {
	steps  []int64
	values []float32
	row    int
}

// Filter implements vtab.Cursor.
func (c *curveCursor) Filter(plan int, _ string, args []vtab.Value) error {
	c.steps, c.values, c.row = nil, nil, 0
	if plan != bothArguments || len(args) != 2 {
		return fmt.Errorf("%s needs two arguments, a curve's step_array and value_array", curvePointsModule)
	}
	if args[0] == nil || args[1] == nil {
		return nil
	}
	steps, ok := args[0].([]byte)
	values, ok2 := args[1].([]byte)
	if !ok || !ok2 {
		return fmt.Errorf("%s: the arguments must be the blobs of curve_arrays", curvePointsModule)
	}
	var err error
	if c.steps, err = sweep.DecodeSteps(steps); err != nil {
		return err
	}
	if c.values, err = sweep.DecodeValues(values); err != nil {
		return err
	}
	if len(c.steps) != len(c.values) {
		return fmt.Errorf("%s: %d steps but %d values", curvePointsModule, len(c.steps), len(c.values))
	}
	return nil
}

// Next implements vtab.Cursor.
func (c *curveCursor) Next() error {
	c.row++
	return nil
}

// Eof implements vtab.Cursor.
func (c *curveCursor) Eof() bool { return c.row >= len(c.steps) }

// Column implements vtab.Cursor.
func (c *curveCursor) Column(column int) (vtab.Value, error) {
	switch column {
	case stepColumn:
		return c.steps[c.row], nil
	case valueColumn:
		v := float64(c.values[c.row])
		if math.IsNaN(v) {
			return nil, nil
		}
		return v, nil
	}
	return nil, nil
}

// Rowid implements vtab.Cursor.
func (c *curveCursor) Rowid() (int64, error) { return int64(c.row), nil }

// Close implements vtab.Cursor.
func (c *curveCursor) Close() error { return nil }
