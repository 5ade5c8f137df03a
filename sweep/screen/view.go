package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"sweep/sweep"
	"sweep/sweep/braille"
	"sweep/sweep/progress"
)

// Letters: what a terminal without colours can show too.
const (
	boldOn    = "\x1b[1m"
	faintOn   = "\x1b[2m"
	reverseOn = "\x1b[7m"
	off       = "\x1b[0m"
)

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "sweep"
	return v
}

// view is what the pages differ in.
type view struct {
	ask  func() question
	draw func() (head, body []string)
	// height is how many lines stand above the rows, the header of a list among them.
	height int
	rows   int // of a list
	back   page
	keys   string
}

// view returns the view of the page that is shown.
func (m *model) view() view {
	switch m.page {
	case workersPage:
		return view{m.askWorkers, m.workersView, 3, len(m.workers), sweepsPage, "w sweeps · esc back · q quit"}
	case trialsPage:
		return view{m.askTrials, m.trialsView, 6 + len(m.shownRunning()), len(m.trials), sweepsPage,
			"↑↓ move · enter trial · s sort · f filter · pgdn pgup · esc back · q quit"}
	case trialPage:
		return view{m.askTrial, m.trialView, 3, 0, trialsPage, "←→ metric · y logarithm · o log · esc back · q quit"}
	case logPage:
		return view{m.askLog, m.logView, 2, 0, trialPage, "↑↓ scroll · esc back · q quit"}
	}
	return view{m.askSweeps, m.sweepsView, 3, len(m.sweeps), sweepsPage, "↑↓ move · enter trials · w workers · q quit"}
}

// lines are the screen, exactly height of them, none wider than width.
func (m *model) lines() []string {
	v := m.view()
	head, body := v.draw()
	keys := v.keys
	if m.err != nil {
		keys = progress.FirstLine(m.err.Error())
	}
	lines := append(head, body...)
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return append(lines[:m.height-1], faint(m.cut(keys)))
}

// room is how many rows of a list, or lines of a log, fit.
func (m *model) room() int { return max(m.height-1-m.view().height, 1) }

func bold(text string) string  { return boldOn + text + off }
func faint(text string) string { return faintOn + text + off }

// cut cuts a text to the width of the screen.
func (m *model) cut(text string) string { return cut(text, m.width) }

// title is a bold name and what stands behind it, in one line.
func (m *model) title(name, rest string) string {
	if len([]rune(name)) >= m.width {
		return bold(m.cut(name))
	}
	return bold(name) + cut(rest, m.width-len([]rune(name)))
}

func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(width-1, 0)]) + "…"
}

// plain is a line without what a terminal would act on.
func plain(line string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\n' || r == '\r':
			return -1
		case unicode.IsControl(r):
			return '·'
		}
		return r
	}, line), " ")
}

// list lays rows out in columns and marks the one with the cursor; the first is the
// header. It shows the part around the cursor that fits.
func (m *model) list(rows [][]string) []string {
	if len(rows) == 1 {
		return []string{faint(m.cut("nothing to show"))}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], min(len([]rune(cell)), 40))
		}
	}
	line := func(row []string) string {
		var text strings.Builder
		for i, cell := range row {
			cell = cut(cell, widths[i])
			text.WriteString(cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2))
		}
		return m.cut(strings.TrimRight(text.String(), " "))
	}
	lines := []string{faint(line(rows[0]))}
	room, at := m.room(), m.cursor[m.page]
	first := min(max(at-room+1, 0), max(len(rows)-1-room, 0))
	for i := first; i < min(first+room, len(rows)-1); i++ {
		text := line(rows[i+1])
		if i == at {
			text = reverseOn + text + strings.Repeat(" ", max(m.width-len([]rune(text)), 0)) + off
		}
		lines = append(lines, text)
	}
	return lines
}

func (m *model) sweepsView() (head, body []string) {
	head = []string{bold("sweeps"), ""}
	rows := [][]string{{"NAME", "STATE", "", "DONE", "FAILED", "RUNNING", "CREATED", "ID"}}
	for _, l := range m.sweeps {
		share := 0.0
		if total := l.counts.Total(); total > 0 {
			share = float64(l.counts.Done()) / float64(total)
		}
		rows = append(rows, []string{
			progress.FirstLine(l.record.Name), string(l.record.State), bar(share, 12),
			fmt.Sprintf("%d/%d", l.counts.Done(), l.counts.Total()),
			fmt.Sprint(l.counts.Failed), fmt.Sprint(l.counts.Running),
			l.record.CreatedAt.Local().Format("2006-01-02 15:04"), l.record.ID,
		})
	}
	return head, m.list(rows)
}

func (m *model) workersView() (head, body []string) {
	head = []string{bold("workers"), ""}
	if m.options.Workers == nil {
		return head, []string{m.cut("no cluster: \"sweep run\" trains in its own process")}
	}
	rows := [][]string{{"NAME", "STATE", "POOL", "SLOTS", "REFUSED", "RUNS", "WHY"}}
	for _, w := range m.workers {
		var runs []string
		for _, id := range w.Runs {
			runs = append(runs, id.String())
		}
		rows = append(rows, []string{plain(w.Name), w.State, plain(w.Pool), fmt.Sprintf("%d/%d", len(w.Runs), w.Slots),
			fmt.Sprint(w.Refused), strings.Join(runs, " "), progress.FirstLine(w.Reason)})
	}
	return head, m.list(rows)
}

func (m *model) trialsView() (head, body []string) {
	name := progress.FirstLine(m.sweep.Name)
	head = []string{m.title(name, ""), "", "", ""}
	if s := m.snapshot; s != nil {
		head[0] = m.title(name, fmt.Sprintf("  %d/%d %s %3.0f %%  %s", s.Done, s.Total, bar(s.Share, 20),
			100*s.Share, s.State))
		counts := fmt.Sprintf("%d running · %d failed · %d diverged", s.Counts.Running, s.Counts.Failed,
			s.Counts.Diverged)
		if s.Counts.Stopped > 0 {
			counts += fmt.Sprintf(" · %d stopped", s.Counts.Stopped)
		}
		if s.Counts.Skipped > 0 {
			counts += fmt.Sprintf(" · %d skipped", s.Counts.Skipped)
		}
		if s.Counts.Refused > 0 {
			counts += fmt.Sprintf(" · %d refused", s.Counts.Refused)
		}
		if s.Left > 0 {
			counts += " · about " + roughly(s.Left) + " left"
		}
		head[1] = m.cut(counts)
		switch {
		case s.Reason != "":
			head[2] = m.cut(string(s.State) + ": " + progress.FirstLine(s.Reason))
		case len(s.Failures) > 0:
			head[2] = m.cut(fmt.Sprintf("failed: %d × %s", s.Failures[0].Count, s.Failures[0].Reason))
		}
		if len(s.Best) > 0 {
			b := s.Best[0]
			head[3] = m.cut(fmt.Sprintf("best %s %.4g: trial %d, %s", s.BestBy, b.Value, b.Index, b.Group))
		}
	}
	head = append(head, m.runningLines()...)
	by := choice(m.sweep).By
	words := "by index"
	if m.byMetric && by != "" {
		words = "by " + by
	}
	shown := "all"
	if states := filters[m.filter]; states != nil {
		var names []string
		for _, state := range states {
			names = append(names, string(state))
		}
		shown = strings.Join(names, ", ")
	}
	head = append(head, faint(m.cut(fmt.Sprintf("%s, %s, page %d", shown, words, len(m.starts)+1))))
	varied := progress.Varied(m.sweep, true)
	names, labels := sweep.NamesOf(m.sweep), []string{}
	for _, name := range varied {
		labels = append(labels, names.Label(sweep.ParameterKind.Of(name)))
	}
	if by != "" {
		labels = append(labels, names.Label(sweep.MetricKind.Of(by)))
	}
	rows := [][]string{slices.Concat([]string{"INDEX", "STATE"}, sweep.Headings(labels), []string{"TIME"})}
	for _, t := range m.trials {
		row := []string{fmt.Sprint(t.Index), t.StateText()}
		for _, name := range varied {
			row = append(row, valueText(t.Parameters, name))
		}
		if by != "" {
			row = append(row, m.metricText(t, by))
		}
		rows = append(rows, append(row, m.timeText(t)))
	}
	return head, m.list(rows)
}

// metricText is a metric of a trial, the last value of a running one.
func (m *model) metricText(t *sweep.TrialRecord, name string) string {
	if t.Result != nil {
		if v, ok := t.Result.Summary[name]; ok {
			return fmt.Sprintf("%.4g", v)
		}
	}
	if t.State == sweep.Running && m.snapshot != nil {
		for _, r := range m.snapshot.Running {
			if r.Index == t.Index && r.Metric == name {
				return r.ValueText()
			}
		}
	}
	return ""
}

// shownRunning are the running trials that stand above the list, a few on a screen with room.
func (m *model) shownRunning() []progress.Running {
	if m.snapshot == nil || m.height < 16 {
		return nil
	}
	const most = 4
	return m.snapshot.Running[:min(len(m.snapshot.Running), most)]
}

// runningLines say how far running trials are, with their last metric.
func (m *model) runningLines() (lines []string) {
	for _, r := range m.shownRunning() {
		text := fmt.Sprintf("running: trial %d, %s, %s", r.Index, r.Label, roughly(r.Seconds))
		if r.Step > 0 {
			text += fmt.Sprintf(", step %d", r.Step)
			if r.Steps >= r.Step {
				text += fmt.Sprintf(" of %d", r.Steps)
			}
		}
		if r.Metric != "" {
			text += fmt.Sprintf(", %s %s", r.Metric, r.ValueText())
		}
		lines = append(lines, m.cut(text))
	}
	return lines
}

// timeText is how long a trial took, or has run.
func (m *model) timeText(t *sweep.TrialRecord) string {
	switch {
	case t.Result != nil && t.Result.Seconds > 0:
		return roughly(t.Result.Seconds)
	case t.State == sweep.Running && !t.StartedAt.IsZero():
		return roughly(max(m.options.Now().Sub(t.StartedAt).Seconds(), 0))
	}
	return ""
}

func (m *model) trialView() (head, body []string) {
	t := m.trial
	head = []string{bold(m.cut(fmt.Sprintf("trial %d of %s", t.Index, progress.FirstLine(m.sweep.Name)))), ""}
	state := t.StateText()
	if time := m.timeText(t); time != "" {
		state += ", " + time
	}
	if t.Worker != "" {
		state += ", on " + plain(t.Worker)
	}
	head[1] = m.cut(state)
	if t.Result != nil && t.Result.Error != "" {
		body = append(body, m.cut(progress.FirstLine(t.Result.Error)))
	}
	var parts []string
	for _, name := range t.Parameters.Names() {
		parts = append(parts, name+" "+valueText(t.Parameters, name))
	}
	body = append(body, wrap(strings.Join(parts, " · "), m.width, 3)...)
	if len(m.curves) == 0 {
		return head, append(body, "", faint(m.cut("no curves yet: points come after the first second")))
	}
	c := m.curves[m.metric]
	title := c.Metric
	if n := len(c.Values); n > 0 {
		title += fmt.Sprintf(" %.4g at step %d", c.Values[n-1], c.Steps[n-1])
		if steps := progress.Steps(t.Parameters); steps >= c.Steps[n-1] {
			title += fmt.Sprintf(" of %d", steps)
		}
	}
	body = append(body, "", m.title(title, fmt.Sprintf("  (%d of %d curves)", m.metric+1, len(m.curves))))
	var l braille.Line
	for i, step := range c.Steps {
		l.X, l.Y = append(l.X, float64(step)), append(l.Y, float64(c.Values[i]))
	}
	plot := braille.Plot{Width: m.width - 1, Height: m.height - 1 - len(head) - len(body), LogY: m.logY}
	picture := plot.Draw([]braille.Line{l})
	if picture == nil {
		picture = []string{faint(m.cut("no value has a place in a picture"))}
	}
	for _, line := range picture {
		body = append(body, m.cut(line))
	}
	return head, body
}

func (m *model) logView() (head, body []string) {
	head = []string{bold(m.cut(fmt.Sprintf("log of trial %d of %s", m.trial.Index, progress.FirstLine(m.sweep.Name)))),
		faint(m.cut(m.trial.StateText()))}
	if len(m.log) == 0 {
		return head, []string{faint(m.cut("nothing is written yet"))}
	}
	end := max(len(m.log)-m.scroll, 0)
	for _, line := range m.log[max(end-m.room(), 0):end] {
		body = append(body, m.cut(line))
	}
	return head, body
}

func valueText(p sweep.Parameters, name string) string {
	value, ok := p[name]
	if !ok {
		return ""
	}
	return progress.ValueText(value)
}

// wrap breaks a text at spaces into lines of a width, most of them at most.
func wrap(text string, width, most int) (lines []string) {
	line := ""
	for _, word := range strings.Split(text, " ") {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && len([]rune(longer)) > width {
			lines, line = append(lines, line), word
			continue
		}
		line = longer
	}
	lines = append(lines, line)
	if len(lines) > most {
		lines = append(lines[:most-1], lines[most-1]+" …")
	}
	for i := range lines {
		lines[i] = cut(lines[i], width)
	}
	return lines
}

func bar(share float64, width int) string {
	full := int(min(max(share, 0), 1)*float64(width) + 0.5)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// roughly is a time that is given in seconds.
func roughly(seconds float64) string {
	d := time.Duration(min(seconds, 1e9) * float64(time.Second))
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
