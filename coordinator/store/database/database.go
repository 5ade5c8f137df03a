// Package database is the seam between the store, which has one set of
// queries, and the kinds of database it runs on: transactions, statements,
// rows, and batches of rows that are one argument of a statement.
//
// Statements are in the SQL that both kinds share, with arguments $1, $2, ….
// Values are int, int64, float64, bool, string, []byte (an argument: a blob; a
// result: any text, JSON or blob), time.Time (zero for NULL) and a Batch.
package database

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"
)

// Database is an open database. Its methods are safe for concurrent use.
type Database interface {
	// Name identifies the database: kind, host and name, no password.
	Name() string
	// Dialect describes how its SQL differs.
	Dialect() *Dialect
	// Update runs do in a transaction that writes, which is kept only if do
	// returns nil, and View in one that reads from one snapshot.
	Update(ctx context.Context, do func(tx Tx) error) error
	View(ctx context.Context, do func(tx Tx) error) error
	// Prepare makes what the database needs besides its schema, as far as its user
	// may: it follows every change of the schema.
	Prepare(ctx context.Context) error
	// Ask runs a user's statement if it only reads. Values come as int64,
	// float64, string, []byte, bool and nil; times and JSON are texts. columns is how
	// many the statement's own view has, which may be many.
	Ask(ctx context.Context, text string, columns int, yield func(columns []string, row []any) error) error
	// UpdateLead is Update for a step of a lead.
	UpdateLead(ctx context.Context, step Step, do func(tx Tx) error) error
	// Renew renews the lease of a term, which then lasts for a time from now; held is false if the term is over.
	// It is one statement, so that it takes no longer than one answer of the database, waits for no other
	// transaction of this process, and need not survive a crash of the server. A Locking database writes nothing,
	// which could wait for a long transaction: nobody else leads as long as the leader has the lock.
	Renew(ctx context.Context, term int64, last time.Duration) (held bool, err error)
	// Resign ends the lease of a term if it is not over, likewise.
	Resign(ctx context.Context, term int64) error
	// Now is the time by the one clock that all who use the database share.
	Now(ctx context.Context, tx Tx) (time.Time, error)
	// Explain adds to an error of the database what failed, in which database, and what to
	// do, if that is known. A full disk is syscall.ENOSPC, wrapped; data that the database
	// will never accept are sweep.ErrRefused; any other error that does not depend on the
	// data is a *sweep.UnavailableError.
	Explain(err error) error
	Close() error
}

// Locking is a database with a lock that its leader holds. The operating system releases it with the
// process, which shows at once that nobody leads. Without it, only an expired lease shows that.
type Locking interface {
	// Lock takes the lock. If another process holds it the lock is nil.
	Lock(ctx context.Context) (Lock, error)
	// Held reports whether any process holds the lock. It takes no lock itself.
	Held(ctx context.Context) (bool, error)
}

// Lock is a hold on the database's lock.
type Lock interface {
	Release(ctx context.Context) error
}

// Step is what a transaction that writes does in the course of a lead.
type Step int

const (
	// Fenced writes for the leader. No Takeover is committed meanwhile.
	Fenced Step = iota
	// Takeover may begin a new term. It waits until no Fenced transaction is open, and ends
	// those that take too long if the database allows it: their process may hang.
	Takeover
	// Founding makes the schema of a database that has none: one program at a time.
	Founding
)

// Tx is a running transaction, of one goroutine.
type Tx interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, text string, args ...any) (int64, error)
	// Query calls each for every row of a statement's answer. The next
	// statement begins after the last row.
	Query(ctx context.Context, each func(row Row) error, text string, args ...any) error
	// Insert writes new rows.
	Insert(ctx context.Context, table string, rows Batch) error
	// Claim locks sweeps, by their numbers, until the transaction ends.
	Claim(ctx context.Context, numbers ...int64) error
	// Script runs several statements, without arguments.
	Script(ctx context.Context, text string) error
}

// Row is a row of an answer.
type Row interface {
	// Scan copies the columns to where dest points, which besides the types of
	// the package comment may be []int64 and []float32, the arrays of curves.
	Scan(dest ...any) error
}

// Dialect describes how the SQL of a kind of database differs.
type Dialect struct {
	// Terms are what the text of the schema is written with; Types writes its types in the place of Postgres', if it
	// has others.
	Terms Terms
	Types func(sql string) string
	// Grant is run after views were made, where the database has grants and comments. Described is a query for its
	// tables and views and their columns: TABLE or VIEW, the name, the column's or "", and the comment on it.
	Grant, Described string
	// TableExists is a query for whether there is a table called $1.
	TableExists string
	// CreateMigrations makes the table of applied migrations if it is missing.
	CreateMigrations string
	// Anew ends the sentence that says what to do about a database of another program.
	Anew string
	// NestedComments is set if a comment in /* and */ can have others in it.
	NestedComments bool
	// LongestColumn bounds the name of a column, in bytes, 0 if there is no bound; FoldsColumns means that upper and
	// lower case are not told apart in it.
	LongestColumn int
	FoldsColumns  bool
	// Label is what the operators -> and ->> take for the name of a member of JSON.
	Label func(name string) string
	// Collation compares texts by code point.
	Collation string
	// Selection is run before a query over any trials, if it is not empty.
	Selection string
	// Member describes the value of a member in the first of some objects that has it. label is the expression of
	// its Label, and name is free for a join.
	Member func(name, label string, objects []string) Member
}

// Terms are expressions in which databases differ.
type Terms struct {
	SQLite, Postgres bool
	// WithoutRowid is what follows the columns of a table that has its rows in the order of its key, Length a function
	// of an array, Value the number in a row v of a summary's members.
	WithoutRowid, Length, Value string
	// Members has, by kind ("text", "number", "integer", "without"), how a member of a JSON object is written whose
	// names stand for %[1]s and %[2]s: the value, NULL if it is of another type, or the object without it. Aggregates
	// is how a number of a metric's array is, Times how a stored time is shown.
	Members           map[string]string
	Aggregates, Times string
}

// JSON writes a member of an object.
func (t Terms) JSON(kind, object, name string) (string, error) {
	format, ok := t.Members[kind]
	if !ok {
		return "", fmt.Errorf("a member of kind %q is unknown", kind)
	}
	return fmt.Sprintf(format, object, name), nil
}

// Aggregate writes a number of the aggregates p of a metric: how many values, their mean, their squared differences.
func (t Terms) Aggregate(metric string, number int) string {
	return fmt.Sprintf(t.Aggregates, metric, number)
}

// Time writes a stored time.
func (t Terms) Time(column string) string { return fmt.Sprintf(t.Times, column) }

// The objects of a trial that have members.
const (
	Parameters = "t.parameters"
	Summary    = "o.summary"
)

// Member are expressions for a value of JSON, over trials t and outcomes o.
type Member struct {
	// Join is added to the FROM list.
	Join string
	// Kind is its type as JSON, the text null for null, NULL if there is none. Present is whether it exists and is not
	// null.
	Kind, Present string
	// Typed has an expression for each type of value ("number", "text",
	// "boolean", "json" for lists and mappings), NULL if it is of another.
	Typed map[string]string
	// Order sorts by it: numbers and booleans before texts, ascending or
	// descending, trials without it last.
	Order func(direction string) string
}

// Batch is rows that are one argument of a statement, its last, or that are inserted. In the
// text {v} is replaced by an item called v of the FROM list that has these rows. They are made
// while the statement reads them.
type Batch struct {
	// Columns are the names, separated by ", ".
	Columns string
	Count   int
	// Row appends pointers to the values of row i to an empty row. It may be called several times
	// for a row. The type is that of the column: int64 (bigint), int (integer), Key, float64 (NaN
	// is NULL), bool, string, JSON, time.Time (zero is NULL), sql.Null[int64] and
	// sql.Null[string]. []byte, and []int64 and []float32, the arrays of a curve, can only be
	// inserted. An argument has at least one row.
	Row func(i int, row []any) []any
}

// Key is a number that is NULL where it is 0.
type Key int64

// JSON is a text in a column of JSON.
type JSON string

// Rows returns a batch.
func Rows(count int, columns string, row func(i int, row []any) []any) Batch {
	return Batch{Columns: columns, Count: count, Row: row}
}

// Names are the names of the columns.
func (b Batch) Names() []string { return strings.Split(b.Columns, ", ") }

// WithoutEmpty leaves out the columns that are NULL in all rows, which would cost as much as
// others.
func (b Batch) WithoutEmpty() Batch {
	names := b.Names()
	used := make([]bool, len(names))
	row := make([]any, 0, len(names))
	for i := range b.Count {
		row = b.Row(i, row[:0])
		for column, value := range row {
			used[column] = used[column] || !isNull(value)
		}
	}
	kept := make([]int, 0, len(names))
	for column, name := range names {
		if used[column] {
			names[len(kept)] = name
			kept = append(kept, column)
		}
	}
	all := b.Row
	return Rows(b.Count, strings.Join(names[:len(kept)], ", "), func(i int, row []any) []any {
		row = all(i, row)
		for at, column := range kept {
			row[at] = row[column]
		}
		return row[:len(kept)]
	})
}

// isNull reports whether a value of a column that may be NULL is.
func isNull(value any) bool {
	switch v := value.(type) {
	case *float64:
		return math.IsNaN(*v)
	case *Key:
		return *v == 0
	case *time.Time:
		return v.IsZero()
	case *sql.Null[int64]:
		return !v.Valid
	case *sql.Null[string]:
		return !v.Valid
	}
	return false
}
