package trainer

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is returned by the methods of a process that was closed.
var ErrClosed = errors.New("the trainer process was closed")

// DiedError means that a trainer's process ended while it was needed, or was killed because it no
// longer answered.
type DiedError struct {
	// Name is the trainer's name.
	Name string
	// Exit is how it ended: "signal: killed", "exit status 2", or why it was killed.
	Exit string
	// Stderr is the end of what the process wrote to standard error.
	Stderr string
}

// Error implements error. It quotes the most telling line of standard error.
func (e *DiedError) Error() string {
	text := fmt.Sprintf("trainer %s died (%s)", e.Name, e.Exit)
	if line := errorLine(e.Stderr); line != "" {
		text += ": " + line
	}
	return text
}

// errorLine returns the first line of a panic, else the last line that is not blank, shortened.
func errorLine(text string) string {
	var line string
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
			line = l
			break
		}
		if l != "" {
			line = l
		}
	}
	const limit = 300
	if len(line) > limit {
		line = strings.ToValidUTF8(line[:limit], "") + "…"
	}
	return line
}

// Killed reports whether SIGKILL, SIGTERM, SIGINT or SIGHUP from outside ended the process, which may
// be the machine's fault. Panics, exits and segmentation faults are the trainer's own.
func (e *DiedError) Killed() bool {
	for _, signal := range []string{"killed", "terminated", "interrupt", "hangup"} {
		if e.Exit == "signal: "+signal {
			return true
		}
	}
	return false
}
