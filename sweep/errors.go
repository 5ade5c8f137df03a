package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Errors that callers decide on.
var (
	// ErrNotFound: no such sweep, trial or data set.
	ErrNotFound = errors.New("not found")
	// ErrExists: another sweep has this id.
	ErrExists = errors.New("already exists")
	// ErrNewerSchema: the database was written by a newer version of the program.
	ErrNewerSchema = errors.New("the database was written by a newer version of sweep")
	// ErrLed: another process leads, and did not give up the lead in time, or has not brought the
	// schema of the database up to date (see SchemaError).
	ErrLed = errors.New("another process leads")
	// ErrRefused: the database will never accept these data.
	ErrRefused = errors.New("the database does not take it")
	// ErrReplaced: the file of the database is not the one that this process has open; it has to start again.
	ErrReplaced = errors.New("this program must be started again")
	// ErrRunning: a sweep has queued or running trials.
	ErrRunning = errors.New("it runs")
	// ErrNoPoint: the grid has no point.
	ErrNoPoint = errors.New("the grid has no point")
	// ErrTooManyPoints: the grid has 2⁶³ points or more.
	ErrTooManyPoints = errors.New("the grid has 2^63 points or more")
	// ErrDatasetChanged: a worker's data differ from what the sweep was validated against.
	ErrDatasetChanged = errors.New("the data set differs from the one the sweep was validated against")
)

// notFoundError is an ErrNotFound whose text says everything.
type notFoundError struct{ text string }

// NotFound returns an error of that text which is ErrNotFound. Its text should say what is missing and what to do.
func NotFound(format string, arguments ...any) error {
	return &notFoundError{fmt.Sprintf(format, arguments...)}
}

// Error implements error.
func (e *notFoundError) Error() string { return e.text }

// Unwrap returns ErrNotFound.
func (e *notFoundError) Unwrap() error { return ErrNotFound }

// SchemaError says that a database has an older schema than the program needs, which cannot be
// migrated while another process leads. It is ErrLed.
type SchemaError struct {
	Database   string
	Has, Needs int
	// Leader is what the other process called itself, Since when it took the lead,
	// as far as is known.
	Leader string
	Since  time.Time
}

// Error implements error.
func (e *SchemaError) Error() string {
	since := ""
	if !e.Since.IsZero() {
		since = " since " + e.Since.Format(time.RFC3339)
	}
	return fmt.Sprintf("%s has schema version %d and this program needs version %d, to which it cannot be brought "+
		"while another process leads it "+
		"(%s%s): end that one, or use the program of its version", e.Database, e.Has, e.Needs, e.Leader, since)
}

// Unwrap returns ErrLed.
func (e *SchemaError) Unwrap() error { return ErrLed }

// DeposedError says that a coordinator which led in a term does so no longer: what
// it was about to write was not written.
type DeposedError struct {
	// Term is the coordinator's, Now the database's.
	Term, Now int64
	// Leader is what the leader of the term Now called itself, "" if nobody leads.
	Leader string
}

// Error implements error.
func (e *DeposedError) Error() string {
	leader := cmp.Or(e.Leader, "another coordinator, which has ended since")
	return fmt.Sprintf("this coordinator's lead (term %d) is over: %s took over in term %d", e.Term, leader, e.Now)
}

// UnavailableError says that a database cannot take anything now, whatever the data:
// its disk is full, it cannot be reached, it shuts down.
type UnavailableError struct{ Err error }

// Unavailable is an UnavailableError of that text.
func Unavailable(format string, arguments ...any) error {
	return &UnavailableError{fmt.Errorf(format, arguments...)}
}

// Error implements error.
func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ParameterError says that a parameter's value, or a parameter, is refused.
type ParameterError struct {
	Parameter string `json:"parameter"`
	Value     any    `json:"value,omitempty"`
	// Problem says what was expected, as in "must be an integer from 1 to 32".
	Problem string `json:"problem"`
	// Nearest is the nearest known name for a misspelling.
	Nearest string `json:"nearest,omitempty"`
}

// refused returns the error of a parameter without a value of its own.
func refused(parameter, format string, arguments ...any) *ParameterError {
	return &ParameterError{Parameter: parameter, Problem: fmt.Sprintf(format, arguments...)}
}

// Error implements error.
func (e *ParameterError) Error() string {
	text := "parameter " + e.Parameter
	if e.Value != nil {
		if value, err := CanonicalJSON(e.Value); err == nil {
			text += " = " + string(value)
		}
	}
	text += ": " + e.Problem
	if e.Nearest != "" {
		text += fmt.Sprintf(" (did you mean %q?)", e.Nearest)
	}
	return text
}

// DataError says that a data set is missing or cannot be used; its message
// names file and row.
type DataError struct {
	// Dataset is its name, "" for the program and files of a script, which Err names.
	Dataset string
	Err     error
}

// Error implements error.
func (e *DataError) Error() string {
	if e.Dataset == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("data set %s: %v", e.Dataset, e.Err)
}

// Unwrap returns the cause.
func (e *DataError) Unwrap() error { return e.Err }
