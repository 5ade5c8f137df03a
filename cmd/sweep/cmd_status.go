package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/coordinator/store"
	"sweep/sweep"
)

// sweepStatus is one sweep as "status" shows it.
type sweepStatus struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	State     sweep.SweepState `json:"state"`
	Reason    string           `json:"reason,omitempty"`
	Trainer   string           `json:"trainer"`
	Pool      string           `json:"pool"`
	Priority  int              `json:"priority"`
	Trials    int64            `json:"trials"`
	Progress  sweep.Progress   `json:"progress"`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
	AskedBy   string           `json:"asked_by,omitempty"`
	Purpose   string           `json:"purpose,omitempty"`
	sweep.Annotation
	// Budget is nil if there is no bound.
	Budget *budgetStatus `json:"budget,omitempty"`
	// Metric compares the trials, the best having the value that Goal says; of a list of sweeps they are empty.
	Metric string `json:"metric,omitempty"`
	Goal   string `json:"goal,omitempty"`
	// Losses are the unfinished trials whose workers vanished while they ran them.
	Losses []trialLosses `json:"losses,omitempty"`
	// stopped means that it is paused because its trials fail, local that it is one of this machine.
	stopped, local bool
}

// budgetStatus is a budget and what was used of it, times in seconds.
type budgetStatus struct {
	Trials       int64   `json:"trials,omitempty"`
	Seconds      float64 `json:"seconds,omitempty"`
	SpentTrials  int64   `json:"spent_trials"`
	SpentSeconds float64 `json:"spent_seconds"`
	Shared       bool    `json:"shared,omitempty"`
}

// budgetOf is the budget of a sweep, nil if it has none.
func budgetOf(record *sweep.SweepRecord) *budgetStatus {
	b := record.Budget
	if b == nil || b.Trials == 0 && b.Time == 0 {
		return nil
	}
	return &budgetStatus{b.Trials, b.Time.Seconds(), b.SpentTrials, b.SpentTime.Seconds(), b.Name != ""}
}

// trialLosses is a trial whose workers vanished while they ran it.
type trialLosses struct {
	Index   int64       `json:"index"`
	State   sweep.State `json:"state"`
	Limit   int         `json:"limit"`
	Workers []string    `json:"workers"`
}

func (l *trialLosses) String() string {
	return fmt.Sprintf("%s, %s", l.State, lossText(l.Workers, l.Limit))
}

// lossText counts a trial's lost executions and names their workers.
func lossText(workers []string, limit int) string {
	return fmt.Sprintf("%d of %d losses: %s", len(workers), limit, strings.Join(workers, ", "))
}

// lossesOf returns the unfinished trials of sweeps whose workers vanished while they ran them, by sweep.
func lossesOf(ctx context.Context, results sweep.Reader, sweeps []string) (map[string][]trialLosses, error) {
	all := map[string][]trialLosses{}
	if len(sweeps) == 0 {
		return all, nil
	}
	list := make([]string, len(sweeps))
	for i, id := range sweeps {
		list[i] = "'" + strings.ReplaceAll(id, "'", "''") + "'"
	}
	// By the sweeps the database finds the trials with losses in an index; without, it reads every execution.
	err := results.Query(ctx, `SELECT sweep_id, trial_index, state, limit_losses, worker FROM losses
		WHERE sweep_id IN (`+strings.Join(list, ", ")+`) AND state IN ('pending', 'queued', 'running')
		ORDER BY sweep_id, trial_index, started_at`,
		func(_ []string, row []any) error {
			id, index := row[0].(string), row[1].(int64)
			list := all[id]
			if n := len(list); n == 0 || list[n-1].Index != index {
				list = append(list, trialLosses{Index: index, State: sweep.State(row[2].(string)),
					Limit: int(row[3].(int64))})
			}
			last := &list[len(list)-1]
			last.Workers = append(last.Workers, row[4].(string))
			all[id] = list
			return nil
		})
	return all, err
}

// shownLosses is of how many trials of a sweep the lost executions are shown.
const shownLosses = 5

// atRest says that no process runs the sweeps of a database; "" if one does, or that is unknown.
func atRest(ctx context.Context, results sweep.Reader) string {
	asked, ok := results.(*store.Store)
	if !ok {
		return ""
	}
	if leader, _, err := asked.Leader(ctx); err != nil || leader != "" {
		return ""
	}
	return `no process is running it: "sweep run" its file again, or start "sweep coordinator" on this database`
}

func newStatus(s *settings) *cobra.Command {
	var asJSON, wide bool
	var tag string
	cmd := &cobra.Command{
		Use:   "status [SWEEP]",
		Short: "List sweeps and their progress, newest first, or show one sweep",
		Long: `SWEEP is an id, the beginning of one, a name, or "latest". One sweep is shown with its notes
and tags. The list is followed by the
reason why a sweep is waiting (no worker can run its remaining trials; it resumes when
one can), by refusals of workers, and by trials whose workers vanished, with their
losses and the limit. Columns that do not fit the terminal (100 columns elsewhere) are
left out, those of only zeros first. If the command reads the database directly, it also reports
sweeps that no process is running.

Exit codes: 0 done, 4 no such sweep.`,
		Example: "  sweep status\n  sweep status latest --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tag != "" && len(args) > 0 {
				return usageError("--tag selects sweeps of the list: leave SWEEP out")
			}
			if wide && asJSON {
				return usageError("--wide and --json exclude each other: JSON always has everything")
			}
			return with(cmd, s.openReader, func(results reader) error {
				list, err := statusOf(cmd.Context(), results, cmd.ErrOrStderr(), args)
				if err != nil {
					return err
				}
				all := len(list)
				if tag != "" {
					list = slices.DeleteFunc(list, func(e sweepStatus) bool { return !slices.Contains(e.Tags, tag) })
				}
				tell(cmd, problemOf(results))
				if asJSON {
					return writeJSON(cmd, list)
				}
				if all > 0 && len(list) == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "no sweep has the tag %q\n", tag)
					return nil
				}
				if len(list) == 0 {
					fmt.Fprintln(cmd.OutOrStdout(), `no sweeps yet: "sweep run FILE" starts one`)
					return nil
				}
				if err := writeStatus(cmd.OutOrStdout(), cmd.ErrOrStderr(), list, wide); err != nil || len(args) == 0 {
					return err
				}
				writeAnnotation(cmd.OutOrStdout(), "", list[0].Annotation)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&tag, "tag", "", "list only sweeps that have this `tag`")
	cmd.Flags().BoolVar(&wide, "wide", false, "show all columns, whatever the width of the terminal")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// statusOf is the status of the sweep that args name, or of all. It writes remarks to notes.
func statusOf(ctx context.Context, results reader, notes io.Writer, args []string) ([]sweepStatus, error) {
	var records []sweep.SweepRecord
	if len(args) > 0 {
		record, err := results.Sweep(ctx, args[0])
		if err != nil {
			return nil, err
		}
		records = append(records, *record)
	} else {
		var err error
		if records, err = results.Sweeps(ctx); err != nil {
			return nil, err
		}
	}
	list := make([]sweepStatus, 0, len(records))
	_, local := results.(sweep.Store)
	rests := atRest(ctx, results)
	var unfinished []string
	for _, r := range records {
		if r.State == sweep.SweepActive && r.Reason == "" {
			r.Reason = rests
		}
		counts, err := results.Progress(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if counts.Done() < counts.Total() {
			unfinished = append(unfinished, r.ID)
		}
		entry := sweepStatus{
			ID: r.ID, Name: r.Name, State: r.State, Reason: r.Reason, Trainer: r.Trainer, Pool: r.Pool,
			Priority: r.Priority, Trials: counts.Total(), Progress: counts,
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, AskedBy: r.AskedBy, Purpose: r.Purpose,
			Annotation: r.Annotation, Budget: budgetOf(&r), stopped: r.Halted(), local: local,
		}
		if len(r.Grids) > 0 {
			choice := r.Grids[0].Submission.Spec.Select
			entry.Metric, entry.Goal = choice.By, choice.Goal
		}
		list = append(list, entry)
	}
	losses, err := lossesOf(ctx, results, unfinished)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Losses = losses[list[i].ID]
	}
	return list, nil
}

// writeStatus prints the table of sweeps, with tags if there are any, and below it remarks about each.
func writeStatus(out, notes io.Writer, list []sweepStatus, wide bool) error {
	table := &columns{wide: wide, more: "--wide shows all"}
	table.add(always, "sweep", "name", "state", "trials")
	counts := []struct {
		name string
		of   func(p sweep.Progress) int64
	}{
		{"completed", func(p sweep.Progress) int64 { return p.Completed }},
		{"failed", func(p sweep.Progress) int64 { return p.Failed }},
		{"diverged", func(p sweep.Progress) int64 { return p.Diverged }},
		{"running", func(p sweep.Progress) int64 { return p.Running }},
		{"pending", func(p sweep.Progress) int64 { return p.Pending + p.Queued }},
		{"cancelled", func(p sweep.Progress) int64 { return p.Cancelled }},
		{"stopped", func(p sweep.Progress) int64 { return p.Stopped }},
		{"skipped", func(p sweep.Progress) int64 { return p.Skipped }},
		{"reused", func(p sweep.Progress) int64 { return p.Reused }},
	}
	for i, count := range counts {
		rank := 1 + i
		if !slices.ContainsFunc(list, func(e sweepStatus) bool { return count.of(e.Progress) > 0 }) {
			rank += 100 // what no trial did tells little
		}
		table.add(rank, count.name)
	}
	tagged := slices.ContainsFunc(list, func(e sweepStatus) bool { return len(e.Tags) > 0 })
	if tagged {
		table.add(40, "tags")
	}
	table.add(50, "created")
	for _, e := range list {
		cells := []string{e.ID, e.Name, string(e.State), fmt.Sprint(e.Trials)}
		for _, count := range counts {
			cells = append(cells, fmt.Sprint(count.of(e.Progress)))
		}
		if tagged {
			cells = append(cells, strings.Join(e.Tags, ","))
		}
		table.row(append(cells, e.CreatedAt.Local().Format("2006-01-02 15:04"))...)
	}
	if err := table.write(out, notes); err != nil {
		return err
	}
	for i := range list {
		writeRemarks(out, &list[i])
	}
	return nil
}

// writeRemarks prints why a sweep does not advance, and what its trials met.
func writeRemarks(out io.Writer, e *sweepStatus) {
	say := func(format string, args ...any) { fmt.Fprintln(out, e.ID+":", fmt.Sprintf(format, args...)) }
	if e.Reason != "" {
		say("%s", e.Reason)
	}
	if e.stopped {
		say("%s", afterError(e.ID, e.local))
	}
	if e.Purpose != "" {
		say("%s, for %s", e.Purpose, e.AskedBy)
	}
	if b := e.Budget; b != nil && e.State != sweep.SweepPaused {
		var used sweep.Budget // of what is bounded
		if b.Trials > 0 {
			used.Trials = b.SpentTrials
		}
		if b.Seconds > 0 {
			used.Time = time.Duration(b.SpentSeconds) * time.Second
		}
		limit := sweep.Budget{Trials: b.Trials, Time: time.Duration(b.Seconds * float64(time.Second))}
		say("%v of the budget of %v used", used, limit)
	}
	for i := range e.Losses[:min(len(e.Losses), shownLosses)] {
		say("trial %d is %s", e.Losses[i].Index, &e.Losses[i])
	}
	if more := len(e.Losses) - shownLosses; more > 0 {
		say("workers vanished while running %s more (sweep trials %s --where 'losses>0')",
			sweep.CountText(more, "trial"), e.ID)
	}
	if n := e.Progress.Refused; n > 0 {
		say("%s by workers, which are not failures (sweep trials %s --where 'refusals>0')",
			sweep.CountText(n, "refusal"), e.ID)
	}
	if n := e.Progress.Quarantined; n > 0 {
		say("%s of workers in quarantine, rejected by the database; their trials failed (table quarantine)",
			sweep.CountText(n, "event"))
	}
	if n := e.Progress.Faults; n > 0 {
		say("%s that gave other bits when repeated (table reproducibility_faults)", sweep.CountText(n, "trial"))
	}
}
