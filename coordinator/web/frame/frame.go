// Package frame holds the trials of a sweep in columns, one for each parameter, metric or figure,
// so that sorting, filtering, grouping and plotting read only the columns that they need, and no
// JSON. Its main type is Frame:
//
//	f, err := frame.New("")
//	err = f.Load(ctx, frame.Span{Until: 4096}, read)
//	page, err := f.Page(ctx, frame.Query{OrderBy: "loss", Limit: 50})
//
// The columns are unnamed files in the directory of temporary files. Memory does not grow with the
// number of trials, only with the number of distinct texts and, during a query, of groups.
//
// load.go reads trials in; condition.go filters them; page.go, group.go, slice.go, sample.go and
// importance.go each answer one kind of query.
package frame

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"sweep/sweep"
)

// chunk is how many rows are looked at together.
const chunk = 4096

// State is a trial's state as a frame has it. None is that of an index without a
// trial row; Diverged are completed trials that diverged, which Completed leaves out.
type State byte

// The states.
const (
	None State = iota
	Pending
	Queued
	Running
	Completed
	Failed
	Cancelled
	Diverged
	states
)

// StateNames are the states' names, in their order.
var StateNames = [states]string{"", "pending", "queued", "running", "completed", "failed", "cancelled", "diverged"}

// String returns the state's name.
func (s State) String() string { return StateNames[s] }

func stateOf(row *sweep.TrialRow) State {
	if row.Diverged {
		return Diverged
	}
	for i, name := range StateNames {
		if name == string(row.State) {
			return State(i)
		}
	}
	return Pending
}

// Counts are numbers of trials by State.
type Counts [states]int64

// Frame has the trials of one sweep: row i is trial i. Its methods are safe for
// concurrent use, apart from those that load it, which one goroutine calls at a
// time.
type Frame struct {
	dir string

	mu      sync.RWMutex
	columns []*column
	byName  map[string]*column
	states  *os.File
	pages   []Counts
	rows    int64 // one more than the largest index with a row
	counts  Counts
	// Version grows with every page that changed something.
	version uint64
}

// New returns an empty frame that keeps its columns in a directory, "" for that of
// temporary files.
func New(dir string) (*Frame, error) {
	f := &Frame{dir: dir, byName: map[string]*column{}}
	var err error
	if f.states, err = f.file(); err != nil {
		return nil, err
	}
	for _, c := range []*column{
		{name: "index", kind: "figure", virtual: func(row int64, _ State) uint64 { return number(float64(row)) }},
		{name: "state", kind: "figure", virtual: func(_ int64, s State) uint64 {
			return special | uint64(s)
		}, entries: stateEntries},
		{name: "executions", kind: "figure"}, {name: "seconds", kind: "figure"},
		{name: "best_epoch", kind: "figure"}, {name: "parameter_count", kind: "figure"},
	} {
		f.add(c)
	}
	return f, nil
}

var stateEntries = func() (list []entry) {
	for _, name := range StateNames[1:] {
		list = append(list, entry{text: name, kind: "text"})
	}
	return list
}()

// file makes a file that is gone when it is closed.
func (f *Frame) file() (*os.File, error) {
	file, err := os.CreateTemp(f.dir, "sweep-column-*")
	if err != nil {
		return nil, fmt.Errorf("columns of trials: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Close gives the files up.
func (f *Frame) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.states.Close()
	for _, c := range f.columns {
		if c.file != nil {
			err = errors.Join(err, c.file.Close())
		}
	}
	return err
}

// Rows is one more than the largest index that has been read, Counts the trials
// that have been read, by state, and Version grows with every change.
func (f *Frame) Rows() int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.rows
}

// Counts returns how many trials have been read, by state.
func (f *Frame) Counts() Counts {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.counts
}

// Version grows with every page that changed something.
func (f *Frame) Version() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.version
}

// walk calls each for every chunk of rows from row from on, with the values of some
// columns, while it returns true. Rows of state None have no trial. It is called
// with the lock held.
func (f *Frame) walk(ctx context.Context, from int64, columns []*column,
	each func(base int64, states []State, values [][]uint64) bool) error {
	raw := make([]byte, 8*chunk)
	list := make([]State, chunk)
	values := make([][]uint64, len(columns))
	for i := range values {
		values[i] = make([]uint64, chunk)
	}
	for base := from; base < f.rows; base += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int(min(chunk, f.rows-base))
		if err := readFull(f.states, raw[:n], base); err != nil {
			return err
		}
		for i, s := range raw[:n] {
			list[i] = State(s)
		}
		for k, c := range columns {
			if err := c.read(base, list[:n], values[k][:n], raw); err != nil {
				return err
			}
		}
		if !each(base, list[:n], values) {
			return nil
		}
	}
	return nil
}

// readFull reads bytes; behind the end of the file they are 0.
func readFull(file *os.File, dst []byte, at int64) error {
	n, err := file.ReadAt(dst, at)
	clear(dst[n:])
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("columns of trials: %w", err)
	}
	return nil
}

// one returns a row's state and its values of some columns.
func (f *Frame) one(row int64, columns []*column) (State, []uint64, error) {
	var raw [8]byte
	if err := readFull(f.states, raw[:1], row); err != nil {
		return None, nil, err
	}
	s := State(raw[0])
	values := make([]uint64, len(columns))
	for i, c := range columns {
		if err := c.read(row, []State{s}, values[i:i+1], raw[:]); err != nil {
			return None, nil, err
		}
	}
	return s, values, nil
}

// read reads values from a row on.
func (c *column) read(base int64, states []State, dst []uint64, raw []byte) error {
	switch {
	case c.virtual != nil:
		for i := range dst {
			dst[i] = c.virtual(base+int64(i), states[i])
		}
	case c.file == nil:
		for i := range dst {
			dst[i] = c.constant
		}
	default:
		raw = raw[:8*len(dst)]
		if err := readFull(c.file, raw, 8*base); err != nil {
			return err
		}
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(raw[8*i:]) ^ missing
		}
	}
	return nil
}

// column finds a column by its name.
func (f *Frame) column(name string) (*column, error) {
	if c := f.byName[name]; c != nil {
		return c, nil
	}
	return nil, &UnknownError{Name: name}
}

func (f *Frame) find(names []string) ([]*column, error) {
	list := make([]*column, len(names))
	for i, name := range names {
		var err error
		if list[i], err = f.column(name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// UnknownError says that no trial that has been read has a parameter or metric.
type UnknownError struct{ Name string }

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%.100q: no parameter, metric or figure of the trials read so far has this name", e.Name)
}
