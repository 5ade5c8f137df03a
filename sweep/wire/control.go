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
// party of before would misunderstand one of after.
const ControlVersion = 1

// Controller is what the control service does for its clients: the coordinator.
type Controller interface {
	// Submit stores a new sweep and returns its id and its number of points.
	Submit(ctx context.Context, submission *sweep.Submission) (id string, points int64, err error)
	// Extend adds the points of a submission to a sweep and returns their number.
	Extend(ctx context.Context, id string, submission *sweep.Submission) (points int64, err error)
	Pause(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
	// Cancel returns how many trials were queued or running.
	Cancel(ctx context.Context, id string) (stopped int, err error)
	// Retry returns how many trials were put back.
	Retry(ctx context.Context, id string) (trials int64, err error)
	SetPriority(ctx context.Context, id string, priority int) error
	// Problem tells what keeps trials from advancing, as far as it was known at
	// the last answer; nil if nothing.
	Problem() error
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

// controlRequest has what any of the operations needs.
type controlRequest struct {
	Sweep      string             `json:"sweep,omitempty"`
	Submission *sweep.Submission  `json:"submission,omitempty"`
	Priority   int                `json:"priority,omitempty"`
	States     []sweep.SweepState `json:"states,omitempty"`
	Index      int64              `json:"index,omitempty"`
	Metrics    []string           `json:"metrics,omitempty"`
	Query      *trialQuery        `json:"query,omitempty"`
	SQL        string             `json:"sql,omitempty"`
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
}

// rowAnswer is a row of an SQL query; the first has the columns too.
type rowAnswer struct {
	Columns []string `json:"columns,omitempty"`
	Row     []cell   `json:"row"`
}

// operation answers a request by values that it gives to yield.
type operation func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error

// operations are the last parts of the service's subjects.
var operations = map[string]operation{
	"submit": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		if r.Submission == nil {
			return errors.New("a submission without a sweep")
		}
		id, points, err := s.controller.Submit(ctx, r.Submission)
		return answer(yield, controlAnswer{Sweep: id, Points: points}, err)
	},
	"extend": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		if r.Submission == nil {
			return errors.New("an extension without points")
		}
		points, err := s.controller.Extend(ctx, r.Sweep, r.Submission)
		return answer(yield, controlAnswer{Points: points}, err)
	},
	"pause": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		return answer(yield, controlAnswer{}, s.controller.Pause(ctx, r.Sweep))
	},
	"resume": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		return answer(yield, controlAnswer{}, s.controller.Resume(ctx, r.Sweep))
	},
	"cancel": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		stopped, err := s.controller.Cancel(ctx, r.Sweep)
		return answer(yield, controlAnswer{Trials: int64(stopped)}, err)
	},
	"retry": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		trials, err := s.controller.Retry(ctx, r.Sweep)
		return answer(yield, controlAnswer{Trials: trials}, err)
	},
	"priority": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		return answer(yield, controlAnswer{}, s.controller.SetPriority(ctx, r.Sweep, r.Priority))
	},
	"sweep": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		record, err := s.reader.Sweep(ctx, r.Sweep)
		return answer(yield, record, err)
	},
	"sweeps": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		records, err := s.reader.Sweeps(ctx, r.States...)
		return answer(yield, records, err)
	},
	"progress": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		progress, err := s.reader.Progress(ctx, r.Sweep)
		return answer(yield, progress, err)
	},
	"trial": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		record, err := s.reader.Trial(ctx, sweep.TrialID{Sweep: r.Sweep, Index: r.Index})
		return answer(yield, record, err)
	},
	"trials": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		if r.Query == nil || len(r.Query.Values) != len(r.Query.Where) {
			return errors.New("a question about trials without its conditions")
		}
		for i, c := range r.Query.Values {
			r.Query.Where[i].Value = c.value
		}
		return s.reader.Trials(ctx, r.Query.TrialQuery, func(t *sweep.TrialRecord) error { return yield(t) })
	},
	"curves": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		curves, err := s.reader.Curves(ctx, sweep.TrialID{Sweep: r.Sweep, Index: r.Index}, r.Metrics...)
		return answer(yield, curves, err)
	},
	"sql": func(ctx context.Context, s *control, r *controlRequest, yield func(any) error) error {
		first := true
		return s.reader.Query(ctx, r.SQL, func(columns []string, row []any) error {
			a := rowAnswer{Row: make([]cell, len(row))}
			if first {
				a.Columns, first = columns, false
			}
			for i, v := range row {
				a.Row[i] = cell{v}
			}
			return yield(a)
		})
	},
}

// answer yields a value unless there is an error.
func answer(yield func(any) error, value any, err error) error {
	if err != nil {
		return err
	}
	return yield(value)
}

// control is the running service.
type control struct {
	wire       *Wire
	controller Controller
	reader     sweep.Reader
	// ctx ends the requests that are being answered, places bounds their number.
	ctx    context.Context
	places chan struct{}
	wait   sync.WaitGroup
}

// ServeControl answers clients' requests until stop is called, which ends those
// being answered and waits for them. Of several services a request reaches one:
// only the active coordinator has one.
func (w *Wire) ServeControl(controller Controller, reader sweep.Reader) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &control{wire: w, controller: controller, reader: reader, ctx: ctx, places: make(chan struct{}, concurrentRequests)}
	service, err := micro.AddService(w.conn, micro.Config{
		Name: controlService, Version: serviceVersion,
		Description: "the active coordinator of sweeps",
		Metadata:    map[string]string{"protocol": strconv.Itoa(ControlVersion)},
	})
	if err == nil {
		// One endpoint takes also what this version does not know, to say so.
		err = service.AddEndpoint("control", micro.HandlerFunc(s.handle), micro.WithEndpointSubject(controlPrefix+"*"))
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("control service: %w", err)
	}
	return func() {
		if err := service.Stop(); err != nil {
			w.log.Debug("end of the control service", "error", err)
		}
		cancel()
		s.wait.Wait()
	}, nil
}

// handle has a request answered in a goroutine of its own.
func (s *control) handle(r micro.Request) {
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
func (s *control) answer(r micro.Request) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	name := strings.TrimPrefix(r.Subject(), controlPrefix)
	out := &partWriter{ctx: ctx, request: r, conn: s.wire.conn, size: min(partSize, s.wire.limit())}
	var working sync.WaitGroup
	working.Go(func() { out.work(ctx) })
	err := s.perform(ctx, name, r, out)
	cancel()
	working.Wait()
	// Published rather than by the request's own methods: those note their failure
	// in the request, which the service reads as soon as handle has returned.
	last := &nats.Msg{Subject: r.Reply(), Header: nats.Header(partHeaders(partEnd))}
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

// perform reads a request and writes the values of its answer.
func (s *control) perform(ctx context.Context, name string, r micro.Request, out *partWriter) error {
	version, err := strconv.Atoi(r.Headers().Get(versionHeader))
	if err != nil {
		return fmt.Errorf("a request without a version: this coordinator speaks version %d of the control protocol", ControlVersion)
	}
	if version != ControlVersion {
		return &VersionError{Client: version, Server: ControlVersion}
	}
	do := operations[name]
	if do == nil {
		return fmt.Errorf("this coordinator knows no operation %q", name)
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
