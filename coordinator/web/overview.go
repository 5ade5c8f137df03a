package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
)

const (
	// maxFailed bounds of how many failed trials the errors are read for one overview.
	maxFailed = 1000
	// maxCauses bounds the causes that it lists, longestOutput the bytes of error output of each.
	maxCauses, longestOutput = 8, 4096
)

// overview is what a sweep comes to: the best completed trial by the metric, nil without one; the
// seconds to the end, nil if unknown or nothing is left; and why trials failed, over Examined of
// them.
type overview struct {
	Best     *frame.Row `json:"best"`
	Left     *float64   `json:"left"`
	Failed   int64      `json:"failed"`
	Examined int        `json:"examined"`
	Causes   []cause    `json:"causes"`
}

// cause is a cause of failures: how many trials failed for it, the first of them, and the end of
// the error output of that one.
type cause struct {
	Text   string `json:"text"`
	Trials int    `json:"trials"`
	First  int64  `json:"first"`
	Output string `json:"output,omitempty"`
}

// overview answers what a sweep comes to, by metric=… or else that by which its trials are compared; the best trial
// with its values of column=….
func (s *Server) overview(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q, ctx := queryOf(r), r.Context()
	var found examined
	read, err := s.useFor(r, q, func(f *frame.Frame) (err error) {
		metric := q.text("metric")
		if objective := sweep.MetricKind.Of(objectiveOf(record)); metric == "" && f.Has(objective) {
			metric = string(objective)
		}
		found, err = examine(ctx, f, record, metric, q.list("column"))
		return err
	})
	if err != nil {
		return nil, err
	}
	answer, err := s.conclude(ctx, record, &found)
	if err == nil {
		answer.Left, err = s.timeLeft(ctx, record)
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"read": read, "answer": answer}, nil
}

// examined is what a sweep's columns tell of it: the best trial, and some of the failed ones, of which all
// there are count.
type examined struct {
	best   *frame.Row
	failed []int64
	all    int64
}

// examine looks for the best completed trial by a metric, if it is not empty; its cells are the metric's
// value and those of the columns.
func examine(ctx context.Context, f *frame.Frame, record *sweep.SweepRecord, metric string,
	columns []string) (found examined, err error) {
	found.all = f.Loaded().Counts[frame.Failed]
	found.failed, err = f.Matching(ctx, frame.Filter{States: []frame.State{frame.Failed}}, maxFailed)
	if err != nil || metric == "" {
		return found, err
	}
	page, err := f.Page(ctx, frame.Query{
		Filter: frame.Filter{States: []frame.State{frame.Completed}}, OrderBy: metric,
		Descending: goalOf(record, metric) == sweep.Maximize, Limit: 1,
		Columns: append([]string{metric}, columns...),
	})
	if err == nil && len(page.Rows) == 1 && page.Rows[0].Cells[0] != nil {
		found.best = &page.Rows[0]
	}
	return found, err
}

// conclude adds what the store knows: why trials failed.
func (s *Server) conclude(ctx context.Context, record *sweep.SweepRecord, found *examined) (*overview, error) {
	answer := &overview{Best: found.best, Failed: found.all, Examined: len(found.failed), Causes: []cause{}}
	if len(found.failed) == 0 {
		return answer, nil
	}
	var err error
	answer.Causes, err = s.causes(ctx, record.ID, found.failed)
	return answer, err
}

// timeLeft estimates the seconds to the end of a sweep, nil if that is unknown or nothing runs.
func (s *Server) timeLeft(ctx context.Context, record *sweep.SweepRecord) (*float64, error) {
	counts, err := s.options.Store.Progress(ctx, record.ID)
	if err != nil || counts.Running == 0 {
		return nil, err
	}
	w, err := s.watch(ctx, record.ID)
	if err != nil {
		return nil, err
	}
	defer w.leave()
	w.observing.Lock()
	defer w.observing.Unlock()
	if w.observer == nil || w.grids != len(record.Grids) {
		w.observer, w.grids = progress.NewObserver(s.options.Store, record), len(record.Grids)
	}
	left := w.observer.Left(ctx, time.Now(), counts)
	if left <= 0 {
		return nil, nil
	}
	return &left, nil
}

// causes groups failed trials by the causes of their errors, the most frequent first.
func (s *Server) causes(ctx context.Context, id string, failed []int64) ([]cause, error) {
	places := map[string]int{}
	list := []cause{}
	// The texts of a cause that all its errors have; "" if they differ.
	var texts []string
	indices := strings.ReplaceAll(strings.Trim(fmt.Sprint(failed), "[]"), " ", ", ")
	statement := "SELECT trial_index, error FROM results WHERE sweep_id = " + sweep.QuoteSQL(id) +
		" AND trial_index IN (" + indices + ") ORDER BY trial_index"
	err := s.options.Store.Query(ctx, statement, func(_ []string, row []any) error {
		index, _ := sweep.Number(row[0])
		text, _ := row[1].(string)
		key := cmp.Or(sweep.FailureCause(text), "no reason given")
		at, known := places[key]
		if !known {
			at = len(list)
			places[key] = at
			list, texts = append(list, cause{Text: key, First: int64(index)}), append(texts, text)
		}
		if list[at].Trials++; texts[at] != text {
			texts[at] = ""
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		list[i].Text = cmp.Or(strings.TrimSpace(text), list[i].Text)
	}
	slices.SortStableFunc(list, func(a, b cause) int { return cmp.Compare(b.Trials, a.Trials) })
	list = list[:min(len(list), maxCauses)]
	for i := range list {
		trial, err := s.options.Store.Trial(ctx, sweep.TrialID{Sweep: id, Index: list[i].First})
		if err != nil {
			return nil, err
		}
		if trial.Result != nil {
			output := trial.Result.Stderr
			list[i].Output = strings.ToValidUTF8(output[max(0, len(output)-longestOutput):], "")
		}
	}
	return list, nil
}
