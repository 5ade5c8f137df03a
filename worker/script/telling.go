package script

import (
	"regexp"
	"strings"
	"sync"
)

// longestTelling is how much of the line that tells why a program failed is shown, in bytes.
const longestTelling = 300

// afterwards is how many lines, besides those of a stack and warnings, a program may write after an error that
// ended it, as launchers do. After more of them the program went on.
const afterwards = 12

const pythonTraceback = "Traceback (most recent call last):"

var (
	// raised are lines that name an error: of Python and Node.js, Go, Rust, Java, C++, Julia and R.
	raised = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:Uncaught )?(?:[A-Za-z_$][\w$]*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)(?:: .*| \[[A-Z_]+\].*)?$|` +
			`^(?:panic|fatal error): |^thread '.*' panicked at |^Exception in thread "|^\s+what\(\): |^ERROR: |^Error in `)
	})
	// noise are lines that programs write whether they fail or not, or after each error.
	noise = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\w*Warning: |^wandb: |^sweep: |^Exception ignored in|^Node\.js v|^note: run with|` +
			`^goroutine \d+ \[|^[\w./*()]+\(.*\)$|^(?:created by|exit status \d+$)|^Set the environment variable |^Execution halted|` +
			`^Stacktrace:|^[-=*~^"+|]+$|^(?:srun|slurmstepd|make): |\d+%\|`)
	})
	// passedOn are errors that only say that another process failed.
	passedOn = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|\.)(?:ChildFailedError|CalledProcessError|RemoteTraceback|ProcessExitedException)\b`)
	})
)

// telling returns the line of a failed program's log that tells why: that of its last uncaught error, else the last
// one that the program wrote and that is no warning, shortened.
func telling(log string) string {
	var last, any, found string
	after := 0     // lines after the one found
	inside := ""   // what the lines of a traceback begin with
	stack := false // within a traceback
	open := false  // the line found ends before its message
	whole := true  // no warning goes on
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, " \t\r\n")
		line = line[strings.LastIndexByte(line, '\r')+1:] // a progress bar writes over itself
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "sweep: ") {
			continue
		}
		any = strings.TrimSpace(line)
		if before, _, ok := strings.Cut(line, pythonTraceback); ok {
			stack, inside = true, strings.Replace(strings.TrimSuffix(before, "Exception Group "), "+", "|", 1)
			continue
		}
		line = strings.TrimPrefix(line, inside)
		indented := strings.TrimLeft(line, " \t") != line
		isError := raised().MatchString(line)
		if stack {
			if indented {
				continue
			}
			stack, isError = false, true
		}
		switch {
		case isError && found != "" && passedOn().MatchString(line):
			after = 0
		case isError:
			found, after, open = strings.TrimSpace(line), 0, strings.HasSuffix(line, ":")
		case open:
			found, open = found+" "+any, false
		case noise().MatchString(line):
			whole = !strings.Contains(line, "Warning: ")
		case indented && (found != "" || !whole):
		default:
			last, whole = any, true
			after++
		}
	}
	switch {
	case found != "" && after <= afterwards:
		last = found
	case last == "":
		last = any
	}
	if len(last) > longestTelling {
		last = strings.ToValidUTF8(last[:longestTelling], "") + "…"
	}
	return strings.ToValidUTF8(last, "�")
}
