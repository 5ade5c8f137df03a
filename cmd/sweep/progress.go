package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/progress"
)

// The ways to show how a sweep advances.
const (
	progressAuto  = "auto"
	progressTTY   = "tty"
	progressPlain = "plain"
	progressJSON  = "json"
	progressQuiet = "quiet"
)

var progressModes = []string{progressAuto, progressTTY, progressPlain, progressJSON, progressQuiet}

// progressHelp is what the help of each command that shows progress says.
const progressHelp = `--progress selects how progress is shown on standard error: tty redraws a view in
place; plain and json print a line of text or JSON at every percent, and at least
every 30 seconds (with json, notes are objects with a message); quiet shows nothing.
auto means tty in a terminal and plain elsewhere. The remaining time is estimated from
the trainer's costs, if it estimates any, and the speed so far.`

// addProgressFlag adds the flag of a command that shows how a sweep advances, and checks its value.
func addProgressFlag(cmd *cobra.Command, mode *string) {
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(progressModes, *mode) {
			return usageError("--progress %s: expected one of %s", *mode, strings.Join(progressModes, ", "))
		}
		return nil
	}
	cmd.Flags().StringVar(mode, "progress", progressAuto,
		"how to show progress: "+strings.Join(progressModes, ", "))
	// the flag is there
	_ = cmd.RegisterFlagCompletionFunc("progress",
		cobra.FixedCompletions(progressModes, cobra.ShellCompDirectiveNoFileComp))
}

// progressView shows how a sweep advances.
type progressView struct {
	mode     string
	out      *console
	observer *progress.Observer
	// last is the snapshot that was last printed as a line.
	last *progress.Snapshot
}

// newProgressView shows a sweep on out, whose record has its submissions.
func newProgressView(store sweep.Reader, record *sweep.SweepRecord, out *console, mode string) *progressView {
	if mode == progressAuto {
		mode = progressPlain
		if out.terminal {
			mode = progressTTY
		}
	}
	return &progressView{mode: mode, out: out, observer: progress.NewObserver(store, record)}
}

const (
	// liveInterval is the time between two pictures of the live view, plainInterval
	// between two looks whether a line is due.
	liveInterval  = 250 * time.Millisecond
	plainInterval = time.Second
	// longestSilence is the time after which a line is due whatever happens.
	longestSilence = 30 * time.Second
	// lastLook bounds the look at a sweep after its end, whose queries may take many seconds.
	lastLook = time.Minute
)

// watch shows the sweep until ctx ends, once at least.
func (v *progressView) watch(ctx context.Context) {
	if v.mode == progressQuiet {
		return
	}
	interval := plainInterval
	if v.mode == progressTTY {
		interval = liveInterval
		defer v.out.draw(nil) // what follows starts clean
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for shown := false; ; {
		// else the next tick tries again; the run itself reports a broken store
		if s, err := v.observer.Look(ctx, time.Now()); err == nil {
			v.show(s)
			shown = true
		}
		select {
		case <-ctx.Done():
			if !shown || v.mode == progressJSON {
				v.end(ctx)
			}
			return
		case <-ticker.C:
		}
	}
}

// end prints how the sweep was when the watching ended.
func (v *progressView) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	v.observer.Hurry()
	if s, err := v.observer.Look(ctx, time.Now()); err == nil { // else the run reports what is broken
		v.last = nil
		v.show(s)
	}
}

func (v *progressView) show(s *progress.Snapshot) {
	if v.mode == progressTTY {
		width, height := v.out.size()
		v.out.draw(liveLines(s, width, height))
		return
	}
	if !lineDue(v.last, s) {
		return
	}
	v.last = s
	if v.mode == progressPlain {
		fmt.Fprintln(v.out, plainLine(s))
		return
	}
	v.out.object(s)
}

// lineDue reports whether a line is due after the last one: at each percent of the work, to which running
// trials count by their steps, and after a time in any case.
func lineDue(last, now *progress.Snapshot) bool {
	if last == nil {
		return true
	}
	return percent(now) > percent(last) || now.Done < last.Done || now.State != last.State ||
		now.Time.Sub(last.Time) >= longestSilence
}

// percent is how much of the work is done, in whole percent.
func percent(s *progress.Snapshot) int { return int(100*s.Share + 1e-9) }

// plainLine is a snapshot in one line.
func plainLine(s *progress.Snapshot) string {
	var line strings.Builder
	fmt.Fprintf(&line, "%s  %d/%d done, %d %%", progress.FirstLine(s.Name), s.Done, s.Total, percent(s))
	if s.Counts.Running == 0 && s.Done < s.Total && (s.State == sweep.SweepWaiting || s.State == sweep.SweepPaused) {
		if s.Counts.Refused > 0 {
			fmt.Fprintf(&line, " · %d refused", s.Counts.Refused)
		}
		if words := stateWords(s); strings.HasPrefix(s.Reason, sweep.ErrorReason) {
			line.WriteString(" · paused") // the command ends with the error
		} else {
			line.WriteString(" · " + words)
		}
		return line.String()
	}
	fmt.Fprintf(&line, " · %d running · %d failed", s.Counts.Running, s.Counts.Failed)
	if len(s.Failures) > 0 {
		fmt.Fprintf(&line, " (%s)", shorten(s.Failures[0].Reason, 60))
	}
	if s.Counts.Diverged > 0 {
		fmt.Fprintf(&line, " · %d diverged", s.Counts.Diverged)
	}
	if s.Counts.Stopped > 0 {
		fmt.Fprintf(&line, " · %d stopped", s.Counts.Stopped)
	}
	if s.Counts.Skipped > 0 {
		fmt.Fprintf(&line, " · %d skipped", s.Counts.Skipped)
	}
	if s.Counts.Refused > 0 {
		fmt.Fprintf(&line, " · %d refused", s.Counts.Refused)
		if len(s.Refusals) > 0 {
			fmt.Fprintf(&line, " (%s)", shorten(s.Refusals[0].Reason, 60))
		}
	}
	if s.Rate > 0 {
		fmt.Fprintf(&line, " · %s", rateText(s.Rate))
	}
	if s.Left > 0 {
		fmt.Fprintf(&line, " · %s left", secondsText(s.Left))
	}
	for _, r := range s.Running {
		// With few trials, what they report says more than the number of finished ones.
		if r.Step == 0 || len(s.Running) > 4 {
			continue
		}
		fmt.Fprintf(&line, " · trial %d at %s", r.Index, stepText(r))
		if r.Metric != "" {
			fmt.Fprintf(&line, ", %s %s", r.Metric, r.ValueText())
		}
	}
	if len(s.Best) > 0 {
		b := s.Best[0]
		fmt.Fprintf(&line, " · best %s %s (%s)", s.BestBy, significant(b.Value), b.Group)
	}
	return line.String()
}

// stateWords say why a sweep does not advance.
func stateWords(s *progress.Snapshot) string {
	words := "waits"
	if s.State == sweep.SweepPaused {
		words = "paused"
	}
	if s.Reason != "" {
		words += ": " + progress.FirstLine(s.Reason)
	}
	return words
}

// liveLines are a snapshot as the live view has it, within a terminal of the
// given size.
func liveLines(s *progress.Snapshot, width, height int) []string {
	width, height = max(width, 20), max(height, 4)
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }

	title := fmt.Sprintf("%s  %d/%d trials", progress.FirstLine(s.Name), s.Done, s.Total)
	if room := min(width-ansi.StringWidth(title)-12, 40); room >= 8 {
		title += "  " + bar(s.Share, room)
	}
	add("%s %3.0f %%", title, 100*s.Share)

	counts := []string{fmt.Sprintf("%d completed", s.Counts.Completed-s.Counts.Diverged),
		fmt.Sprintf("%d running", s.Counts.Running), fmt.Sprintf("%d failed", s.Counts.Failed)}
	for _, c := range []struct {
		n    int64
		name string
	}{{s.Counts.Diverged, "diverged"}, {s.Counts.Stopped, "stopped"}, {s.Counts.Skipped, "skipped"},
		{s.Counts.Reused, "reused"}, {s.Counts.Cancelled, "cancelled"},
		{s.Counts.Refused, "refused"}, {s.Counts.Faults, "not reproduced"}} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.n, c.name))
		}
	}
	add("  %s", strings.Join(counts, " · "))

	times := []string{secondsText(s.Seconds) + " so far"}
	if s.Rate > 0 {
		times = append(times, rateText(s.Rate))
	}
	switch {
	case s.Left > 0:
		times = append(times, "about "+secondsText(s.Left)+" left")
	case s.Done < s.Total:
		times = append(times, "time left unknown")
	}
	add("  %s", strings.Join(times, " · "))
	if s.State == sweep.SweepWaiting || s.State == sweep.SweepPaused {
		add("  %s", stateWords(s))
	}

	causes := func(title string, list []progress.Cause) {
		for _, c := range list {
			add("  %-9s%d × %s", title, c.Count, c.Reason)
			title = ""
		}
	}
	causes("failed", s.Failures)
	causes("refused", s.Refusals)

	// What is left of the terminal goes to what runs and to the best, half each.
	room := max(height-1-len(lines), 0)
	best := min(len(s.Best), max(room-len(s.Running), room/2))
	running := min(len(s.Running), max(room-best, 0))
	lines = append(lines, runningLines(s.Running[:running], width)...)
	lines = append(lines, bestLines(s, s.Best[:best], width)...)
	lines = lines[:min(len(lines), height-1)]
	for i, line := range lines {
		lines[i] = shorten(line, width-1)
	}
	return lines
}

// runningLines are the trials that run.
func runningLines(running []progress.Running, width int) (lines []string) {
	label := 0
	for _, r := range running {
		label = max(label, min(ansi.StringWidth(r.Label), width/3))
	}
	title := "running"
	for _, r := range running {
		text := fmt.Sprintf("  %-9strial %-6d %s  %6s", title, r.Index, pad(r.Label, label), secondsText(r.Seconds))
		if share := r.Share(); share > 0 {
			text += fmt.Sprintf("  %s %s", bar(share, 10), stepText(r))
			if r.Left >= 1 {
				text += fmt.Sprintf(", %s left", secondsText(r.Left))
			}
		} else if r.Step > 0 {
			text += "  " + stepText(r)
		}
		if r.Metric != "" {
			text += fmt.Sprintf("  %s %s", r.Metric, r.ValueText())
		}
		lines, title = append(lines, text), ""
	}
	return lines
}

// stepText is how many steps a running trial has done, of how many if that is known.
func stepText(r progress.Running) string {
	if r.Share() > 0 {
		return fmt.Sprintf("%d/%d", r.Step, r.Steps)
	}
	return fmt.Sprintf("step %d", r.Step)
}

// bestLines are the best trials of groups.
func bestLines(s *progress.Snapshot, best []progress.Best, width int) (lines []string) {
	group := 0
	for _, b := range best {
		group = max(group, min(ansi.StringWidth(b.Group), width/3))
	}
	title := "best"
	for _, b := range best {
		lines = append(lines, fmt.Sprintf("  %-9s%s  %s %s  trial %d",
			title, pad(b.Group, group), s.BestBy, significant(b.Value), b.Index))
		title = ""
	}
	return lines
}

// bar draws a share of 1 in width characters.
func bar(share float64, width int) string {
	eighths := int(min(max(share, 0), 1)*float64(8*width) + 0.5)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text + strings.Repeat("░", width-ansi.StringWidth(text))
}

// shorten cuts a text to a number of columns.
func shorten(text string, width int) string { return ansi.Truncate(sweep.Visible(text), width, "…") }

// pad makes a text width columns wide.
func pad(text string, width int) string {
	text = shorten(text, width)
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// rateText says how many trials are done in a time.
func rateText(rate float64) string {
	switch {
	case rate >= 0.1:
		return significant(rate) + " trials/s"
	case rate*60 >= 0.1:
		return significant(rate*60) + " trials/min"
	}
	return significant(rate*3600) + " trials/h"
}

// secondsText says a time that is given in seconds roughly.
func secondsText(seconds float64) string {
	const century = 100 * 365 * 24 * 3600
	if seconds > century {
		return "more than a century"
	}
	return roughly(time.Duration(seconds * float64(time.Second)))
}

// significant prints three significant digits without an exponent.
func significant(x float64) string {
	text := fmt.Sprintf("%.3g", x)
	if strings.Contains(text, "e") && math.Abs(x) >= 1 && math.Abs(x) < 1e9 {
		return fmt.Sprintf("%.0f", x)
	}
	return text // what is small is not 0
}

// roughly prints a duration as people say it: 45s, 3m20s, 2h10m, 4d3h.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()+0.5))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}
