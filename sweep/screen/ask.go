package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"sweep/sweep"
	"sweep/sweep/progress"
)

// answer is the answer to a question; take puts it into the model.
type answer struct {
	asked int
	err   error
	take  func(m *model)
}

// ask asks for what the page shows. The question is put together here, but asked in another
// goroutine: the model belongs to the loop that updates it.
func (m *model) ask() tea.Cmd {
	m.asked++
	m.asking = true
	number := m.asked
	question := m.view().ask()
	ctx := m.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		take, err := question(ctx)
		return answer{number, err, take}
	}
}

type question func(ctx context.Context) (take func(m *model), err error)

// maxSweeps bounds the sweeps that are listed, the newest of them.
const maxSweeps = 200

func (m *model) askSweeps() question {
	store := m.options.Store
	return func(ctx context.Context) (func(*model), error) {
		records, err := store.Sweeps(ctx)
		if err != nil {
			return nil, err
		}
		var lines []sweepLine
		for _, r := range records[:min(len(records), maxSweeps)] {
			counts, err := store.Progress(ctx, r.ID)
			if err != nil {
				return nil, err
			}
			lines = append(lines, sweepLine{r, counts})
		}
		return func(m *model) { m.sweeps = lines }, nil
	}
}

func (m *model) askWorkers() question {
	list := m.options.Workers
	return func(ctx context.Context) (func(*model), error) {
		if list == nil {
			return func(*model) {}, nil
		}
		workers, err := list(ctx)
		return func(m *model) { m.workers = workers }, err
	}
}

// choice is how the sweep's trials compete.
func choice(record *sweep.SweepRecord) sweep.Select {
	if len(record.Grids) == 0 {
		return sweep.Select{}
	}
	return record.Grids[0].Submission.Spec.Select
}

func (m *model) askTrials() question {
	store, id, now := m.options.Store, m.sweep.ID, m.options.Now()
	observer, byMetric, filter, room := m.observer, m.byMetric, m.filter, m.room()
	record := m.sweep
	var after *sweep.TrialID
	if n := len(m.starts); n > 0 {
		after = m.starts[n-1]
	}
	return func(ctx context.Context) (func(*model), error) {
		if observer == nil {
			whole, err := store.Sweep(ctx, id) // with its submissions
			if err != nil {
				return nil, err
			}
			record, observer = whole, &watcher{observer: progress.NewObserver(store, whole)}
		}
		snapshot, err := observer.look(ctx, now)
		if err != nil {
			return nil, err
		}
		query := sweep.TrialQuery{Sweeps: []string{id}, States: filters[filter], After: after, Limit: room + 1}
		if c := choice(record); byMetric && c.By != "" {
			query.OrderBy, query.Descending = sweep.MetricKind.Of(c.By), c.Goal == sweep.Maximize
		}
		var trials []*sweep.TrialRecord
		err = store.Trials(ctx, query, func(t *sweep.TrialRecord) error {
			trials = append(trials, t)
			return nil
		})
		if err != nil {
			return nil, err
		}
		return func(m *model) {
			m.sweep, m.observer, m.snapshot = record, observer, snapshot
			room := min(room, m.room()) // more or fewer running trials are shown above now
			m.more = len(trials) > room
			m.trials = trials[:min(len(trials), room)]
		}, nil
	}
}

func (m *model) askTrial() question {
	store, id := m.options.Store, m.trial.TrialID
	by := choice(m.sweep).By
	rank := func(c sweep.Curve) int { // the metric that trials are compared by comes first
		if c.Metric == by {
			return 0
		}
		return 1
	}
	return func(ctx context.Context) (func(*model), error) {
		trial, err := store.Trial(ctx, id)
		if err != nil {
			return nil, err
		}
		curves, err := store.Curves(ctx, id)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(curves, func(a, b sweep.Curve) int { return rank(a) - rank(b) })
		return func(m *model) {
			m.trial, m.curves = trial, curves
			m.metric = min(m.metric, max(len(curves)-1, 0))
		}, nil
	}
}

func (m *model) askLog() question {
	read, id := m.options.Log, m.trial.TrialID
	return func(ctx context.Context) (func(*model), error) {
		text := ""
		if read != nil {
			var err error
			if text, err = read(ctx, id); err != nil {
				return nil, fmt.Errorf("log of trial %s: %w", id, err)
			}
		}
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, plain(line))
		}
		return func(m *model) {
			if m.scroll > 0 {
				m.scroll += max(len(lines)-len(m.log), 0) // what is read stays where it is
			}
			m.log = lines
		}, nil
	}
}
