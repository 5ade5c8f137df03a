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

// WorkerState is the state of a worker.
type WorkerState string

// The states of a worker. A drained worker takes no jobs until it is resumed, one that is set aside until a probe of
// its machine succeeds.
const (
	WorkerReady    WorkerState = "ready"
	WorkerDraining WorkerState = "draining"
	WorkerDrained  WorkerState = "drained"
	WorkerAside    WorkerState = "set aside"
)

// WorkerStatus is a worker's status, by its own account.
type WorkerStatus struct {
	// ID is unique, Name is for users.
	ID      string `json:"id"`
	Name    string `json:"name"`
	Host    string `json:"host"`
	Process int    `json:"process"`
	Pool    string `json:"pool"`
	// Version is the version of the program.
	Version string      `json:"version"`
	State   WorkerState `json:"state"`
	// Reason says why the worker takes no jobs.
	Reason    string       `json:"reason,omitempty"`
	StartedAt time.Time    `json:"started_at"`
	Slots     []WorkerSlot `json:"slots"`
	// Offer is what the worker can run.
	Offer sweep.Offer `json:"offer"`
	// Refusals are the latest jobs that it could not run, with the reasons.
	Refusals []WorkerRefusal `json:"refusals,omitempty"`
	// Problem is why the worker cannot report the results of its trials.
	Problem string `json:"problem,omitempty"`
	// Devices are those that its trials may hold.
	Devices []WorkerDevice `json:"devices,omitempty"`
	// Spool is what waits for the artifact store; nil if nothing does.
	Spool *WorkerSpool `json:"spool,omitempty"`
}

// WorkerSpool is what waits at a worker for the artifact store.
type WorkerSpool struct {
	// Results are those of trials whose artifacts wait, Bytes what they occupy on the worker's disk.
	Results int   `json:"results"`
	Bytes   int64 `json:"bytes"`
	// Problem is why they wait, empty if they are being stored. Failing says that the artifact store fails, and is
	// not only slow.
	Problem string `json:"problem,omitempty"`
	Failing bool   `json:"failing,omitempty"`
}

// WorkerDevice is a device of a worker.
type WorkerDevice struct {
	// Device is its name, as gpu 0, Kind that of all that are counted together.
	Device string `json:"device"`
	Kind   string `json:"kind"`
	// Held is how many thousandths of it trials of the worker hold.
	Held int64 `json:"held,omitempty"`
	// Busy is why it is not given to a trial although it is not held.
	Busy string `json:"busy,omitempty"`
}

// WorkerRefusal is a job that a worker could not run.
type WorkerRefusal struct {
	sweep.TrialID
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// WorkerSlot is the state of a slot.
type WorkerSlot struct {
	// Trial is nil while the slot waits for a job.
	Trial *sweep.TrialID `json:"trial,omitempty"`
	Since time.Time      `json:"since"`
	// Devices are what the trial holds, as gpu 0.
	Devices string `json:"devices,omitempty"`
}

// Presence is a worker, to be shown and controlled by the presence service. Its methods return at once.
type Presence interface {
	Status() WorkerStatus
	// Drain makes the worker stop taking jobs, Resume makes it take jobs again.
	Drain(reason string)
	Resume()
	// Log returns the log of a trial that runs here, from a byte of the execution on, as
	// far as it is kept; nil if the trial does not run here.
	Log(id sweep.TrialID, from int64) *RunningLog
}

// RunningLog is the log, or a part of it, of an execution that runs.
type RunningLog struct {
	// Worker is the id of the worker that runs it, Name the worker's name.
	Worker    string `json:"worker"`
	Name      string `json:"name"`
	Execution string `json:"execution"`
	sweep.Log
	// End is how many bytes the trainer has written so far in this execution.
	End int64 `json:"end"`
}

// The subjects of the presence service: all workers answer the first, the
// worker named by its id the others.
const (
	workerService = "sweep-worker"
	statusSubject = "sweep.workers.status"
	drainSubject  = "sweep.workers.drain."
	resumeSubject = "sweep.workers.resume."
	// A request for a log goes to all workers, and the one that runs the trial answers, or
	// to one worker.
	logSubject = "sweep.workers.log"
)

// presenceVersion is the version of the presence service, which workers of all
// versions answer.
const presenceVersion = 1

const (
	// A request to all workers waits up to allAnswers for the first answer and in all, and for each further one
	// up to nextAnswer, or as long as the first one took.
	allAnswers = 5 * time.Second
	nextAnswer = 300 * time.Millisecond
	// prefixAnswer replaces nextAnswer before a worker is controlled whose name only begins as
	// given: another one with such a name may answer later.
	prefixAnswer = time.Second
)

// presenceRequest is a request to a worker.
type presenceRequest struct {
	Version int    `json:"version"`
	Reason  string `json:"reason,omitempty"`
	// Trial and From belong to a request for a log.
	Trial sweep.TrialID `json:"trial,omitzero"`
	From  int64         `json:"from,omitempty"`
}

// logAnswer has no log if the trial does not run at the worker.
type logAnswer struct {
	Version int         `json:"version"`
	Log     *RunningLog `json:"log,omitempty"`
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
	add := func(name, subject string, do func(presenceRequest) (answer any)) {
		handler := micro.HandlerFunc(func(r micro.Request) {
			if !w.isClients(r) {
				return
			}
			var request presenceRequest
			if err := json.Unmarshal(r.Data(), &request); err != nil || request.Version != presenceVersion {
				w.malformed.Add(1)
				w.log.Error("request dropped: it cannot be read", "subject", r.Subject(), "error", err, "version",
					request.Version)
				return
			}
			a := do(request)
			if a == nil {
				return // another worker answers
			}
			if err := r.RespondJSON(a); err != nil {
				w.log.Warn("request not answered", "subject", r.Subject(), "error", err)
			}
		})
		err = errors.Join(err, service.AddEndpoint(name, handler, micro.WithEndpointSubject(subject),
			micro.WithEndpointQueueGroupDisabled()))
	}
	show := func() any { return presenceAnswer{presenceVersion, p.Status()} }
	add("status", statusSubject, func(presenceRequest) any { return show() })
	add("drain", drainSubject+status.ID, func(r presenceRequest) any {
		p.Drain(r.Reason)
		return show()
	})
	add("resume", resumeSubject+status.ID, func(presenceRequest) any {
		p.Resume()
		return show()
	})
	log := func(r presenceRequest) logAnswer { return logAnswer{presenceVersion, p.Log(r.Trial, r.From)} }
	add("log", logSubject+"."+status.ID, func(r presenceRequest) any { return log(r) })
	add("find-log", logSubject, func(r presenceRequest) any {
		if a := log(r); a.Log != nil {
			return a
		}
		return nil
	})
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

// Workers requests the status of all workers and returns them by pool and name. It waits until no more
// answers arrive.
func (c *Client) Workers(ctx context.Context) ([]WorkerStatus, error) {
	return c.ask(ctx, func(workers []WorkerStatus) time.Duration {
		if len(workers) == 0 {
			return c.answers
		}
		return nextAnswer
	})
}

// ask requests the status of all workers. It waits for the next answer as long as wait returns for the
// earlier ones.
func (c *Client) ask(ctx context.Context, wait func([]WorkerStatus) time.Duration) ([]WorkerStatus, error) {
	ctx, done := c.permissions.use(ctx, statusSubject)
	defer done()
	inbox, err := c.conn.SubscribeSync(c.conn.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("requesting the status of all workers: %w", err)
	}
	defer func() { _ = inbox.Unsubscribe() }() // fails only if the connection is closed
	data, err := json.Marshal(presenceRequest{Version: presenceVersion})
	if err == nil {
		err = c.conn.PublishRequest(statusSubject, inbox.Subject, data)
	}
	if err != nil {
		return nil, fmt.Errorf("requesting the status of all workers: %w", err)
	}
	all, cancel := context.WithTimeout(ctx, c.answers)
	defer cancel()
	var workers []WorkerStatus
	began, first := time.Now(), time.Duration(0)
	for {
		if len(workers) == 1 {
			first = time.Since(began)
		}
		next, cancel := context.WithTimeout(all, max(wait(workers), first))
		m, err := inbox.NextMsgWithContext(next)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, ended(ctx)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			slices.SortFunc(workers, func(a, b WorkerStatus) int {
				return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name))
			})
			return workers, nil
		case err != nil:
			return nil, fmt.Errorf("requesting the status of all workers: %w", err)
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
	if a.Version != presenceVersion {
		return nil, fmt.Errorf("a worker speaks version %d of the presence service, this program version %d: update "+
			"the older one", a.Version, presenceVersion)
	}
	return &a.Status, nil
}

// DrainWorker makes a worker stop taking jobs, for a reason. name is the worker's name, or a unique
// beginning of it. If there is no such worker the error wraps sweep.ErrNotFound.
func (c *Client) DrainWorker(ctx context.Context, name, reason string) (*WorkerStatus, error) {
	return c.control(ctx, drainSubject, name, reason)
}

// ResumeWorker makes a drained worker take jobs again.
func (c *Client) ResumeWorker(ctx context.Context, name string) (*WorkerStatus, error) {
	return c.control(ctx, resumeSubject, name, "")
}

// control finds a worker and sends it a request.
func (c *Client) control(ctx context.Context, subject, name, reason string) (*WorkerStatus, error) {
	named := func(w WorkerStatus) bool { return w.Name == name }
	begins := func(w WorkerStatus) bool { return strings.HasPrefix(w.Name, name) }
	workers, err := c.ask(ctx, func(workers []WorkerStatus) time.Duration {
		switch {
		case slices.ContainsFunc(workers, named):
			return nextAnswer
		case slices.ContainsFunc(workers, begins):
			return prefixAnswer
		}
		return c.answers
	})
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(workers, func(w WorkerStatus) bool { return !begins(w) })
	if i := slices.IndexFunc(found, named); i >= 0 {
		found = found[i : i+1]
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("worker %s: %w: no worker of this name answers", name, sweep.ErrNotFound)
	case 1:
	default:
		return nil, fmt.Errorf("worker %s: %d workers have names that begin so, such as %s and %s", name, len(found),
			found[0].Name, found[1].Name)
	}
	data, err := json.Marshal(presenceRequest{Version: presenceVersion, Reason: reason})
	if err != nil {
		return nil, fmt.Errorf("worker %s: %w", name, err)
	}
	ctx, done := c.permissions.use(ctx, subject+found[0].ID)
	defer done()
	bound, cancel := context.WithTimeout(ctx, c.answers)
	defer cancel()
	m, err := c.conn.RequestWithContext(bound, subject+found[0].ID, data)
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("worker %s does not answer: %w", found[0].Name, err)
	}
	return decodePresence(m.Data)
}

// RunningLog requests the log of a running trial, from a byte on, of a worker by its id, or of all
// workers if that is empty. It is nil if no worker answers that the trial runs there.
func (c *Client) RunningLog(ctx context.Context, worker string, id sweep.TrialID, from int64) (*RunningLog, error) {
	// Workers that do not run the trial do not answer a request to all, so it is often for nothing.
	subject, wait := logSubject, c.answers/2
	if worker != "" {
		subject, wait = subject+"."+worker, c.answers
	}
	data, err := json.Marshal(presenceRequest{Version: presenceVersion, Trial: id, From: from})
	if err != nil {
		return nil, fmt.Errorf("requesting the log of trial %s: %w", id, err)
	}
	ctx, done := c.permissions.use(ctx, subject)
	defer done()
	bound, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := c.conn.RequestWithContext(bound, subject, data)
	switch {
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("requesting the log of trial %s: %w", id, err)
	}
	var a logAnswer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return nil, fmt.Errorf("a worker's answer cannot be read: %w", err)
	}
	return a.Log, nil
}
