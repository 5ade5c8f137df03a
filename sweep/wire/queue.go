package wire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// Queue identifies the jobs for the workers of a pool whose offers have the same key, of trials that hold the same of
// their devices: Need is the sweep.Need's key, empty for nothing.
type Queue struct{ Pool, Offer, Need string }

// String returns "pool/offer", with the need, if there is one, behind a hyphen.
func (q Queue) String() string { return q.Pool + "/" + q.token() }

// token stands for offer and need in subjects and in the consumer's name.
func (q Queue) token() string {
	if q.Need == "" {
		return q.Offer
	}
	return q.Offer + "-" + q.Need
}

// queueOf returns the queue of a pool that a token stands for.
func queueOf(pool, token string) Queue {
	offer, need, _ := strings.Cut(token, "-")
	return Queue{pool, offer, need}
}

// stream names the pool's stream of jobs, consumer the queue's consumer of it.
func (q Queue) stream() string   { return jobsStream(q.Pool) }
func (q Queue) consumer() string { return q.token() }

const jobsPrefix = "sweep.work."

// filter is the subject of all jobs of the queue.
func (q Queue) filter() string { return jobsPrefix + q.Pool + "." + q.token() + ".>" }

func (q Queue) subject(id sweep.TrialID) string {
	return jobsPrefix + q.Pool + "." + q.token() + "." + id.Sweep + "." + strconv.FormatInt(id.Index, 10)
}

func (q Queue) check() error {
	if err := CheckToken("pool", q.Pool); err != nil {
		return err
	}
	return CheckToken("offer", q.token())
}

// trialOfJob returns the queue and trial that a job's subject names.
func trialOfJob(subject string) (q Queue, id sweep.TrialID, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 6 || !strings.HasPrefix(subject, jobsPrefix) {
		return Queue{}, sweep.TrialID{}, fmt.Errorf("subject %q is no job's", subject)
	}
	id, err = trialOfTokens(subject, tokens[4], tokens[5])
	return queueOf(tokens[2], tokens[3]), id, err
}

// OpenQueue creates a queue and its pool's stream unless they exist. It does not change an
// existing consumer, whose settings an operator may have changed.
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
		// The database bounds how often a trial runs.
		MaxDeliver: -1,
		// The limit is per consumer, not per worker: it must exceed the slots of all.
		MaxAckPending: 1 << 20,
		// Each worker has one or two pulls waiting. The server cannot change this later.
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

// Queues returns the queues of all pools, except the pools in failed, whose queues the server
// did not list. The value is a queue's ack floor: the server delivers no job of this sequence, or of a
// smaller one, again.
func (w *Wire) Queues(ctx context.Context) (floors map[Queue]uint64, failed map[string]error, err error) {
	floors = map[Queue]uint64{}
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
			q := queueOf(pool, c.Name)
			w.ackWaits.Store(q, c.Config.AckWait) // an operator may have changed it
			mu.Lock()
			floors[q] = c.AckFloor.Stream
			mu.Unlock()
		}
		return consumers.Err()
	})
	return floors, failed, err
}

// RemoveQueue removes a queue and its jobs.
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

// streamsAtOnce bounds the streams that eachJobStream visits at the same time.
const streamsAtOnce = 16

// eachJobStream calls do for each pool's stream, for several at the same time, so that a
// stream without a leader does not delay the others. It returns the errors by pool.
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

// JobCounts returns the number of jobs in the queues of each pool, waiting or running.
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
