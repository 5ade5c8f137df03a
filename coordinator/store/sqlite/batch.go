package sqlite

import (
	"database/sql"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	columns := b.Names()
	for i, name := range columns {
		columns[i] = batchColumns[i] + " AS " + name
	}
	return fmt.Sprintf("(SELECT %s FROM batch($%d)) AS v", strings.Join(columns, ", "), n)
}

// running has the batches of statements that run, by their handles.
var (
	running    sync.Map
	lastHandle atomic.Int64
)

type batch struct {
	database.Batch
	// row has the values of row at, from 1 on.
	row []any
	at  int
}

func (b *batch) count() int { return b.Count }

func (b *batch) value(row, column int) vtab.Value {
	if b.at != row+1 {
		b.row, b.at = b.Row(row, b.row[:0]), row+1
	}
	if column >= len(b.row) {
		return nil
	}
	switch v := b.row[column].(type) {
	case *int64:
		return *v
	case *int:
		return int64(*v)
	case *database.Key:
		if *v != 0 {
			return int64(*v)
		}
	case *sql.Null[int64]:
		if v.Valid {
			return v.V
		}
	case *time.Time:
		return encodeTime(*v)
	case *float64:
		if !math.IsNaN(*v) {
			return *v
		}
	case *bool:
		return *v
	case *string:
		return *v
	case *database.JSON:
		return string(*v)
	case *sql.Null[string]:
		if v.Valid {
			return v.V
		}
	case *[]byte:
		return *v
	case *[]int64:
		return sweep.EncodeSteps(*v)
	case *[]float32:
		return sweep.EncodeValues(*v)
	}
	return nil
}
