package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"sweep/local"
	"sweep/sweep"
	"sweep/sweep/progress"
)

// untilExample is how times of --until are written.
const untilExample = "expected a time of day, a date and time, or a duration, as in 09:00, 2026-11-28T09:00 or 8h"

// parseUntil reads when a run is to end: the next such time of day, a time, or a duration from now on.
func parseUntil(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			return time.Time{}, usageError("--until %s: this time has passed: %s", text, untilExample)
		}
		return now.Add(d), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		year, month, day := now.Date()
		for {
			at := time.Date(year, month, day, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
			if at.After(now) {
				return at, nil
			}
			day++
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		at, err := time.ParseInLocation(layout, text, now.Location())
		switch {
		case err != nil:
		case !at.After(now):
			return time.Time{}, usageError("--until %s: this time has passed: it is %s", text,
				now.Format("2006-01-02T15:04"))
		default:
			return at, nil
		}
	}
	return time.Time{}, usageError("--until %q: %s", text, untilExample)
}

// clockText is a time as people in its place say it now.
func clockText(at, now time.Time) string {
	switch left := at.Sub(now); {
	case left < 10*time.Minute:
		return at.Format("15:04:05")
	case left < 24*time.Hour:
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// withDeadline returns a context that ends at a time. A test ends it itself.
var withDeadline = context.WithDeadline

// untilRun is a run with a deadline.
type untilRun struct {
	at      time.Time
	plan    *plan
	slots   int
	results sweep.Store
	out     io.Writer
	// speed is that of earlier trials in flop a second, 0 if unknown; trainer estimates costs, nil if it cannot.
	speed     float64
	trainer   sweep.Process
	dataDir   string
	estimator *progress.Estimator
}

// newUntilRun starts what estimates the time of a plan's trials.
func (s *settings) newUntilRun(ctx context.Context, at time.Time, p *plan, slots int) (*untilRun, error) {
	u := &untilRun{at: at, plan: p, slots: slots}
	if p.submission.Flops <= 0 {
		return u, nil
	}
	var err error
	if u.dataDir, err = s.dataDir(); err != nil {
		return nil, err
	}
	if u.speed, _, err = s.speedOf(ctx, p); err != nil {
		return nil, err
	}
	u.trainer, err = p.launcher.Launch(ctx, p.submission.Description.Name)
	return u, err
}

func (u *untilRun) close() {
	if u.trainer != nil {
		_ = u.trainer.Close() // it has answered all it was asked
	}
}

// deadline is when the run ends, and by what it decides until then.
func (u *untilRun) deadline() *local.Deadline {
	return &local.Deadline{At: u.at, Now: time.Now, Context: withDeadline, Estimator: u.begin}
}

// begin returns what estimates the time of a sweep's trials, and says how many are expected to end.
func (u *untilRun) begin(ctx context.Context, record *sweep.SweepRecord) (*progress.Estimator, error) {
	var cost func(ctx context.Context, p sweep.Parameters) float64
	if u.trainer != nil {
		cost = u.cost
	}
	counts, err := u.results.Progress(ctx, record.ID)
	if err != nil {
		return nil, err
	}
	mean := u.plan.submission.Flops / float64(u.plan.grid.Count())
	u.estimator, err = progress.NewEstimator(ctx, u.results, record, cost, mean, u.speed)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(u.out, forecastText(counts.Total()-counts.Done(), u.estimator.Mean(), u.slots, u.at, time.Now()))
	return u.estimator, nil
}

// cost is the trainer's estimate of a trial's cost in flop, 0 if it has none.
func (u *untilRun) cost(ctx context.Context, p sweep.Parameters) float64 {
	v, err := u.trainer.Validate(ctx, sweep.ValidateRequest{Parameters: p, DataDir: u.dataDir,
		Script: u.plan.submission.Spec.Script})
	if err != nil { // the trial will fail with it
		return 0
	}
	return v.Flops
}

// forecastText says how many of the trials that are left are expected to end before a time, if one takes some seconds.
func forecastText(trials int64, seconds float64, slots int, at, now time.Time) string {
	clock, all := clockText(at, now), sweep.CountText(trials, "trial")
	if seconds <= 0 {
		return fmt.Sprintf("how many of %s fit before %s is not known until one has run here", all, clock)
	}
	fit := at.Sub(now).Seconds() / seconds * float64(slots)
	switch need := seconds * float64(trials) / float64(min(int64(slots), max(trials, 1))); {
	case fit >= float64(trials) && need < 1:
		return fmt.Sprintf("%s should fit before %s: less than a second", all, clock)
	case fit >= float64(trials):
		return fmt.Sprintf("%s should fit before %s: about %s", all, clock, secondsText(need))
	case fit < 1:
		return fmt.Sprintf("none of %s fits before %s: one takes about %s", all, clock, secondsText(seconds))
	}
	return fmt.Sprintf("about %d of %s fit before %s: all take about %s", int64(fit), all, clock,
		secondsText(seconds*float64(trials)/float64(slots)))
}

// report lists what is undecided after the deadline has ended the run.
func (u *untilRun) report(cmd *cobra.Command, id string, console *console) error {
	record, err := u.results.Sweep(cmd.Context(), id)
	if err != nil {
		return err
	}
	left, err := progress.FindUndecided(cmd.Context(), u.results, record, u.estimator)
	if err != nil {
		return err
	}
	if console.asJSON {
		console.object(left)
		return nil
	}
	return writeUndecided(cmd.OutOrStdout(), cmd.ErrOrStderr(), left, record.Grids[0].Submission.Spec.Select.Group,
		u.slots)
}

// writeUndecided writes the groups with trials that have not ended.
func writeUndecided(out, notes io.Writer, u *progress.Undecided, by []string, slots int) error {
	_, err := fmt.Fprintf(out, "undecided: %d of %s\n", u.Undecided, sweep.CountText(u.Groups, "group"))
	if err != nil {
		return err
	}
	var table columns
	table.add(always, by...)
	table.add(always, "trials done", "replicates complete", "time left")
	for _, group := range u.List {
		var cells []string
		for _, name := range by {
			text := ""
			if value, ok := group.Parameters[name]; ok {
				text = progress.ValueText(value)
			}
			cells = append(cells, text)
		}
		left := "unknown"
		if group.Seconds > 0 {
			left = "about " + secondsText(group.Seconds/float64(min(int64(slots), group.Trials-group.Done)))
		}
		table.row(append(cells, fmt.Sprintf("%d of %d", group.Done, group.Trials),
			fmt.Sprintf("%d of %d", group.Complete, group.Replicates), left)...)
	}
	if len(u.List) > 0 {
		if err := table.write(out, notes); err != nil {
			return err
		}
	}
	if more := u.Undecided - len(u.List); more > 0 {
		fmt.Fprintf(notes, "%s more\n", sweep.CountText(more, "group"))
	}
	if u.Unchosen > 0 {
		fmt.Fprintf(notes, "%s more, whose points depend on results that are missing\n",
			sweep.CountText(u.Unchosen, "trial"))
	}
	return nil
}
