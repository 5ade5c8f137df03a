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

// Queue names the jobs for those workers of a pool whose offers have one key.
type Queue struct{ Pool, Offer string }

// String returns "pool/offer".
func (q Queue) String() string { return q.Pool + "/" + q.Offer }

// stream is the stream that holds the pool's jobs, consumer the queue's in it.
func (q Queue) stream() string   { return jobsStream(q.Pool) }
func (q Queue) consumer() string { return q.Offer }

const jobsPrefix = "sweep.work."

// filter is the subject of all jobs of the queue.
func (q Queue) filter() string { return jobsPrefix + q.Pool + "." + q.Offer + ".>" }

func (q Queue) subject(id sweep.TrialID) string {
	return jobsPrefix + q.Pool + "." + q.Offer + "." + id.Sweep + "." + strconv.FormatInt(id.Index, 10)
}

func (q Queue) check() error {
	if err := CheckToken("pool", q.Pool); err != nil {
		return err
	}
	return CheckToken("offer", q.Offer)
}

// trialOfJob reads queue and trial out of a job's subject.
func trialOfJob(subject string) (q Queue, id sweep.TrialID, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 6 || !strings.HasPrefix(subject, jobsPrefix) {
		return Queue{}, sweep.TrialID{}, fmt.Errorf("subject %q is no job's", subject)
	}
	id, err = trialOfTokens(subject, tokens[4], tokens[5])
	return Queue{tokens[2], tokens[3]}, id, err
}

const eventsPrefix = "sweep.events."

// eventSubject is where a worker of a pool reports.
func eventSubject(pool, worker string) string { return eventsPrefix + pool + "." + worker }

// trialOfEvent reads the trial out of the subject of a version 1 event,
// sweep.events.<sweep>.<index>.<kind>.
func trialOfEvent(subject string) (sweep.TrialID, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 5 {
		return sweep.TrialID{}, fmt.Errorf("subject %q is no event's", subject)
	}
	return trialOfTokens(subject, tokens[2], tokens[3])
}

func trialOfTokens(subject, id, index string) (sweep.TrialID, error) {
	i, err := strconv.ParseInt(index, 10, 64)
	if err != nil || i < 0 {
		return sweep.TrialID{}, fmt.Errorf("subject %q: %q is no trial index", subject, index)
	}
	return sweep.TrialID{Sweep: id, Index: i}, nil
}
