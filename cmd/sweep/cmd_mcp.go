package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"sweep/cmd/sweep/mcp"
	"sweep/coordinator/web"
	"sweep/model"
	"sweep/sweep"
)

// agentOptions say what the clients of "sweep mcp" may do.
type agentOptions struct {
	allowChanges bool
	slots        int
	devices      deviceFlags
	// scriptDirs are where the programs of submitted files may be; none if empty.
	scriptDirs []string
	// budget is what the sweeps that are submitted here share, nil if there is no bound.
	budget *sweep.Budget
	// http is where clients are served that are not on standard input.
	http dashboard
}

// changes reports whether some clients may change sweeps.
func (o *agentOptions) changes() bool { return o.allowChanges || o.http.address != "" }

func newMCP(s *settings) *cobra.Command {
	var options agentOptions
	var budget string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve sweeps to agents over the Model Context Protocol",
		Long: `An agent's client starts this command and talks to it on standard input and output.
Agents list sweeps, compare trials, read curves and logs, and query SQL. With --nats
they use that cluster, otherwise the local database.

By default nothing can be changed. With --allow-changes agents also submit, extend
and annotate sweeps, and control them: cancel, pause, resume, retry and others. Without
a cluster this command then trains the trials itself, as "sweep run" does, while it
runs; the next one resumes what is left.
Sweep files of agents run programs only from --script-dir directories; the page "agents"
of the documentation says what that prevents and what it does not.

--budget "200 trials", "3h" or both bounds what the sweeps use together that are
submitted while this command runs. The coordinator starts no further trials when it is
used up; "sweep budget" raises it. Agents cannot.

--http serves clients at http://ADDRESS/mcp instead, by the rules of the dashboard: on
this machine's own addresses everyone on the machine can read; on others, and for
changes, requests need a token of "sweep token create".

Exit codes: 0 the client has ended the session, 1 error, 2 invalid settings.`,
		Example: "  sweep mcp\n  sweep mcp --allow-changes --slots 4\n  sweep mcp --http 127.0.0.1:7777",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("budget") {
				shared, err := sweep.ParseBudget(budget)
				if err != nil {
					return usageError("--budget: %w", err)
				}
				shared.Name = "mcp " + rand.Text()
				options.budget = &shared
			}
			return s.runMCP(cmd, &options)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&options.allowChanges, "allow-changes", false, "let the client submit and change sweeps")
	options.devices.addFlags(f)
	f.IntVar(&options.slots, "slots", runtime.NumCPU(), "number of trials that run at the same time, without a cluster")
	f.StringSliceVar(&options.scriptDirs, "script-dir", nil, "directories whose programs sweeps may run; none if empty")
	f.StringVar(&budget, "budget", "", "what the submitted sweeps may use together, such as \"200 trials\" or 3h")
	h := &options.http
	f.StringVar(&h.address, "http", "", "serve clients over HTTP at this address, such as 127.0.0.1:7777")
	f.StringVar(&h.cert, "http-cert", "", "file with the certificate of --http, in PEM; without it plain HTTP is used")
	f.StringVar(&h.key, "http-key", "", "file with the private key of --http-cert, in PEM")
	f.StringVar(&h.tokens, "tokens", "", "file of the tokens for --http (default: tokens.json in the state directory)")
	return cmd
}

func (s *settings) runMCP(cmd *cobra.Command, options *agentOptions) error {
	ctx, log := cmd.Context(), s.logger(cmd)
	if options.slots < 1 {
		return usageError("--slots %d: expected at least 1", options.slots)
	}
	if options.allowChanges && options.http.address != "" {
		return usageError("--allow-changes is for a client on standard input: over HTTP, tokens allow changes")
	}
	lab, leave, err := s.openLaboratory(ctx, options, log)
	if err != nil {
		return err
	}
	defer leave()
	tools, err := mcp.New(s.toolOptions(lab, options, log))
	if err != nil {
		return err
	}
	if options.http.address != "" {
		return s.serveAgents(cmd, tools, &options.http)
	}
	server := tools.Server(options.allowChanges)
	transport := &sdk.IOTransport{Reader: io.NopCloser(cmd.InOrStdin()), Writer: keepOpen{unchanged(cmd.OutOrStdout())}}
	err = server.Run(ctx, transport)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) {
		return nil // the client or a signal has ended the session
	}
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

// toolOptions are what the tools of agents need of the settings.
func (s *settings) toolOptions(lab mcp.Laboratory, options *agentOptions, log *slog.Logger) mcp.Options {
	return mcp.Options{
		Laboratory: lab, Describe: s.describe, Budget: options.budget, Version: model.Version, User: userName(),
		Log: log,
		Read: func(ctx context.Context, do func(results sweep.Reader) error) error {
			return using(ctx, s.openReader, func(results reader) error { return do(results) })
		},
		Plan: func(ctx context.Context, text string) (*mcp.Plan, error) {
			p, err := s.planText(ctx, text, options.scriptDirs, log)
			if err != nil {
				return nil, err
			}
			return &mcp.Plan{Submission: p.submission, Grid: p.grid, Notes: p.notes, Bytes: p.maxBytes,
				CompareInputs: p.compareInputs, Speed: func(ctx context.Context) (float64, error) {
					rate, _, err := s.speedOf(ctx, p)
					return rate, err
				}}, nil
		},
		Logs: func(ctx context.Context, results sweep.Reader, id sweep.TrialID, execution string,
			out, notes io.Writer) error {
			l, err := s.logsOf(results, id, out, notes)
			if err != nil {
				return err
			}
			return l.one(ctx, execution)
		},
	}
}

// serveAgents serves clients over HTTP until the command is to end.
func (s *settings) serveAgents(cmd *cobra.Command, tools *mcp.Tools, h *dashboard) error {
	tokens, err := s.openTokens(h.tokens)
	if err != nil {
		return err
	}
	listener, origin, err := h.listen("http", tools.Log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", tools.Handler(tokens, !web.IsLoopback(listener.Addr().String())))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	wait := serveOn(server, listener, "mcp", tools.Log)
	fmt.Fprintf(cmd.OutOrStdout(), "mcp: %s/mcp\n", origin)
	<-cmd.Context().Done()
	_ = server.Close() // clients that wait for a sweep are cut off
	wait()
	return nil
}

// keepOpen is a writer that others close.
type keepOpen struct{ io.Writer }

// Close implements io.Closer.
func (keepOpen) Close() error { return nil }
