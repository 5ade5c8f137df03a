// Package screen is the full-screen view of "sweep watch": sweeps, workers, the
// trials of a sweep, one trial with its curves, and its log. It asks a
// sweep.Reader for the page that is shown, once a second, and for no more rows than
// fit; what is not a terminal gets no screen.
package screen

import (
	"context"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"sweep/sweep"
	"sweep/sweep/progress"
)

// Options say what the screen shows.
type Options struct {
	Store sweep.Reader
	// Sweep is the id of the sweep that is shown first; all of them if it is empty.
	Sweep string
	// Workers lists the workers; nil where there is no cluster.
	Workers func(ctx context.Context) ([]Worker, error)
	// Log returns the end of what the trainer of a trial wrote in its last execution.
	Log func(ctx context.Context, id sweep.TrialID) (string, error)
	// Now is the clock; time.Now if it is nil.
	Now func() time.Time

	Input  io.Reader
	Output io.Writer
}

// Worker is a line of the list of workers.
type Worker struct {
	Name, State, Pool string
	// Slots is how many trials it runs at a time, Runs those that it runs.
	Slots int
	Runs  []sweep.TrialID
	// Refused counts its latest refusals.
	Refused int
	Reason  string
}

// Run shows the screen until the user leaves it or ctx ends.
func Run(ctx context.Context, o Options) error {
	m := newModel(ctx, o)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.Input), tea.WithOutput(o.Output)).Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// page is what the screen shows.
type page int

const (
	sweepsPage page = iota
	workersPage
	trialsPage
	trialPage
	logPage
)

// refresh is the time between two looks at the page that is shown, askTime the
// longest that one may take.
const (
	refresh = time.Second
	askTime = 15 * time.Second
)

// model is the state of the screen.
type model struct {
	ctx     context.Context
	options Options

	width, height int
	page          page
	// asked counts the questions, so that answers to an earlier page are told from
	// those to this one; asking says that one is under way.
	asked  int
	asking bool
	err    error

	sweeps  []sweepLine
	workers []Worker
	cursor  map[page]int

	sweep    *sweep.SweepRecord
	observer *watcher
	snapshot *progress.Snapshot
	byMetric bool // sorts the trials, the best first, instead of by index
	filter   int
	trials   []*sweep.TrialRecord
	// starts are the trials behind which the earlier pages of the list begin.
	starts []*sweep.TrialID
	more   bool

	trial  *sweep.TrialRecord
	curves []sweep.Curve
	metric int
	logY   bool

	log    []string
	scroll int // lines above the end
}

// watcher is an observer that several questions may use.
type watcher struct {
	mu       sync.Mutex
	observer *progress.Observer
}

func (w *watcher) look(ctx context.Context, now time.Time) (*progress.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.observer.Look(ctx, now)
}

// sweepLine is a sweep in the list.
type sweepLine struct {
	record sweep.SweepRecord
	counts sweep.Progress
}

// filters are the states that may be shown alone; the first shows all.
var filters = [][]sweep.State{nil, {sweep.Running}, {sweep.Completed}, {sweep.Failed}, {sweep.Pending, sweep.Queued},
	{sweep.Cancelled}, {sweep.Stopped}, {sweep.Skipped}}

func newModel(ctx context.Context, o Options) *model {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &model{ctx: ctx, options: o, width: 80, height: 24, cursor: map[page]int{}, byMetric: true}
	if o.Sweep != "" {
		m.sweep = &sweep.SweepRecord{ID: o.Sweep, Name: o.Sweep}
		m.page = trialsPage
	}
	return m
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return tea.Batch(m.ask(), tick()) }

type tickMsg struct{}

func tick() tea.Cmd {
	return tea.Tick(refresh, func(time.Time) tea.Msg { return tickMsg{} })
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 20), max(msg.Height, 5)
		return m, m.ask()
	case tickMsg:
		if m.asking {
			return m, tick()
		}
		return m, tea.Batch(m.ask(), tick())
	case answer:
		if msg.asked == m.asked {
			m.asking = false
			if m.err = msg.err; msg.err == nil {
				msg.take(m)
				m.move(0) // there may be fewer rows
			}
		}
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	}
	return m, nil
}

// key does what a key says and asks for what is to be shown then.
func (m *model) key(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "esc", "backspace", "left", "h":
		if (key == "left" || key == "h") && m.page == trialPage {
			return m.turn(-1)
		}
		if m.page == sweepsPage {
			return nil
		}
		return m.show(m.view().back)
	case "enter":
		return m.enter()
	case "right", "l":
		if m.page == trialPage {
			return m.turn(1)
		}
		return m.enter()
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		return m.turnPage(-1)
	case "pgdown", "space":
		return m.turnPage(1)
	case "home", "g":
		m.move(-1 << 30)
	case "end", "G":
		m.move(1 << 30)
	case "tab", "w":
		switch m.page {
		case sweepsPage:
			return m.show(workersPage)
		case workersPage:
			return m.show(sweepsPage)
		case trialPage:
			return m.turn(1)
		}
	case "s":
		if m.page == trialsPage {
			m.byMetric = !m.byMetric
			return m.restart()
		}
	case "f":
		if m.page == trialsPage {
			m.filter = (m.filter + 1) % len(filters)
			return m.restart()
		}
	case "y":
		m.logY = !m.logY
	case "o":
		if m.page == trialPage {
			return m.enter()
		}
	}
	return nil
}

// show turns to a page and asks for it.
func (m *model) show(p page) tea.Cmd {
	m.page, m.err = p, nil
	return m.ask()
}

// restart lists trials from the first on.
func (m *model) restart() tea.Cmd {
	m.starts, m.cursor[trialsPage] = nil, 0
	return m.ask()
}

func (m *model) enter() tea.Cmd {
	at := m.cursor[m.page]
	switch {
	case m.page == sweepsPage && at < len(m.sweeps):
		record := m.sweeps[at].record
		if m.sweep == nil || m.sweep.ID != record.ID {
			m.sweep, m.observer, m.snapshot, m.trials = &record, nil, nil, nil
			m.byMetric, m.filter, m.starts, m.cursor[trialsPage] = true, 0, nil, 0
		}
		return m.show(trialsPage)
	case m.page == trialsPage && at < len(m.trials):
		m.trial, m.curves, m.metric = m.trials[at], nil, 0
		return m.show(trialPage)
	case m.page == trialPage:
		m.scroll = 0
		return m.show(logPage)
	}
	return nil
}

// turn goes to another metric.
func (m *model) turn(by int) tea.Cmd {
	if n := len(m.curves); n > 0 {
		m.metric = (m.metric + by + n) % n
	}
	return nil
}

// move moves the cursor, or a log.
func (m *model) move(by int) {
	if m.page == logPage {
		m.scroll = min(max(m.scroll-by, 0), max(len(m.log)-m.room(), 0))
		return
	}
	m.cursor[m.page] = min(max(m.cursor[m.page]+by, 0), max(m.view().rows-1, 0))
}

// turnPage goes a page down or up; further trials come from the store.
func (m *model) turnPage(by int) tea.Cmd {
	switch {
	case m.page == trialsPage && by > 0 && m.more && len(m.trials) > 0:
		m.starts = append(m.starts, new(m.trials[len(m.trials)-1].TrialID))
	case m.page == trialsPage && by < 0 && len(m.starts) > 0:
		m.starts = m.starts[:len(m.starts)-1]
	default:
		m.move(by * m.room())
		return nil
	}
	m.cursor[trialsPage] = 0
	return m.ask()
}
