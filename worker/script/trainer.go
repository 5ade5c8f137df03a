package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sweep/sweep"
)

const (
	// Grace is how long a program has between SIGTERM and SIGKILL.
	Grace = 5 * time.Second
	// RetryStatus is the exit status (EX_TEMPFAIL of sysexits.h) of a program that
	// asks for another execution of its trial.
	RetryStatus = 75
	// completedLog is how much of the log of a trial that completed is kept.
	completedLog = 4 << 10
)

// Options are the settings of a Trainer.
type Options struct {
	// Roots are the folders in which programs may be; without any they run in the
	// folder that they were submitted with.
	Roots []string
	// Checkpoints holds the checkpoint folders, Artifacts those of artifacts; without
	// them these last no longer than their trial.
	Checkpoints, Artifacts string
	// Grace is Grace if 0.
	Grace time.Duration
	// Log gets the logs of all trials; os.Stderr if nil.
	Log io.Writer
}

// Trainer runs the program of a sweep for each trial. It implements sweep.Trainer.
type Trainer struct {
	options Options
	digests digests
	once    sync.Once
	// standIn is the folder with the stand-in for Python's wandb.
	standIn    string
	standInErr error
}

// New returns the trainer.
func New(options Options) *Trainer {
	if options.Grace == 0 {
		options.Grace = Grace
	}
	t := &Trainer{options: options}
	t.removeOld(time.Now())
	return t
}

var _ sweep.Trainer = (*Trainer)(nil)

// Describe implements sweep.Trainer.
func (t *Trainer) Describe(ctx context.Context) (*sweep.Description, error) {
	return &sweep.Description{Name: sweep.ScriptTrainer, Version: "1", ResultVersion: "1", Open: true}, ctx.Err()
}

// Validate implements sweep.Trainer. What stands for a data set is the program:
// its digest covers its command, its bytes and the files that belong to it.
func (t *Trainer) Validate(ctx context.Context, request sweep.ValidateRequest) (*sweep.Validation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkScript(request.Script); err != nil {
		return nil, err
	}
	found, err := t.find(request.Script, "")
	if err != nil {
		return nil, err
	}
	if len(t.options.Roots) == 0 { // it will run here: so do its variables
		line := commandLine{script: request.Script, environment: os.LookupEnv, jsonFile: func(string) (string, error) {
			return "", nil
		}}
		if line.arguments, err = newArguments(request.Script, request.Parameters); err != nil {
			return nil, err
		}
		if _, _, err := line.expand(); err != nil {
			return nil, &sweep.DataError{Dataset: nameOf(request.Script), Err: err}
		}
	}
	return &sweep.Validation{DatasetDigest: found.digest}, nil
}

// checkScript refuses what no sweep file says.
func checkScript(s *sweep.Script) error {
	if s == nil || len(s.Command) == 0 {
		return &sweep.ParameterError{Parameter: "program",
			Problem: "trainer script needs a program: write program: FILE"}
	}
	return nil
}

// Train implements sweep.Trainer.
func (t *Trainer) Train(ctx context.Context, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkScript(request.Script); err != nil {
		return nil, err
	}
	found, err := t.find(request.Script, request.DatasetDigest)
	if err != nil {
		return nil, err
	}
	if request.DatasetDigest != "" && found.digest != request.DatasetDigest {
		return nil, fmt.Errorf("the program %s in %s, or a file that belongs to it, has changed since it was "+
			"submitted: %w",
			nameOf(request.Script), found.directory, sweep.ErrDatasetChanged)
	}
	e := &execution{trainer: t, request: request, directory: found.directory, sink: sink}
	e.log.next = t.options.Log
	if e.log.next == nil {
		e.log.next = os.Stderr
	}
	return e.run(ctx)
}

// execution is one trial's program.
type execution struct {
	trainer   *Trainer
	request   sweep.TrainRequest
	directory string
	sink      sweep.Sink
	log       trialLog
	// scratch is removed with the execution.
	scratch string
	// artifacts is the folder of files to keep.
	artifacts string
}

// say writes a line of our own into the log.
func (e *execution) say(format string, arguments ...any) {
	fmt.Fprintf(&e.log, "sweep: "+format+"\n", arguments...)
}

func (e *execution) run(ctx context.Context) (*sweep.Result, error) {
	began := time.Now()
	var err error
	if e.scratch, err = os.MkdirTemp("", "trial-"); err != nil {
		return nil, fmt.Errorf("folder of the trial: %w", err)
	}
	defer func() { _ = os.RemoveAll(e.scratch) }() // gone with its parent, at the latest
	checkpoints, err := e.trainer.openFolder(string(e.request.Fingerprint), e.scratch)
	if err != nil {
		return nil, err
	}
	complete := false
	defer func() { checkpoints.close(complete) }()
	p, err := e.prepare(checkpoints.path)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	m := newMetrics(e.say)
	var sinkErr error
	p.read = func(r io.Reader) { sinkErr = e.read(r, m, stop) }
	state, err := p.run(running, e.trainer.options.Grace)
	defer e.dropEmptyArtifacts()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case sinkErr != nil:
		return nil, sinkErr
	case err != nil:
		var missing *exec.Error
		if errors.As(err, &missing) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("%s cannot be started in %s: %w", p.argv[0], e.directory, err)
		}
		return nil, err
	}
	result, err := e.conclude(state, m)
	if result != nil {
		if err := e.handOver(); err != nil {
			return nil, err
		}
		result.Seconds = time.Since(began).Seconds()
		complete = result.State == sweep.Completed
	}
	return result, err
}

// read takes the program's metrics and hands them on in batches. An error of the
// sink stops the program; the rest of what it writes is read and forgotten.
func (e *execution) read(r io.Reader, m *metrics, stop func()) error {
	var mu sync.Mutex
	var problem error
	flush := func(least int) {
		if problem == nil && m.pending >= least {
			if batch := m.take(false); len(batch) > 0 {
				if problem = e.sink.Points(batch); problem != nil {
					stop()
				}
			}
		}
	}
	// The points of a program that writes no more are handed on all the same.
	ticks, done := time.NewTicker(batchEvery), make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				mu.Lock()
				flush(1)
				mu.Unlock()
			}
		}
	})
	lines(r, func(line []byte) {
		mu.Lock()
		defer mu.Unlock()
		m.line(line)
		flush(pendingPoints)
	}, func() {
		mu.Lock()
		defer mu.Unlock()
		m.complain("a line of more than %d bytes", MaxLine)
	})
	close(done)
	ticking.Wait()
	return problem
}

// conclude makes a result of how the program ended and what it reported. The
// error is of a program that may have more luck another time.
func (e *execution) conclude(state *os.ProcessState, m *metrics) (*sweep.Result, error) {
	log := e.log.end(logLimit)
	status := state.ExitCode()
	last := telling(log)
	if last != "" {
		last = ": " + last
	}
	if signal := signalled(state); signal != "" {
		return nil, fmt.Errorf("the program was ended by a signal (%s)%s", signal, last)
	}
	if status == RetryStatus {
		return nil, fmt.Errorf("the program asks for another execution (exit status %d)%s", status, last)
	}
	r := &sweep.Result{State: sweep.Completed, Curves: m.take(true)}
	var names []string
	r.Summary, names = m.summary()
	switch {
	case status == 0 && m.exit != 0:
		r.State, r.Error, r.Stderr = sweep.Failed,
			fmt.Sprintf("the program reported its failure (exit code %d)", m.exit), log
		if m.problem != "" {
			r.Error += ": " + m.problem
		}
		return r, nil
	case status != 0:
		r.State, r.Error, r.Stderr = sweep.Failed, fmt.Sprintf("exit status %d%s", status, last), log
		return r, nil
	}
	r.Stderr = e.log.end(completedLog)
	var remarks []string
	if metric := e.request.Script.Metric; metric != "" {
		s := m.series[metric]
		switch {
		case s == nil:
			came := "no other came either"
			if len(names) > 0 {
				came = "those that came: " + strings.Join(names[:min(len(names), 20)], ", ")
			}
			remarks = append(remarks, fmt.Sprintf("the sweep's metric %s never came; %s", metric, came))
			if near := sweep.Nearest(metric, names); near != "" {
				remarks[0] += fmt.Sprintf(" (did you mean %q?)", near)
			}
		case math.IsNaN(s.summary) || math.IsInf(s.summary, 0):
			r.Diverged = true
		}
	}
	if m.complaints > 0 {
		remarks = append(remarks, fmt.Sprintf("%d lines on $SWEEP_EVENTS could not be read: see the log", m.complaints))
	}
	r.Error = strings.Join(remarks, "; ")
	for _, remark := range remarks {
		e.say("%s", remark)
	}
	if len(remarks) > 0 {
		r.Stderr = e.log.end(completedLog)
	}
	return r, nil
}

// telling returns the last line of a log that is not blank, shortened.
func telling(log string) string {
	var line string
	for l := range strings.Lines(log) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "sweep: ") {
			line = l
		}
	}
	const longest = 300
	if len(line) > longest {
		line = strings.ToValidUTF8(line[:longest], "") + "…"
	}
	return strings.ToValidUTF8(line, "�")
}

// prepare writes the trial's files and puts its command line and environment
// together.
func (e *execution) prepare(checkpoints string) (*process, error) {
	s := e.request.Script
	arguments, err := newArguments(s, e.request.Parameters)
	if err != nil {
		return nil, err
	}
	write := func(name, text string) (string, error) {
		path := filepath.Join(e.scratch, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("files of the trial: %w", err)
		}
		return path, nil
	}
	parameters, err := write("parameters.json", writeArguments(arguments)+"\n")
	if err != nil {
		return nil, err
	}
	// JSON is YAML: W&B's own package reads it too.
	config := mapping{{"wandb_version", number("1")}}
	for _, a := range arguments {
		config = append(config, argument{a.name, mapping{{"value", a.value}}})
	}
	paramPath, err := write("config-"+e.runID()+".yaml", writeArguments(config)+"\n")
	if err != nil {
		return nil, err
	}
	if err := e.makeArtifacts(); err != nil {
		return nil, err
	}
	standIn, err := e.trainer.standInFolder()
	if err != nil {
		return nil, err
	}
	events, err := newPipe(e.scratch)
	if err != nil {
		return nil, err
	}
	env := newEnvironment(os.Environ())
	env.prepend("PYTHONPATH", standIn)
	for name, value := range map[string]string{
		"SWEEP_EVENTS": events.path, "SWEEP_PARAMETERS": parameters, "SWEEP_CHECKPOINT_DIR": checkpoints,
		"SWEEP_ARTIFACTS": e.artifacts, "SWEEP_DATA": e.request.DataDir,
		"SWEEP_ID": e.request.Sweep, "SWEEP_TRIAL": fmt.Sprint(e.request.Index),
		"WANDB_RUN_ID": e.runID(), "WANDB_SWEEP_ID": e.request.Sweep, "WANDB_SWEEP_PARAM_PATH": paramPath,
		"WANDB_DIR": e.scratch, "PYTHONUNBUFFERED": "1",
	} {
		env.set(name, value)
	}
	if s.Project != "" {
		env.set("WANDB_PROJECT", s.Project)
	}
	if s.Entity != "" {
		env.set("WANDB_ENTITY", s.Entity)
	}
	line := commandLine{
		script: s, arguments: arguments, environment: env.lookup,
		jsonFile: func(text string) (string, error) { return write("arguments.json", text) },
	}
	argv, note, err := line.expand()
	if err != nil {
		events.close()
		return nil, &sweep.ParameterError{Parameter: "command", Problem: err.Error()}
	}
	if note != "" {
		e.say("%s", note)
	}
	return &process{argv: argv, env: env.list(), directory: e.directory, log: &e.log, events: events}, nil
}

// runID names the trial as W&B's runs are named.
func (e *execution) runID() string {
	return fmt.Sprintf("%s-%d", e.request.Sweep, e.request.Index)
}

// makeArtifacts makes the trial's folder for files to keep.
func (e *execution) makeArtifacts() error {
	e.artifacts = filepath.Join(e.scratch, "artifacts")
	if e.trainer.options.Artifacts != "" {
		e.artifacts = filepath.Join(e.trainer.options.Artifacts, filepath.Base(e.request.Sweep),
			fmt.Sprint(e.request.Index))
	}
	if err := os.MkdirAll(e.artifacts, 0o755); err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	return nil
}

// dropEmptyArtifacts removes the folder of a trial that has left no artifact.
func (e *execution) dropEmptyArtifacts() {
	if e.artifacts != "" && e.trainer.options.Artifacts != "" {
		_ = os.Remove(e.artifacts) // fails if there is something in it
		_ = os.Remove(filepath.Dir(e.artifacts))
	}
}

// environment is a program's.
type environment struct {
	names  []string
	values map[string]string
}

// hidden are variables of the process that runs programs, by their beginnings.
var hidden = []string{"PLUGIN_", "SWEEP_TRAINER="}

func newEnvironment(from []string) *environment {
	e := &environment{values: map[string]string{}}
	for _, entry := range from {
		name, value, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(hidden, func(prefix string) bool { return strings.HasPrefix(entry, prefix) }) {
			e.set(name, value)
		}
	}
	return e
}

func (e *environment) set(name, value string) {
	if _, there := e.values[name]; !there {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

// prepend puts a folder before those of a list of folders.
func (e *environment) prepend(name, folder string) {
	if before := e.values[name]; before != "" {
		folder += string(os.PathListSeparator) + before
	}
	e.set(name, folder)
}

func (e *environment) lookup(name string) (string, bool) {
	value, ok := e.values[name]
	return value, ok
}

func (e *environment) list() []string {
	list := make([]string, len(e.names))
	for i, name := range e.names {
		list[i] = name + "=" + e.values[name]
	}
	return list
}
