package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/sweep"
	"sweep/sweep/wire"
	"sweep/worker"
	"sweep/worker/trainer"
)

// flushTimeout bounds the sending of what a worker says last. A busy server may take seconds to answer.
const flushTimeout = 10 * time.Second

func newWorker(s *settings) *cobra.Command {
	var d daemon
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker of a cluster on this host",
		Long: `It takes trials of its pool from NATS, runs each in a trainer process, and reports
their results. It needs no access to the database.

The worker announces what it offers: its trainers with their versions, --memory and
--label. It receives only trials that need nothing else. It refuses a trial whose data
set in --data differs from the one that the sweep was submitted with, or whose trainer
does not start; the trial goes to another worker. The worker looks again for missing
data and trainers after a minute, then less and less often.

--script-dir lets the worker run the programs of sweep files in these directories.
Everyone who may submit sweeps can then run commands as this worker's user.

After several failures of the machine in a row, such as a full disk, the worker takes
no further jobs, finishes those that are running, and reports the reason ("sweep
workers"). On SIGTERM it drains: running trials finish, and their artifacts are
stored; trials still running after --grace are stopped, keep their checkpoints and
return to the queue.

A trial that leaves artifacts frees its slot when it has ended. Its result waits on
disk until the artifact store has them, up to --spool in all, and is reported then.
What a killed or stopped worker leaves there is stored by the next one on this host.

Exit codes: 0 stopped, 1 error, 2 invalid settings.`,
		Example: "  sweep worker --nats nats://head:4222 --slots 8 --data /srv/data\n  sweep worker --nats " +
			"nats://head:4222 --pool gpu --slots 2 --memory 24GiB --label gpu=a100",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.nats.Addresses == "" {
				return usageError("worker: set the NATS servers with --nats, SWEEP_NATS or the settings file")
			}
			if d.slots < 1 {
				return usageError("--slots %d: expected at least 1", d.slots)
			}
			if err := wire.CheckToken("pool", d.pool); err != nil {
				return usageError("--pool: %w", err)
			}
			memory, err := d.slotMemory()
			if err != nil {
				return usageError("--memory: %w", err)
			}
			spool, err := sweep.ParseSize(d.spool)
			if err == nil && spool < 1 {
				err = fmt.Errorf("%s: expected at least 1 byte", d.spool)
			}
			if err != nil {
				return usageError("--spool: %w", err)
			}
			labels, err := parseLabels(d.labels)
			if err != nil {
				return usageError("--label: %w", err)
			}
			return s.runWorker(cmd, &d, worker.Options{Memory: memory, Labels: labels, Spool: spool})
		},
	}
	d.addFlags(cmd.Flags())
	d.addWorkerFlags(cmd.Flags())
	return cmd
}

// slotMemory is what a trial may use, in bytes: as it was set, else the host's
// divided by the slots; 0 if that is not known.
func (d *daemon) slotMemory() (int64, error) {
	if d.memory == "" {
		return hostMemory() / int64(d.slots), nil
	}
	return sweep.ParseSize(d.memory)
}

// parseLabels reads labels of the form name=value.
func parseLabels(list []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("%q: expected NAME=VALUE", text)
		}
		if err := sweep.CheckName("label", name); err != nil {
			return nil, err
		}
		if err := sweep.CheckText("label "+name, value, false); err != nil {
			return nil, err
		}
		labels[name] = value
	}
	return labels, nil
}

// runWorker runs a worker with what options say of it, and its other settings.
func (s *settings) runWorker(cmd *cobra.Command, d *daemon, options worker.Options) error {
	collectLess()
	log := s.daemonLogger(cmd)
	home, err := s.homeDir()
	if err != nil {
		return err
	}
	data, err := s.dataDir()
	if err != nil {
		return err
	}
	if options.Devices, err = d.devices.find(cmd.Context(), log); err != nil {
		return err
	}
	launcher, err := s.newLauncher(log)
	if err != nil {
		return err
	}
	if err := restrictScripts(launcher, d.scriptDirs); err != nil {
		return err
	}
	conn, err := wire.Connect(s.access(wire.WorkerInbox(d.pool)), "sweep worker", log)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer func() { go conn.Close() }() // it may wait for a server that is out of reach
	w, err := wire.New(conn, wire.Options{AckWait: d.ackWait, Domain: s.natsDomain, Logger: log})
	if err != nil {
		return err
	}
	artifacts, err := s.openArtifacts(w, log)
	if err != nil {
		return err
	}
	options.Wire, options.Launcher, options.Artifacts, options.Logger = w, launcher, artifacts, log
	options.Name, options.Pool, options.Slots, options.Grace = d.name, d.pool, d.slots, d.grace
	options.DataDir, options.CheckpointDir = data, filepath.Join(home, "checkpoints")
	options.SpoolDir, options.Version = filepath.Join(home, "spool"), model.Version
	daemon := worker.NewDaemon(options)
	stop, err := d.serve(daemon.Handler(func() error { return connected(conn) }), log)
	if err != nil {
		return err
	}
	defer stop()
	if err := trainer.CanHide(); err != nil {
		log.Warn("trainers can read everything that this worker's user can, including its credentials", "reason", err)
	}
	if os.Geteuid() == 0 {
		log.Warn("this worker and its trainers run as root: run it as a user of its own")
	}
	log.Info("taking jobs", "pool", d.pool, "slots", d.slots, "data", data)
	if err := daemon.Run(cmd.Context()); err != nil {
		return err
	}
	if err := conn.FlushTimeout(flushTimeout); err != nil {
		return fmt.Errorf("the last messages may not have been sent: %w", err)
	}
	return nil
}
