package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"sweep/model"
	"sweep/sweep/wire"
	"sweep/worker"
)

// flushTimeout bounds the sending of what a worker says last.
const flushTimeout = 2 * time.Second

func defaultSlots() int { return runtime.NumCPU() }

func newWorker(s *settings) *cobra.Command {
	var d daemon
	cmd := &cobra.Command{
		Use:     "worker",
		Short:   "Run a worker of a cluster on this host",
		GroupID: "cluster",
		Long: `Run a worker: it takes trials of its pool from NATS, trains each in a trainer
process, and reports. It needs no access to the database. The data sets in --data
must be those that sweeps were submitted with: trials whose data differ are given
back, not trained.

After several failures that are the machine's in a row the worker takes no more
jobs and says why ("sweep workers"). SIGTERM drains it: running trials end, or
after --grace keep their checkpoints and are given back.

Exit codes: 0 stopped, 1 it cannot run, 2 wrong settings.`,
		Example: "  sweep worker --nats nats://head:4222 --slots 8 --data /srv/data\n  sweep worker --nats nats://head:4222 --pool bigmem --slots 2",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.nats == "" {
				return usageError("worker: say where the NATS servers are by --nats, SWEEP_NATS or the settings file")
			}
			if d.slots < 1 {
				return usageError("--slots %d: expected at least 1", d.slots)
			}
			if err := wire.CheckToken("pool", d.pool); err != nil {
				return usageError("--pool: %w", err)
			}
			return s.runWorker(cmd, &d)
		},
	}
	d.addWorkerFlags(cmd.Flags())
	return cmd
}

func (s *settings) runWorker(cmd *cobra.Command, d *daemon) error {
	log, err := s.daemonLogger(cmd)
	if err != nil {
		return err
	}
	home, err := s.homeDir()
	if err != nil {
		return err
	}
	data, err := s.dataDir()
	if err != nil {
		return err
	}
	launcher, err := s.newLauncher(log)
	if err != nil {
		return err
	}
	conn, err := wire.Connect(s.nats, "sweep worker", log)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer conn.Close()
	w, err := wire.New(conn, wire.Options{AckWait: d.ackWait, Logger: log})
	if err != nil {
		return err
	}
	daemon := worker.NewDaemon(worker.Options{
		Wire: w, Launcher: launcher, Name: d.name, Pool: d.pool, Slots: d.slots, DataDir: data,
		CheckpointDir: filepath.Join(home, "checkpoints"), Grace: d.grace, Logger: log,
	}, model.Version)
	stop, err := serveHTTP(d.listen, daemon.Handler(func() error { return connected(conn) }), log)
	if err != nil {
		return err
	}
	defer stop()
	log.Info("taking jobs", "pool", d.pool, "slots", d.slots, "data", data)
	if err := daemon.Run(cmd.Context()); err != nil {
		return err
	}
	if err := conn.FlushTimeout(flushTimeout); err != nil {
		return fmt.Errorf("the last messages may not have been sent: %w", err)
	}
	return nil
}
