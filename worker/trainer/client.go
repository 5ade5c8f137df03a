package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// client is the worker's end of the connection: a sweep.Trainer that trains one trial at a time.
type client struct {
	rpc trainerpb.TrainerClient
	// stream carries the trials, nil before the first. It lasts until end is called.
	stream  grpc.BidiStreamingClient[trainerpb.TrainCommand, trainerpb.TrainEvent]
	lasting context.Context
	end     context.CancelFunc
	// prefetch is how many calls the trainer accepts before they are due; prefetched are the
	// calls that were sent, in order.
	prefetch   int
	prefetched []prefetchedCall
	// calls numbers the calls of Train; training is true during one.
	calls    uint64
	training atomic.Bool
	// grace is how long a cancelled Train may take before abandon is called, which kills the
	// process.
	grace   time.Duration
	abandon func(reason string)
	// fault turns an error of the connection into the one to report.
	fault func(error) error
	// scratch is the trainer's temporary directory, where its artifacts' files are.
	scratch string
}

func newClient(connection *grpc.ClientConn) *client {
	c := &client{rpc: trainerpb.NewTrainerClient(connection), grace: cancelGrace}
	c.lasting, c.end = context.WithCancel(context.Background())
	return c
}

// Describe implements sweep.Trainer.
func (c *client) Describe(ctx context.Context) (*sweep.Description, error) {
	m, err := c.rpc.Describe(ctx, &trainerpb.DescribeRequest{})
	if err != nil {
		return nil, c.report(ctx, err)
	}
	c.prefetch = int(m.GetPrefetch())
	description, err := decodeDescription(m.GetDescription())
	if err != nil {
		return nil, c.fault(err)
	}
	return description, nil
}

// Validate implements sweep.Trainer.
func (c *client) Validate(ctx context.Context, request sweep.ValidateRequest) (*sweep.Validation, error) {
	parameters, script, err := encodeRequest(request.Parameters, request.Script)
	if err != nil {
		return nil, err
	}
	m, err := c.rpc.Validate(ctx, &trainerpb.ValidateRequest{Parameters: parameters, DataDir: request.DataDir,
		Script: script})
	if err != nil {
		return nil, c.report(ctx, err)
	}
	if refusal := m.GetRefusal(); refusal != nil {
		return nil, decodeRefusal(refusal)
	}
	return &sweep.Validation{
		DatasetDigest:  m.GetDatasetDigest(),
		ParameterCount: m.GetParameterCount(),
		Flops:          m.GetFlops(),
		Bytes:          m.GetBytes(),
	}, nil
}

// Train implements sweep.Trainer. When ctx ends or the sink fails, the trainer is asked to stop,
// and what it still sends, such as a checkpoint, is received: when Train returns, the trainer is
// idle or dead.
func (c *client) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.training.Swap(true) {
		return nil, errors.New("a trial is being trained already: a trainer process trains one at a time")
	}
	defer c.training.Store(false)
	call := c.sent(&request)
	if call == 0 {
		c.Forget()
		var err error
		if call, err = c.send(ctx, &request); err != nil {
			return nil, err
		}
	}

	running, halt := context.WithCancel(ctx)
	defer halt()
	ended, asked := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(running, func() {
		defer close(asked)
		c.cancel(call, ended)
	})
	r := receiver{call: call, sink: sink, halt: halt, scratch: c.scratch}
	result, err := r.receive(c.stream)
	close(ended)
	if !stop() {
		<-asked
	}
	switch {
	case r.sinkErr != nil:
		return nil, r.sinkErr
	case err == nil || r.refused:
		return result, err
	}
	return nil, c.report(ctx, err)
}

// send asks the trainer to train a trial.
func (c *client) send(ctx context.Context, request *sweep.TrainRequest) (call uint64, err error) {
	parameters, script, err := encodeRequest(request.Parameters, request.Script)
	if err != nil {
		return 0, err
	}
	if c.stream == nil {
		if c.stream, err = c.rpc.Train(c.lasting); err != nil {
			return 0, c.report(ctx, err)
		}
	}
	c.calls++
	// An error of Send is that of Recv, which says more.
	_ = c.stream.Send(&trainerpb.TrainCommand{Train: &trainerpb.TrainRequest{
		Call:          c.calls,
		Sweep:         request.Sweep,
		Index:         request.Index,
		Parameters:    parameters,
		Fingerprint:   string(request.Fingerprint),
		DatasetDigest: request.DatasetDigest,
		DataDir:       request.DataDir,
		Points:        int64(request.Points),
		Thinned:       request.Thinned,
		Checkpoint:    request.Checkpoint,
		Script:        script,
		Artifacts:     request.Artifacts,
	}})
	return c.calls, nil
}

// cancel asks the trainer to end a call and waits until it has. A trainer that does not stop
// within the grace period is abandoned.
func (c *client) cancel(call uint64, ended <-chan struct{}) {
	// If this fails, Recv fails too, or the grace period passes.
	_ = c.stream.Send(&trainerpb.TrainCommand{Cancel: call})
	select {
	case <-ended:
	case <-time.After(c.grace):
		c.abandon(fmt.Sprintf("did not stop within %v of being cancelled, killed", c.grace))
		c.end()
	}
}

// report returns ctx's error if ctx has ended, as the contract demands, else the cause of an
// error of the connection.
func (c *client) report(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.fault(err)
}

// receiver receives the events of one Train.
type receiver struct {
	call    uint64
	sink    sweep.Sink
	scratch string
	// halt cancels the call after an error of the sink, sinkErr.
	halt    func()
	sinkErr error
	// refused means that the error of receive is the trial's own.
	refused bool
}

// receive reads the events of the call to the last and returns the result or the
// error.
func (r *receiver) receive(stream grpc.BidiStreamingClient[trainerpb.TrainCommand,
	trainerpb.TrainEvent]) (*sweep.Result, error) {
	var problem error
	for {
		event, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("the stream ended without a result")
		case err != nil && problem != nil:
			return nil, problem
		case err != nil:
			return nil, err
		case event.GetCall() < r.call:
			continue // a forgotten call
		case event.GetCall() > r.call:
			return nil, fmt.Errorf("received an event of call %d during call %d", event.GetCall(), r.call)
		}
		if problem == nil {
			if problem = r.forward(event); problem != nil {
				r.halt()
			}
		}
		result, last, err := r.answer(event)
		switch {
		case last && problem != nil:
			return nil, problem
		case last:
			return result, err
		}
	}
}

// answer reads the answer to the call, if the event has it.
func (r *receiver) answer(event *trainerpb.TrainEvent) (result *sweep.Result, last bool, err error) {
	switch {
	case event.GetRefusal() != nil:
		r.refused = true
		return nil, true, decodeRefusal(event.GetRefusal())
	case event.GetResult() != nil:
		result, err = decodeResult(event.GetResult())
		return result, true, err
	case event.GetCancelled():
		return nil, true, context.Canceled
	case event.GetFailure() != nil:
		return nil, true, status.Error(codes.Unknown, event.GetFailure().GetMessage())
	}
	return nil, false, nil
}

// forward hands points, checkpoint and artifact of an event to the sink.
func (r *receiver) forward(event *trainerpb.TrainEvent) error {
	batch, err := decodeCurves(event.GetPoints())
	if err != nil {
		return err
	}
	if len(batch) > 0 {
		if r.sinkErr = r.sink.Points(batch); r.sinkErr != nil {
			return r.sinkErr
		}
	}
	if m := event.GetCheckpoint(); m != nil {
		if r.sinkErr = r.sink.Checkpoint(m.GetStep(), m.GetState()); r.sinkErr != nil {
			return r.sinkErr
		}
	}
	if m := event.GetArtifact(); m != nil {
		return r.artifact(m)
	}
	return nil
}
