package sweep

import (
	"context"
	"io"
	"time"
)

// Trainer is the program that trains. Its life in a worker slot:
//
//  1. Describe is called once after the start.
//  2. Validate is called any number of times, also by submitting programs; it
//     must be cheap after a data set's first use.
//  3. Train is called for one trial at a time, any number of times.
//
// Every method returns soon after its context ends.
type Trainer interface {
	Describe(ctx context.Context) (*Description, error)
	// Validate checks resolved parameters without training. It refuses a parameter by a
	// *ParameterError, data by a *DataError.
	Validate(ctx context.Context, request ValidateRequest) (*Validation, error)
	// Train runs one trial. A refused trial returns the errors of Validate; any other error is
	// the machine's. A trial that diverges is a Result with Diverged set, not an error. Train
	// returns ctx's error when ctx ends.
	Train(ctx context.Context, request TrainRequest, sink Sink) (*Result, error)
}

// ValidateRequest asks whether a trial could be trained.
type ValidateRequest struct {
	Parameters Parameters `json:"parameters"`
	// DataDir is the directory that holds the data sets.
	DataDir string `json:"data_dir"`
	// Script is the sweep's program; nil unless the trainer is ScriptTrainer.
	Script *Script `json:"script,omitempty"`
}

// Validation is the answer to a ValidateRequest.
type Validation struct {
	DatasetDigest  string `json:"dataset_digest"`
	ParameterCount int64  `json:"parameter_count"`
	// Flops and Bytes estimate the work and the peak memory of the trial.
	Flops float64 `json:"flops"`
	Bytes int64   `json:"bytes"`
}

// TrainRequest asks for one execution of a trial.
type TrainRequest struct {
	Trial
	DataDir string `json:"data_dir"`
	// Points is the sweep's limit of points a curve; a trainer may send more.
	Points int `json:"points"`
	// Thinned says that the sink takes curves as [Recorder.News] returns them. A trainer with a
	// Recorder of that limit then needs to keep no more points.
	Thinned bool `json:"thinned,omitempty"`
	// Checkpoint, if not empty, is the last one that an earlier execution of the same fingerprint
	// sent, or the CheckpointArtifact of a trial of the same lineage with a smaller budget, or of one that
	// was stopped early. Training resumes from it, with the same bits.
	Checkpoint []byte `json:"checkpoint,omitempty"`
	// Script is the sweep's program, as far as the trial needs it; nil unless the
	// trainer is ScriptTrainer.
	Script *Script `json:"script,omitempty"`
	// Artifacts names those that the sweep keeps.
	Artifacts []string `json:"artifacts,omitempty"`
}

// Sink takes what a trainer reports during training. Its methods are called from one goroutine;
// the slices may be reused after the call returns.
type Sink interface {
	// Points appends the points of the batch to the trial's curves. Curves from [Recorder.News],
	// with Replaces set, change the points from their offset on; they need TrainRequest.Thinned.
	Points(batch []Curve) error
	// Checkpoint stores the state after step in place of the earlier one. Training must resume
	// from it to the same bits.
	Checkpoint(step int64, state []byte) error
	// Artifact stores an artifact, whose name and media type are set, in place of an earlier one
	// of that name, and reads its content to the end. Size and digest are verified if they are
	// set. Artifacts that TrainRequest.Artifacts does not name are dropped, except the first
	// MaxMedia media. A file of the
	// trainer's temporary directory must not be used afterwards.
	Artifact(a Artifact, content io.Reader) error
}

// Launcher starts trainer processes: worker/trainer implements it over
// go-plugin, the worker uses it.
type Launcher interface {
	// Launch starts the named trainer. An unknown name is ErrNotFound, wrapped; any other error
	// is the machine's. Variables, as NAME=VALUE, replace those that it would see; NAME alone removes one.
	Launch(ctx context.Context, name string, variables ...string) (Process, error)
	// Names returns the names of the trainers, sorted.
	Names() []string
}

// Describer is a Launcher that may know what a trainer says of itself without starting it.
type Describer interface {
	// Describe returns the description of the named trainer.
	Describe(ctx context.Context, name string) (*Description, error)
}

// Process is a running trainer. After it has died, Trainer's methods return errors and Alive is
// false.
type Process interface {
	Trainer
	// Alive reports whether the process is still running and answering.
	Alive() bool
	// Stderr returns the end of what the process wrote to standard error.
	Stderr() string
	// Log returns what the process wrote to standard error after its first from bytes, as far as
	// it is kept, and where the text begins and ends. It includes all output from before the
	// return of Train.
	Log(from int64) (text string, start, end int64)
	// Memory returns how many bytes the process and its children use now, and the most that the
	// process has used; 0 if unknown.
	Memory() (now, peak int64)
	// Processor returns how much processor time the process and its children have used; 0 if unknown.
	Processor() time.Duration
	// Close ends the process and everything it started, and waits for it.
	Close() error
}
