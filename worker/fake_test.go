package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sweep/sweep"
)

// errDied is what a fake process's Train returns when the process has died.
var errDied = errors.New("the trainer process died")

// behaviour is what a fake trainer does with a trial. It is called in the
// process p and should return soon after p.gone is closed, unless the test is
// about trainers that do not.
type behaviour func(ctx context.Context, p *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error)

// fakeTrainers are the trainers that the fake launcher has.
var fakeTrainers = []string{"fake", "other"}

// launcher starts fake processes.
type launcher struct {
	train behaviour
	// validate, if set, answers for the processes.
	validate func() (*sweep.Validation, error)
	// refuse, if set, may make a launch fail.
	refuse func(name string) error

	mu        sync.Mutex
	processes []*process
	// names replace fakeTrainers.
	names []string
	// prefetch says that the processes prefetch trials.
	prefetch bool
	t        testing.TB
	// prefetched counts those that were, forgotten those of them that
	// were not asked for.
	prefetched, forgotten atomic.Int64
}

// prefetching is a process that prefetches trials.
type prefetching struct {
	*process
	launcher   *launcher
	prefetched []sweep.TrialID
}

func (p *prefetching) Prefetch(request sweep.TrainRequest) bool {
	if len(request.Checkpoint) > 0 {
		p.launcher.t.Errorf("trial %s is prefetched with a checkpoint", request.TrialID)
	}
	if len(p.prefetched) == 20 {
		return false
	}
	p.prefetched = append(p.prefetched, request.TrialID)
	p.launcher.prefetched.Add(1)
	return true
}

func (p *prefetching) Forget() {
	p.launcher.forgotten.Add(int64(len(p.prefetched)))
	p.prefetched = nil
}

func (p *prefetching) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	if len(p.prefetched) > 0 && p.prefetched[0] == request.TrialID {
		p.prefetched = p.prefetched[1:]
	} else {
		p.Forget()
	}
	return p.process.Train(ctx, request, sink)
}

func (l *launcher) Names() []string {
	if l.names != nil {
		return l.names
	}
	return fakeTrainers
}

func (l *launcher) Launch(ctx context.Context, name string, variables ...string) (sweep.Process, error) {
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
	p := &process{number: len(l.processes), name: name, variables: variables, train: l.train, validate: l.validate, gone: make(chan struct{})}
	p.written = p.Stderr()
	l.processes = append(l.processes, p)
	if l.prefetch {
		return &prefetching{process: p, launcher: l}, nil
	}
	return p, nil
}

// launched returns the processes so far that were started for a trial, and not
// only to be asked what they are.
func (l *launcher) launched() (list []*process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.processes {
		if p.trained.Load() {
			list = append(list, p)
		}
	}
	return list
}

// process is a fake trainer process.
type process struct {
	number int
	name   string
	// variables are those that it was launched with.
	variables []string
	train     behaviour
	// validate answers Validate, if set.
	validate func() (*sweep.Validation, error)
	once     sync.Once
	gone     chan struct{}
	closed   atomic.Bool
	// trained says that it was given a trial.
	trained atomic.Bool
	// memory is what it uses, and used at most.
	memory, peak atomic.Int64
	// processor is how much processor time it has used.
	processor atomic.Int64

	mu      sync.Mutex
	written string // to standard error
}

func (p *process) Memory() (now, peak int64) {
	if !p.Alive() {
		return 0, p.peak.Load()
	}
	return p.memory.Load(), max(p.peak.Load(), p.memory.Load())
}

func (p *process) Processor() time.Duration { return time.Duration(p.processor.Load()) }

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

// write has the process write to standard error.
func (p *process) write(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written += text
}

func (p *process) Log(from int64) (text string, start, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written[from:], from, int64(len(p.written))
}

func (p *process) Close() error {
	p.closed.Store(true)
	_, err := p.die()
	if !errors.Is(err, errDied) {
		return err
	}
	return nil
}

func (p *process) Describe(context.Context) (*sweep.Description, error) {
	return &sweep.Description{Name: p.name, ResultVersion: "1", KernelLevel: "go",
		Parameters: []sweep.ParameterSchema{{Name: "budget", Type: sweep.IntegerType, Budget: true}}}, nil
}

func (p *process) Validate(context.Context, sweep.ValidateRequest) (*sweep.Validation, error) {
	if p.validate != nil {
		return p.validate()
	}
	return &sweep.Validation{}, nil
}

func (p *process) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	p.trained.Store(true)
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
		WeightsDigest: fmt.Sprintf("%064x", request.Index),
		KernelLevel:   "go", Seconds: 1,
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
