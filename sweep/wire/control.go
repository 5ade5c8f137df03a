package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"sweep/sweep"
)

// ControlVersion is the version of the control protocol. It changes whenever a
// party of before would misunderstand one of after. A coordinator answers
// clients of oldestClient and after.
const (
	ControlVersion = 3
	oldestClient   = 1
)

// Controller is what the control service does for its clients: the coordinator.
type Controller interface {
	// Submit stores a new sweep. With requireWorkers it is an error if no worker
	// could run its trials now. A repeat with the same Submission.Key returns the
	// sweep that there is.
	Submit(ctx context.Context, submission *sweep.Submission, requireWorkers bool) (Submitted, error)
	// Extend adds the points of a submission to a sweep and returns their number. A
	// repeat with the same Submission.Key adds nothing.
	Extend(ctx context.Context, id string, submission *sweep.Submission) (points int64, err error)
	Pause(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
	// Cancel returns how many trials were queued or running.
	Cancel(ctx context.Context, id string) (stopped int, err error)
	// Retry returns how many trials were put back.
	Retry(ctx context.Context, id string) (trials int64, err error)
	SetPriority(ctx context.Context, id string, priority int) error
	// Delete removes a sweep that does not run; Prune what ended sweeps are not to keep.
	Delete(ctx context.Context, id string) (sweep.Removed, error)
	Prune(ctx context.Context, keep sweep.Retention) (sweep.Removed, error)
	// CancelNamed ends some trials of a sweep and RetryNamed puts some back, those
	// of the named ones that can be. They return how many: none, when repeated.
	CancelNamed(ctx context.Context, id string, indices []int64) (trials int64, err error)
	RetryNamed(ctx context.Context, id string, indices []int64) (trials int64, err error)
	// CheckArtifacts calls yield for each artifact that fits the query, with how it
	// was found. An artifact that is not as it should be is no error.
	CheckArtifacts(ctx context.Context, query sweep.ArtifactQuery, check sweep.ArtifactCheck, yield func(*sweep.CheckedArtifact) error) error
	// Artifact copies the bytes of an artifact from byte from on. One that is not
	// there is a *sweep.LostError, and one whose bytes are others a
	// *sweep.DamagedError, of which a part may have been copied. Who asks for a rest
	// holds the whole to its digest.
	Artifact(ctx context.Context, id sweep.TrialID, name string, from int64, out io.Writer) (*sweep.ArtifactRecord, error)
	// Problem tells what keeps trials from advancing, or what they lose, as far as it
	// was known at the last answer; nil if nothing.
	Problem() error
}

// Submitted is what became of a submission.
type Submitted struct {
	Sweep  string
	Points int64
	// Waiting says why none of the sweep's trials can run yet, in words that a
	// person can act on; empty if some can.
	Waiting string
}

const (
	controlService = "sweep-coordinator"
	controlPrefix  = "sweep.control."
	serviceVersion = "1.0.0"
	versionHeader  = "Sweep-Version"
	problemHeader  = "Sweep-Problem"
	encodingHeader = "Content-Encoding"
	gzipEncoding   = "gzip"

	// concurrentRequests bounds the requests that are answered at a time.
	concurrentRequests = 64
	// largestRequest bounds a request after decompression.
	largestRequest = 256 << 20
)

// longRequests bounds those whose answers are long: however many there are, and
// however slowly they are taken, there is room for others.
var longRequests = map[string]int{"sql": 8, "trials": 8, "artifacts": 8, "artifact": 8}

// controlRequest has what any of the operations needs.
type controlRequest struct {
	Sweep      string            `json:"sweep,omitempty"`
	Submission *sweep.Submission `json:"submission,omitempty"`
	// RequireWorkers belongs to submit.
	RequireWorkers bool               `json:"require_workers,omitempty"`
	Priority       int                `json:"priority,omitempty"`
	States         []sweep.SweepState `json:"states,omitempty"`
	Index          int64              `json:"index,omitempty"`
	Metrics        []string           `json:"metrics,omitempty"`
	Query          *trialQuery        `json:"query,omitempty"`
	SQL            string             `json:"sql,omitempty"`
	// Keep belongs to prune.
	Keep *sweep.Retention `json:"keep,omitempty"`
	// Indices belong to the operations on some trials, Execution to log, Artifacts
	// and Check to artifacts, Name and From to artifact.
	Indices   []int64              `json:"indices,omitempty"`
	Execution string               `json:"execution,omitempty"`
	Artifacts *sweep.ArtifactQuery `json:"artifacts,omitempty"`
	Check     sweep.ArtifactCheck  `json:"check,omitempty"`
	Name      string               `json:"name,omitempty"`
	From      int64                `json:"from,omitempty"`
}

// trialQuery is a sweep.TrialQuery; Values keep the types of the conditions'.
type trialQuery struct {
	sweep.TrialQuery
	Values []cell
}

// controlAnswer is the answer of an operation that changes something.
type controlAnswer struct {
	Sweep  string `json:"sweep,omitempty"`
	Points int64  `json:"points,omitempty"`
	Trials int64  `json:"trials,omitempty"`
	// Waiting is why nothing of a submission can run yet.
	Waiting string `json:"waiting,omitempty"`
}

// rowAnswer is a row of an SQL query; the first has the columns too.
type rowAnswer struct {
	Columns []string `json:"columns,omitempty"`
	Row     []cell   `json:"row"`
}

// operation answers a request by values that it gives to yield.
type operation func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error

// operations are the last parts of the service's subjects.
var operations = map[string]operation{
	"submit": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		if r.Submission == nil {
			return errors.New("a submission without a sweep")
		}
		done, err := s.controller.Submit(ctx, r.Submission, r.RequireWorkers)
		return answer(yield, controlAnswer{Sweep: done.Sweep, Points: done.Points, Waiting: done.Waiting}, err)
	},
	"extend": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		if r.Submission == nil {
			return errors.New("an extension without points")
		}
		points, err := s.controller.Extend(ctx, r.Sweep, r.Submission)
		return answer(yield, controlAnswer{Points: points}, err)
	},
	"pause": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		return answer(yield, controlAnswer{}, s.controller.Pause(ctx, r.Sweep))
	},
	"resume": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		return answer(yield, controlAnswer{}, s.controller.Resume(ctx, r.Sweep))
	},
	"cancel": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		stopped, err := s.controller.Cancel(ctx, r.Sweep)
		return answer(yield, controlAnswer{Trials: int64(stopped)}, err)
	},
	"retry": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		trials, err := s.controller.Retry(ctx, r.Sweep)
		return answer(yield, controlAnswer{Trials: trials}, err)
	},
	"priority": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		return answer(yield, controlAnswer{}, s.controller.SetPriority(ctx, r.Sweep, r.Priority))
	},
	"delete": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		removed, err := s.controller.Delete(ctx, r.Sweep)
		return answer(yield, removed, err)
	},
	"prune": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		if r.Keep == nil {
			return errors.New("a request to prune without what is to be kept")
		}
		removed, err := s.controller.Prune(ctx, *r.Keep)
		return answer(yield, removed, err)
	},
	"sweep": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		record, err := s.reader.Sweep(ctx, r.Sweep)
		return answer(yield, record, err)
	},
	"sweeps": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		records, err := s.reader.Sweeps(ctx, r.States...)
		return answer(yield, records, err)
	},
	"progress": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		progress, err := s.reader.Progress(ctx, r.Sweep)
		return answer(yield, progress, err)
	},
	"trial": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		record, err := s.reader.Trial(ctx, sweep.TrialID{Sweep: r.Sweep, Index: r.Index})
		return answer(yield, record, err)
	},
	"trials": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		if r.Query == nil || len(r.Query.Values) != len(r.Query.Where) {
			return errors.New("a question about trials without its conditions")
		}
		for i, c := range r.Query.Values {
			r.Query.Where[i].Value = c.value
		}
		return s.reader.Trials(ctx, r.Query.TrialQuery, func(t *sweep.TrialRecord) error { return yield(t) })
	},
	"curves": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		curves, err := s.reader.Curves(ctx, sweep.TrialID{Sweep: r.Sweep, Index: r.Index}, r.Metrics...)
		return answer(yield, curves, err)
	},
	"cancel_trials": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		if len(r.Indices) == 0 {
			return errors.New("a cancellation of no trials")
		}
		trials, err := s.controller.CancelNamed(ctx, r.Sweep, r.Indices)
		return answer(yield, controlAnswer{Trials: trials}, err)
	},
	"retry_trials": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		if len(r.Indices) == 0 {
			return errors.New("a retry of no trials")
		}
		trials, err := s.controller.RetryNamed(ctx, r.Sweep, r.Indices)
		return answer(yield, controlAnswer{Trials: trials}, err)
	},
	"executions": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		executions, err := s.reader.Executions(ctx, sweep.TrialID{Sweep: r.Sweep, Index: r.Index})
		return answer(yield, executions, err)
	},
	"log": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		log, err := s.reader.ExecutionLog(ctx, sweep.TrialID{Sweep: r.Sweep, Index: r.Index}, r.Execution)
		return answer(yield, log, err)
	},
	"artifacts": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		if r.Artifacts == nil {
			return errors.New("a question about artifacts without a sweep")
		}
		return s.controller.CheckArtifacts(ctx, *r.Artifacts, r.Check, func(a *sweep.CheckedArtifact) error { return yield(a) })
	},
	"artifact": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		record, err := s.controller.Artifact(ctx, sweep.TrialID{Sweep: r.Sweep, Index: r.Index}, r.Name, r.From, pieces(yield))
		return answer(yield, artifactAnswer{Record: record}, err)
	},
	"sql": func(ctx context.Context, s *Control, r *controlRequest, yield func(any) error) error {
		first := true
		row := func(columns []string, row []any) error {
			a := rowAnswer{Row: make([]cell, len(row))}
			if first {
				a.Columns, first = columns, false
			}
			for i, v := range row {
				a.Row[i] = cell{v}
			}
			return yield(a)
		}
		if r.Sweep != "" {
			return s.reader.QuerySweep(ctx, r.Sweep, r.SQL, row)
		}
		return s.reader.Query(ctx, r.SQL, row)
	},
}

// artifactAnswer is a piece of an artifact or, at the end, its record.
type artifactAnswer struct {
	Piece  []byte                `json:"piece,omitempty"`
	Record *sweep.ArtifactRecord `json:"record,omitempty"`
}

// pieces yields what is written to it, piece by piece.
type pieces func(any) error

// Write implements io.Writer.
func (yield pieces) Write(p []byte) (int, error) {
	if err := yield(artifactAnswer{Piece: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// answer yields a value unless there is an error.
func answer(yield func(any) error, value any, err error) error {
	if err != nil {
		return err
	}
	return yield(value)
}

// Control is the control service, which answers clients' requests.
type Control struct {
	wire       *Wire
	controller Controller
	reader     sweep.Reader
	leads      func() bool
	// service is nil while no requests are taken.
	service micro.Service
	// ctx ends the requests that are being answered, places bounds their number.
	ctx    context.Context
	cancel context.CancelFunc
	places chan struct{}
	long   map[string]chan struct{}
	wait   sync.WaitGroup
}

// ServeControl answers clients' requests until the service is closed. A request reaches
// every coordinator that has a service, also one that hangs, and only the one that
// leads answers: leads is asked at each request.
func (w *Wire) ServeControl(controller Controller, reader sweep.Reader, leads func() bool) (*Control, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Control{
		wire: w, controller: controller, reader: reader, leads: leads,
		ctx: ctx, cancel: cancel, places: make(chan struct{}, concurrentRequests), long: map[string]chan struct{}{},
	}
	for name, places := range longRequests {
		s.long[name] = make(chan struct{}, places)
	}
	if err := s.Resume(); err != nil {
		cancel()
		return nil, err
	}
	return s, nil
}

// Resume takes requests again after Pause.
func (s *Control) Resume() error {
	service, err := micro.AddService(s.wire.conn, micro.Config{
		Name: controlService, Version: serviceVersion,
		Description: "the active coordinator of sweeps",
		Metadata:    map[string]string{"protocol": strconv.Itoa(ControlVersion)},
		// The server would give some requests to a coordinator that hangs.
		QueueGroupDisabled: true,
	})
	if err == nil {
		// One endpoint takes also what this version does not know, to say so.
		err = service.AddEndpoint("control", micro.HandlerFunc(s.handle), micro.WithEndpointSubject(controlPrefix+"*"))
	}
	if err != nil {
		if service != nil {
			_ = service.Stop() // the first error is the one that matters
		}
		return fmt.Errorf("control service: %w", err)
	}
	s.service = service
	return nil
}

// Pause takes no further requests: their clients hear at once that nobody answers.
// Those that are being answered go on.
func (s *Control) Pause() {
	if s.service == nil {
		return
	}
	if err := s.service.Stop(); err != nil {
		s.wire.log.Debug("end of the control service", "error", err)
	}
	s.service = nil
}

// Close takes no further requests, ends those that are being answered and waits for them.
func (s *Control) Close() {
	s.Pause()
	s.cancel()
	s.wait.Wait()
}

// handle has a request answered in a goroutine of its own.
func (s *Control) handle(r micro.Request) {
	if !s.leads() { // the one that leads has the request too
		s.wire.log.Debug("request left to the coordinator that leads", "subject", r.Subject())
		return
	}
	if !isClientInbox(r.Reply()) {
		s.wire.malformed.Add(1)
		s.wire.log.Error("request dropped: its answer is wanted where no client hears it", "subject", r.Subject(), "reply", r.Reply())
		return
	}
	select {
	case s.places <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	s.wait.Go(func() {
		defer func() { <-s.places }()
		s.answer(r)
	})
}

// errStopping is what a client hears whose request was being answered.
var errStopping = errors.New("the coordinator stops; whether it did what it was asked is not known: look at \"sweep status\"")

// answer carries a request out.
func (s *Control) answer(r micro.Request) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	name := strings.TrimPrefix(r.Subject(), controlPrefix)
	out := &partWriter{ctx: ctx, request: r, conn: s.wire.conn, size: min(partSize, s.wire.limit()), version: ControlVersion}
	version, err := clientVersion(r)
	if err == nil {
		out.version = version
	}
	var working sync.WaitGroup
	working.Go(func() { out.work(ctx) })
	if err == nil {
		err = s.perform(ctx, name, r, out)
	}
	cancel()
	working.Wait()
	// Published rather than by the request's own methods: those note their failure
	// in the request, which the service reads as soon as handle has returned.
	last := &nats.Msg{Subject: r.Reply(), Header: out.headers(partEnd)}
	if err == nil {
		last.Data = out.buffer.Bytes()
		if problem := s.controller.Problem(); problem != nil {
			last.Header[problemHeader] = []string{oneLine(problem)}
		}
	} else {
		if s.ctx.Err() != nil {
			err = errStopping
		}
		s.wire.log.Debug("request not answered as asked", "operation", name, "error", err)
		last.Data = encodeFault(err)
		last.Header[micro.ErrorHeader], last.Header[micro.ErrorCodeHeader] = []string{oneLine(err)}, []string{"500"}
	}
	if err := s.wire.conn.PublishMsg(last); err != nil {
		s.wire.log.Warn("answer not sent", "operation", name, "error", err)
	}
}

// oneLine is an error's text as a header can carry it.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// clientVersion returns the version in which a client is to be answered.
func clientVersion(r micro.Request) (int, error) {
	version, err := strconv.Atoi(r.Headers().Get(versionHeader))
	if err != nil {
		return 0, fmt.Errorf("a request without a version: this coordinator speaks version %d of the control protocol", ControlVersion)
	}
	if version < oldestClient || version > ControlVersion {
		return 0, &VersionError{Client: version, Server: ControlVersion}
	}
	return version, nil
}

// perform reads a request and writes the values of its answer.
func (s *Control) perform(ctx context.Context, name string, r micro.Request, out *partWriter) error {
	do := operations[name]
	if do == nil {
		return fmt.Errorf("this coordinator knows no operation %q", name)
	}
	if places := s.long[name]; places != nil {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			return fmt.Errorf("the coordinator answers %d requests of this kind (%s) already: try again when some have ended", cap(places), name)
		}
	}
	request, err := decodeRequest(r.Data(), r.Headers().Get(encodingHeader))
	if err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	encoder := json.NewEncoder(out)
	return do(ctx, s, request, func(value any) error { return encoder.Encode(value) })
}

// decodeRequest reads a request; what is not there is left empty.
func decodeRequest(data []byte, encoding string) (*controlRequest, error) {
	var in io.Reader = bytes.NewReader(data)
	switch encoding {
	case "":
	case gzipEncoding:
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = io.LimitReader(unzipped, largestRequest)
	default:
		return nil, fmt.Errorf("unknown encoding %q", encoding)
	}
	var r controlRequest
	if err := json.NewDecoder(in).Decode(&r); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &r, nil
}
