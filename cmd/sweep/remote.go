package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"sweep/coordinator"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/wire"
)

// reader is where commands read: the local database, or a coordinator.
type reader interface {
	sweep.Reader
	Close() error
}

// target is what commands change and read: the local database, or a coordinator.
type target interface {
	reader
	wire.Controller
}

// remote is a coordinator reached through NATS.
type remote struct {
	*wire.Client
	conn *nats.Conn
}

// Close implements reader.
func (r remote) Close() error {
	r.conn.Close()
	return nil
}

// localStore is the local database, changed as a coordinator would.
type localStore struct {
	sweep.Store
	wire.Controller
}

// server returns the NATS servers of the cluster that commands use, "" if they use the local database.
// A --store on the command line overrides a cluster from the environment or the settings file.
func (s *settings) server() string {
	if s.origins["store"] == fromFlag && s.origins["nats"] != fromFlag {
		return ""
	}
	return s.nats.Addresses
}

// dial connects to the cluster of the settings.
func (s *settings) dial(ctx context.Context) (*remote, error) {
	if s.nats.Addresses == "" {
		return nil, usageError("this needs a cluster: set its NATS servers with --nats, SWEEP_NATS or the " +
			"settings file")
	}
	conn, err := wire.Dial(ctx, s.access(wire.ClientInbox), "sweep")
	if err != nil {
		return nil, err
	}
	return &remote{wire.NewClient(conn), conn}, nil
}

// openReader opens the results of the settings.
func (s *settings) openReader(ctx context.Context) (reader, error) {
	if s.server() != "" {
		return s.dial(ctx)
	}
	return s.openStore(ctx)
}

// openTarget opens what the settings say is to be changed.
func (s *settings) openTarget(ctx context.Context) (target, error) {
	if s.server() != "" {
		return s.dial(ctx)
	}
	return s.openLocal(ctx)
}

// openLocal opens the database of the settings and what changes it in this process.
func (s *settings) openLocal(ctx context.Context) (*localStore, error) {
	store, err := s.openStore(ctx)
	if err != nil {
		return nil, err
	}
	var artifacts *artifact.Store
	if !strings.HasPrefix(s.artifacts, "nats:") { // a cluster's, which is not asked here
		if artifacts, err = s.openArtifacts(nil, nil); err != nil {
			_ = store.Close() // the first error is the one that matters
			return nil, err
		}
	}
	return &localStore{store, coordinator.New(coordinator.Options{Store: store, Artifacts: artifacts,
		Logger: slog.New(slog.DiscardHandler)})}, nil
}

// with opens what a command reads or changes, runs do on it, and closes it.
func with[R reader](cmd *cobra.Command, open func(ctx context.Context) (R, error), do func(results R) error) error {
	return using(cmd.Context(), open, do)
}

// using is with for callers that are no command.
func using[R reader](ctx context.Context, open func(ctx context.Context) (R, error), do func(results R) error) error {
	results, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }() // what was changed is committed
	return do(results)
}

// withSweep opens the results, finds the sweep that the first argument names, the newest if there is none,
// and runs do on both.
func withSweep[R reader](cmd *cobra.Command, open func(ctx context.Context) (R, error), args []string,
	do func(results R, record *sweep.SweepRecord) error) error {
	return with(cmd, open, func(results R) error {
		reference := "latest"
		if len(args) > 0 {
			reference = args[0]
		}
		record, err := results.Sweep(cmd.Context(), reference)
		if err != nil {
			return err
		}
		return do(results, record)
	})
}

// tell prints a problem, if there is one.
func tell(cmd *cobra.Command, problem string) {
	if problem != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "the coordinator reports:", problem)
	}
}

// laterHint tells the user to run the sweep's file again: no coordinator runs the sweeps of the local
// database.
func (s *settings) laterHint(cmd *cobra.Command, id string) {
	if s.server() == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "to continue training, run the file of sweep %s again\n", id)
	}
}
