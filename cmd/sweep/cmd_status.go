package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/progress"
	"sweep/sweep/wire"
)

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
				list, err := progress.StatusOf(cmd.Context(), results, args...)
				if err != nil {
					return err
				}
				all := len(list)
				if tag != "" {
					list = slices.DeleteFunc(list, func(e progress.Status) bool {
						return !slices.Contains(e.Tags, tag)
					})
				}
				tell(cmd, wire.ProblemOf(results))
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

// writeStatus prints the table of sweeps, with tags if there are any, and below it remarks about each.
func writeStatus(out, notes io.Writer, list []progress.Status, wide bool) error {
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
		if !slices.ContainsFunc(list, func(e progress.Status) bool { return count.of(e.Progress) > 0 }) {
			rank += 100 // what no trial did tells little
		}
		table.add(rank, count.name)
	}
	tagged := slices.ContainsFunc(list, func(e progress.Status) bool { return len(e.Tags) > 0 })
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
func writeRemarks(out io.Writer, e *progress.Status) {
	say := func(format string, args ...any) { fmt.Fprintln(out, e.ID+":", fmt.Sprintf(format, args...)) }
	if e.Reason != "" {
		say("%s", e.Reason)
	}
	if e.Halted {
		say("%s", afterError(e.ID, e.Local))
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
	for _, l := range e.Losses[:min(len(e.Losses), progress.ShownLosses)] {
		say("trial %d is %s, %s", l.Index, l.State, progress.LossText(l.Workers, l.Limit))
	}
	if more := len(e.Losses) - progress.ShownLosses; more > 0 {
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
