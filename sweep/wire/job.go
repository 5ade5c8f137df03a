package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// Job asks a worker to run one trial.
type Job struct {
	sweep.Trial
	Pool string `json:"pool"`
	// Requirement is what the worker must offer: the trainer and its result
	// version, with which the fingerprint was computed, among it.
	Requirement sweep.Requirement `json:"requirement"`
	// Volatile names the metrics that are left out of result digests.
	Volatile []string     `json:"volatile,omitempty"`
	Limits   sweep.Limits `json:"limits"`
	// Script is the sweep's program, as far as the trial needs it.
	Script *sweep.Script `json:"script,omitempty"`
	// Artifacts names those that are kept.
	Artifacts []string `json:"artifacts,omitempty"`
}

// VolatileSet returns Volatile as a set.
func (j *Job) VolatileSet() map[string]bool {
	set := make(map[string]bool, len(j.Volatile))
	for _, name := range j.Volatile {
		set[name] = true
	}
	return set
}

// VolatileOf lists a description's volatile metrics for a Job, sorted.
func VolatileOf(d *sweep.Description) []string {
	var names []string
	for name := range d.Volatile() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// jobMessage is a job on the wire.
type jobMessage struct {
	Version int `json:"version"`
	Job
}

// decodeJob reads a job and checks what a worker relies on.
func decodeJob(subject string, data []byte) (*Job, error) {
	var m jobMessage
	err := json.Unmarshal(data, &m)
	if m.Version > Version {
		return nil, &newerError{"job", m.Version, Version}
	}
	if err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	if m.Version < Version {
		return nil, fmt.Errorf("job of version %d: this program reads version %d", m.Version, Version)
	}
	q, id, err := trialOfJob(subject)
	if err != nil {
		return nil, err
	}
	switch {
	case id != m.TrialID:
		return nil, fmt.Errorf("job of trial %s under the subject of %s", m.TrialID, id)
	case q.Pool != m.Pool:
		return nil, fmt.Errorf("job of trial %s for pool %q under the subject of pool %q", id, m.Pool, q.Pool)
	case m.Requirement.Trainer == "":
		return nil, fmt.Errorf("job of trial %s names no trainer", id)
	case m.Limits.Timeout < 0:
		return nil, fmt.Errorf("job of trial %s has a negative timeout", id)
	}
	return &m.Job, nil
}

// OpenQueue creates a queue, and its pool's stream, if they are not there. What
// an operator has changed of a consumer that is there stays.
func (w *Wire) OpenQueue(ctx context.Context, q Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	there, err := w.js.Consumer(ctx, q.stream(), q.consumer())
	if err == nil {
		w.ackWaits.Store(q, there.CachedInfo().Config.AckWait)
	} else if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err := w.stream(ctx, w.jobsConfig(q.Pool)); err != nil {
			return err
		}
	} else if !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrConsumerDoesNotExist) {
		return wrap(err, "queue %s", q)
	}
	_, err = w.js.CreateConsumer(ctx, q.stream(), jetstream.ConsumerConfig{
		Durable:       q.consumer(),
		FilterSubject: q.filter(),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       w.ackWait,
		// How often a trial may run is counted in the database.
		MaxDeliver: -1,
		// The limit is per consumer, not per worker: above all slots there are.
		MaxAckPending: 1 << 20,
		// A worker has a pull or two under way. The server cannot change the number later.
		MaxWaiting: 1 << 14,
	})
	if errors.Is(err, jetstream.ErrConsumerExists) {
		return nil
	}
	if err == nil && there == nil {
		w.ackWaits.Store(q, w.ackWait)
	}
	return wrap(err, "queue %s", q)
}

// Queues are the queues of all pools but those of which the server lists none: failed
// says why, by pool.
func (w *Wire) Queues(ctx context.Context) (queues map[Queue]bool, failed map[string]error, err error) {
	queues = map[Queue]bool{}
	var mu sync.Mutex
	failed, err = w.eachJobStream(ctx, func(pool, stream string) error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		s, err := w.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		consumers := s.ListConsumers(ctx)
		for c := range consumers.Info() {
			q := Queue{Pool: pool, Offer: c.Name}
			w.ackWaits.Store(q, c.Config.AckWait) // an operator may have changed it
			mu.Lock()
			queues[q] = true
			mu.Unlock()
		}
		return consumers.Err()
	})
	return queues, failed, err
}

// RemoveQueue removes a queue whose workers are gone, with its jobs.
func (w *Wire) RemoveQueue(ctx context.Context, q Queue) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := w.purge(ctx, q.stream(), q.filter()); err != nil {
		return err
	}
	err := w.js.DeleteConsumer(ctx, q.stream(), q.consumer())
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return wrap(err, "queue %s", q)
}

// wrap adds what an error is about to it, if there is one.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// publishPage is how many jobs are on their way to the server at a time.
const publishPage = 4096

// isDuplicate reports whether the server refused a job because the trial has one: of
// the reasons for which a stream does not store a message only the text tells.
func isDuplicate(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == errNotStored &&
		api.Description == "maximum messages per subject exceeded"
}

// PublishJobs puts jobs into a queue and waits until the server has them all. It
// returns the sequence of each in the stream: 0 for one that is there already, which
// stays as it is, and for one that does not fit a message, which is a
// *TooLargeError in the error's tree. Any other error ends the wait. Jobs may be
// published again at will.
func (w *Wire) PublishJobs(ctx context.Context, q Queue, jobs []Job) (sequences []uint64, err error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	sequences = make([]uint64, len(jobs))
	var refused []error
	for from := 0; from < len(jobs); from += publishPage {
		to := min(from+publishPage, len(jobs))
		tooLarge, err := w.publishPage(ctx, q, jobs[from:to], sequences[from:to])
		refused = append(refused, tooLarge...)
		if err != nil {
			return sequences, errors.Join(append(refused, err)...)
		}
	}
	return sequences, errors.Join(refused...)
}

func (w *Wire) publishPage(ctx context.Context, q Queue, jobs []Job, sequences []uint64) (tooLarge []error, err error) {
	flying := make([]jetstream.PubAckFuture, len(jobs))
	for i := range jobs {
		id := jobs[i].TrialID
		if err := CheckToken("sweep", id.Sweep); err != nil {
			return tooLarge, fmt.Errorf("job of trial %s: %w", id, err)
		}
		data, err := json.Marshal(jobMessage{Version, jobs[i]})
		if err != nil {
			return tooLarge, fmt.Errorf("job of trial %s: %w", id, err)
		}
		if len(data) > w.limit() {
			tooLarge = append(tooLarge, &TooLargeError{id, "job", len(data), w.limit()})
			continue
		}
		flying[i], err = w.js.PublishMsgAsync(&nats.Msg{Subject: q.subject(id), Data: data},
			jetstream.WithStallWait(answerTimeout))
		if err != nil {
			return tooLarge, fmt.Errorf("publish job of trial %s: %w", id, err)
		}
	}
	for i, future := range flying {
		if future == nil {
			continue
		}
		select {
		case ack := <-future.Ok():
			sequences[i] = ack.Sequence
		case err := <-future.Err():
			if !isDuplicate(err) {
				return tooLarge, fmt.Errorf("publish job of trial %s: %w", jobs[i].TrialID, explainFull(err))
			}
		case <-ctx.Done():
			return tooLarge, ctx.Err()
		}
	}
	return tooLarge, nil
}

// QueuedJob is a job in a queue, waiting or being run.
type QueuedJob struct {
	Queue Queue
	sweep.TrialID
	// Sequence is its message's in the stream of its pool.
	Sequence uint64
}

// listPage is how many jobs are listed at a time.
const listPage = 1000

// QueuedJobs calls yield for each job in the queues of all pools, one call at a time, in
// the order in which each pool's were published. Of the pools in failed, which says why,
// some jobs are missing.
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

// queuedPage lists a page of a stream's messages from a sequence on, and returns the
// sequence of the next page, 0 if there is none.
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
	defer func() { _ = inbox.Unsubscribe() }() // or the connection is closed, and it is gone
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
			return 0, fmt.Errorf("list of jobs: the server says %s %s", status, m.Header.Get(descriptionHeader))
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

// streamsAtOnce bounds how many streams are asked about at a time.
const streamsAtOnce = 16

// eachJobStream calls do for each pool's stream, for several at a time: one that has no
// leader keeps nobody else waiting. It returns what failed, by pool.
func (w *Wire) eachJobStream(ctx context.Context,
	do func(pool, stream string) error) (failed map[string]error, err error) {
	bound, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	streams, err := w.streams(bound)
	if err != nil {
		return nil, err
	}
	failed = map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	turns := make(chan struct{}, streamsAtOnce)
	for _, info := range streams {
		name := info.Config.Name
		pool, isJobs := strings.CutPrefix(name, jobsStreamPrefix)
		if !isJobs {
			continue
		}
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			if err := do(pool, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				mu.Lock()
				defer mu.Unlock()
				failed[pool] = fmt.Errorf("stream %s: %w", name, err)
			}
		})
	}
	all.Wait()
	return failed, ctx.Err()
}

// JobCounts are the numbers of jobs in the queues of each pool, waiting or being
// run.
func (w *Wire) JobCounts(ctx context.Context) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	streams, err := w.streams(ctx)
	counts := map[string]int64{}
	for _, info := range streams {
		if pool, isJobs := strings.CutPrefix(info.Config.Name, jobsStreamPrefix); isJobs {
			counts[pool] = int64(info.State.Msgs)
		}
	}
	return counts, err
}

// withdrawMessages and withdrawBytes bound what Withdraw pulls at a time, withdrawWait for
// how long a pull waits for jobs that the consumer has not heard of.
const (
	withdrawMessages = 4096
	withdrawBytes    = 8 << 20
	withdrawWait     = 100 * time.Millisecond
)

// Withdraw takes the jobs of sweeps that wait in a queue out of it and returns their
// trials: no worker has these jobs, and none will get them. Jobs that a worker was given
// stay.
//
// It pulls what waits, as a worker does, because the server gives each job to one
// puller only. Nothing else proves that no worker has a job: in a cluster a pause, a
// purge and the sequence that was delivered last are applied by different servers at
// different times, and messages that were picked meanwhile are delivered later.
//
// A consumer hears of a job a moment after its publication is confirmed, and says until
// then that there is none. So the end is not its word, but that it has delivered the last
// job of the queue, to whomever.
func (w *Wire) Withdraw(ctx context.Context, q Queue, sweeps ...string) (taken []sweep.TrialID, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTimeout)
	defer cancel()
	p, err := w.newPuller(q.stream(), q.consumer())
	if err != nil {
		return nil, err
	}
	defer p.close()
	var own, others []*nats.Msg
	wait := time.Duration(0)
	for more := true; more && err == nil; {
		more, err = p.pullWaiting(ctx, wait, func(m *nats.Msg) {
			switch _, id, err := trialOfJob(m.Subject); {
			case err != nil:
				w.refuse(m, err)
			case slices.Contains(sweeps, id.Sweep):
				own = append(own, m)
			default:
				others = append(others, m)
			}
		})
		if !more && err == nil {
			more, err = w.undelivered(ctx, q)
			wait = withdrawWait
		}
	}
	for _, m := range others {
		if err := w.conn.Publish(m.Reply, []byte(answerReturn)); err != nil {
			w.log.Warn("job not returned to its queue", "subject", m.Subject, "error", err)
		}
	}
	removed, ackErr := w.acknowledge(ctx, own)
	for _, m := range removed {
		_, id, _ := trialOfJob(m.Subject) // which was read before
		taken = append(taken, id)
	}
	return taken, wrap(errors.Join(err, ackErr), "withdraw jobs from queue %s", q)
}

// undelivered reports whether a queue has a job that its consumer has not delivered to
// anybody yet.
func (w *Wire) undelivered(ctx context.Context, q Queue) (bool, error) {
	stream, err := w.js.Stream(ctx, q.stream())
	if err != nil {
		return false, err
	}
	last, err := stream.GetLastMsgForSubject(ctx, q.filter())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	consumer, err := stream.Consumer(ctx, q.consumer())
	if err != nil {
		return false, err
	}
	return consumer.CachedInfo().Delivered.Stream < last.Sequence, nil
}

// acknowledge removes delivered messages from their stream and returns those whose
// removal the server has confirmed. The others are delivered again after AckWait, or
// are gone.
func (w *Wire) acknowledge(ctx context.Context, messages []*nats.Msg) (removed []*nats.Msg, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	inbox := w.conn.NewInbox() + "."
	answers, err := w.conn.SubscribeSync(inbox + "*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }() // or the connection is closed, and it is gone
	for i, m := range messages {
		if err := w.conn.PublishRequest(m.Reply, inbox+strconv.Itoa(i), []byte(answerDone)); err != nil {
			return nil, err
		}
	}
	confirmed := make([]bool, len(messages))
	for len(removed) < len(messages) {
		answer, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return removed, fmt.Errorf("%d of %d acknowledgements are confirmed: %w", len(removed), len(messages), err)
		}
		i, err := strconv.Atoi(strings.TrimPrefix(answer.Subject, inbox))
		if err != nil || i < 0 || i >= len(messages) || confirmed[i] || answer.Header.Get(statusHeader) != "" {
			continue // nobody heard it: the server is about to restart
		}
		confirmed[i] = true
		removed = append(removed, messages[i])
	}
	return removed, nil
}

// RemoveJob removes a trial's job from a queue, waiting or being run.
func (w *Wire) RemoveJob(ctx context.Context, q Queue, id sweep.TrialID) error {
	return w.purge(ctx, q.stream(), q.subject(id))
}

// RemoveTrials removes the jobs of some trials of a sweep, waiting or being run.
func (w *Wire) RemoveTrials(ctx context.Context, pool, id string, indices []int64) error {
	for _, index := range indices {
		subject := jobsPrefix + pool + ".*." + id + "." + strconv.FormatInt(index, 10)
		if err := w.purge(ctx, jobsStream(pool), subject); err != nil {
			return err
		}
	}
	return nil
}

// RemoveJobs removes all jobs of a sweep, waiting or being run.
func (w *Wire) RemoveJobs(ctx context.Context, pool, id string) error {
	return w.purge(ctx, jobsStream(pool), jobsPrefix+pool+".*."+id+".*")
}

// purge removes the messages of a subject. A stream that is not there has none.
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

// ResetJobs removes all jobs, and all that the server remembers of deliveries
// and queues. It is for a coordinator that knows that no worker runs anything.
func (w *Wire) ResetJobs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	failed, err := w.eachJobStream(ctx, func(_, stream string) error { return w.js.DeleteStream(ctx, stream) })
	return errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
}
