package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sweep/model/dataset"
	"sweep/model/kernel"
	"sweep/model/task"
	"sweep/sweep"
)

// cacheBytes bounds the data sets that a trainer process keeps between trials.
const cacheBytes = 1 << 30

// Trainer is the built-in trainer. It is safe for concurrent use; trials run
// one at a time.
type Trainer struct {
	kernels *kernel.Set[float32]
	threads int   // of one trial
	history int64 // bytes that the history of its minibatches may take
	// checkpointInterval is the time between checkpoints of a long trial, if they are small.
	checkpointInterval time.Duration

	training sync.Mutex

	mu    sync.Mutex // of cache
	cache *dataset.Cache
}

// NewTrainer returns a trainer that runs at the best kernel level of the machine,
// each trial on as many threads as [ThreadsEnvironment] says and with as much
// memory for its history as [HistoryEnvironment] allows. A value of these variables, or of
// [kernel.EnvironmentName], that makes no sense is an error.
func NewTrainer() (*Trainer, error) {
	threads, err := environmentThreads()
	history, historyErr := environmentHistory()
	if err := errors.Join(kernel.CheckEnvironment(), err, historyErr); err != nil {
		return nil, err
	}
	return &Trainer{kernels: kernel.Float32(), threads: threads, history: history, checkpointInterval: 30 * time.Second,
		cache: dataset.NewCache(cacheBytes)}, nil
}

// Describe implements sweep.Trainer.
func (t *Trainer) Describe(context.Context) (*sweep.Description, error) {
	d := description()
	d.KernelLevel = t.kernels.Level().String()
	return d, nil
}

// Validate implements sweep.Trainer: it loads the data set and counts the
// network's parameters.
func (t *Trainer) Validate(ctx context.Context, request sweep.ValidateRequest) (*sweep.Validation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, task, err := t.open(request.Parameters, request.DataDir)
	if err != nil {
		return nil, err
	}
	cost, err := s.costOf(task, t.history)
	if err != nil {
		return nil, err
	}
	return &sweep.Validation{
		DatasetDigest: task.Digest(), ParameterCount: cost.parameters, Flops: cost.flops, Bytes: cost.bytes,
	}, nil
}

// Train implements sweep.Trainer.
func (t *Trainer) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	t.training.Lock()
	defer t.training.Unlock()
	started := time.Now()
	s, task, err := t.open(request.Parameters, request.DataDir)
	if err != nil {
		return nil, err
	}
	if err := checkDigest(task, s, request.DatasetDigest); err != nil {
		return nil, err
	}
	run, err := newTraining(ctx, t.kernels, s, task, t.threads, t.history, started)
	if err != nil {
		return nil, err
	}
	defer run.close()
	run.request, run.curves = &request, newCurves(&request)
	if len(request.Checkpoint) > 0 {
		if err := run.resume(request.Checkpoint); err != nil {
			return nil, err
		}
	}
	result, err := run.run(ctx, sink, t.checkpointInterval)
	if err == nil {
		err = run.handOver(ctx, sink)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// open reads a trial's parameters and opens its task, with data sets through the cache.
func (t *Trainer) open(parameters sweep.Parameters, dataDir string) (*settings, task.Task, error) {
	s, err := settingsOf(parameters)
	if err != nil {
		return nil, nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	work, err := task.Open(s.task(dataDir, t.cache))
	if err != nil {
		return nil, nil, err
	}
	return s, work, s.protocol.Rule.Check(work.Shape().Classes)
}

// checkDigest refuses data with another digest than that; "" is any.
func checkDigest(t task.Task, s *settings, want string) error {
	if got := t.Digest(); want != "" && want != got {
		return fmt.Errorf("%w: %v is %.12s here, %.12s there", sweep.ErrDatasetChanged,
			s.parameters["dataset"], got, want)
	}
	return nil
}
