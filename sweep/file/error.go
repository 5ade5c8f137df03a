package file

import (
	"fmt"
	"sort"
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
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, describe(e.Key, e.Problem, e.Nearest))
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

func (e Errors) sort() {
	sort.SliceStable(e, func(i, j int) bool {
		if e[i].Line != e[j].Line {
			return e[i].Line < e[j].Line
		}
		return e[i].Column < e[j].Column
	})
}

// Note is something in a sweep file that its writer should know but that does
// not stop the sweep: keys that mean nothing here, values given twice.
type Note struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key,omitempty"`
	Text   string `json:"text"`
}

// String returns "FILE:LINE:COLUMN: key: text".
func (n Note) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", n.File, n.Line, n.Column, describe(n.Key, n.Text, ""))
}

func describe(key, text, nearest string) string {
	if key != "" {
		text = key + ": " + text
	}
	if nearest != "" {
		text += fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return text
}
