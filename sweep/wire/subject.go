package wire

import (
	"fmt"
	"strconv"
	"strings"

	"sweep/sweep"
)

// CheckToken reports whether a name can be part of a subject: pools and sweep
// ids must be.
func CheckToken(what, name string) error {
	if name == "" {
		return fmt.Errorf("%s: an empty name", what)
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(".*>", r) {
			return fmt.Errorf("%s %q: must not contain white space, control characters, %q, %q or %q", what, name, ".", "*", ">")
		}
	}
	return nil
}

func jobSubject(pool string, id sweep.TrialID) string {
	return "sweep.jobs." + pool + "." + id.Sweep + "." + strconv.FormatInt(id.Index, 10)
}

func eventSubject(id sweep.TrialID, kind sweep.EventKind) string {
	return "sweep.events." + id.Sweep + "." + strconv.FormatInt(id.Index, 10) + "." + string(kind)
}

// trialOfJob reads the trial out of a job's subject.
func trialOfJob(subject string) (sweep.TrialID, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 5 {
		return sweep.TrialID{}, fmt.Errorf("subject %q is no job's", subject)
	}
	index, err := strconv.ParseInt(tokens[4], 10, 64)
	if err != nil || index < 0 {
		return sweep.TrialID{}, fmt.Errorf("subject %q: %q is no trial index", subject, tokens[4])
	}
	return sweep.TrialID{Sweep: tokens[3], Index: index}, nil
}
