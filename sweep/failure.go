package sweep

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// CanaryPoints is the largest number of points of a sweep whose first trials do not run before the others.
const CanaryPoints = 50

// ErrorReason begins the reason of sweeps that are paused because their trials fail.
const ErrorReason = "stopped by an error"

// Halted reports whether a sweep is paused because its trials fail.
func (s *SweepRecord) Halted() bool {
	return s.State == SweepPaused && strings.HasPrefix(s.Reason, ErrorReason)
}

// Errors are how many of the trials of a class that ended last failed for one cause.
type Errors struct {
	Count int64
	// Cause is the FailureCause of their errors, Last the error of the one that failed last, of trial Trial; both
	// may be shortened.
	Cause, Last string
	Trial       int64
}

// longestError is how much of an error is compared and shown, in bytes.
const longestError = 1000

// ErrorCause is the FailureCause of an error, of its beginning if it is long.
func ErrorCause(text string) string {
	return FailureCause(strings.ToValidUTF8(text[:min(len(text), longestError)], ""))
}

// StandsOut is after how many failures in a row, of trials of a class that others complete, the worker counts as the
// reason.
const StandsOut = 3

// machineErrors are parts of errors by which a program ends on a machine that lacks something, or is broken.
var machineErrors = []string{
	"no space left on device", "read-only file system", "input/output error", "stale file handle",
	"cannot allocate memory", "cannot open shared object file", "error while loading shared libraries",
	"no module named", "command not found", "cannot be started in", "too many open files", "cuda driver",
	"no cuda-capable device", "nvml",
}

// MachineError reports whether an error is one that a machine causes that lacks something. A program may cause it, too.
func MachineError(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(machineErrors, func(part string) bool { return strings.Contains(text, part) })
}

// Add adds the error of a trial that failed, and reports whether its cause is that of the ones before.
func (e *Errors) Add(trial int64, text string) (same bool) {
	text = strings.ToValidUTF8(text[:min(len(text), longestError)], "")
	cause := ErrorCause(text)
	same = e.Count > 0 && cause == e.Cause
	if !same {
		e.Count = 0
	}
	e.Count, e.Cause, e.Last, e.Trial = e.Count+1, cause, text, trial
	return same
}

// Reason says that a sweep is stopped by them, on one line.
func (e *Errors) Reason() string {
	text := strings.Join(strings.Fields(e.Last), " ")
	if text == "" {
		text = "no reason given"
	}
	if e.Count == 1 {
		return fmt.Sprintf("%s of trial %d: %s", ErrorReason, e.Trial, text)
	}
	return fmt.Sprintf("%s of %d trials in a row, the last of them trial %d: %s", ErrorReason, e.Count, e.Trial, text)
}

// varying matches what differs between the errors of trials that failed for one cause: paths,
// addresses and numbers. Exit codes are kept.
var varying = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`exit (?:status|code) \d+|(?:[A-Za-z]:)?[\\/][\w.+@~\\/-]*[\w]|\b0x[0-9a-fA-F]+\b|` +
		`\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b`)
})

// FailureCause returns the text of an error with "…" in place of paths, addresses and numbers, so
// that errors of one cause are equal.
func FailureCause(text string) string {
	return varying().ReplaceAllStringFunc(strings.TrimSpace(text), func(found string) string {
		if strings.HasPrefix(found, "exit ") {
			return found
		}
		return "…"
	})
}
