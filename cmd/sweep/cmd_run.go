package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"sweep/coordinator"
	"sweep/coordinator/web"
	"sweep/local"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/paper"
	"sweep/sweep/report"
)

type runOptions struct {
	slots int
	reuse bool
	fresh bool
	quiet bool
	// until is when the run ends, "" when all trials have ended.
	until string
	// progress is how the sweep is shown while it advances.
	progress  string
	plan      planOptions
	devices   deviceFlags
	dashboard dashboard
	// checked, if not nil, is told the plan before anything runs; conclude, if not nil, prints what is
	// made of the results.
	checked  func(p *plan) error
	conclude func(results sweep.Reader, record *sweep.SweepRecord) error
}

func newRun(s *settings) *cobra.Command {
	var options runOptions
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Train all trials of a sweep file on this machine",
		Long: `Nothing needs to be installed: the command runs a message broker in its own process,
a local database, and one trainer process per slot.

To resume an interrupted run, run the same command again. Trials whose result is
already in the database (same trainer, data and parameters) are not trained again;
--reuse=false trains them anyway. The result of a program is reused only if what the
program has read is unchanged.

--until ends the run at a time, as Ctrl-C does. Before that, all grid points run with
their first seed, then all with the second one, and so on. A trial that is not expected
to end in time starts when no other is left. The groups with trials that have not ended
are listed (with --progress json, as an object with the key undecided).

--ui serves the dashboard while the trials run; "sweep ui" serves it afterwards. A
full disk ends a run without a dashboard. A run with one reports the full disk and
resumes when there is space.

If the file has the key program, each trial runs that program, with the environment
and home directory of your shell. Sweep files for Weights & Biases work unchanged.

` + progressHelp + ` "sweep logs -f SWEEP INDEX"
in another terminal shows the output of a running trial.

In a sweep of more than 50 trials the first one runs before the others. If it fails,
or if 20 trials in a row fail with the same error, the sweep is paused and the command
ends. When the error is corrected, run the same command again. The keys canary and
limits.errors of the file change this.

Exit codes: 0 all trials completed, 1 error, 2 the file is invalid, 3 some trials
failed, 4 no such file or trainer, 5 artifacts of completed trials were lost, 6 paused
because trials fail, 7 no trial logged the sweep's metric, 130 interrupted, or ended by
--until with trials left (run the same command again to resume).`,
		Example: `  sweep run examples/cbf.yaml
  sweep run ucr.yaml --data ~/data --slots 4
  sweep run sweep.yaml --slots 2 --ui
  sweep run ucr.yaml --until 09:00`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && cmd.Flags().Changed("ui") {
				return usageError("--ui %s: write --ui=%[1]s, since --ui alone means %s", args[1], defaultUI)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runSweep(cmd, s, options, args[0]) },
	}
	options.addFlags(cmd)
	options.plan.addFlags(cmd.Flags())
	return cmd
}

// addFlags adds the flags that say how a sweep runs.
func (o *runOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.slots, "slots", runtime.NumCPU(), "number of trials that run at the same time (default: the "+
		"processors, or with devices that trials hold, as many as there is room for)")
	o.devices.addFlags(f)
	f.BoolVar(&o.reuse, "reuse", true,
		"reuse results of earlier sweeps with the same trainer, data and parameters")
	f.BoolVar(&o.fresh, "fresh", false, "start a new sweep even if an earlier one of this file is unfinished")
	f.BoolVar(&o.quiet, "quiet", false, "show only the result; same as --progress quiet")
	f.StringVar(&o.until, "until", "", "end at a time of day, a date and time, or after a duration: 09:00, "+
		"2026-11-28T09:00, 8h")
	addProgressFlag(cmd, &o.progress)
	o.dashboard.addFlags(f, "")
	f.Lookup("ui").NoOptDefVal = defaultUI
}

// agentVariable has the id that wandb.sweep gave the sweep which is run by wandb.agent.
const agentVariable = "SWEEP_AGENT"

// check refuses flags that cannot be, and returns the deadline, the zero time if there is none.
func (o *runOptions) check(cmd *cobra.Command) (until time.Time, err error) {
	if cmd.Flags().Changed("nats") {
		return until, usageError("%s trains on this machine and uses no cluster: leave out --nats, or use \"sweep "+
			"submit\"", cmd.CommandPath())
	}
	if o.slots < 1 {
		return until, usageError("--slots %d: expected at least 1", o.slots)
	}
	if o.quiet {
		if cmd.Flags().Changed("progress") {
			return until, usageError("--quiet and --progress %s exclude each other", o.progress)
		}
		o.progress = progressQuiet
	}
	if o.until != "" {
		return parseUntil(o.until, time.Now())
	}
	return until, nil
}

// runSweep checks the file, brings up the parts of a cluster in this process
// and waits for the sweep's end.
func runSweep(cmd *cobra.Command, s *settings, options runOptions, path string) error {
	ctx := cmd.Context()
	at, err := options.check(cmd)
	if err != nil {
		return err
	}
	console := newConsole(cmd.ErrOrStderr())
	console.asJSON = options.progress == progressJSON
	cmd.SetErr(console) // other output appears above the progress
	log := s.logger(cmd)
	home, err := s.homeDir()
	if err != nil {
		return err
	}
	options.plan.own = true
	p, err := s.prepare(cmd, path, options.plan, options.reuse)
	if err != nil {
		return err
	}
	if agent := os.Getenv(agentVariable); agent != "" {
		p.submission.Key = sweep.AgentKey(agent) + rand.Text()
	}
	if options.checked != nil {
		if err := options.checked(p); err != nil {
			return err
		}
	}
	devices, fit, err := options.devices.forPlan(ctx, p, path, log)
	if err != nil {
		return err
	}
	if fit > 0 && !cmd.Flags().Changed("slots") {
		options.slots = fit
	}
	var until *untilRun
	if !at.IsZero() {
		if until, err = s.newUntilRun(ctx, at, p, options.slots); err != nil {
			return err
		}
		defer until.close()
	}
	results, lead, release, err := s.leadLocal(ctx, home, "sweep run", console)
	if err != nil {
		return err
	}
	defer release()
	if err := p.warnInputs(cmd, results); err != nil {
		return err
	}
	artifacts, err := s.openArtifacts(nil, log)
	if err != nil {
		return err
	}
	data, err := s.dataDir()
	if err != nil {
		return err
	}
	l := &localRun{settings: s, dashboard: options.dashboard, out: console}
	l.options = local.Options{
		Store: results, Term: lead.Term(), Artifacts: artifacts, Launcher: p.launcher, Logger: log,
		Home: home, DataDir: data, Slots: options.slots, Devices: devices, Out: console, Changed: p.changedInputs(),
		Begun: l.begun, Ended: func() { l.active.Store(nil) }, Full: func(err error) { _ = l.full(err) },
		Watch: func(ctx context.Context, record *sweep.SweepRecord) {
			newProgressView(results, record, console, options.progress).watch(ctx)
		},
	}
	if options.progress == progressQuiet {
		l.options.Out = io.Discard
	}
	if until != nil {
		until.results, until.out = results, l.options.Out
		l.options.Deadline = until.deadline()
	}
	defer l.closeDashboard()
	record, err := l.outlast(ctx, p.submission, options.fresh)
	if stopped := (*local.InterruptedError)(nil); errors.As(err, &stopped) && stopped.Deadline {
		if err := until.report(cmd, stopped.Sweep, console); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if options.dashboard.address != "" && options.progress != progressQuiet {
		fmt.Fprintln(cmd.ErrOrStderr(), "the dashboard stops with the run; \"sweep ui\" serves the results")
	}
	return conclude(cmd, results, record, artifacts, options.conclude)
}

// leadLocal opens the database of the settings and takes its lead for this process, the only one that runs
// sweeps in the state directory home, until release is called. Notes go to out.
func (s *settings) leadLocal(ctx context.Context, home, what string, out io.Writer) (results sweep.Store,
	lead sweep.Lead, release func(), err error) {
	collectLess()
	unlock, err := lockHome(home)
	if err != nil {
		return nil, nil, nil, err
	}
	if results, err = s.openStore(ctx); err != nil {
		unlock()
		return nil, nil, nil, err
	}
	if lead, err = local.Lead(ctx, results, holder(what), out); err != nil {
		_ = results.Close() // the first error is the one that matters
		unlock()
		return nil, nil, nil, err
	}
	return results, lead, func() {
		_ = lead.Resign(context.WithoutCancel(ctx)) // the process's end gives it up too
		_ = results.Close()                         // everything is committed by then
		unlock()
	}, nil
}

// localRun is a run in this process, and its dashboard.
type localRun struct {
	settings  *settings
	dashboard dashboard
	out       io.Writer
	options   local.Options

	// stopDashboard ends the dashboard, nil until it is served.
	stopDashboard func()
	// active is the coordinator while there is one; problem is what keeps it from
	// working.
	active  atomic.Pointer[coordinator.Coordinator]
	problem atomic.Pointer[error]
}

// begun serves the dashboard, if --ui is set and it is not served yet.
func (l *localRun) begun(c *coordinator.Coordinator, record *sweep.SweepRecord) error {
	l.active.Store(c)
	if l.dashboard.address == "" || l.stopDashboard != nil {
		return nil
	}
	leads := leadingOnly{l.active.Load, errAtRest}
	address, stop, err := l.settings.serveUI(&l.dashboard, web.Options{
		Store: l.options.Store, Workers: leads.workers, Control: leads, Artifacts: leads,
		Extend: l.settings.extender(l.options.Logger, leads.extend),
		Problem: func() error {
			if problem := l.problem.Load(); problem != nil {
				return *problem
			}
			return leads.problem()
		},
	}, l.options.Logger)
	if err != nil {
		return err
	}
	l.stopDashboard = stop
	fmt.Fprintf(l.out, "dashboard: %s\n", address("sweep/"+record.ID, l.out))
	return nil
}

func (l *localRun) closeDashboard() {
	if l.stopDashboard != nil {
		l.stopDashboard()
	}
}

// disks are the directories that a run writes into.
func (l *localRun) disks() []string {
	list := []string{l.options.Home}
	if database, err := l.settings.storeURL(); err == nil {
		if path, ok := sqlitePath(database); ok {
			list = append(list, filepath.Dir(path))
		}
	}
	return list
}

// full adds to the error of a full disk what to do, and keeps the first such error for the dashboard;
// other errors stay as they are.
func (l *localRun) full(err error) error {
	if !local.IsFull(err) {
		return err
	}
	then := "run the same command again to resume"
	if l.stopDashboard != nil {
		then = "the run resumes"
	}
	err = fmt.Errorf("the disk is full; results so far are kept. Free some space and %s: %w", then, err)
	l.problem.CompareAndSwap(nil, &err)
	return err
}

// outlast runs a sweep. While its dashboard is open a full disk does not end the run: the dashboard
// shows the problem, and the run resumes when there is space.
func (l *localRun) outlast(ctx context.Context, submission *sweep.Submission, fresh bool) (*sweep.SweepRecord, error) {
	for {
		record, err := local.Run(ctx, l.options, submission, fresh)
		if interrupted := (*local.InterruptedError)(nil); errors.As(err, &interrupted) {
			return nil, &exitError{exitInterrupted, err}
		}
		err = l.full(err)
		if l.stopDashboard == nil || !local.IsFull(err) || ctx.Err() != nil {
			return record, err
		}
		fmt.Fprintf(l.out, "%v\nthe run is waiting for disk space, with its dashboard; press Ctrl-C to stop both\n",
			*l.problem.Load())
		if !local.AwaitRoom(ctx, l.disks()...) {
			return nil, &exitError{exitInterrupted, fmt.Errorf("interrupted while the disk was full: free some space, "+
				"run the same command again to resume: %w", err)}
		}
		fmt.Fprintln(l.out, "there is disk space again; the run resumes")
		l.problem.Store(nil)
		fresh = false // it was begun
	}
}

// conclude prints the result of a finished sweep, its tables if show is nil, and decides the exit code. Artifacts of
// reused results are looked for in a store, unless it is nil.
func conclude(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord, store *artifact.Store,
	show func(sweep.Reader, *sweep.SweepRecord) error) error {
	ctx := cmd.Context()
	counts, err := results.Progress(ctx, record.ID)
	if err != nil {
		return err
	}
	errOut := cmd.ErrOrStderr()
	stopped := ""
	if counts.Stopped > 0 {
		stopped = fmt.Sprintf(", %d stopped early", counts.Stopped)
	}
	if counts.Skipped > 0 {
		stopped += fmt.Sprintf(", %d skipped", counts.Skipped)
	}
	fmt.Fprintf(errOut, "sweep %s: %d completed (%d reused from earlier sweeps, %d diverged)%s, %d failed, in %s\n",
		record.ID,
		counts.Completed, counts.Reused, counts.Diverged, stopped, counts.Failed,
		roughly(record.UpdatedAt.Sub(record.CreatedAt)))
	if counts.Reused > 0 && record.Trainer == sweep.ScriptTrainer && !recorded(ctx, results, record.ID) {
		noteUnrecorded(ctx, results, record.ID, errOut)
	}
	if record.State == sweep.SweepPaused && !record.Halted() {
		fmt.Fprintf(errOut, "sweep %s is paused: %s\n", record.ID, record.Reason)
	}
	if counts.Faults > 0 {
		fmt.Fprintf(errOut, "warning: %s gave other bits when repeated\n", sweep.CountText(counts.Faults, "trial"))
	}
	if show == nil {
		show = func(sweep.Reader, *sweep.SweepRecord) error { return printTables(cmd, results, record) }
	}
	if err := show(results, record); err != nil {
		return err
	}
	lost, err := lostArtifacts(ctx, results, record.ID, store, errOut)
	if err != nil {
		return err
	}
	_, local := results.(sweep.Store)
	if record.Halted() {
		return &exitError{exitHalted, fmt.Errorf("sweep %s is paused: %s\n%s", record.ID, record.Reason,
			afterError(record.ID, local))}
	}
	if counts.Failed > 0 {
		printReasons(cmd, results, record.ID, sweep.Failed, "%v of the trials failed: %v\n")
		again := "run the file again"
		if !local {
			again = "run \"sweep retry " + record.ID + "\""
		}
		return &exitError{exitTrials, fmt.Errorf("%d of %d trials failed: see \"sweep trials %s --state failed\"; "+
			"when the cause is fixed, %s", counts.Failed, counts.Total(), record.ID, again)}
	}
	if lost > 0 {
		again := "run the file again to train their trials again"
		if !local {
			again = "submit the file again to train their trials again"
		}
		return &exitError{exitArtifacts, fmt.Errorf("%s of completed trials were lost, as listed above: when the "+
			"cause is fixed, %s", sweep.CountText(lost, "artifact"), again)}
	}
	if counts.Completed > 0 && counts.Stopped == 0 && counts.Diverged == 0 {
		return checkLogged(ctx, results, record)
	}
	return nil
}

// afterError says what to do with a sweep that is paused because its trials fail.
func afterError(id string, local bool) string {
	again := fmt.Sprintf("run \"sweep retry %s\"; if the program itself has changed, submit the file again", id)
	if local {
		again = "run the file again"
	}
	return fmt.Sprintf("when the error is corrected, %s. \"sweep resume %s\" runs the other trials in spite of it",
		again, id)
}

// printTables prints the tables in which a sweep's trials belong, or the best trial of a script.
func printTables(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord) error {
	for i := range paper.Kinds {
		request := report.Request{Kind: &paper.Kinds[i], Names: paper.Names, Selection: report.Mean,
			Sweeps: []string{record.ID}}
		table, _, err := request.Gather(cmd.Context(), results, nil)
		if err != nil {
			return err
		}
		if table == nil {
			continue
		}
		if err := writeTable(cmd, table, "text"); err != nil {
			return err
		}
	}
	if record.Trainer == sweep.ScriptTrainer {
		return writeBest(cmd, results, record)
	}
	return nil
}

// writeBest prints the best trial by the metric that the sweep file names, and what
// is remarkable about trials that completed.
func writeBest(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord) error {
	full, err := results.Sweep(cmd.Context(), record.ID)
	if err != nil {
		return err
	}
	choice := full.Grids[0].Submission.Spec.Select
	if choice.By != "" {
		query := sweep.TrialQuery{
			Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed},
			Best: true, OrderBy: sweep.MetricKind.Of(choice.By), Descending: choice.Goal == "maximize", Limit: 1,
		}
		ties := tiesOf(cmd.Context(), results, record.ID)
		err := results.Trials(cmd.Context(), query, func(t *sweep.TrialRecord) error {
			value, ok := t.Result.Summary[choice.By]
			if !ok {
				return nil
			}
			tied := ""
			if others := ties[t.Index]; others > 0 {
				tied = fmt.Sprintf(" (ties: %d)", others)
			}
			head := fmt.Sprintf("best %s %.6g: trial %d", choice.By, value, t.Index)
			room := tableWidth(cmd.OutOrStdout()) - ansi.StringWidth(head+tied)
			_, err := fmt.Fprintln(cmd.OutOrStdout(), head+parameterList(full, t.Parameters, room)+tied)
			return err
		})
		if err != nil {
			return err
		}
	}
	printReasons(cmd, results, record.ID, sweep.Completed, "%v of the trials: %v\n")
	return nil
}

// printReasons prints how many trials ended in a state for the same reason, for the most frequent reasons.
func printReasons(cmd *cobra.Command, results sweep.Reader, id string, state sweep.State, format string) {
	query := fmt.Sprintf("SELECT error, count(*) AS trials FROM results WHERE sweep_id = '%s' AND state = '%s' "+
		"AND error <> '' GROUP BY error ORDER BY 2 DESC, 1 LIMIT %d", id, state, maxReasons)
	// A database that answers no SQL here keeps the reasons all the same.
	_ = results.Query(cmd.Context(), query, func(_ []string, row []any) error {
		fmt.Fprintf(cmd.ErrOrStderr(), format, row[1], row[0])
		return nil
	})
}
