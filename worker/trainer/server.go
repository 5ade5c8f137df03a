package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// server is the trainer's end of the connection.
type server struct {
	trainerpb.UnimplementedTrainerServer
	trainer sweep.Trainer
	// open means that a stream of trials is open.
	open atomic.Bool
}

func newServer(t sweep.Trainer) *server { return &server{trainer: t} }

// Describe implements trainerpb.TrainerServer.
func (s *server) Describe(ctx context.Context, _ *trainerpb.DescribeRequest) (*trainerpb.DescribeResponse, error) {
	description, err := s.trainer.Describe(ctx)
	if err == nil && description == nil {
		err = errNoAnswer
	}
	if err != nil {
		return nil, fault(err)
	}
	data, err := json.Marshal(description)
	if err != nil {
		return nil, fault(err)
	}
	return &trainerpb.DescribeResponse{Description: data, Prefetch: prefetchLimit}, nil
}

// Validate implements trainerpb.TrainerServer.
func (s *server) Validate(ctx context.Context, m *trainerpb.ValidateRequest) (*trainerpb.ValidateResponse, error) {
	parameters, script, err := decodeRequest(m.GetParameters(), m.GetScript())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	validation, err := s.trainer.Validate(ctx, sweep.ValidateRequest{Parameters: parameters, DataDir: m.GetDataDir(),
		Script: script})
	if err == nil && validation == nil {
		err = errNoAnswer
	}
	if err != nil {
		if refusal := encodeRefusal(err); refusal != nil {
			return &trainerpb.ValidateResponse{Refusal: refusal}, nil
		}
		return nil, fault(err)
	}
	return &trainerpb.ValidateResponse{
		DatasetDigest:  validation.DatasetDigest,
		ParameterCount: validation.ParameterCount,
		Flops:          validation.Flops,
		Bytes:          validation.Bytes,
	}, nil
}

// prefetchLimit is how many trials may wait while one is trained.
const prefetchLimit = 32

// trials is a stream of trials.
type trials struct {
	trainer sweep.Trainer
	stream  grpc.BidiStreamingServer[trainerpb.TrainCommand, trainerpb.TrainEvent]

	mu sync.Mutex
	// stop ends the trial of the call running; nil if no trial runs.
	stop    context.CancelFunc
	running uint64
	// cancelled is the largest call that was cancelled. A cancellation may overtake its call.
	cancelled uint64
}

// Train implements trainerpb.TrainerServer.
func (s *server) Train(stream grpc.BidiStreamingServer[trainerpb.TrainCommand, trainerpb.TrainEvent]) error {
	if s.open.Swap(true) {
		return status.Error(codes.FailedPrecondition, "a stream of trials is open already: a trainer has one at a time")
	}
	defer s.open.Store(false)
	t := &trials{trainer: s.trainer, stream: stream}
	// The worker sends no more before it is answered.
	requests := make(chan *trainerpb.TrainRequest, 1+prefetchLimit)
	ended := make(chan error, 1)
	go func() { // ends with the stream
		defer close(requests)
		ended <- t.listen(requests)
	}()
	for request := range requests {
		if err := t.train(request); err != nil {
			return err
		}
	}
	return <-ended
}

// listen takes commands until the stream ends.
func (t *trials) listen(requests chan<- *trainerpb.TrainRequest) error {
	for {
		command, err := t.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if command.GetCancel() != 0 {
			t.cancel(command.GetCancel())
		}
		if request := command.GetTrain(); request != nil {
			select {
			case requests <- request:
			default:
				return status.Error(codes.FailedPrecondition, "a trial is being trained and others wait: a trainer "+
					"trains one at a time")
			}
		}
	}
}

// train trains one trial and answers its call. It returns errors of the connection.
func (t *trials) train(m *trainerpb.TrainRequest) error {
	sink := newSender(t.stream, m)
	parameters, script, err := decodeRequest(m.GetParameters(), m.GetScript())
	if err != nil {
		sink.event.Failure = &trainerpb.Failure{Message: valid(err.Error())}
		return sink.send()
	}
	ctx, stop := context.WithCancel(t.stream.Context())
	defer stop()
	t.begin(m.GetCall(), stop)
	defer t.end()
	result, err := t.trainer.Train(ctx, sweep.TrainRequest{
		Trial: sweep.Trial{
			TrialID:       sweep.TrialID{Sweep: m.GetSweep(), Index: m.GetIndex()},
			Parameters:    parameters,
			Fingerprint:   sweep.Fingerprint(m.GetFingerprint()),
			DatasetDigest: m.GetDatasetDigest(),
		},
		DataDir:    m.GetDataDir(),
		Points:     int(m.GetPoints()),
		Thinned:    m.GetThinned(),
		Checkpoint: m.GetCheckpoint(),
		Script:     script,
		Artifacts:  m.GetArtifacts(),
	}, sink)
	if err == nil && result == nil {
		err = errNoAnswer
	}
	switch {
	case err == nil:
		sink.event.Result = encodeResult(result)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		sink.event.Cancelled = true
	default:
		if ctx.Err() == nil {
			sink.event.Refusal = encodeRefusal(err)
		}
		if sink.event.Refusal == nil {
			sink.event.Failure = &trainerpb.Failure{Message: valid(err.Error())}
		}
	}
	return sink.send()
}

// begin registers the running trial, and ends it if it was cancelled already.
func (t *trials) begin(call uint64, stop context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop, t.running = stop, call
	if call <= t.cancelled {
		stop()
	}
}

func (t *trials) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = nil
}

// cancel ends a call, and all before it.
func (t *trials) cancel(call uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancelled = max(t.cancelled, call)
	if t.stop != nil && t.running <= t.cancelled {
		t.stop()
	}
}

// fault returns the gRPC error for an error that is not the trial's own. The code Unknown tells
// the worker that the trainer failed, not the connection.
func fault(err error) error { return status.Error(codes.Unknown, valid(err.Error())) }

// errNoAnswer is the error of a trainer that returns neither an answer nor an error.
var errNoAnswer = errors.New("the trainer returned neither an answer nor an error")

// Points are sent when sendInterval has passed since the last event, or there are sendPoints of
// them: a short trial is one message.
const (
	sendInterval = 200 * time.Millisecond
	sendPoints   = 1 << 16
)

// sender is the sink of a trainer; it sends events to the worker.
type sender struct {
	stream grpc.BidiStreamingServer[trainerpb.TrainCommand, trainerpb.TrainEvent]
	event  trainerpb.TrainEvent
	// recorder thins the points; nil for a worker of an earlier version, which gets all.
	recorder *sweep.Recorder
	// curves hold the waiting points of each metric, without a recorder.
	curves []*trainerpb.Curve
	// points counts the waiting points.
	points int
	// sent is the time of the last event.
	sent time.Time
	// artifacts are the names of those that the sweep stores.
	artifacts []string
}

func newSender(stream grpc.BidiStreamingServer[trainerpb.TrainCommand, trainerpb.TrainEvent],
	m *trainerpb.TrainRequest) *sender {
	s := &sender{stream: stream, sent: time.Now(), artifacts: m.GetArtifacts()}
	s.event.Call = m.GetCall()
	if m.GetThinned() {
		limit := int(m.GetPoints())
		if limit < 1 {
			limit = math.MaxInt32 // nobody has set one
		}
		s.recorder = sweep.NewRecorder(limit)
	}
	return s
}

// Points implements sweep.Sink.
func (s *sender) Points(batch []sweep.Curve) error {
	for _, c := range batch {
		if len(c.Steps) != len(c.Values) {
			return fmt.Errorf("curve %q: %d steps but %d values", c.Metric, len(c.Steps), len(c.Values))
		}
		if s.recorder == nil {
			m := s.curve(c.Metric)
			m.Steps = append(m.Steps, c.Steps...)
			m.Values = append(m.Values, c.Values...)
		}
		s.points += len(c.Steps)
	}
	if s.recorder != nil {
		s.recorder.Add(batch)
	}
	if s.points == 0 || s.points < sendPoints && time.Since(s.sent) < sendInterval {
		return nil
	}
	return s.send()
}

// Checkpoint implements sweep.Sink.
func (s *sender) Checkpoint(step int64, state []byte) error {
	s.event.Checkpoint = &trainerpb.Checkpoint{Step: step, State: state}
	err := s.send()
	s.event.Checkpoint = nil
	return err
}

// curve returns the waiting points of a metric.
func (s *sender) curve(metric string) *trainerpb.Curve {
	for _, c := range s.curves {
		if c.Metric == metric {
			return c
		}
	}
	c := &trainerpb.Curve{Metric: metric}
	s.curves = append(s.curves, c)
	return c
}

// send sends the event with the waiting points. The stream has encoded it when Send returns, so
// the slices are reused.
func (s *sender) send() error {
	s.event.Points = s.event.Points[:0]
	if s.recorder != nil {
		if s.points > 0 {
			s.event.Points = encodeThinned(s.recorder.News())
		}
	} else {
		for _, c := range s.curves {
			if len(c.Steps) > 0 {
				s.event.Points = append(s.event.Points, c)
			}
		}
	}
	if err := s.stream.Send(&s.event); err != nil {
		return fmt.Errorf("to the worker: %w", err)
	}
	for _, c := range s.curves {
		c.Steps, c.Values = c.Steps[:0], c.Values[:0]
	}
	s.points, s.sent = 0, time.Now()
	return nil
}
