package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
)

// Job is the request that a worker run one trial.
type Job struct {
	sweep.Trial
	Pool string `json:"pool"`
	// Requirement is what the worker must offer, including the trainer and the result
	// version with which the fingerprint was computed.
	Requirement sweep.Requirement `json:"requirement"`
	// Volatile names the metrics that are left out of result digests.
	Volatile []string     `json:"volatile,omitempty"`
	Limits   sweep.Limits `json:"limits"`
	// Script is the part of the sweep's program that the trial needs.
	Script *sweep.Script `json:"script,omitempty"`
	// Artifacts names the artifacts to be stored.
	Artifacts []string `json:"artifacts,omitempty"`
	// Stop is by what the trial is stopped early; nil if it runs to its end.
	Stop *sweep.StopRule `json:"stop,omitempty"`
	// Continues is the checkpoint of a shorter trial from which this one can continue, nil if there is none.
	Continues *sweep.ArtifactRecord `json:"continues,omitempty"`
}

// Alone reports whether the trial runs alone in its worker.
func (j *Job) Alone() bool { return j.Limits.Suspects(j.Lost) }

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
	return slices.Sorted(maps.Keys(d.Volatile()))
}

// jobMessage is a job on the wire.
type jobMessage struct {
	Version int `json:"version"`
	Job
}

// decodeJob decodes a job. It checks that the subject matches the content.
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

// publishPage is how many jobs are sent before their acknowledgements are awaited.
const publishPage = 4096

// A server that loses a stream, or its leader, may never acknowledge what is being published to it,
// and a slow one does so late. So after a streamCheck without an acknowledgement the server is asked
// for the state of the stream. The wait ends if it does not have the stream, or has stored nothing
// between two questions, and in any case after longestStore. Tests change both.
var (
	streamCheck  = 2 * time.Second
	longestStore = 30 * time.Second
)

// isDuplicate reports whether the server refused a job because the trial has one already.
// All reasons for not storing a message have one code; only the text differs.
func isDuplicate(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == errNotStored &&
		api.Description == "maximum messages per subject exceeded"
}

// PublishJobs puts jobs into a queue and waits until the server has stored them. It returns
// the sequence of each job in the stream. The sequence is 0 for a trial that already has a
// job, which stays unchanged, and for a job too large for a message, with a *TooLargeError in
// the tree of the error. Any other error ends the wait: then the sequence is also 0 for jobs of
// which it is not known whether they are stored. Publishing a job again is harmless.
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
	flying, began := make([]jetstream.PubAckFuture, len(jobs)), time.Now()
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
			acknowledged(flying[:i], sequences)
			return tooLarge, fmt.Errorf("publish job of trial %s: %w", id, err)
		}
	}
	check := time.NewTicker(w.streamCheck)
	defer check.Stop()
	last, asked := uint64(0), false
	for i := 0; i < len(flying); {
		if flying[i] == nil {
			i++
			continue
		}
		select {
		case ack := <-flying[i].Ok():
			sequences[i] = ack.Sequence
			i++
			asked = false
			check.Reset(w.streamCheck)
		case refusal := <-flying[i].Err():
			if isDuplicate(refusal) {
				i++
			} else {
				err = explainFull(refusal)
			}
		case <-check.C:
			if len(flying[i].Ok())+len(flying[i].Err()) > 0 {
				continue // the answer has come meanwhile
			}
			before := last
			if last, err = w.lastSequence(ctx, q, began); err == nil && asked && last == before {
				err = fmt.Errorf("the server has stored nothing in %v", w.streamCheck)
			}
			asked = true
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			acknowledged(flying[i:], sequences[i:])
			return tooLarge, fmt.Errorf("publish job of trial %s: %w", jobs[i].TrialID, err)
		}
	}
	return tooLarge, nil
}

// acknowledged notes the sequences of those jobs that have been acknowledged.
func acknowledged(flying []jetstream.PubAckFuture, sequences []uint64) {
	for i, future := range flying {
		if future == nil {
			continue
		}
		select {
		case ack := <-future.Ok():
			sequences[i] = ack.Sequence
		default:
		}
	}
}

// lastSequence returns the last sequence of a queue's stream. It returns an error if the server does
// not answer, or does not have the stream that it had at a time: perhaps another one, made since.
func (w *Wire) lastSequence(ctx context.Context, q Queue, at time.Time) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	stream, err := w.js.Stream(ctx, q.stream())
	if err != nil {
		return 0, err
	}
	info := stream.CachedInfo()
	if info.Created.After(at) {
		return 0, jetstream.ErrStreamNotFound
	}
	return info.State.LastSeq, nil
}
