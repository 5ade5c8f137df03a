package sweep

import (
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
)

// PanicError is a panic as the error of the request, command or decision that it ended: a fault of this program.
type PanicError struct {
	Value any
	// Calls are the innermost functions of this program, Stack is all of them.
	Calls []string
	Stack string
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("a fault of this program, please report it: %v, in %s", e.Value, strings.Join(e.Calls, " < "))
}

// Catch makes, as a deferred call, a panic the error of a function: a *PanicError. So a panic ends what panicked alone.
//
//	func (s *server) answer(r *request) (err error) {
//		defer sweep.Catch(&err)
func Catch(err *error) {
	if value := recover(); value != nil {
		*err = &PanicError{Value: value, Calls: calls(), Stack: string(debug.Stack())}
	}
}

// calls are the innermost functions of a goroutine that panics, without those of the runtime.
func calls() (list []string) {
	const most = 6
	counters := make([]uintptr, 64)
	frames := runtime.CallersFrames(counters[:runtime.Callers(3, counters)])
	for len(list) < most {
		frame, more := frames.Next()
		if name := path.Base(frame.Function); frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			list = append(list, fmt.Sprintf("%s (%s:%d)", name, path.Base(frame.File), frame.Line))
		}
		if !more {
			break
		}
	}
	return list
}
