package trainer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// server is the trainer's end of the wire.
type server struct {
	trainerpb.UnimplementedTrainerServer
	trainer sweep.Trainer

	mu sync.Mutex
	// stop ends the running Train, whose number is running; nil if there is none.
	stop    context.CancelFunc
	running uint64
	// cancelled is the largest number that Cancel has named: a cancellation may
	// overtake its call.
	cancelled uint64
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
	data, err := encodeDescription(description)
	if err != nil {
		return nil, fault(err)
	}
	return &trainerpb.DescribeResponse{Description: data}, nil
}

// Validate implements trainerpb.TrainerServer.
func (s *server) Validate(ctx context.Context, m *trainerpb.ValidateRequest) (*trainerpb.ValidateResponse, error) {
	parameters, err := decodeParameters(m.GetParameters())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	validation, err := s.trainer.Validate(ctx, sweep.ValidateRequest{Parameters: parameters, DataDir: m.GetDataDir()})
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

// Train implements trainerpb.TrainerServer.
func (s *server) Train(m *trainerpb.TrainRequest, stream grpc.ServerStreamingServer[trainerpb.TrainEvent]) error {
	parameters, err := decodeParameters(m.GetParameters())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	ctx, stop := context.WithCancel(stream.Context())
	defer stop()
	if err := s.begin(m.GetCall(), stop); err != nil {
		return err
	}
	defer s.end()

	sink := &sender{stream: stream, sent: time.Now()}
	result, err := s.trainer.Train(ctx, sweep.TrainRequest{
		Trial: sweep.Trial{
			TrialID:       sweep.TrialID{Sweep: m.GetSweep(), Index: m.GetIndex()},
			Parameters:    parameters,
			Fingerprint:   sweep.Fingerprint(m.GetFingerprint()),
			DatasetDigest: m.GetDatasetDigest(),
		},
		DataDir:    m.GetDataDir(),
		Points:     int(m.GetPoints()),
		Checkpoint: m.GetCheckpoint(),
	}, sink)
	if err == nil && result == nil {
		err = errNoAnswer
	}
	if err == nil {
		sink.event.Result = encodeResult(result)
		return sink.send()
	}
	if ctx.Err() == nil {
		sink.event.Refusal = encodeRefusal(err)
	}
	if sink.points > 0 || sink.event.Refusal != nil {
		if err := sink.send(); err != nil {
			return err
		}
	}
	switch {
	case sink.event.Refusal != nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, valid(err.Error()))
	}
	return fault(err)
}

// Cancel implements trainerpb.TrainerServer.
func (s *server) Cancel(_ context.Context, m *trainerpb.CancelRequest) (*trainerpb.CancelResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = max(s.cancelled, m.GetCall())
	if s.stop != nil && s.running <= s.cancelled {
		s.stop()
	}
	return &trainerpb.CancelResponse{}, nil
}

// begin registers a call of Train, which may have been cancelled already.
func (s *server) begin(call uint64, stop context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return status.Error(codes.FailedPrecondition, "a trial is being trained already: a trainer takes one at a time")
	}
	s.stop, s.running = stop, call
	if call <= s.cancelled {
		stop()
	}
	return nil
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = nil
}

// fault is the gRPC error for an error that is not the trial's own. The code
// Unknown tells the worker that it comes from the trainer, not from the wire.
func fault(err error) error { return status.Error(codes.Unknown, valid(err.Error())) }

// errNoAnswer is the fault of a trainer that returns nil and no error.
var errNoAnswer = errors.New("the trainer returned neither an answer nor an error")

// Points wait in the trainer until this much time has passed since the last
// event or this many have gathered: a short trial is one message.
const (
	sendInterval = 200 * time.Millisecond
	sendPoints   = 1 << 16
)

// sender is the sink of a trainer behind the wire.
type sender struct {
	stream grpc.ServerStreamingServer[trainerpb.TrainEvent]
	event  trainerpb.TrainEvent
	// curves hold the points that wait, one for each metric seen; points counts them.
	curves []*trainerpb.Curve
	points int
	// sent is the time of the last event.
	sent time.Time
}

// Points implements sweep.Sink.
func (s *sender) Points(batch []sweep.Curve) error {
	for _, c := range batch {
		if len(c.Steps) != len(c.Values) {
			return fmt.Errorf("curve %q: %d steps but %d values", c.Metric, len(c.Steps), len(c.Values))
		}
		m := s.curve(c.Metric)
		m.Steps = append(m.Steps, c.Steps...)
		m.Values = append(m.Values, c.Values...)
		s.points += len(c.Steps)
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

// curve returns the waiting part of a metric's curve. Metrics are few.
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

// send sends what waits. The stream has encoded the event when Send returns, so
// the slices are used again.
func (s *sender) send() error {
	s.event.Points = s.event.Points[:0]
	for _, c := range s.curves {
		if len(c.Steps) > 0 {
			s.event.Points = append(s.event.Points, c)
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
