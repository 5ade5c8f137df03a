package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// Job asks a worker to run one trial.
type Job struct {
	sweep.Trial
	Trainer string `json:"trainer"`
	// ResultVersion is the trainer's that the fingerprint was computed with.
	ResultVersion string `json:"result_version"`
	Pool          string `json:"pool"`
	// Volatile names the metrics that are left out of result digests.
	Volatile []string     `json:"volatile,omitempty"`
	Limits   sweep.Limits `json:"limits"`
}

// jobMessage is a job on the wire.
type jobMessage struct {
	Version int `json:"version"`
	Job
}

func decodeJob(subject string, data []byte) (*Job, error) {
	var m jobMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	if m.Version != Version {
		return nil, fmt.Errorf("job of version %d: this program reads version %d", m.Version, Version)
	}
	id, err := trialOfJob(subject)
	if err != nil {
		return nil, err
	}
	if id != m.TrialID {
		return nil, fmt.Errorf("job of trial %s under the subject of %s", m.TrialID, id)
	}
	if m.Trainer == "" {
		return nil, fmt.Errorf("job of trial %s names no trainer", id)
	}
	return &m.Job, nil
}

// errPerSubject is the server's code for a subject that has its one message.
const errPerSubject jetstream.ErrorCode = 10077

// PublishJobs puts jobs into the queue and waits until the server has them all.
// A job that is there already stays as it is and is listed in held. The first
// other error ends the wait; the jobs may be published again at will.
func (w *Wire) PublishJobs(ctx context.Context, jobs []Job) (held []sweep.TrialID, err error) {
	futures := make([]jetstream.PubAckFuture, 0, len(jobs))
	for i := range jobs {
		data, err := json.Marshal(jobMessage{Version, jobs[i]})
		if err != nil {
			return nil, fmt.Errorf("job of trial %s: %w", jobs[i].TrialID, err)
		}
		future, err := w.js.PublishMsgAsync(&nats.Msg{Subject: jobSubject(jobs[i].Pool, jobs[i].TrialID), Data: data})
		if err != nil {
			return nil, fmt.Errorf("publish job of trial %s: %w", jobs[i].TrialID, err)
		}
		futures = append(futures, future)
	}
	for i, future := range futures {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			var api *jetstream.APIError
			if errors.As(err, &api) && api.ErrorCode == errPerSubject && api.Description == "maximum messages per subject exceeded" {
				held = append(held, jobs[i].TrialID)
				continue
			}
			return held, fmt.Errorf("publish job of trial %s: %w", jobs[i].TrialID, err)
		case <-ctx.Done():
			return held, ctx.Err()
		}
	}
	return held, nil
}

// HeldJobs returns which of the trials have a job in the queue, waiting or
// being run.
func (w *Wire) HeldJobs(ctx context.Context, trials []sweep.TrialID) (map[sweep.TrialID]bool, error) {
	stream, err := w.js.Stream(ctx, JobsStream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", JobsStream, err)
	}
	asked := map[string][]sweep.TrialID{}
	for _, id := range trials {
		asked[id.Sweep] = append(asked[id.Sweep], id)
	}
	held := map[sweep.TrialID]bool{}
	for id, wanted := range asked {
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter("sweep.jobs.*."+id+".*"))
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", JobsStream, err)
		}
		there := map[sweep.TrialID]bool{}
		for subject := range info.State.Subjects {
			if trial, err := trialOfJob(subject); err == nil {
				there[trial] = true
			}
		}
		for _, trial := range wanted {
			if there[trial] {
				held[trial] = true
			}
		}
	}
	return held, nil
}

// JobCount is the number of jobs in the queue, waiting or being run.
func (w *Wire) JobCount(ctx context.Context) (int64, error) {
	stream, err := w.js.Stream(ctx, JobsStream)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", JobsStream, err)
	}
	return int64(stream.CachedInfo().State.Msgs), nil
}

// PurgeJobs removes the jobs of a sweep from the queue, those being run too; ""
// removes all.
func (w *Wire) PurgeJobs(ctx context.Context, id string) error {
	stream, err := w.js.Stream(ctx, JobsStream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", JobsStream, err)
	}
	var options []jetstream.StreamPurgeOpt
	if id != "" {
		options = append(options, jetstream.WithPurgeSubject("sweep.jobs.*."+id+".*"))
	}
	if err := stream.Purge(ctx, options...); err != nil {
		return fmt.Errorf("purge stream %s: %w", JobsStream, err)
	}
	return nil
}

// ResetJobs removes all jobs and all that the server remembers of deliveries.
// It is for a coordinator that knows that no worker runs anything.
func (w *Wire) ResetJobs(ctx context.Context) error {
	if err := w.js.DeleteStream(ctx, JobsStream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete stream %s: %w", JobsStream, err)
	}
	return w.Setup(ctx)
}

// JobConsumer hands out the jobs of one pool.
type JobConsumer struct {
	wire     *Wire
	pool     string
	consumer jetstream.Consumer
}

// Jobs opens the consumer of a pool, which all its workers share.
func (w *Wire) Jobs(ctx context.Context, pool string) (*JobConsumer, error) {
	if err := CheckToken("pool", pool); err != nil {
		return nil, err
	}
	consumer, err := w.js.CreateOrUpdateConsumer(ctx, JobsStream, jetstream.ConsumerConfig{
		Durable:       "workers-" + pool,
		FilterSubject: "sweep.jobs." + pool + ".>",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       w.ackWait,
		// How often a trial may run is counted in the database.
		MaxDeliver: -1,
		// The limit is per consumer, not per worker: above all slots there are.
		MaxAckPending: 1 << 20,
		MaxWaiting:    1 << 13,
	})
	if err != nil {
		return nil, fmt.Errorf("consumer of pool %s: %w", pool, err)
	}
	return &JobConsumer{w, pool, consumer}, nil
}

// pullWait is how long a pull waits at the server before it is asked again.
const pullWait = 30 * time.Second

// Next waits for a job. One job is asked for at a time: what waits in a
// client's buffer would be taken from other workers. A lost stream or consumer
// is an error for which IsLost holds.
func (c *JobConsumer) Next(ctx context.Context) (*Delivery, error) {
	for {
		bound, cancel := context.WithTimeout(ctx, pullWait)
		m, err := c.consumer.Next(jetstream.FetchContext(bound))
		cancel()
		switch {
		case ctx.Err() != nil && m == nil:
			return nil, ctx.Err()
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages), errors.Is(err, context.DeadlineExceeded):
			continue
		case err != nil:
			return nil, fmt.Errorf("next job of pool %s: %w", c.pool, err)
		}
		job, err := decodeJob(m.Subject(), m.Data())
		if err != nil {
			c.wire.refuse(m, err)
			continue
		}
		return &Delivery{Job: *job, msg: m}, nil
	}
}

// Delivery is a job in a worker's hands.
type Delivery struct {
	Job
	msg jetstream.Msg
}

// InProgress starts the server's clock again: the worker is still at it. It is
// not answered, so a worker cannot learn that it lost the job: the store sorts
// that out.
func (d *Delivery) InProgress() error { return d.msg.InProgress() }

// Done removes the job from the queue and waits for the server's word.
func (d *Delivery) Done(ctx context.Context) error {
	if err := d.msg.DoubleAck(ctx); err != nil {
		return fmt.Errorf("acknowledge trial %s: %w", d.TrialID, err)
	}
	return nil
}

// Later gives the job back, to be delivered again after a delay. A plain
// negative acknowledgement would come back at once, to whoever asks first.
func (d *Delivery) Later(delay time.Duration) error { return d.msg.NakWithDelay(delay) }

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
