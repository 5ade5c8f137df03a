package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sweep/cmd/sweep/mcp"
	"sweep/coordinator"
	"sweep/local"
	"sweep/sweep"
)

// openLaboratory returns the cluster of the settings or, without one, a laboratory that runs trials itself. If
// changes are allowed it resumes what an earlier one left. leave interrupts what it runs.
func (s *settings) openLaboratory(ctx context.Context, options *agentOptions, log *slog.Logger) (lab mcp.Laboratory,
	leave func(), err error) {
	if s.server() != "" {
		return clusterLab{s}, func() {}, nil
	}
	l := &localLab{settings: s, options: options, log: log}
	if !options.changes() {
		return l, l.close, nil
	}
	launcher, err := s.newLauncher(log)
	if err == nil {
		err = restrictScripts(launcher, options.scriptDirs)
	}
	if err != nil {
		return nil, nil, err
	}
	left := false
	err = using(ctx, s.openStore, func(results sweep.Store) (err error) {
		left, err = unfinishedOfAgents(ctx, results)
		return err
	})
	if err != nil || !left {
		return l, l.close, err
	}
	if err := l.Change(ctx, true, func(mcp.Target) error { return nil }); err != nil {
		log.Warn("unfinished sweeps of agents are not resumed", "error", err)
	}
	return l, l.close, nil
}

// unfinishedOfAgents reports whether a sweep that an agent submitted or extended is active.
func unfinishedOfAgents(ctx context.Context, results sweep.Reader) (bool, error) {
	active, err := results.Sweeps(ctx, sweep.SweepActive)
	if err != nil {
		return false, err
	}
	for i := range active {
		record, err := results.Sweep(ctx, active[i].ID)
		if err != nil {
			return false, err
		}
		for j := range record.Grids {
			if strings.HasPrefix(record.Grids[j].Submission.AskedBy, mcp.AskedBy) {
				return true, nil
			}
		}
	}
	return false, nil
}

// clusterLab has a cluster carry changes out.
type clusterLab struct{ settings *settings }

// Change implements mcp.Laboratory.
func (l clusterLab) Change(ctx context.Context, _ bool, do func(t mcp.Target) error) error {
	return using(ctx, l.settings.openTarget, func(t target) error { return do(checkedTarget{t}) })
}

// Runs implements mcp.Laboratory: workers come and go.
func (clusterLab) Runs(*sweep.Spec) error { return nil }

// Problem implements mcp.Laboratory.
func (clusterLab) Problem() error { return nil }

// localLab runs the active sweeps of the local database in this process, while there are any.
type localLab struct {
	settings *settings
	options  *agentOptions
	log      *slog.Logger

	mu sync.Mutex
	// training is what runs the trials, nil while nothing does.
	training *training
	// failure is why the last training ended.
	failure error
}

// training is a whole cluster in this process.
type training struct {
	target *localStore
	ctx    context.Context
	cancel context.CancelFunc
	// done is closed when everything has ended, with the error err.
	done chan struct{}
	err  error
}

// Change implements mcp.Laboratory.
func (l *localLab) Change(ctx context.Context, trains bool, do func(t mcp.Target) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reapLocked()
	if l.training == nil && !trains {
		return using(ctx, l.settings.openLocal, func(t *localStore) error { return do(checkedTarget{t}) })
	}
	if l.training == nil {
		begun, err := l.begin(ctx)
		if err != nil {
			return err
		}
		l.training, l.failure = begun, nil
	}
	return do(checkedTarget{l.training.target})
}

// Runs implements mcp.Laboratory.
func (l *localLab) Runs(spec *sweep.Spec) error {
	const remedy = "remove it from the file, or start \"sweep mcp\" with --nats for a cluster"
	if spec.Pool != sweep.DefaultPool {
		return fmt.Errorf("pool %s: this command runs trials of the pool %s only: %s", spec.Pool, sweep.DefaultPool,
			remedy)
	}
	if len(spec.Requires) > 0 {
		return fmt.Errorf("requires a worker with the label %s, and this command has no labels: %s",
			slices.Min(slices.Collect(maps.Keys(spec.Requires))), remedy)
	}
	return nil
}

// reapLocked forgets a training that ends.
func (l *localLab) reapLocked() {
	if l.training != nil && l.training.ctx.Err() != nil {
		<-l.training.done
		l.training, l.failure = nil, l.training.err
	}
}

// Problem implements mcp.Laboratory.
func (l *localLab) Problem() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reapLocked()
	if l.failure != nil {
		return fmt.Errorf("training has stopped: %w", l.failure)
	}
	return nil
}

func (l *localLab) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.training != nil {
		l.training.cancel()
		<-l.training.done
	}
}

// begin takes the lead of the local database and brings up what runs its trials.
func (l *localLab) begin(ctx context.Context) (*training, error) {
	s := l.settings
	launcher, err := s.newLauncher(l.log)
	if err != nil {
		return nil, err
	}
	if err := restrictScripts(launcher, l.options.scriptDirs); err != nil {
		return nil, err
	}
	artifacts, err := s.openArtifacts(nil, l.log)
	if err != nil {
		return nil, err
	}
	data, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	home, err := s.homeDir()
	if err != nil {
		return nil, err
	}
	devices, err := l.options.devices.find(ctx, l.log)
	if err != nil {
		return nil, err
	}
	results, lead, release, err := s.leadLocal(ctx, home, "sweep mcp", io.Discard)
	if err != nil {
		return nil, err
	}
	begun := &training{done: make(chan struct{})}
	begun.ctx, begun.cancel = context.WithCancel(context.WithoutCancel(ctx)) // it outlives the request
	up := make(chan struct{})
	options := local.Options{
		Store: results, Term: lead.Term(), Artifacts: artifacts, Launcher: launcher, Logger: l.log, Home: home,
		DataDir: data, Slots: l.options.slots, Devices: devices, Out: io.Discard, Ended: func() {}, Full: func(error) {},
		Begun: func(c *coordinator.Coordinator, _ *sweep.SweepRecord) error {
			begun.target = &localStore{results, c}
			close(up)
			return nil
		},
	}
	go func() { // close waits for it
		defer close(begun.done)
		defer release()
		var idle sync.WaitGroup
		idle.Go(func() { l.stopWhenIdle(begun, results) })
		begun.err = local.Serve(begun.ctx, options)
		begun.cancel()
		idle.Wait()
	}()
	select {
	case <-up:
		return begun, nil
	case <-begun.done:
		return nil, fmt.Errorf("trials cannot be run: %w", begun.err)
	}
}

// idlePause is the time between two looks for active sweeps.
const idlePause = time.Second

// stopWhenIdle ends a training when no sweep is active, so that other commands can use the database.
func (l *localLab) stopWhenIdle(t *training, results sweep.Reader) {
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-time.After(idlePause):
		}
		if !l.mu.TryLock() {
			continue // a change is under way, or close waits
		}
		if active, err := results.Sweeps(t.ctx, sweep.SweepActive); err == nil && len(active) == 0 {
			t.cancel()
		}
		l.mu.Unlock()
	}
}
