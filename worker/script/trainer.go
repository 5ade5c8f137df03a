package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
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
	// completedLog is how many bytes of the log of a completed trial are kept.
	completedLog = 4 << 10
	// batchEvery is how often points are sent while a trial runs.
	batchEvery = 500 * time.Millisecond
)

// Options are the settings of a Trainer.
type Options struct {
	// Roots are the folders in which programs may be. Without any, programs run in the
	// folder that was submitted with them.
	Roots []string
	// Checkpoints and Artifacts hold the folders of checkpoints and artifacts of all trials.
	// Without them these are removed with their trial.
	Checkpoints, Artifacts string
	// Grace is Grace if 0.
	Grace time.Duration
	// Log gets the logs of all trials; os.Stderr if nil.
	Log io.Writer
	// maxCopied is maxCopied if 0.
	maxCopied int64
}

// Trainer runs the program of a sweep for each trial. It implements sweep.Trainer.
type Trainer struct {
	options Options
	digests digests
	// standIn returns the folder with the stand-in for Python's wandb, which all trials share.
	standIn func() (string, error)

	mu sync.Mutex
	// spare is the folder of a trial that has ended; "" if there is none.
	spare string
}

// New returns the trainer.
func New(options Options) *Trainer {
	options.Grace = cmp.Or(options.Grace, Grace)
	options.maxCopied = cmp.Or(options.maxCopied, maxCopied)
	if options.Log == nil {
		options.Log = os.Stderr
	}
	t := &Trainer{options: options, standIn: sync.OnceValues(makeStandIn)}
	t.removeOld(time.Now())
	t.removeJournals()
	t.removeLeftDirectories()
	t.removeOldShares(time.Now())
	return t
}

var _ sweep.Trainer = (*Trainer)(nil)

// Describe implements sweep.Trainer.
func (t *Trainer) Describe(ctx context.Context) (*sweep.Description, error) {
	return &sweep.Description{Name: sweep.ScriptTrainer, Version: "1", ResultVersion: "1", Open: true}, ctx.Err()
}

// Validate implements sweep.Trainer. The data set is the program: the digest covers its command,
// its bytes and the files that belong to it.
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
	if len(t.options.Roots) == 0 { // the program will run on this machine, with its variables
		line := commandLine{script: request.Script, environment: os.LookupEnv, jsonFile: func(string) (string, error) {
			return "", nil
		}}
		if line.arguments, err = newArguments(request.Script, request.Parameters); err != nil {
			return nil, err
		}
		if _, _, err := line.expand(); err != nil {
			return nil, &sweep.DataError{Err: fmt.Errorf("program %s: %w", nameOf(request.Script), err)}
		}
	}
	return &sweep.Validation{DatasetDigest: found.digest}, nil
}

// checkScript returns an error if a request has no program.
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
		return nil, &changedError{nameOf(request.Script), found.directory}
	}
	e := &execution{trainer: t, request: request, directory: found.directory, sink: sink}
	e.log.next = t.options.Log
	return e.run(ctx)
}

// changedError is an ErrDatasetChanged in words for programs.
type changedError struct{ program, directory string }

// Error implements error.
func (c *changedError) Error() string {
	return fmt.Sprintf("the program %s in %s, or a file that belongs to it, has changed since the sweep was "+
		"submitted: put it back, or run the sweep file again, with the program as it is now", c.program, c.directory)
}

// Unwrap returns what callers test for.
func (c *changedError) Unwrap() error { return sweep.ErrDatasetChanged }

// execution is one trial's program.
type execution struct {
	trainer *Trainer
	request sweep.TrainRequest
	// directory is the project's, workdir where the program runs: that, or the trial's own.
	directory, workdir string
	project            *project
	// links says which files of its own directory are links.
	links string
	sink  sweep.Sink
	log   trialLog
	// scratch is removed with the execution.
	scratch string
	// artifacts is the folder for the trial's artifacts.
	artifacts string
	journal   *journal
	inputs    *recorder
	sharing   *sharing
}

// say writes a line of the trainer itself into the log.
func (e *execution) say(format string, arguments ...any) {
	fmt.Fprintf(&e.log, "sweep: "+format+"\n", arguments...)
}

func (e *execution) run(ctx context.Context) (*sweep.Result, error) {
	began := time.Now()
	var err error
	if e.scratch, err = e.trainer.newScratch(); err != nil {
		return nil, fmt.Errorf("folder of the trial: %w", err)
	}
	defer func() { e.trainer.endScratch(e.scratch) }()
	remove, err := e.ownDirectory(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	checkpoints, err := e.trainer.openFolder(string(e.request.Fingerprint), e.scratch)
	if err != nil {
		return nil, err
	}
	complete := false
	defer func() { checkpoints.close(complete) }()
	m := newMetrics(e.say, e.request.Script.Metric)
	changed, err := checkpoints.clearChanged(e.directory)
	if err != nil {
		return nil, err
	}
	if len(changed) > 0 {
		e.say("the trial starts over: its checkpoint is of another %s",
			strings.Join(changed[:min(len(changed), 5)], ", "))
	}
	if e.journal, err = checkpoints.openJournal(m); err != nil {
		return nil, err
	}
	defer e.journal.close()
	p, err := e.prepare(checkpoints.path, m)
	if err != nil {
		return nil, err
	}
	e.inputs.earlier = checkpoints.earlier
	recording := e.inputs.follow(checkpoints.inputs)
	running, stop := context.WithCancel(ctx)
	defer stop()
	var sinkErr error
	p.read = func(r io.Reader) { sinkErr = e.read(r, m, stop) }
	e.sharing = e.newSharing()
	defer e.sharing.close()
	state, err := p.run(running, e.trainer.options.Grace)
	recording()
	conflicts := e.sharing.end()
	defer e.dropEmptyArtifacts()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case sinkErr != nil:
		return nil, sinkErr
	case err != nil:
		var missing *exec.Error
		if errors.As(err, &missing) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("%s cannot be started in %s: %w", p.argv[0], e.workdir, err)
		}
		return nil, err
	}
	if e.links != "" {
		e.say("the trial ran in a directory of its own, with %s", e.links)
	}
	result, err := e.conclude(state, m, remark(e.request.Index, e.request.Script.Own, conflicts))
	if result != nil {
		if err := e.handOver(); err != nil {
			return nil, err
		}
		result.Seconds = time.Since(began).Seconds()
		result.Inputs = e.inputs.list(state.Pid())
		complete = result.State == sweep.Completed
	}
	return result, err
}

// read reads the program's metrics and sends them to the sink in batches. An error of the sink
// stops the program; the rest of its output is read and dropped.
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
	// The last points are sent even if the program writes no more.
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
	lines(e.journal.of(r), func(line []byte) {
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

// conclude returns the result of a program that has ended. It returns an error if another
// execution may succeed. shared says what other trials have written, too.
func (e *execution) conclude(state *os.ProcessState, m *metrics, shared string) (*sweep.Result, error) {
	if shared != "" {
		e.say("%s", shared)
	}
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
	r := &sweep.Result{State: sweep.Completed, Curves: m.take(true), Labels: m.runLabels()}
	var names []string
	r.Summary, names = m.summary()
	if status != 0 || m.exit != 0 {
		r.State, r.Stderr = sweep.Failed, log
		r.Error = fmt.Sprintf("exit status %d%s", status, last)
		if status == 0 {
			r.Error = fmt.Sprintf("the program reported its failure (exit code %d)", m.exit)
			if m.problem != "" {
				r.Error += ": " + m.problem
			}
		}
		return r, nil
	}
	remarks := e.remarks(m, r, names)
	for _, remark := range remarks {
		e.say("%s", remark)
	}
	if shared != "" && e.sharing.first() { // once a sweep: it may hold for all trials
		remarks = append(remarks, shared)
	}
	r.Error = strings.Join(remarks, "; ")
	r.Stderr = e.log.end(completedLog)
	return r, nil
}

// prepare writes the trial's files and returns its process, with command line and environment.
func (e *execution) prepare(checkpoints string, m *metrics) (*process, error) {
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
	parameters, err := write(parametersFile, dumps(arguments)+"\n")
	if err != nil {
		return nil, err
	}
	// JSON is YAML: W&B's own package reads it too.
	config := []argument{{"wandb_version", 1}}
	for _, a := range arguments {
		config = append(config, argument{a.name, []argument{{"value", a.value}}})
	}
	paramPath, err := write(configFile, dumps(config)+"\n")
	if err != nil {
		return nil, err
	}
	if err := e.makeArtifacts(); err != nil {
		return nil, err
	}
	standIn, err := e.trainer.standIn()
	if err != nil {
		return nil, err
	}
	events, err := newPipe(e.scratch)
	if err != nil {
		return nil, err
	}
	env := newEnvironment(os.Environ())
	if before := env["PYTHONPATH"]; before != "" {
		standIn += string(os.PathListSeparator) + before
	}
	maps.Copy(env, environment{
		"PYTHONPATH": standIn, "PYTHONUNBUFFERED": "1",
		"SWEEP_EVENTS": events.path, "SWEEP_PARAMETERS": parameters, "SWEEP_CHECKPOINT_DIR": checkpoints,
		"SWEEP_ARTIFACTS": e.artifacts, "SWEEP_DATA": e.request.DataDir,
		"SWEEP_ID": e.request.Sweep, "SWEEP_TRIAL": fmt.Sprint(e.request.Index),
		"WANDB_RUN_ID": e.runID(), "WANDB_SWEEP_ID": e.request.Sweep, "WANDB_SWEEP_PARAM_PATH": paramPath,
		"WANDB_DIR": e.scratch, "SWEEP_RUN_NAME": e.runName(), "SWEEP_OUTER_RANKS": outerRanks(env),
	})
	if m.resumed {
		if env["SWEEP_HISTORY"], err = write("history.json", m.history()); err != nil {
			return nil, err
		}
	}
	e.inputs = e.newRecorder(env)
	env["SWEEP_INPUTS"] = e.inputs.path
	if s.Project != "" {
		env["WANDB_PROJECT"] = s.Project
	}
	if s.Entity != "" {
		env["WANDB_ENTITY"] = s.Entity
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
	return &process{argv: argv, env: env.list(), directory: e.workdir, log: &e.log, events: events}, nil
}

// runID is the trial's id as a run of W&B.
func (e *execution) runID() string { return fmt.Sprintf("%s-%d", e.request.Sweep, e.request.Index) }

// runName is what the stand-in calls the trial's run unless the program names it.
func (e *execution) runName() string { return cmp.Or(e.request.Script.RunName, e.runID()) }

// makeArtifacts makes the trial's folder for artifacts.
func (e *execution) makeArtifacts() error {
	e.artifacts = filepath.Join(e.scratch, "artifacts")
	if e.trainer.options.Artifacts != "" {
		e.artifacts = filepath.Join(e.trainer.options.Artifacts, filepath.Base(e.request.Sweep),
			fmt.Sprint(e.request.Index))
	}
	err := os.MkdirAll(e.artifacts, 0o755)
	// Another trial of the sweep that ends may have removed their folder in between; see dropEmptyArtifacts.
	for n := 1; n < 100 && (errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist)); n++ {
		err = os.MkdirAll(e.artifacts, 0o755)
	}
	if err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	return nil
}

// dropEmptyArtifacts removes the artifact folder if it is empty.
func (e *execution) dropEmptyArtifacts() {
	if e.artifacts != "" && e.trainer.options.Artifacts != "" {
		_ = os.Remove(e.artifacts) // fails if there is something in it
		_ = os.Remove(filepath.Dir(e.artifacts))
	}
}
