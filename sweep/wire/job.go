package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	if m.Version != Version && m.Version != 0 {
		return nil, fmt.Errorf("job of version %d: this program reads version %d", m.Version, Version)
	}
	if err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	if m.Version == 0 {
		return nil, errors.New("job without a version")
	}
	pool, id, err := trialOfJob(subject)
	if err != nil {
		return nil, err
	}
	switch {
	case id != m.TrialID:
		return nil, fmt.Errorf("job of trial %s under the subject of %s", m.TrialID, id)
	case pool != m.Pool:
		return nil, fmt.Errorf("job of trial %s for pool %q under the subject of pool %q", id, m.Pool, pool)
	case m.Trainer == "":
		return nil, fmt.Errorf("job of trial %s names no trainer", id)
	case m.Limits.Timeout < 0:
		return nil, fmt.Errorf("job of trial %s has a negative timeout", id)
	}
	return &m.Job, nil
}

// publishPage is how many jobs are on their way to the server at a time.
const publishPage = 4096

// errPerSubject is the server's code for a message that the store refuses; for
// a subject that has its one message the text says so.
const errPerSubject jetstream.ErrorCode = 10077

// isHeld reports whether the server refused a job because it holds the trial's already.
func isHeld(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == errPerSubject && api.Description == "maximum messages per subject exceeded"
}

// PublishJobs puts jobs into the queue and waits until the server has them all.
// A job that is there already stays as it is and is listed in held. A job that
// does not fit a message is left out, and is a *TooLargeError in the error's
// tree. Any other error ends the wait. Jobs may be published again at will.
func (w *Wire) PublishJobs(ctx context.Context, jobs []Job) (held []sweep.TrialID, err error) {
	var refused []error
	for page := range slices.Chunk(jobs, publishPage) {
		there, tooLarge, err := w.publishPage(ctx, page)
		held, refused = append(held, there...), append(refused, tooLarge...)
		if err != nil {
			return held, errors.Join(append(refused, err)...)
		}
	}
	return held, errors.Join(refused...)
}

func (w *Wire) publishPage(ctx context.Context, jobs []Job) (held []sweep.TrialID, tooLarge []error, err error) {
	type sent struct {
		id     sweep.TrialID
		future jetstream.PubAckFuture
	}
	flying := make([]sent, 0, len(jobs))
	for i := range jobs {
		id := jobs[i].TrialID
		if err := errors.Join(CheckToken("pool", jobs[i].Pool), CheckToken("sweep", id.Sweep)); err != nil {
			return nil, tooLarge, fmt.Errorf("job of trial %s: %w", id, err)
		}
		data, err := json.Marshal(jobMessage{Version, jobs[i]})
		if err != nil {
			return nil, tooLarge, fmt.Errorf("job of trial %s: %w", id, err)
		}
		if len(data) > w.limit() {
			tooLarge = append(tooLarge, &TooLargeError{id, "job", len(data), w.limit()})
			continue
		}
		future, err := w.js.PublishMsgAsync(&nats.Msg{Subject: jobSubject(jobs[i].Pool, id), Data: data}, jetstream.WithStallWait(answerTimeout))
		if err != nil {
			return nil, tooLarge, fmt.Errorf("publish job of trial %s: %w", id, err)
		}
		flying = append(flying, sent{id, future})
	}
	for _, s := range flying {
		select {
		case <-s.future.Ok():
		case err := <-s.future.Err():
			if !isHeld(err) {
				return held, tooLarge, fmt.Errorf("publish job of trial %s: %w", s.id, err)
			}
			held = append(held, s.id)
		case <-ctx.Done():
			return held, tooLarge, ctx.Err()
		}
	}
	return held, tooLarge, nil
}

// HeldJobs returns which of the trials have a job in the queue, waiting or
// being run. Its cost grows with the number of jobs that the trials' sweeps
// have in the queue.
func (w *Wire) HeldJobs(ctx context.Context, trials []sweep.TrialID) (map[sweep.TrialID]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stream, err := w.js.Stream(ctx, JobsStream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", JobsStream, err)
	}
	there := map[sweep.TrialID]bool{}
	asked := map[string]bool{}
	held := map[sweep.TrialID]bool{}
	for _, id := range trials {
		if !asked[id.Sweep] {
			asked[id.Sweep] = true
			info, err := stream.Info(ctx, jetstream.WithSubjectFilter(jobsOf(id.Sweep)))
			if err != nil {
				return nil, fmt.Errorf("stream %s: %w", JobsStream, err)
			}
			for subject := range info.State.Subjects {
				if _, trial, err := trialOfJob(subject); err == nil {
					there[trial] = true
				}
			}
		}
		if there[id] {
			held[id] = true
		}
	}
	return held, nil
}

// jobsOf is the subject of all jobs of a sweep.
func jobsOf(id string) string { return "sweep.jobs.*." + id + ".*" }

// JobCount is the number of jobs in the queue, waiting or being run.
func (w *Wire) JobCount(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stream, err := w.js.Stream(ctx, JobsStream)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", JobsStream, err)
	}
	return int64(stream.CachedInfo().State.Msgs), nil
}

// PurgeJobs removes the jobs of a sweep from the queue, waiting or being run,
// but for those of the trials to keep. The broker is asked once if there is
// nothing to keep, else for every job.
func (w *Wire) PurgeJobs(ctx context.Context, id string, keep ...sweep.TrialID) error {
	bound, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stream, err := w.js.Stream(bound, JobsStream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", JobsStream, err)
	}
	subjects := []string{jobsOf(id)}
	if len(keep) > 0 {
		info, err := stream.Info(bound, jetstream.WithSubjectFilter(jobsOf(id)))
		if err != nil {
			return fmt.Errorf("stream %s: %w", JobsStream, err)
		}
		kept := make(map[sweep.TrialID]bool, len(keep))
		for _, trial := range keep {
			kept[trial] = true
		}
		subjects = slices.DeleteFunc(slices.Collect(maps.Keys(info.State.Subjects)), func(subject string) bool {
			_, trial, err := trialOfJob(subject)
			return err == nil && kept[trial]
		})
	}
	for _, subject := range subjects {
		bound, cancel := context.WithTimeout(ctx, answerTimeout)
		err := stream.Purge(bound, jetstream.WithPurgeSubject(subject))
		cancel()
		if err != nil {
			return fmt.Errorf("purge stream %s: %w", JobsStream, err)
		}
	}
	return nil
}

// ResetJobs removes all jobs and all that the server remembers of deliveries.
// It is for a coordinator that knows that no worker runs anything.
func (w *Wire) ResetJobs(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := w.js.DeleteStream(bound, JobsStream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete stream %s: %w", JobsStream, err)
	}
	return w.Setup(ctx)
}
