package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/coordinator"
	"sweep/coordinator/lead"
	"sweep/coordinator/web"
	"sweep/sweep"
	"sweep/sweep/file"
	"sweep/sweep/wire"
)

// defaultUI is where "sweep ui" serves the dashboard: this machine alone reaches it.
const defaultUI = "127.0.0.1:7766"

// dashboard are the settings of who serves the dashboard.
type dashboard struct {
	address   string
	cert, key string
	tokens    string
}

func (d *dashboard) addFlags(f *pflag.FlagSet, address string) {
	f.StringVar(&d.address, "ui", address, "address of the dashboard, such as 127.0.0.1:7766; none if empty. "+
		"Everything needs a token, except reading on this machine's own addresses, and acting from the browser that "+
		"opens the address shown on a terminal")
	f.StringVar(&d.cert, "ui-cert", "", "file with the dashboard's certificate, in PEM; without it the dashboard "+
		"uses plain HTTP")
	f.StringVar(&d.key, "ui-key", "", "file with the private key of --ui-cert, in PEM")
	f.StringVar(&d.tokens, "tokens", "", "file of the dashboard's tokens (default: tokens.json in the state directory)")
}

func newUI(s *settings) *cobra.Command {
	var d dashboard
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve the dashboard over the results, in a browser",
		Long: `It shows sweeps, trials with their artifacts, groups of replicates, curves, the
importance of parameters, and the papers' tables and figures. It reads the local
database, or that of --store, whether a sweep is running or not.

On this machine's own addresses everyone on the machine can read without a token, and
the browser that first opens the address on the terminal may act (retry, cancel), for
twelve hours. On other addresses (--ui :7766), and for actions from other browsers, a
token is required: create one with "sweep token create". --ui-cert and --ui-key enable
TLS.

With --nats the dashboard also shows the workers of that cluster and uses its artifact
store.

Exit codes: 0 stopped, 1 error, 2 invalid settings.`,
		Example: `  sweep ui
  sweep ui --ui 127.0.0.1:0 --store sqlite:results.db
  sweep ui --ui :7766 --ui-cert cert.pem --ui-key key.pem`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.runUI(cmd, &d) },
	}
	d.addFlags(cmd.Flags(), defaultUI)
	return cmd
}

func (s *settings) runUI(cmd *cobra.Command, d *dashboard) error {
	ctx := cmd.Context()
	log := s.logger(cmd)
	if d.address == "" {
		return usageError("ui: set the address of the dashboard with --ui, such as %s", defaultUI)
	}
	own, err := s.openLocal(ctx) // the dashboard reads the database itself
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }() // what was changed is committed
	options := web.Options{Store: own.Store, Control: own.Controller, Artifacts: own.Controller}
	if s.nats.Addresses != "" {
		r, err := s.dial(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // it was only read
		options.Control, options.Artifacts, options.Problem, options.Extend = r, r, r.Problem, s.extender(log, r.Extend)
		options.Workers = func(ctx context.Context) ([]web.Worker, error) {
			list, err := r.Workers(ctx)
			return shownWorkers(list), err
		}
	}
	address, stop, err := s.serveUI(d, options, log)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(cmd.OutOrStdout(), "dashboard: %s\n", address("", cmd.OutOrStdout()))
	<-ctx.Done()
	return nil
}

// pageAddress returns the address of a page of a dashboard, "" for the first, to be shown on an output.
type pageAddress func(page string, out io.Writer) string

// addressOf returns the addresses of a dashboard. On a terminal they have a ticket, with which who opens
// them on this machine may act.
func addressOf(origin string, served *web.Server) pageAddress {
	return func(page string, out io.Writer) string {
		if isTerminal(out) {
			if ticket := served.Ticket(); ticket != "" {
				return origin + "/#/" + page + "?ticket=" + ticket
			}
		}
		if page != "" {
			page = "#/" + page
		}
		return origin + "/" + page
	}
}

// serveUI serves the dashboard until the returned function is called, which waits.
func (s *settings) serveUI(d *dashboard, options web.Options,
	log *slog.Logger) (address pageAddress, stop func(), err error) {
	if options.Tokens, err = s.openTokens(d.tokens); err != nil {
		return nil, nil, err
	}
	listener, origin, err := d.listen("ui", log)
	if err != nil {
		return nil, nil, err
	}
	options.Logger = log
	options.Closed = !web.IsLoopback(listener.Addr().String())
	served := web.New(options)
	server := &http.Server{Handler: served, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	wait := serveOn(server, listener, "dashboard", log)
	log.Info("dashboard", "address", origin+"/")
	return addressOf(origin, served), func() {
		_ = server.Close() // it ends the streams of changes
		wait()
		if err := served.Close(); err != nil {
			log.Debug("dashboard: its columns", "error", err)
		}
	}, nil
}

// listen listens at the address that the flag gives, with TLS if there is a certificate. The origin is that of
// its URLs.
func (d *dashboard) listen(flag string, log *slog.Logger) (listener net.Listener, origin string, err error) {
	if (d.cert == "") != (d.key == "") {
		return nil, "", usageError("--%[1]s-cert and --%[1]s-key must be set together", flag)
	}
	listener, err = net.Listen("tcp", d.address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, "", fmt.Errorf("--%s: %s is taken, perhaps by another process of this program; "+
			"--%[1]s=127.0.0.1:0 selects a free address", flag, d.address)
	}
	if err != nil {
		return nil, "", fmt.Errorf("--%s: %w", flag, err)
	}
	at := listener.Addr().String()
	if d.cert == "" {
		if !web.IsLoopback(at) {
			log.Warn(fmt.Sprintf("tokens and results travel unencrypted: set a certificate with --%[1]s-cert and "+
				"--%[1]s-key", flag), "address", at)
		}
		return listener, "http://" + at, nil
	}
	pair, err := tls.LoadX509KeyPair(d.cert, d.key)
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("--%[1]s-cert, --%[1]s-key: %[2]w", flag, err), listener.Close())
	}
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair},
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}), "https://" + at, nil
}

// shownWorkers converts the status of workers for the dashboard.
func shownWorkers(list []wire.WorkerStatus) []web.Worker {
	workers := []web.Worker{}
	for i := range list {
		w := &list[i]
		one := web.Worker{
			ID: w.ID, Name: w.Name, Pool: w.Pool, Version: w.Version, State: string(w.State), Reason: w.Reason,
			StartedAt: w.StartedAt,
			Offer:     offerText(&w.Offer), Problem: strings.Join(problemsOf(w), "; "), Slots: []web.Slot{},
		}
		for _, slot := range w.Slots {
			one.Slots = append(one.Slots, web.Slot{Trial: slot.Trial, Since: slot.Since})
		}
		for _, r := range w.Refusals {
			one.Refusals = append(one.Refusals, web.WorkerRefusal{TrialID: r.TrialID, Reason: r.Reason, At: r.At})
		}
		workers = append(workers, one)
	}
	return workers
}

// extender returns what adds the points of a sweep file's text to a sweep: the file
// is checked as "sweep extend" does, by the trainer on this machine.
func (s *settings) extender(log *slog.Logger,
	extend func(ctx context.Context, id string, submission *sweep.Submission) (int64, error)) func(ctx context.Context,
	id, source string) (int64, error) {
	return func(ctx context.Context, id, source string) (int64, error) {
		if name, err := file.Trainer("sweep file", []byte(source)); err == nil && name == sweep.ScriptTrainer {
			return 0, errors.New(`a sweep of programs must be extended where its program is, with "sweep extend"`)
		}
		p, err := s.planText(ctx, source, nil, log)
		if err != nil {
			return 0, err
		}
		p.submission.Reuse = true
		return extend(ctx, id, p.submission)
	}
}

// errStandby is why a coordinator that does not lead knows and changes nothing.
var errStandby = errors.New("this coordinator is a standby: use the active one")

// errAtRest is why a run that waits for room does not.
var errAtRest = errors.New("the run is stalled now: it resumes when its problem is resolved")

// leadingOnly is what changes sweeps, knows the workers and has the artifacts, while this coordinator
// leads.
type leadingOnly struct {
	active func() *coordinator.Coordinator
	// absent is why there is none.
	absent error
}

func (l leadingOnly) Annotate(ctx context.Context, id string, edit sweep.Edit) error {
	if c := l.active(); c != nil {
		return c.Annotate(ctx, id, edit)
	}
	return l.absent
}

func (l leadingOnly) RetryNamed(ctx context.Context, id string, indices []int64) (int64, error) {
	if c := l.active(); c != nil {
		return c.RetryNamed(ctx, id, indices)
	}
	return 0, l.absent
}

func (l leadingOnly) CancelNamed(ctx context.Context, id string, indices []int64) (int64, error) {
	if c := l.active(); c != nil {
		return c.CancelNamed(ctx, id, indices)
	}
	return 0, l.absent
}

func (l leadingOnly) extend(ctx context.Context, id string, submission *sweep.Submission) (int64, error) {
	if c := l.active(); c != nil {
		return c.Extend(ctx, id, submission)
	}
	return 0, l.absent
}

func (l leadingOnly) CheckArtifacts(ctx context.Context, query sweep.ArtifactQuery, check sweep.ArtifactCheck,
	yield func(*sweep.CheckedArtifact) error) error {
	if c := l.active(); c != nil {
		return c.CheckArtifacts(ctx, query, check, yield)
	}
	return l.absent
}

func (l leadingOnly) Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
	out io.Writer) (*sweep.ArtifactRecord, error) {
	if c := l.active(); c != nil {
		return c.Artifact(ctx, id, name, from, out)
	}
	return nil, l.absent
}

func (l leadingOnly) problem() error {
	if c := l.active(); c != nil {
		return c.Problem()
	}
	return nil
}

func (l leadingOnly) workers(context.Context) ([]web.Worker, error) {
	if c := l.active(); c != nil {
		return shownWorkers(c.Workers()), nil
	}
	return nil, l.absent
}

// clusterUI is a candidate for the lead of a cluster, with a dashboard.
type clusterUI struct {
	settings  *settings
	log       *slog.Logger
	candidate *lead.Candidate
}

// run leads again and again until ctx ends, and serves the dashboard meanwhile, from when the
// database can be reached.
func (l *clusterUI) run(ctx context.Context, d *dashboard) error {
	if d.address == "" {
		return l.candidate.Run(ctx)
	}
	serving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var uiErr error
	var shown sync.WaitGroup
	shown.Go(func() {
		stop, err := l.serve(serving, d)
		if err != nil {
			uiErr = err
			cancel(err) // without its dashboard the coordinator does not run
			return
		}
		<-serving.Done()
		stop()
	})
	err := l.candidate.Run(serving)
	cancel(nil)
	shown.Wait()
	if ctx.Err() == nil && uiErr != nil {
		return uiErr
	}
	return err
}

// The pauses between attempts to reach the database, doubled each time.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// serve serves the dashboard, which needs a store of its own: the coordinator's is another
// one each time that it leads.
func (l *clusterUI) serve(ctx context.Context, d *dashboard) (stop func(), err error) {
	if _, err := l.settings.storeURL(); err != nil {
		return nil, err
	}
	var results sweep.Store
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if results, err = l.settings.connectStore(ctx); err == nil {
			break
		}
		l.log.Warn("dashboard: the database is unavailable; retrying", "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
	leads := leadingOnly{l.candidate.Active, errStandby}
	_, stopUI, err := l.settings.serveUI(d, web.Options{
		Store: results, Workers: leads.workers, Control: leads, Artifacts: leads, Problem: leads.problem,
		Extend: l.settings.extender(l.log, leads.extend),
	}, l.log)
	if err != nil {
		return nil, errors.Join(err, results.Close())
	}
	return func() {
		stopUI()
		if err := results.Close(); err != nil {
			l.log.Debug("dashboard: its database", "error", err)
		}
	}, nil
}
