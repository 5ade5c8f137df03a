package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// QueuedJob is a job in a queue, waiting or running.
type QueuedJob struct {
	Queue Queue
	sweep.TrialID
	// Sequence is the sequence of its message in the pool's stream.
	Sequence uint64
}

// listPage is how many jobs one request lists.
const listPage = 1000

// QueuedJobs calls yield for each job in the queues of all pools, one call at a time and, for
// each pool, in the order of publication. Pools in failed could not be listed, or only in
// part.
func (w *Wire) QueuedJobs(ctx context.Context, yield func(QueuedJob)) (failed map[string]error, err error) {
	var mu sync.Mutex
	return w.eachJobStream(ctx, func(_, stream string) error {
		for from := uint64(1); from > 0; {
			next, err := w.queuedPage(ctx, stream, from, func(q QueuedJob) {
				mu.Lock()
				defer mu.Unlock()
				yield(q)
			})
			if err != nil {
				return err
			}
			from = next
		}
		return nil
	})
}

// queuedPage lists a page of a stream's messages that starts at a sequence. It returns the
// first sequence of the next page, 0 after the last.
func (w *Wire) queuedPage(ctx context.Context, stream string, from uint64,
	yield func(QueuedJob)) (next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := json.Marshal(map[string]any{"seq": from, "next_by_subj": jobsPrefix + ">", "batch": listPage})
	if err != nil {
		return 0, err
	}
	inbox, err := w.conn.SubscribeSync(w.conn.NewInbox())
	if err != nil {
		return 0, err
	}
	defer func() { _ = inbox.Unsubscribe() }() // fails only if the connection is closed
	if err := w.conn.PublishRequest(w.api+"DIRECT.GET."+stream, inbox.Subject, request); err != nil {
		return 0, err
	}
	last := from
	for {
		m, err := inbox.NextMsgWithContext(ctx)
		if err != nil {
			return 0, err
		}
		switch status := m.Header.Get(statusHeader); status {
		case "":
		case statusNoMessages:
			return 0, nil
		case statusEnd:
			if m.Header.Get("Nats-Num-Pending") == "0" {
				return 0, nil
			}
			return last + 1, nil
		default:
			return 0, fmt.Errorf("list of jobs: the server answers %s %s", status, m.Header.Get(descriptionHeader))
		}
		sequence, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("list of jobs: %w", err)
		}
		last = sequence
		if q, id, err := trialOfJob(m.Header.Get(jetstream.SubjectHeader)); err == nil {
			yield(QueuedJob{q, id, sequence})
		}
	}
}

// RemoveJob removes a job, waiting or running, unless it is gone.
//
// It deletes the message instead of purging its subject: after a purge, NATS servers (2.15) count
// unacknowledged jobs below the next acknowledged one as done, and never deliver them again.
func (w *Wire) RemoveJob(ctx context.Context, job QueuedJob) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	s, err := w.js.Stream(ctx, job.Queue.stream())
	if err == nil {
		err = s.DeleteMsg(ctx, job.Sequence)
	}
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		if _, there := s.GetMsg(ctx, job.Sequence); errors.Is(there, jetstream.ErrMsgNotFound) {
			return nil
		}
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return wrap(err, "remove the job of trial %s", job.TrialID)
}

// RemoveTrials removes the jobs of some trials of a sweep, waiting or running, from all queues. It
// purges a pattern that no queue's filter includes, for which the servers leave the acknowledgements
// alone (see RemoveJob).
func (w *Wire) RemoveTrials(ctx context.Context, pool, id string, indices []int64) error {
	for _, index := range indices {
		subject := jobsPrefix + pool + ".*." + id + "." + strconv.FormatInt(index, 10)
		if err := w.purge(ctx, jobsStream(pool), subject); err != nil {
			return err
		}
	}
	return nil
}

// RemoveJobs removes all jobs of a sweep, waiting or running.
func (w *Wire) RemoveJobs(ctx context.Context, pool, id string) error {
	return w.purge(ctx, jobsStream(pool), jobsPrefix+pool+".*."+id+".*")
}

// purge removes the messages of a subject. A stream that does not exist is no error.
func (w *Wire) purge(ctx context.Context, stream, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	s, err := w.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return wrap(err, "purge stream %s", stream)
}

// ResetJobs removes all jobs and queues. Only a coordinator that knows that no worker runs a
// trial may call it.
func (w *Wire) ResetJobs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	failed, err := w.eachJobStream(ctx, func(_, stream string) error { return w.js.DeleteStream(ctx, stream) })
	return errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
}
