package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"sweep/sweep"
)

// errDied is what a fake process's Train returns when the process has died.
var errDied = errors.New("the trainer process died")

// behaviour is what a fake trainer does with a trial. It is called in the
// process p and should return soon after p.gone is closed, unless the test is
// about trainers that do not.
type behaviour func(ctx context.Context, p *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error)

// launcher starts fake processes.
type launcher struct {
	train behaviour
	// refuse, if set, may make a launch fail.
	refuse func(name string) error

	mu        sync.Mutex
	processes []*process
}

func (l *launcher) Launch(ctx context.Context, name string) (sweep.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		if err := l.refuse(name); err != nil {
			return nil, err
		}
	}
	p := &process{number: len(l.processes), name: name, train: l.train, gone: make(chan struct{})}
	l.processes = append(l.processes, p)
	return p, nil
}

// launched returns the processes so far.
func (l *launcher) launched() []*process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*process(nil), l.processes...)
}

// process is a fake trainer process.
type process struct {
	number int
	name   string
	train  behaviour
	once   sync.Once
	gone   chan struct{}
	closed atomic.Bool
}

// die ends the process as a signal would and returns what Train then returns.
func (p *process) die() (*sweep.Result, error) {
	p.once.Do(func() { close(p.gone) })
	return nil, errDied
}

func (p *process) Alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

func (p *process) Stderr() string { return fmt.Sprintf("last words of process %d", p.number) }

func (p *process) Close() error {
	p.closed.Store(true)
	_, err := p.die()
	if !errors.Is(err, errDied) {
		return err
	}
	return nil
}

func (p *process) Describe(context.Context) (*sweep.Description, error) {
	return &sweep.Description{Name: p.name, ResultVersion: "1"}, nil
}

func (p *process) Validate(context.Context, sweep.ValidateRequest) (*sweep.Validation, error) {
	return &sweep.Validation{}, nil
}

func (p *process) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	if !p.Alive() {
		return nil, errDied
	}
	return p.train(ctx, p, request, sink)
}

// outcome is the result that fake trainers reach: a function of the trial.
func outcome(request sweep.TrainRequest) *sweep.Result {
	value := float64(request.Index) / 4
	return &sweep.Result{
		State: sweep.Completed, Summary: map[string]float64{"loss": value, "seconds": 1},
		BestEpoch: 3, ParameterCount: 7, WeightsDigest: fmt.Sprintf("%064x", request.Index), KernelLevel: "go", Seconds: 1,
		Curves: []sweep.Curve{
			{Metric: "loss", Steps: []int64{1, 2, 3}, Values: []float32{3, 2, float32(value)}},
			{Metric: "seconds", Steps: []int64{1, 2, 3}, Values: []float32{1, 1, 1}},
		},
	}
}

// succeed is the behaviour of a trainer without faults.
func succeed(ctx context.Context, _ *process, request sweep.TrainRequest, _ sweep.Sink) (*sweep.Result, error) {
	return outcome(request), ctx.Err()
}

// until waits until the trial is to stop, or the process dies.
func (p *process) until(ctx context.Context) (*sweep.Result, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.gone:
		return nil, errDied
	}
}
