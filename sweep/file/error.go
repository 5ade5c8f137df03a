package file

import (
	"cmp"
	"fmt"
	"strings"
)

// Error says what is wrong at one place of a sweep file.
type Error struct {
	File string `json:"file"`
	// Line and Column count from 1; the column counts characters.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Key is the path to the key, as in "parameters.lr.values"; empty for the
	// whole file.
	Key string `json:"key,omitempty"`
	// Problem says what was expected.
	Problem string `json:"problem"`
	// Nearest is the nearest known name for a misspelling.
	Nearest string `json:"nearest,omitempty"`
	// Err is the cause, if another package found the problem.
	Err error `json:"-"`
}

// Error returns "FILE:LINE:COLUMN: key: problem (did you mean …?)".
func (e *Error) Error() string {
	text := e.Problem
	if e.Key != "" {
		text = e.Key + ": " + text
	}
	if e.Nearest != "" {
		text += fmt.Sprintf(" (did you mean %q?)", e.Nearest)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, text)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors are the errors of one file in the order of their places; Decode
// returns at most maxErrors of them.
type Errors []*Error

const maxErrors = 20

// Error returns one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, item := range e {
		lines[i] = item.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, item := range e {
		list[i] = item
	}
	return list
}

// compare orders errors by their places.
func (e *Error) compare(other *Error) int {
	return cmp.Or(cmp.Compare(e.Line, other.Line), cmp.Compare(e.Column, other.Column))
}
