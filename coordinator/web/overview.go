package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sweep/coordinator/web/frame"
	"sweep/sweep"
)

const (
	// mostFailed bounds of how many failed trials the errors are read for one overview.
	mostFailed = 1000
	// mostCauses bounds the causes that it lists, longestOutput the bytes of error output of each.
	mostCauses, longestOutput = 8, 4096
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

// overview answers what a sweep comes to, by metric=…; the best trial with its values of column=….
func (s *Server) overview(r *http.Request, record *sweep.SweepRecord) (any, error) {
	q, ctx := queryOf(r), r.Context()
	metric := q.text("metric")
	answer := &overview{Causes: []cause{}}
	var failed []int64
	var seconds frame.Statistics
	read, err := s.useFor(r, q, func(f *frame.Frame) error {
		answer.Failed = f.Loaded().Counts[frame.Failed]
		var err error
		if failed, err = f.Matching(ctx, frame.Filter{States: []frame.State{frame.Failed}}, mostFailed); err != nil {
			return err
		}
		all, err := f.Groups(ctx, frame.GroupQuery{By: []string{}, Metrics: []string{"seconds"}, Limit: 1})
		if err != nil {
			return err
		}
		if len(all.Groups) > 0 {
			seconds = all.Groups[0].Metrics[0]
		}
		if metric == "" {
			return nil
		}
		page, err := f.Page(ctx, frame.Query{
			Filter: frame.Filter{States: []frame.State{frame.Completed}}, OrderBy: metric,
			Descending: goalOf(record, metric) == sweep.Maximize, Limit: 1,
			Columns: append([]string{metric}, q.list("column")...),
		})
		if err == nil && len(page.Rows) == 1 && page.Rows[0].Cells[0] != nil {
			answer.Best = &page.Rows[0]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	progress, err := s.options.Store.Progress(ctx, record.ID)
	if err != nil {
		return nil, err
	}
	answer.Left = timeLeft(progress, seconds.Mean)
	if answer.Examined = len(failed); len(failed) > 0 {
		if answer.Causes, err = s.causes(ctx, record.ID, failed); err != nil {
			return nil, err
		}
	}
	return map[string]any{"read": read, "answer": answer}, nil
}

// timeLeft estimates the seconds to the end of a sweep from the mean of its trials so far and from
// how many run at a time, each of them half done.
func timeLeft(p sweep.Progress, mean *float64) *float64 {
	if mean == nil || p.Running == 0 {
		return nil
	}
	running := float64(p.Running)
	return new((float64(p.Pending+p.Queued) + running/2) * *mean / running)
}

// causes groups failed trials by the causes of their errors, the most frequent first.
func (s *Server) causes(ctx context.Context, id string, failed []int64) ([]cause, error) {
	places := map[string]int{}
	list := []cause{}
	// The texts of a cause that all its errors have; "" if they differ.
	var texts []string
	indices := strings.ReplaceAll(strings.Trim(fmt.Sprint(failed), "[]"), " ", ", ")
	statement := "SELECT trial_index, error FROM results WHERE sweep_id = " + quoteText(id) +
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
	list = list[:min(len(list), mostCauses)]
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
