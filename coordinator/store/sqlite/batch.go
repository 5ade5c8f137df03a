package sqlite

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite/vtab"

	"sweep/coordinator/store/database"
	"sweep/sweep"
)

// batches is the function behind {v}, batch(handle): the rows of a running
// statement's batch, column by column c0, c1, …. So one statement writes them
// all, at half the cost of a prepared statement a row.
var batches = &function{
	name:      "batch",
	columns:   batchColumns[:],
	arguments: []string{"handle"},
	rows:      10,
	call: func(args []vtab.Value) (answer, error) {
		b, ok := running.Load(args[0])
		if !ok {
			return nil, fmt.Errorf("there is no batch %v", args[0])
		}
		return b.(*batch), nil
	},
}

// createBatch makes the function known to a connection.
const createBatch = `CREATE VIRTUAL TABLE temp.batch USING batch`

var batchColumns = func() (names [32]string) {
	for i := range names {
		names[i] = fmt.Sprint("c", i)
	}
	return names
}()

// batchItem is what {v} stands for: argument n, with the columns' own names.
func batchItem(b *database.Batch, n int) string {
	columns := make([]string, len(b.Columns))
	for i := range columns {
		columns[i] = batchColumns[i] + " AS " + b.Columns[i].Name
	}
	return fmt.Sprintf("(SELECT %s FROM batch($%d)) AS v", strings.Join(columns, ", "), n)
}

// running has the batches of statements that run, by their handles.
var (
	running    sync.Map
	lastHandle atomic.Int64
)

type batch struct{ *database.Batch }

func (b *batch) count() int { return b.Rows }

func (b *batch) value(row, column int) vtab.Value {
	if column >= len(b.Columns) {
		return nil
	}
	c := &b.Columns[column]
	switch {
	case c.Null != nil && c.Null(row):
		return nil
	case c.Int != nil:
		return c.Int(row)
	case c.Int32 != nil:
		return c.Int32(row)
	case c.Key != nil:
		if key := c.Key(row); key != 0 {
			return key
		}
	case c.Time != nil:
		return formatTime(c.Time(row))
	case c.Float != nil:
		if v := c.Float(row); !math.IsNaN(v) {
			return v
		}
	case c.Bool != nil:
		return c.Bool(row)
	case c.Text != nil:
		return c.Text(row)
	case c.JSON != nil:
		return c.JSON(row)
	case c.Bytes != nil:
		return c.Bytes(row)
	case c.Steps != nil:
		return sweep.EncodeSteps(c.Steps(row))
	case c.Values != nil:
		return sweep.EncodeValues(c.Values(row))
	}
	return nil
}
