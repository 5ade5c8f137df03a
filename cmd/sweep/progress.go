package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"sweep/sweep"
)

// progress shows how a sweep advances: one line that is drawn again on a
// terminal, a plain line at growing intervals elsewhere.
type progress struct {
	store sweep.Reader
	sweep *sweep.SweepRecord
	out   io.Writer
	// width is the terminal's, 0 if out is none.
	width int

	started time.Time
	// before counts the trials that were done when this run started.
	before int64
	rates  []sample

	best      string
	bestAfter time.Time
}

// sample is how many trials were done at one moment.
type sample struct {
	at   time.Time
	done int64
}

// rateWindow is the time over which the rate is taken.
const rateWindow = 30 * time.Second

func newProgress(store sweep.Reader, record *sweep.SweepRecord, out io.Writer) *progress {
	p := &progress{store: store, sweep: record, out: out, started: time.Now(), before: -1}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.width = 80
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			p.width = width
		}
	}
	return p
}

// watch shows the sweep until ctx ends.
func (p *progress) watch(ctx context.Context) {
	interval, longest := time.Second, 30*time.Second
	if p.width > 0 {
		interval, longest = 200*time.Millisecond, 200*time.Millisecond
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			p.clear()
			return
		case <-timer.C:
			p.show(ctx)
			timer.Reset(interval)
			interval = min(interval*3/2, longest)
		}
	}
}

func (p *progress) show(ctx context.Context) {
	counts, err := p.store.Progress(ctx, p.sweep.ID)
	if err != nil {
		return // the next tick tries again; the run itself reports a broken store
	}
	line := p.line(ctx, time.Now(), counts)
	if p.width > 0 {
		runes := []rune(line)
		if len(runes) >= p.width {
			line = string(runes[:p.width-1])
		}
		fmt.Fprintf(p.out, "\r\x1b[2K%s", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// clear removes the redrawn line, so that what follows starts clean.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprint(p.out, "\r\x1b[2K")
	}
}

func (p *progress) line(ctx context.Context, now time.Time, counts sweep.Progress) string {
	done, total := counts.Done(), counts.Total()
	if p.before < 0 {
		p.before = done
	}
	p.rates = append(p.rates, sample{now, done})
	for len(p.rates) > 2 && now.Sub(p.rates[1].at) >= rateWindow {
		p.rates = p.rates[1:]
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%s  %d/%d done · %d running · %d failed", p.sweep.Name, done, total, counts.Running, counts.Failed)
	if counts.Diverged > 0 {
		fmt.Fprintf(&line, " · %d diverged", counts.Diverged)
	}
	first := p.rates[0]
	if elapsed := now.Sub(first.at).Seconds(); elapsed > 0 && done > first.done {
		rate := float64(done-first.done) / elapsed
		fmt.Fprintf(&line, " · %s trials/s", significant(rate))
		if left := total - done; left > 0 {
			seconds := float64(left) / rate
			if seconds < 1e8 {
				fmt.Fprintf(&line, " · %s left", roughly(time.Duration(seconds*float64(time.Second))))
			}
		}
	}
	if best := p.bestSoFar(ctx, now); best != "" {
		line.WriteString(" · best " + best)
	}
	return line.String()
}

// bestSoFar looks up the best trial, at most every two seconds and never so
// often that the query costs more than a few percent of the time.
func (p *progress) bestSoFar(ctx context.Context, now time.Time) string {
	choice := p.sweep.Grids[0].Submission.Spec.Select
	if choice.By == "" || now.Before(p.bestAfter) {
		return p.best
	}
	start := time.Now()
	_ = p.store.Trials(ctx, sweep.TrialQuery{ // no best is shown if it cannot be asked
		Sweeps: []string{p.sweep.ID}, States: []sweep.State{sweep.Completed},
		OrderBy: choice.By, Descending: choice.Goal == "maximize", Limit: 1,
	}, func(t *sweep.TrialRecord) error {
		if value, ok := t.Result.Summary[choice.By]; ok {
			p.best = fmt.Sprintf("%s %s (%s)", choice.By, significant(value), describePoint(t.Parameters, choice.Group))
		}
		return nil
	})
	wait := 2 * time.Second
	if p.best == "" {
		wait = 300 * time.Millisecond
	}
	p.bestAfter = now.Add(max(wait, 30*time.Since(start)))
	return p.best
}

// describePoint names a trial by the parameters that its sweep groups by.
func describePoint(p sweep.Parameters, names []string) string {
	var parts []string
	for _, name := range names {
		if v, ok := p[name]; ok {
			parts = append(parts, fmt.Sprint(v))
		}
	}
	if len(parts) == 0 {
		return "seed " + fmt.Sprint(p[sweep.SeedParameter])
	}
	return strings.Join(parts, ", ")
}

// significant prints three significant digits without an exponent.
func significant(x float64) string {
	text := fmt.Sprintf("%.3g", x)
	if strings.ContainsAny(text, "e") {
		return fmt.Sprintf("%.0f", x)
	}
	return text
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
