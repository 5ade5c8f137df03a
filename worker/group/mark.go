package group

import (
	"crypto/rand"
	"os"
)

// markVariable marks the processes that a trainer starts, directly or not: they inherit it.
const markVariable = "SWEEP_GUARD="

// NewMark returns a variable for the environment of a process by which what it starts is
// recognised. All marks have the same length, so none contains another.
func NewMark() string { return markVariable + rand.Text() }

// ownMark returns the mark of this process, "" if it has none.
func ownMark() string {
	if value := os.Getenv(markVariable[:len(markVariable)-1]); value != "" {
		return markVariable + value
	}
	return ""
}
