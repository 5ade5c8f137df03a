package sweep

import (
	"regexp"
	"strings"
)

// varying matches what differs between the errors of trials that failed for one cause: paths,
// addresses and numbers. Exit codes are kept.
var varying = regexp.MustCompile(`exit (?:status|code) \d+|(?:[A-Za-z]:)?[\\/][\w.+@~\\/-]*[\w]|\b0x[0-9a-fA-F]+\b|` +
	`\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b`)

// FailureCause returns the text of an error with "…" in place of paths, addresses and numbers, so
// that errors of one cause are equal.
func FailureCause(text string) string {
	return varying.ReplaceAllStringFunc(strings.TrimSpace(text), func(found string) string {
		if strings.HasPrefix(found, "exit ") {
			return found
		}
		return "…"
	})
}
