package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"sweep/sweep"
	"sweep/sweep/file"
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
}

// checkedPoints bounds how many points the trainer validates before a sweep
// is accepted: all of a usual grid, an even sample of a huge one, whose other
// points are checked when they run.
const checkedPoints = 2000

// readPlan decodes a sweep file against its trainer's schema, expands it, and
// has the trainer validate its points. Every error names its place in the file.
func (s *settings) readPlan(ctx context.Context, path string, launcher sweep.Launcher) (*plan, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sweep file: %w", err)
	}
	name, err := file.Trainer(path, source)
	if err != nil {
		return nil, err
	}
	process, err := launcher.Launch(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = process.Close() }() // it has answered all it was asked
	description, err := process.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("trainer %s: %w", name, err)
	}
	decoded, err := file.Decode(path, source, file.Options{Description: description})
	if err != nil {
		return nil, err
	}
	p := &plan{
		submission: &sweep.Submission{
			Spec: decoded.Spec, Source: string(source), Description: *description, Datasets: map[string]string{},
		},
		grid:  decoded.Grid,
		notes: decoded.Notes,
	}
	chooseSelect(&p.submission.Spec.Select, description)
	dataDir, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	if err := p.validate(ctx, process, dataDir); err != nil {
		return nil, decoded.Locate(err)
	}
	return p, nil
}

// chooseSelect fills in what a sweep file leaves open: trials compete by
// validation loss, apart by data set and model, where the trainer knows these.
func chooseSelect(choice *sweep.Select, d *sweep.Description) {
	if choice.By == "" && d.Metric("validation_loss") != nil {
		choice.By = "validation_loss"
	}
	if metric := d.Metric(choice.By); choice.Goal == "" && metric != nil {
		choice.Goal = metric.Goal
	}
	if len(choice.Group) == 0 {
		for _, name := range []string{"dataset", "model"} {
			if d.Parameter(name) != nil {
				choice.Group = append(choice.Group, name)
			}
		}
	}
}

// validate asks the trainer about the points, once for all replicates of each,
// and gathers data set digests and costs.
func (p *plan) validate(ctx context.Context, t sweep.Trainer, dataDir string) error {
	replicates := int64(1)
	for _, axis := range p.submission.Spec.Axes {
		if len(axis.Parameters) == 1 && axis.Parameters[0].Name == sweep.SeedParameter {
			replicates = axis.Len()
		}
	}
	count := p.grid.Count()
	stride := replicates
	if count/replicates > checkedPoints {
		stride = count / checkedPoints
	}
	var flops float64
	seen := map[string]bool{}
	for i := int64(0); i < count; i += stride {
		point, err := p.grid.At(i)
		if err != nil {
			return err
		}
		resolved, err := p.submission.Description.Resolve(point)
		if err != nil {
			return err
		}
		v, err := t.Validate(ctx, sweep.ValidateRequest{Parameters: resolved, DataDir: dataDir})
		if err != nil {
			return err
		}
		key, err := p.submission.Description.DatasetKey(resolved)
		if err != nil {
			return err
		}
		if !seen[key] {
			seen[key] = true
			p.submission.Datasets[key] = v.DatasetDigest
		}
		flops += v.Flops
		p.maxBytes = max(p.maxBytes, v.Bytes)
		p.checked++
	}
	p.submission.Flops = flops / float64(p.checked) * float64(count)
	return nil
}

// newLauncher knows the built-in trainers, which this very program serves, and
// the executables in the trainer path.
func (s *settings) newLauncher(log *slog.Logger) (*trainer.Launcher, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	builtin := map[string][]string{}
	for name := range builtinTrainers {
		builtin[name] = []string{program, "trainer", "serve", name}
	}
	return &trainer.Launcher{BuiltIn: builtin, Path: s.trainerPath, Log: log}, nil
}
