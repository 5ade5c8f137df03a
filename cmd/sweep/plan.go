package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/sweep"
	"sweep/sweep/file"
	"sweep/sweep/policy"
	"sweep/worker/script"
	"sweep/worker/trainer"
)

// plan is a checked sweep file: what "expand" shows and "run" submits.
type plan struct {
	submission *sweep.Submission
	grid       *sweep.Grid
	notes      []string
	// checked counts the points that the trainer validated; maxBytes is the
	// largest memory estimate among them.
	checked  int64
	maxBytes int64
	// launcher started the trainer, and starts those of the trials that run here.
	launcher *trainer.Launcher
	// own means that the trials run here.
	own bool
}

// checkedPoints bounds how many points the trainer validates before a sweep
// is accepted: all of a usual grid, an even sample of a huge one, whose other
// points are checked when they run.
const checkedPoints = 2000

// planOptions say how a sweep file is read.
type planOptions struct {
	// directory is where the program of a script runs, "" to look for it; count
	// limits the trials, 0 does not.
	directory string
	count     int64
	// method overrides the file's.
	method string
	// source is the text of the file, nil to read it.
	source []byte
	// own says that the trials run here, for the person who asks: their program is
	// started as from a shell.
	own bool
	// roots, if not nil, are the directories that the command, the program and the files of a script keep to.
	roots []string
}

func (o *planOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.directory, "directory", "", "directory in which the file's program runs (default: the "+
		"first that contains the program of: the current one, the file's, and those above it)")
	o.addSearchFlags(f)
}

// addSearchFlags adds the flags that override how a file chooses its points.
func (o *planOptions) addSearchFlags(f *pflag.FlagSet) {
	f.Int64Var(&o.count, "count", 0, "maximum number of trials, like run_cap in the file")
	f.StringVar(&o.method, "method", "", policy.Or(policy.Names(policy.MethodKey))+"; overrides method in the file")
}

// check refuses values that make no sense.
func (o *planOptions) check() error {
	if o.count < 0 {
		return usageError("--count %d: expected a number of trials", o.count)
	}
	if methods := policy.Names(policy.MethodKey); o.method != "" && !slices.Contains(methods, o.method) {
		return usageError("--method %s: expected %s", o.method, policy.Or(methods))
	}
	if o.directory == "" {
		return nil
	}
	if info, err := os.Stat(o.directory); err != nil || !info.IsDir() {
		return usageError("--directory %s: expected a directory", o.directory)
	}
	return nil
}

// readPlan decodes a sweep file against its trainer's schema, expands it, and
// has the trainer validate its points. Every error names its place in the file.
func (s *settings) readPlan(ctx context.Context, path string, options planOptions, log *slog.Logger) (*plan, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	launcher, err := s.newLauncher(log)
	if err != nil {
		return nil, err
	}
	if options.roots != nil {
		if err := restrictScripts(launcher, options.roots); err != nil {
			return nil, err
		}
	}
	source := options.source
	if source == nil {
		if source, err = file.Read(path); err != nil {
			return nil, err
		}
	}
	name, err := file.Trainer(path, source)
	if err != nil {
		return nil, err
	}
	if name == sweep.ScriptTrainer && options.own {
		asFromShell(launcher)
	}
	process, err := launcher.Launch(ctx, name)
	if err != nil {
		if errors.Is(err, sweep.ErrNotFound) {
			return nil, file.LocateTrainer(path, source, err)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = process.Close() }() // it has answered all it was asked
	description, err := process.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("trainer %s: %w", name, err)
	}
	decoded, err := file.Decode(path, source, file.Options{Description: description, Count: options.count,
		Method: options.method})
	if err != nil {
		return nil, err
	}
	if program := decoded.Spec.Script; program != nil {
		note, err := s.placeScript(ctx, program, path, options)
		if err != nil {
			return nil, decoded.Locate(err)
		}
		decoded.Notes = append(decoded.Notes, note)
		if note, err = script.Direct(program); err != nil {
			return nil, decoded.Locate(err)
		}
		if note != "" {
			decoded.Notes = append(decoded.Notes, note)
		}
	}
	p := &plan{
		submission: &sweep.Submission{
			Spec: decoded.Spec, Source: string(source), Description: *description,
			Datasets: map[string]string{}, Bytes: map[string]int64{},
		},
		grid:     decoded.Grid,
		notes:    decoded.Notes,
		launcher: launcher,
		own:      options.own,
	}
	p.submission.Spec.Select = p.submission.Spec.Select.Filled(description)
	dataDir, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	if err := p.validate(ctx, process, dataDir); err != nil {
		return nil, decoded.Locate(err)
	}
	if options.own && decoded.Spec.Script != nil {
		if err := p.checkStart(); err != nil {
			return nil, decoded.Locate(err)
		}
	}
	return p, nil
}

// planText is readPlan for the text of a sweep file that a client has sent; errors call it "sweep file". Its
// script keeps to the directories roots.
func (s *settings) planText(ctx context.Context, text string, roots []string, log *slog.Logger) (p *plan, err error) {
	const path = "sweep file"
	source := []byte(text)
	name, err := file.Trainer(path, source)
	if err != nil {
		return nil, err
	}
	if name != sweep.ScriptTrainer {
		return s.readPlan(ctx, path, planOptions{source: source}, log)
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s: programs are not run from here: set the directories that have them with "+
			"--script-dir", path)
	}
	for _, root := range roots { // the first that has the program
		p, err = s.readPlan(ctx, path, planOptions{source: source, directory: root, roots: roots}, log)
		if err == nil {
			break
		}
	}
	return p, err
}

// prepare reads the file of a sweep that is to be submitted, and prints its notes.
func (s *settings) prepare(cmd *cobra.Command, path string, options planOptions, reuse bool) (*plan, error) {
	p, err := s.readPlan(cmd.Context(), path, options, s.logger(cmd))
	if err != nil {
		return nil, err
	}
	if labels := p.submission.Spec.Requires; options.own && len(labels) > 0 {
		return nil, usageError("%s: requires a worker with the label %s, and workers of this command have no labels: "+
			"remove it, or submit the file to a cluster with \"sweep submit\"",
			path, slices.Min(slices.Collect(maps.Keys(labels))))
	}
	for _, note := range p.notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	p.submission.Reuse, p.submission.AskedBy = reuse, userName()
	return p, nil
}

// validate asks the trainer about the points, once for all replicates of each,
// and gathers data set digests and costs.
func (p *plan) validate(ctx context.Context, t sweep.Trainer, dataDir string) error {
	replicates := int64(1)
	for _, axis := range p.submission.Spec.Axes {
		drawn := p.submission.Spec.Random != nil && !p.submission.Spec.Random.Replicated
		if len(axis.Parameters) == 1 && axis.Parameters[0].Name == sweep.SeedParameter && !drawn {
			replicates = axis.Len()
		}
	}
	count := p.grid.Count()
	stride := replicates
	if count/replicates > checkedPoints {
		stride = count / checkedPoints
	}
	var flops float64
	for i := int64(0); i >= 0 && i < count; i += stride { // beyond the largest number i is negative
		point, err := p.grid.At(i)
		if err != nil {
			return err
		}
		resolved, err := p.submission.Description.Resolve(point)
		if err != nil {
			return err
		}
		if err := p.keepsCheckpoint(resolved); err != nil {
			return err
		}
		v, err := t.Validate(ctx, sweep.ValidateRequest{Parameters: resolved, DataDir: dataDir,
			Script: p.submission.Spec.Script})
		if err != nil {
			return err
		}
		key, err := p.submission.Description.DatasetKey(resolved)
		if err != nil {
			return err
		}
		if _, known := p.submission.Datasets[key]; !known {
			p.submission.Datasets[key] = v.DatasetDigest
		}
		flops += v.Flops
		if v.Bytes > 0 {
			p.submission.Bytes[key] = max(p.submission.Bytes[key], v.Bytes)
		}
		p.maxBytes = max(p.maxBytes, v.Bytes)
		p.checked++
	}
	for key, size := range p.submission.Bytes {
		// An estimate, and a larger class of trials: rounded up, so that classes are few.
		p.submission.Bytes[key] = (size + memoryStep - 1) / memoryStep * memoryStep
	}
	p.submission.Flops = flops / float64(p.checked) * float64(count)
	return nil
}

// checkStart returns an error if the first point's program cannot be started here.
func (p *plan) checkStart() error {
	if p.grid.Count() == 0 {
		return nil
	}
	point, err := p.grid.At(0)
	if err != nil {
		return err
	}
	program := p.submission.Spec.Script
	if err := script.CheckStart(program, point); err != nil {
		return err
	}
	for _, axis := range p.submission.Spec.Axes {
		for _, parameter := range axis.Parameters {
			for _, value := range parameter.Values.List {
				// Few are so long; escapes make them longer.
				if text, ok := value.(string); ok && len(text) > script.LongestWord/2 {
					point[parameter.Name] = value
					if err := script.CheckStart(program, point); err != nil {
						return err
					}
				}
			}
		}
	}
	if note := script.Ignores(program); note != "" && p.grid.Count() > 1 {
		p.notes = append(p.notes, note)
	}
	return nil
}

// keepsCheckpoint returns an error if a trial cannot leave the checkpoint that the file asks for.
func (p *plan) keepsCheckpoint(resolved sweep.Parameters) error {
	d := &p.submission.Description
	if budget, _ := d.Budget(resolved); budget == nil ||
		!slices.Contains(p.submission.Spec.Artifacts, sweep.CheckpointArtifact) {
		return nil
	}
	if err := d.Endless(resolved); err != nil {
		return err
	}
	for _, name := range d.Continues.Names() {
		if accepted := d.Continues[name]; !(sweep.Match{name: accepted}).Fits(resolved) {
			return &sweep.ParameterError{Parameter: name, Value: resolved[name], Problem: fmt.Sprintf("must be %v for "+
				"artifacts: [%s]: only such trials can be continued", accepted[0], sweep.CheckpointArtifact)}
		}
	}
	return nil
}

// memoryStep is what estimates of memory are rounded up to.
const memoryStep = 64 << 20

// newLauncher knows the built-in trainers, which this very program serves, and
// the executables in the trainer path.
func (s *settings) newLauncher(log *slog.Logger) (*trainer.Launcher, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	builtin := map[string]trainer.BuiltIn{}
	for name, open := range builtinTrainers {
		builtin[name] = trainer.BuiltIn{Command: []string{program, "trainer", "serve", name}, Open: open}
	}
	home, err := s.homeDir()
	if err != nil {
		return nil, err
	}
	builtin[sweep.ScriptTrainer] = scriptTrainer(program, home)
	if s.trainerHome != "" {
		if info, err := os.Stat(s.trainerHome); err != nil || !info.IsDir() {
			return nil, usageError("--trainer-home %s: expected a directory", s.trainerHome)
		}
	}
	return &trainer.Launcher{
		BuiltIn: builtin, Path: s.trainerPath, Log: log,
		Environment: s.trainerEnv, Home: s.trainerHome, Secrets: s.secrets(), CancelGrace: cancelGrace,
	}, nil
}
