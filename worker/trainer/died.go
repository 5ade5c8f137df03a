package trainer

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is returned by the methods of a process that was closed.
var ErrClosed = errors.New("the trainer process was closed")

// DiedError says that a trainer's process ended, or was ended because it no
// longer answered, while it was needed.
type DiedError struct {
	// Name is the trainer's name.
	Name string
	// Exit says how: "signal: killed", "exit status 2", or why it was killed.
	Exit string
	// Stderr is the end of what the process wrote to standard error.
	Stderr string
}

// Error implements error; of standard error it quotes the line that says most.
func (e *DiedError) Error() string {
	text := fmt.Sprintf("trainer %s died (%s)", e.Name, e.Exit)
	if line := errorLine(e.Stderr); line != "" {
		text += ": " + line
	}
	return text
}

// errorLine returns the line of text that says most about an end: where a panic
// begins, else the last line that is not blank. It is shortened.
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

// Killed reports whether a signal from outside ended the process, which this
// program did not send: that may be the machine's doing. A panic, an exit or a
// signal of a program's own mistakes, such as a segmentation fault, is the
// trainer's.
func (e *DiedError) Killed() bool {
	for _, signal := range []string{"killed", "terminated", "interrupt", "hangup"} {
		if e.Exit == "signal: "+signal {
			return true
		}
	}
	return false
}
