package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// agentOptions say what the clients of "sweep mcp" may do.
type agentOptions struct {
	allowChanges bool
	slots        int
	// scriptDirs are where the programs of submitted files may be; none if empty.
	scriptDirs []string
}

func newMCP(s *settings) *cobra.Command {
	var options agentOptions
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve sweeps to agents over the Model Context Protocol",
		Long: `An agent's client starts this command and talks to it on standard input and output.
Agents list sweeps, compare trials, read curves and logs, and query SQL. With --nats
they use that cluster, otherwise the local database.

By default nothing can be changed. With --allow-changes agents also submit, extend,
cancel, pause, resume and retry sweeps. Without a cluster this command then trains the
trials itself, as "sweep run" does, while it runs; the next one resumes what is left.
Sweep files of agents run programs only from --script-dir directories.

Exit codes: 0 the client has ended the session, 1 error, 2 invalid settings.`,
		Example: "  sweep mcp\n  sweep mcp --allow-changes --slots 4",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.runMCP(cmd, &options) },
	}
	f := cmd.Flags()
	f.BoolVar(&options.allowChanges, "allow-changes", false, "let the client submit and change sweeps")
	f.IntVar(&options.slots, "slots", runtime.NumCPU(), "number of trials that run at the same time, without a cluster")
	f.StringSliceVar(&options.scriptDirs, "script-dir", nil, "directories whose programs sweeps may run; none if empty")
	return cmd
}

func (s *settings) runMCP(cmd *cobra.Command, options *agentOptions) error {
	ctx, log := cmd.Context(), s.logger(cmd)
	if options.slots < 1 {
		return usageError("--slots %d: expected at least 1", options.slots)
	}
	lab, err := s.openLaboratory(ctx, options, log)
	if err != nil {
		return err
	}
	defer lab.close()
	server := (&agentTools{settings: s, options: options, lab: lab, log: log}).server(options.allowChanges)
	transport := &mcp.IOTransport{Reader: io.NopCloser(cmd.InOrStdin()), Writer: keepOpen{cmd.OutOrStdout()}}
	err = server.Run(ctx, transport)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil // the client or a signal has ended the session
	}
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

// keepOpen is a writer that others close.
type keepOpen struct{ io.Writer }

// Close implements io.Closer.
func (keepOpen) Close() error { return nil }
