package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"sweep/sweep"
)

// WorkerState is what a worker is doing as a whole.
type WorkerState string

// The states of a worker. A drained worker takes no jobs until it is resumed.
const (
	WorkerReady    WorkerState = "ready"
	WorkerDraining WorkerState = "draining"
	WorkerDrained  WorkerState = "drained"
)

// WorkerStatus is what a worker says of itself.
type WorkerStatus struct {
	// ID is unique over all workers and time, Name is for people.
	ID      string `json:"id"`
	Name    string `json:"name"`
	Host    string `json:"host"`
	Process int    `json:"process"`
	Pool    string `json:"pool"`
	// Version is the program's.
	Version string      `json:"version"`
	State   WorkerState `json:"state"`
	// Reason says why the worker is draining or drained.
	Reason    string       `json:"reason,omitempty"`
	StartedAt time.Time    `json:"started_at"`
	Slots     []WorkerSlot `json:"slots"`
}

// WorkerSlot is what one slot is doing.
type WorkerSlot struct {
	// Trial is nil while the slot waits for a job.
	Trial *sweep.TrialID `json:"trial,omitempty"`
	Since time.Time      `json:"since"`
}

// Presence is a worker as the presence service shows and changes it. Its
// methods return at once.
type Presence interface {
	Status() WorkerStatus
	// Drain has the worker take no further jobs, Resume take them again.
	Drain(reason string)
	Resume()
}

// The subjects of the presence service: all workers answer the first, the
// worker named by its id the others.
const (
	workerService = "sweep-worker"
	statusSubject = "sweep.workers.status"
	drainSubject  = "sweep.workers.drain."
	resumeSubject = "sweep.workers.resume."
)

const (
	// firstAnswer and nextAnswer are how long a question to all workers waits for
	// the first and for a further answer, allAnswers how long in all.
	firstAnswer = time.Second
	nextAnswer  = 300 * time.Millisecond
	allAnswers  = 5 * time.Second
)

// presenceRequest asks a worker for something.
type presenceRequest struct {
	Version int    `json:"version"`
	Reason  string `json:"reason,omitempty"`
}

type presenceAnswer struct {
	Version int          `json:"version"`
	Status  WorkerStatus `json:"status"`
}

// ServePresence answers for a worker until stop is called.
func (w *Wire) ServePresence(p Presence) (stop func(), err error) {
	status := p.Status()
	service, err := micro.AddService(w.conn, micro.Config{
		Name: workerService, Version: serviceVersion, Description: "runs trials",
		Metadata: map[string]string{"worker": status.Name, "pool": status.Pool},
	})
	if err != nil {
		return nil, fmt.Errorf("presence of worker %s: %w", status.Name, err)
	}
	add := func(name, subject string, do func(presenceRequest)) {
		handler := micro.HandlerFunc(func(r micro.Request) {
			var request presenceRequest
			if err := json.Unmarshal(r.Data(), &request); err != nil || request.Version != ControlVersion {
				w.malformed.Add(1)
				w.log.Error("request dropped: it cannot be read", "subject", r.Subject(), "error", err, "version", request.Version)
				return
			}
			do(request)
			if err := r.RespondJSON(presenceAnswer{ControlVersion, p.Status()}); err != nil {
				w.log.Warn("request not answered", "subject", r.Subject(), "error", err)
			}
		})
		err = errors.Join(err, service.AddEndpoint(name, handler, micro.WithEndpointSubject(subject), micro.WithEndpointQueueGroupDisabled()))
	}
	add("status", statusSubject, func(presenceRequest) {})
	add("drain", drainSubject+status.ID, func(r presenceRequest) { p.Drain(r.Reason) })
	add("resume", resumeSubject+status.ID, func(presenceRequest) { p.Resume() })
	stop = func() {
		if err := service.Stop(); err != nil {
			w.log.Debug("end of the presence service", "error", err)
		}
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("presence of worker %s: %w", status.Name, err)
	}
	return stop, nil
}

// Workers asks all workers how they are and returns them by pool and name. It
// waits until no more answers come.
func (c *Client) Workers(ctx context.Context) ([]WorkerStatus, error) {
	inbox, err := c.conn.SubscribeSync(c.conn.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("asking the workers: %w", err)
	}
	defer func() { _ = inbox.Unsubscribe() }() // or the connection is closed, and it is gone
	data, err := json.Marshal(presenceRequest{Version: ControlVersion})
	if err == nil {
		err = c.conn.PublishRequest(statusSubject, inbox.Subject, data)
	}
	if err != nil {
		return nil, fmt.Errorf("asking the workers: %w", err)
	}
	all, cancel := context.WithTimeout(ctx, allAnswers)
	defer cancel()
	var workers []WorkerStatus
	for wait := firstAnswer; ; wait = nextAnswer {
		next, cancel := context.WithTimeout(all, wait)
		m, err := inbox.NextMsgWithContext(next)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			slices.SortFunc(workers, func(a, b WorkerStatus) int {
				return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name))
			})
			return workers, nil
		case err != nil:
			return nil, fmt.Errorf("asking the workers: %w", err)
		}
		worker, err := decodePresence(m.Data)
		if err != nil {
			return nil, err
		}
		workers = append(workers, *worker)
	}
}

func decodePresence(data []byte) (*WorkerStatus, error) {
	var a presenceAnswer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("a worker's answer cannot be read: %w", err)
	}
	if a.Version != ControlVersion {
		return nil, fmt.Errorf("a worker speaks version %d of the control protocol, this program version %d", a.Version, ControlVersion)
	}
	return &a.Status, nil
}

// DrainWorker has a worker take no further jobs, for a reason. The worker is
// named by its name, or by the beginning of it if that is unique; one that is
// not there is sweep.ErrNotFound, wrapped.
func (c *Client) DrainWorker(ctx context.Context, name, reason string) (*WorkerStatus, error) {
	return c.tell(ctx, drainSubject, name, reason)
}

// ResumeWorker has a drained worker take jobs again.
func (c *Client) ResumeWorker(ctx context.Context, name string) (*WorkerStatus, error) {
	return c.tell(ctx, resumeSubject, name, "")
}

// tell finds a worker and asks it for something.
func (c *Client) tell(ctx context.Context, subject, name, reason string) (*WorkerStatus, error) {
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	var found []WorkerStatus
	for _, w := range workers {
		if w.Name == name {
			found = []WorkerStatus{w}
			break
		}
		if strings.HasPrefix(w.Name, name) {
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("worker %s: %w: none of this name answers", name, sweep.ErrNotFound)
	case 1:
	default:
		return nil, fmt.Errorf("worker %s: %d workers' names begin like this, as %s and %s", name, len(found), found[0].Name, found[1].Name)
	}
	data, err := json.Marshal(presenceRequest{ControlVersion, reason})
	if err != nil {
		return nil, fmt.Errorf("worker %s: %w", name, err)
	}
	bound, cancel := context.WithTimeout(ctx, allAnswers)
	defer cancel()
	m, err := c.conn.RequestWithContext(bound, subject+found[0].ID, data)
	if err != nil {
		return nil, fmt.Errorf("worker %s does not answer: %w", found[0].Name, err)
	}
	return decodePresence(m.Data)
}
