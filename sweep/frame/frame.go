// Package frame holds the trials of a sweep in columns, one for each parameter, metric or figure,
// so that sorting, filtering, grouping and plotting read only the columns that they need, and no
// JSON. Its main type is Frame:
//
//	f, err := frame.Read(ctx, results, records, sweep.TrialQuery{})
//	page, err := f.Page(ctx, frame.Query{OrderBy: "loss", Limit: 50})
//
// The columns are unnamed files in the directory of temporary files. Memory does not grow with the
// number of trials, only with the number of distinct texts and, during a query, of groups and
// of rows that are asked for.
//
// read.go and load.go read trials in, records and rows; condition.go filters them; page.go, group.go, slice.go,
// sample.go and importance.go each answer one kind of query.
package frame

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"sync"

	"sweep/sweep"
)

// chunk is how many rows are looked at together.
const chunk = 4096

// State is the state of a trial in a frame. None is the state of an index without a trial row;
// Diverged are completed trials that diverged, which Completed leaves out.
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
	Stopped
	Skipped
	states
)

// StateNames are the states' names, in their order.
var StateNames = [states]string{"", "pending", "queued", "running", "completed", "failed", "cancelled", "diverged",
	"stopped", "skipped"}

// String returns the state's name.
func (s State) String() string { return StateNames[s] }

func stateOf(row *sweep.TrialRow) State {
	if row.Diverged {
		return Diverged
	}
	if at := slices.Index(StateNames[:], string(row.State)); at >= 0 {
		return State(at)
	}
	return Pending
}

// Counts are numbers of trials by State.
type Counts [states]int64

// Loaded is what a frame has read.
type Loaded struct {
	// Rows is one more than the largest index with a trial.
	Rows int64
	// Counts are the numbers of trials by state.
	Counts Counts
	// Version grows with every change.
	Version uint64
}

// Frame has the trials of one sweep: row i is trial i. One that was Read may have several sweeps, and says of which
// Trial a row is. Its methods are safe for concurrent use, apart from those that load it, which one goroutine calls at
// a time.
type Frame struct {
	dir string

	mu      sync.RWMutex
	columns []*column
	// byName has the columns by their names with kinds, members those of parameters and of metrics by their own.
	byName  map[sweep.Name]*column
	members map[sweep.NameKind]map[string]*column
	names   *sweep.Names
	states  *os.File
	pages   []Counts
	loaded  Loaded
	sweeps  []readSweep // those that were Read
}

// New returns an empty frame that keeps its columns in a directory, "" for that of
// temporary files. It knows the names that the records of its sweep have before it reads trials that have them.
func New(dir string, records ...*sweep.SweepRecord) (*Frame, error) {
	f := &Frame{dir: dir, byName: map[sweep.Name]*column{}, names: sweep.NamesOf(records...),
		members: map[sweep.NameKind]map[string]*column{sweep.ParameterKind: {}, sweep.MetricKind: {}}}
	var err error
	if f.states, err = f.file(); err != nil {
		return nil, err
	}
	index := &column{name: "index", virtual: func(row int64, _ State) uint64 { return number(float64(row)) }}
	state := &column{name: "state", virtual: func(_ int64, s State) uint64 { return special | uint64(s) }}
	for _, name := range StateNames[1:] {
		state.entries = append(state.entries, entry{text: name, kind: "text"})
	}
	for _, c := range []*column{index, state, {name: "executions"}, {name: "seconds"}} {
		c.kind = sweep.FieldKind
		f.add(c)
	}
	for _, name := range []string{"run_name", "run_group", sweep.TagColumn} {
		f.add(&column{name: name, kind: sweep.FieldKind, label: true})
	}
	return f, nil
}

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

// Close closes the files, which removes them.
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

// Loaded returns what has been read.
func (f *Frame) Loaded() Loaded {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.loaded
}

// batch is up to chunk rows from row base on: those of them that match a filter, by their
// distance from base, and of all of them the states and the values of some columns. Only what
// belongs to matching rows means anything.
type batch struct {
	base    int64
	matches []int
	states  []State
	values  [][]uint64
}

// batches reads the rows that match a filter, in order, with their values of some columns. Each
// batch is overwritten by the next. The lock is held.
func (f *Frame) batches(ctx context.Context, wanted *filter, columns []*column) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		raw, tested := make([]byte, 8*chunk), make([]uint64, chunk)
		b := &batch{matches: make([]int, chunk), states: make([]State, chunk), values: make([][]uint64, len(columns))}
		for k := range b.values {
			b.values[k] = make([]uint64, chunk)
		}
		for ; b.base < f.loaded.Rows; b.base += chunk {
			err := cmp.Or(ctx.Err(), f.fill(b, wanted, columns, tested, raw))
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// fill reads a batch; tested and raw are room for a column.
func (f *Frame) fill(b *batch, wanted *filter, columns []*column, tested []uint64, raw []byte) error {
	n := int(min(chunk, f.loaded.Rows-b.base))
	if err := readFull(f.states, raw[:n], b.base); err != nil {
		return err
	}
	b.matches = b.matches[:0]
	for i, s := range raw[:n] {
		b.states[i] = State(s)
		if wanted.states[s] && (wanted.among == nil || wanted.among[b.base+int64(i)]) {
			b.matches = append(b.matches, i)
		}
	}
	for k, c := range wanted.columns {
		if err := c.read(b.base, b.states, tested[:n], raw); err != nil {
			return err
		}
		kept := b.matches[:0]
		for _, i := range b.matches {
			if wanted.tests[k](tested[i]) {
				kept = append(kept, i)
			}
		}
		b.matches = kept
	}
	for k, c := range columns {
		if err := c.read(b.base, b.states, b.values[k][:n], raw); err != nil {
			return err
		}
	}
	return nil
}

// score returns the value of the k-th column, a metric, for row i of a batch; false if the trial
// has not completed, diverged or has no number.
func (b *batch) score(k, i int) (float64, bool) {
	value := b.values[k][i]
	return math.Float64frombits(value), b.states[i] == Completed && !isSpecial(value)
}

// readFull reads bytes; behind the end of the file they are 0.
func readFull(file *os.File, dst []byte, at int64) error {
	n, err := file.ReadAt(dst, at)
	clear(dst[n:])
	if err != nil && !errors.Is(err, io.EOF) {
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

// column finds the column that a text names; where several are called so, that of the given kind, if any.
func (f *Frame) column(name string, kind sweep.NameKind) (*column, error) {
	for _, one := range f.names.Find(name, kind) {
		if c := f.byName[one]; c != nil {
			return c, nil
		}
	}
	return nil, &UnknownError{Name: name}
}

// Has reports whether any trial read so far has what a name with its kind names.
func (f *Frame) Has(name sweep.Name) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.byName[name] != nil
}

// Resolve returns the columns that texts name, and what conditions say that people have written.
func (f *Frame) Resolve(texts, written []string) (names []sweep.Name, where []sweep.TrialCondition, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	compiled, columns, err := f.resolve(Filter{Written: written}, named{names: texts})
	if err != nil {
		return nil, nil, err
	}
	for _, c := range columns {
		names = append(names, c.id())
	}
	return names, compiled.where, nil
}

// named are names of columns of a kind; without one, of any.
type named struct {
	kind  sweep.NameKind
	names []string
}

// resolve finds what a query names: the columns of its filter, and others.
func (f *Frame) resolve(q Filter, lists ...named) (wanted *filter, columns []*column, err error) {
	if wanted, err = f.compile(q); err != nil {
		return nil, nil, err
	}
	for _, list := range lists {
		for _, name := range list.names {
			c, err := f.column(name, list.kind)
			if err != nil {
				return nil, nil, err
			}
			columns = append(columns, c)
		}
	}
	return wanted, columns, nil
}

// labels are the names of columns as answers have them.
func (f *Frame) labels(columns []*column) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = f.names.Label(c.id())
	}
	return list
}

// UnknownError is the error of a query that names a column that no trial read so far has.
type UnknownError struct{ Name string }

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%.100q: no parameter, metric or figure of the trials read so far has this name", e.Name)
}
