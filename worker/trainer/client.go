package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"sweep/sweep"
	"sweep/worker/trainer/trainerpb"
)

// client is the worker's end of the wire: a sweep.Trainer.
type client struct {
	rpc trainerpb.TrainerClient
	// calls numbers the calls of Train.
	calls atomic.Uint64
	// grace is how long a cancelled Train may take before abandon is called,
	// which makes the connection fail.
	grace   time.Duration
	abandon func(reason string)
	// fault turns an error of the wire into the one to report.
	fault func(error) error
}

// Describe implements sweep.Trainer.
func (c *client) Describe(ctx context.Context) (*sweep.Description, error) {
	m, err := c.rpc.Describe(ctx, &trainerpb.DescribeRequest{})
	if err != nil {
		return nil, c.report(ctx, err)
	}
	description, err := decodeDescription(m.GetDescription())
	if err != nil {
		return nil, c.fault(err)
	}
	return description, nil
}

// Validate implements sweep.Trainer.
func (c *client) Validate(ctx context.Context, request sweep.ValidateRequest) (*sweep.Validation, error) {
	parameters, err := request.Parameters.Canonical()
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	m, err := c.rpc.Validate(ctx, &trainerpb.ValidateRequest{Parameters: parameters, DataDir: request.DataDir})
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

// Train implements sweep.Trainer. The end of ctx, and an error of the sink, are
// told to the trainer, whose last words (a checkpoint perhaps) still arrive; so
// when Train returns, the trainer is idle or dead.
func (c *client) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	parameters, err := request.Parameters.Canonical()
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	call := c.calls.Add(1)
	// The call's own context must outlive ctx, to hear what follows a cancellation.
	callCtx, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	stream, err := c.rpc.Train(callCtx, &trainerpb.TrainRequest{
		Call:          call,
		Sweep:         request.Sweep,
		Index:         request.Index,
		Parameters:    parameters,
		Fingerprint:   string(request.Fingerprint),
		DatasetDigest: request.DatasetDigest,
		DataDir:       request.DataDir,
		Points:        int64(request.Points),
		Checkpoint:    request.Checkpoint,
	})
	if err != nil {
		return nil, c.report(ctx, err)
	}

	running, halt := context.WithCancel(ctx)
	defer halt()
	ended, asked := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(running, func() {
		defer close(asked)
		c.cancel(call, ended)
		abort()
	})
	r := receiver{sink: sink, halt: halt}
	result, err := r.receive(stream)
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

// cancel asks the trainer to end a call and waits until it has; a trainer that
// does not within the grace period is abandoned.
func (c *client) cancel(call uint64, ended <-chan struct{}) {
	ctx, done := context.WithTimeout(context.Background(), c.grace)
	defer done()
	// Whether the question arrives does not matter: the answer is the stream's end.
	_, _ = c.rpc.Cancel(ctx, &trainerpb.CancelRequest{Call: call})
	select {
	case <-ended:
	case <-ctx.Done():
		c.abandon(fmt.Sprintf("did not stop within %v of being cancelled, killed", c.grace))
	}
}

// report returns ctx's error if ctx has ended, as the contract has it, else what
// stands behind an error of the wire.
func (c *client) report(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.fault(err)
}

// receiver takes the events of one Train.
type receiver struct {
	sink sweep.Sink
	// halt cancels the call; sinkErr is the sink's error that made it necessary.
	halt    func()
	sinkErr error
	// refused says that the error of receive is the trial's own.
	refused bool
}

// receive reads the stream to its end and returns the result or the error.
func (r *receiver) receive(stream grpc.ServerStreamingClient[trainerpb.TrainEvent]) (*sweep.Result, error) {
	var result *sweep.Result
	var answer error
	for {
		event, err := stream.Recv()
		switch {
		case err != nil && (result != nil || answer != nil):
			return result, answer
		case errors.Is(err, io.EOF):
			return nil, errors.New("the stream ended without a result")
		case err != nil:
			return nil, err
		case answer != nil:
			continue
		}
		if err := r.forward(event); err != nil {
			answer = err
			r.halt()
			continue
		}
		if refusal := event.GetRefusal(); refusal != nil {
			answer, r.refused = decodeRefusal(refusal), true
			continue
		}
		if m := event.GetResult(); m != nil {
			if result, answer = decodeResult(m); answer != nil {
				r.halt()
			}
		}
	}
}

// forward hands points and checkpoint of an event to the sink.
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
		r.sinkErr = r.sink.Checkpoint(m.GetStep(), m.GetState())
	}
	return r.sinkErr
}
