package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/local"
	"sweep/sweep"
	"sweep/sweep/wire"
)

// logPause is the time between two looks at a log that is followed.
const logPause = 300 * time.Millisecond

func newLogs(s *settings) *cobra.Command {
	var follow, all bool
	var execution string
	cmd := &cobra.Command{
		Use:   "logs SWEEP INDEX",
		Short: "Show what a trial's trainer wrote to standard error",
		Long: `The command shows the end of the output, at most 64 kB, of the last execution, of a
given one, or of all. The output of a running execution comes from its worker, or from
the "sweep run" that uses the state directory.

-f follows the output until the trial ends, through all later executions.

Exit codes: 0 done, 2 an invalid index, 4 no such sweep, trial or execution, 130
interrupted.`,
		Example: "  sweep logs latest 17\n  sweep logs -f ucr 17\n  sweep logs ucr 17 --all",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := parseIndex(args[1])
			if err != nil {
				return err
			}
			if follow && (all || execution != "") || all && execution != "" {
				return usageError("-f, --all and --execution exclude each other")
			}
			return withSweep(cmd, s.openReader, args, func(results reader, record *sweep.SweepRecord) error {
				id := sweep.TrialID{Sweep: record.ID, Index: index}
				l, err := s.logsOf(results, id, cmd.OutOrStdout(), cmd.ErrOrStderr())
				switch {
				case err != nil:
					return err
				case follow:
					return l.follow(cmd.Context())
				case all:
					return l.all(cmd.Context())
				}
				return l.one(cmd.Context(), execution)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the output until the trial ends")
	cmd.Flags().BoolVar(&all, "all", false, "show the output of all executions, oldest first")
	cmd.Flags().StringVar(&execution, "execution", "", "show the output of this execution; \"sweep trial show\" "+
		"lists them")
	return cmd
}

// runningLogs are workers that can be asked.
type runningLogs interface {
	RunningLog(ctx context.Context, worker string, id sweep.TrialID, from int64) (*wire.RunningLog, error)
}

// logs prints the logs of a trial.
type logs struct {
	results sweep.Reader
	workers runningLogs
	// local says that no cluster is asked.
	local      bool
	id         sweep.TrialID
	out, notes io.Writer
	// seen is how many bytes of the execution's log are printed.
	seen int64
}

// logsOf prints the logs of a trial to out and remarks to notes. It asks the workers of a cluster, or
// the "sweep run" with the same state directory.
func (s *settings) logsOf(results sweep.Reader, id sweep.TrialID, out, notes io.Writer) (*logs, error) {
	l := &logs{results: results, id: id, out: out, notes: notes}
	var cluster bool
	if l.workers, cluster = results.(runningLogs); cluster {
		return l, nil
	}
	home, err := s.homeDir()
	l.workers, l.local = local.RunningLogs{Home: home}, true
	return l, err
}

// print prints the part of a log that is not printed yet.
func (l *logs) print(log sweep.Log) {
	end := log.Start + int64(len(log.Text))
	if log.Start > l.seen && log.Text != "" {
		fmt.Fprintf(l.notes, "(the %d bytes before this were discarded)\n", log.Start-l.seen)
	}
	if skip := l.seen - log.Start; skip > 0 {
		log.Text = log.Text[min(skip, int64(len(log.Text))):]
	}
	// A program that draws over its last line would be on one line.
	fmt.Fprint(l.out, strings.ReplaceAll(strings.ReplaceAll(log.Text, "\r\n", "\n"), "\r", "\n"))
	l.seen = max(l.seen, end)
}

// stored prints the rest of the stored log of an execution.
func (l *logs) stored(ctx context.Context, execution string) error {
	log, err := l.results.ExecutionLog(ctx, l.id, execution)
	if err != nil {
		return err
	}
	l.print(*log)
	return nil
}

// running asks a worker for the log of the running execution; nil if no worker runs it.
func (l *logs) running(ctx context.Context, worker, execution string) (*wire.RunningLog, error) {
	log, err := l.workers.RunningLog(ctx, worker, l.id, l.seen)
	if err != nil || log == nil || execution != "" && log.Execution != execution {
		return nil, err
	}
	return log, nil
}

// one prints the log of an execution, the last if none is named.
func (l *logs) one(ctx context.Context, execution string) error {
	executions, err := l.results.Executions(ctx, l.id)
	if err != nil {
		return err
	}
	runs := false
	for _, e := range executions {
		if e.ID == execution || execution == "" { // the last that fits counts
			runs = e.Outcome == sweep.ExecutionRunning
		}
	}
	// A short execution is not known to the database before it has ended.
	if runs || len(executions) == 0 {
		log, err := l.running(ctx, "", execution)
		if err != nil {
			return err
		}
		if log != nil {
			l.print(log.Log)
			l.noteEmpty("has written nothing so far")
			return nil
		}
		if runs {
			where := "no worker reports that it runs the trial"
			if l.local {
				where = "no \"sweep run\" that uses this state directory runs the trial"
			}
			fmt.Fprintln(l.notes, where+"; the log is available when the trial has ended")
			return nil
		}
	}
	if len(executions) == 0 {
		return l.none(ctx)
	}
	if err := l.stored(ctx, execution); err != nil {
		return err
	}
	l.noteEmpty("wrote nothing")
	return nil
}

// noteEmpty says that the log of an execution is empty, if it is.
func (l *logs) noteEmpty(what string) {
	if l.seen == 0 {
		fmt.Fprintf(l.notes, "the trainer of trial %s %s to standard error\n", l.id, what)
	}
}

// none says why there is no log.
func (l *logs) none(ctx context.Context) error {
	trial, err := l.results.Trial(ctx, l.id)
	if err != nil {
		return err
	}
	if trial.ReusedFrom != nil {
		fmt.Fprintf(l.notes, "the result was reused from trial %s, which has the log\n", *trial.ReusedFrom)
	} else {
		fmt.Fprintf(l.notes, "the trial has not run: it is %s\n", trial.State)
	}
	return nil
}

// all prints the logs of all executions.
func (l *logs) all(ctx context.Context) error {
	executions, err := l.results.Executions(ctx, l.id)
	if err != nil {
		return err
	}
	if len(executions) == 0 {
		return l.none(ctx)
	}
	for _, e := range executions {
		l.title(e.ID, e.Worker)
		l.seen = 0
		if err := l.one(ctx, e.ID); err != nil {
			return err
		}
	}
	return nil
}

func (l *logs) title(execution, worker string) {
	fmt.Fprintf(l.notes, "== execution %s on %s ==\n", execution, worker)
}

// endOfLog is how long the rest of a cancelled trial's log is waited for.
const endOfLog = 10 * time.Second

// follow prints the log as it grows until the trial has ended, from the last
// execution on.
func (l *logs) follow(ctx context.Context) error {
	done := map[string]bool{} // executions that are printed, or need not be
	before, err := l.results.Executions(ctx, l.id)
	if err != nil {
		return err
	}
	for i := range len(before) - 1 {
		done[before[i].ID] = true
	}
	ended := time.Time{}
	for current, worker := "", ""; ; {
		log, err := l.running(ctx, worker, "")
		if err != nil {
			return err
		}
		if log != nil && current != "" && log.Execution != current {
			log = nil // first the end of the one before
		}
		if log != nil {
			if current == "" {
				current, worker = log.Execution, log.Worker
				l.title(current, log.Name)
			}
			l.print(log.Log)
		} else {
			// What the worker has reported may be on its way to the database.
			trial, err := l.results.Trial(ctx, l.id)
			if err != nil {
				return err
			}
			executions, err := l.results.Executions(ctx, l.id)
			if err != nil {
				return err
			}
			runs := false
			for _, e := range executions {
				runs = runs || e.Outcome == sweep.ExecutionRunning
				if done[e.ID] || e.Outcome == sweep.ExecutionRunning || current != "" && e.ID != current {
					continue
				}
				if current == "" {
					l.title(e.ID, e.Worker)
				}
				if err := l.stored(ctx, e.ID); err != nil {
					return err
				}
				done[e.ID], current, worker, l.seen = true, "", "", 0
			}
			if !trial.State.Terminal() {
				ended = time.Time{}
			} else if ended.IsZero() {
				ended = time.Now()
			}
			switch {
			case ended.IsZero(), runs && time.Since(ended) < endOfLog: // its worker is about to send the rest
			case len(executions) == 0:
				return l.none(ctx)
			default:
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(logPause):
		}
	}
}
