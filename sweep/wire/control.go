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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"sweep/sweep"
)

// ControlVersion is the version of the control protocol. It increases whenever older programs would
// misunderstand newer ones. A coordinator answers clients of version oldestClient and later.
const (
	ControlVersion = 6
	oldestClient   = 1
)

const (
	controlService = "sweep-coordinator"
	controlPrefix  = "sweep.control."
	serviceVersion = "1.0.0"
	versionHeader  = "Sweep-Version"
	problemHeader  = "Sweep-Problem"
	encodingHeader = "Content-Encoding"
	gzipEncoding   = "gzip"

	// concurrentRequests bounds the requests that are answered at the same time.
	concurrentRequests = 64
	// renewalTime is how long a request waits for the lease's renewal, less than clients wait.
	renewalTime = 5 * time.Second
	// largestRequest bounds a request after decompression.
	largestRequest = 256 << 20
)

// Control is the control service, which answers clients' requests.
type Control struct {
	wire       *Wire
	controller Controller
	reader     sweep.Reader
	leads      func() bool
	// service is nil while the service is paused.
	service micro.Service
	// ctx ends the current requests, places bounds their number.
	ctx    context.Context
	cancel context.CancelFunc
	places chan struct{}
	long   map[string]chan struct{}
	wait   sync.WaitGroup
}

// ServeControl answers clients' requests until the service is closed. Every coordinator with a service
// receives each request, so that a hanging one does no harm, and the one for which leads is true
// answers it.
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

// Resume accepts requests again after Pause.
func (s *Control) Resume() error {
	service, err := micro.AddService(s.wire.conn, micro.Config{
		Name: controlService, Version: serviceVersion,
		Description: "the active coordinator of sweeps",
		Metadata:    map[string]string{"protocol": strconv.Itoa(ControlVersion)},
		// In a queue group the server would send some requests to a coordinator that hangs.
		QueueGroupDisabled: true,
	})
	if err == nil {
		// One endpoint receives all operations, so that unknown ones are answered, too.
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

// Pause stops accepting requests: clients learn at once that nobody answers. Current requests are
// finished.
func (s *Control) Pause() {
	if s.service == nil {
		return
	}
	if err := s.service.Stop(); err != nil {
		s.wire.log.Debug("end of the control service", "error", err)
	}
	s.service = nil
}

// Close stops accepting requests, ends the current ones and waits for them.
func (s *Control) Close() {
	s.Pause()
	s.cancel()
	s.wait.Wait()
}

// handle starts a goroutine that answers a request.
func (s *Control) handle(r micro.Request) {
	select {
	case s.places <- struct{}{}:
	case <-s.ctx.Done():
		return
	}
	s.wait.Go(func() {
		defer func() { <-s.places }()
		switch {
		case !s.leadsSoon():
			s.wire.log.Debug("request left to the active coordinator", "subject", r.Subject())
		case s.wire.isClients(r):
			s.answer(r)
		}
	})
}

// leadsSoon reports whether this coordinator leads. One whose lease has just expired, as on a busy
// machine, may renew it: then no other one has led meanwhile, and nobody else answers the request.
func (s *Control) leadsSoon() bool {
	for begin := time.Now(); !s.leads(); {
		if time.Since(begin) > renewalTime || pause(s.ctx, renewalTime/100) != nil {
			return false
		}
	}
	return true
}

// isClients reports whether the answer to a request goes to a client's inbox, and logs it if not.
func (w *Wire) isClients(r micro.Request) bool {
	if isClientInbox(r.Reply()) {
		return true
	}
	w.malformed.Add(1)
	w.log.Error("request dropped: its reply subject is no client's inbox", "subject", r.Subject(), "reply", r.Reply())
	return false
}

// errStopping answers requests that are interrupted by the end of the coordinator.
var errStopping = errors.New("the coordinator is stopping; it is not known whether it carried out the request: see " +
	"\"sweep status\"")

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
		s.wire.log.Debug("request failed", "operation", name, "error", err)
		if panicked, is := errors.AsType[*sweep.PanicError](err); is {
			s.wire.log.Error("a request failed", "operation", name, "error", err, "stack", panicked.Stack)
		}
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
func (s *Control) perform(ctx context.Context, name string, r micro.Request, out *partWriter) (err error) {
	defer sweep.Catch(&err)
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
