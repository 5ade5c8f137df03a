package dataset

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a data file. A [*FileError] wraps one of these.
var (
	// ErrMissingValue: a value is absent, or marked as missing with NaN or "?".
	ErrMissingValue = errors.New("missing value")
	// ErrVariableLength: a series is shorter or longer than the others.
	ErrVariableLength = errors.New("series of unequal length")
	// ErrNumber: text that is no finite number of float32's range.
	ErrNumber = errors.New("not a number")
	// ErrTruncated: the file ends too early.
	ErrTruncated = errors.New("truncated file")
	// ErrEmpty: a file without series, or series without values.
	ErrEmpty = errors.New("no data")
	// ErrLabel: a label that is missing, unreadable or unknown to the training part, or labels all alike.
	ErrLabel = errors.New("bad label")
	// ErrForm: content that is of another kind than the file's name says, or of a kind that is not supported.
	ErrForm = errors.New("unsupported form")
)

// ErrNoData tells that the data directory, or the folder of one kind of data in it, is not there.
var ErrNoData = errors.New("no data directory")

// FileError tells what is wrong with a data file, and where.
type FileError struct {
	Path   string
	Row    int    // line of the file, or item of a binary file, from 1; 0 if the file as a whole is meant
	Column int    // field of the row from 1; 0 if the row as a whole is meant
	Kind   error  // ErrMissingValue, ErrVariableLength, …
	Detail string // what was found and what to do
}

// Error returns "path:row:column: kind: detail".
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.Path)
	if e.Row > 0 {
		fmt.Fprintf(&b, ":%d", e.Row)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	fmt.Fprintf(&b, ": %v", e.Kind)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// fileError returns a [*FileError] with a detail that is formatted.
func fileError(path string, row, column int, kind error, format string, args ...any) error {
	return &FileError{Path: path, Row: row, Column: column, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Unwrap returns the kind.
func (e *FileError) Unwrap() error { return e.Kind }

// UnknownError tells that there is no data set of this name.
type UnknownError struct {
	Name string
	Dir  string   // where it was looked for
	Near []string // known names that are spelt alike, nearest first
}

// Error names the set, the directory and the nearest known names.
func (e *UnknownError) Error() string {
	s := fmt.Sprintf("unknown data set %q: not in %s", e.Name, e.Dir)
	switch n := len(e.Near); {
	case n == 1:
		s += fmt.Sprintf("; did you mean %s?", e.Near[0])
	case n > 1:
		s += fmt.Sprintf("; did you mean %s or %s?", strings.Join(e.Near[:n-1], ", "), e.Near[n-1])
	}
	return s
}
