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
	CheckArtifacts(ctx context.Context, query sweep.ArtifactQuery, check sweep.ArtifactCheck,
		yield func(*sweep.CheckedArtifact) error) error
	// Artifact copies the bytes of an artifact from byte from on. One that is not
	// there is a *sweep.LostError, and one whose bytes are others a
	// *sweep.DamagedError, of which a part may have been copied. Who asks for a rest
	// holds the whole to its digest.
	Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
		out io.Writer) (*sweep.ArtifactRecord, error)
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
	for _, o := range Operations() {
		if o.Most > 0 {
			s.long[o.Name] = make(chan struct{}, o.Most)
		}
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
		s.wire.log.Error("request dropped: its answer is wanted where no client hears it", "subject", r.Subject(),
			"reply", r.Reply())
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
var errStopping = errors.New("the coordinator stops; whether it did what it was asked is not known: look at \"sweep " +
	"status\"")

// answer carries a request out.
func (s *Control) answer(r micro.Request) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	name := strings.TrimPrefix(r.Subject(), controlPrefix)
	out := &partWriter{ctx: ctx, request: r, conn: s.wire.conn, size: min(partSize, s.wire.limit()),
		version: ControlVersion}
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
		return 0, fmt.Errorf("a request without a version: this coordinator speaks version %d of the control protocol",
			ControlVersion)
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
			return fmt.Errorf("the coordinator answers %d requests of this kind (%s) already: try again when some "+
				"have ended", cap(places), name)
		}
	}
	encoder := json.NewEncoder(out)
	decode := func(request any) error { return decodeRequest(r.Data(), r.Headers().Get(encodingHeader), request) }
	return do.serve(ctx, s, decode, func(value any) error { return encoder.Encode(value) })
}

// decodeRequest reads a request; what is not there is left empty.
func decodeRequest(data []byte, encoding string, request any) error {
	var in io.Reader = bytes.NewReader(data)
	switch encoding {
	case "":
	case gzipEncoding:
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = io.LimitReader(unzipped, largestRequest)
	default:
		return fmt.Errorf("unknown encoding %q", encoding)
	}
	if err := json.NewDecoder(in).Decode(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
