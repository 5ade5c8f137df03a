package wire

import (
	"fmt"
	"strconv"
	"strings"

	"sweep/sweep"
)

// longestToken bounds pool names and sweep ids: servers limit subjects.
const longestToken = 128

// CheckToken reports whether a name can be part of a subject and of a
// consumer's name: pools and sweep ids must be.
func CheckToken(what, name string) error {
	if name == "" {
		return fmt.Errorf("%s: an empty name", what)
	}
	if len(name) > longestToken {
		return fmt.Errorf("%s %.20q…: a name of %d bytes; at most %d", what, name, len(name), longestToken)
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || r == '\uFFFD' || strings.ContainsRune(`.*>/\`, r) {
			return fmt.Errorf(`%s %q: must not contain white space, control characters or any of . * > / \`, what, name)
		}
	}
	return nil
}

const eventsPrefix = "sweep.events."

// eventSubject is where a worker of a pool reports.
func eventSubject(pool, worker string) string { return eventsPrefix + pool + "." + worker }

func trialOfTokens(subject, id, index string) (sweep.TrialID, error) {
	i, err := strconv.ParseInt(index, 10, 64)
	if err != nil || i < 0 {
		return sweep.TrialID{}, fmt.Errorf("subject %q: %q is no trial index", subject, index)
	}
	return sweep.TrialID{Sweep: id, Index: i}, nil
}
