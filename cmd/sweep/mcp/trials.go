package mcp

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
)

// addTrials adds the tools that read and compare trials.
func (a *Tools) addTrials(server *sdk.Server) {
	addReader(a, server, "best", "List the best completed trials of a sweep by one metric.", a.best)
	addReader(a, server, "trials", "List a page of trials, filtered and sorted.", a.trials)
	addReader(a, server, "compare", "Compare groups of trials that agree in some parameters: mean, standard deviation "+
		"and best value of each metric, the best group first.", a.compare)
	addReader(a, server, "curves", "Read the curves of up to 10 trials, thinned to a few samples each.", a.curves)
}

// shownTrial is a trial as the tools show it.
type shownTrial struct {
	Index      int64               `json:"index"`
	State      string              `json:"state" jsonschema:"as sweep trials shows it: also diverged and reused"`
	Parameters map[string]any      `json:"parameters"`
	Metrics    map[string]*float64 `json:"metrics,omitempty"`
	Seconds    *float64            `json:"seconds,omitempty"`
	Error      string              `json:"error,omitempty"`
}

// shownTrialOf shows a trial with the named parameters, all if they are nil, and metrics.
func shownTrialOf(t *sweep.TrialRecord, parameters, metrics []string) shownTrial {
	shown := shownTrial{Index: t.Index, State: t.StateText(), Parameters: map[string]any{},
		Metrics: map[string]*float64{}}
	for name, value := range t.Parameters {
		if parameters == nil || slices.Contains(parameters, name) {
			shown.Parameters[name] = value
		}
	}
	if t.Result == nil {
		return shown
	}
	for _, name := range metrics {
		if value, ok := t.Result.Measured(name); ok {
			shown.Metrics[name] = digits(value)
		}
	}
	shown.Seconds, shown.Error = digits(t.Result.Seconds), shortened(t.Result.Error)
	return shown
}

type bestRequest struct {
	sweepName
	Metric string   `json:"metric,omitempty" jsonschema:"default: the sweep's objective"`
	Where  []string `json:"where,omitempty" jsonschema:"conditions such as lr<0.01 or m1= (no m1); all must hold"`
	Limit  int      `json:"limit,omitempty" jsonschema:"at most 100; default 5"`
}

type bestAnswer struct {
	Sweep  string       `json:"sweep"`
	Metric string       `json:"metric"`
	Goal   string       `json:"goal"`
	Note   string       `json:"note,omitempty"`
	Notes  []string     `json:"notes,omitempty"`
	Trials []shownTrial `json:"trials"`
}

func (a *Tools) best(ctx context.Context, in *bestRequest) (out *bestAnswer, err error) {
	err = a.record(ctx, in.Sweep, func(results sweep.Reader, record *sweep.SweepRecord) error {
		out = &bestAnswer{Sweep: record.ID, Trials: []shownTrial{}}
		out.Metric, out.Goal = objectiveOf(ctx, results, record)
		names := frame.NamesIn(ctx, results, record)
		by := sweep.MetricKind.Of(out.Metric)
		if in.Metric != "" {
			all, err := names.Read("metric", in.Metric)
			if err != nil {
				return err
			}
			if by, out.Metric = all[0], all[0].Own(); !by.Is(sweep.MetricKind) {
				return fmt.Errorf("%s is the %s %s of sweep %s, not a metric", in.Metric, frame.KindText(by), by,
					record.ID)
			}
			out.Goal = record.Goal(out.Metric)
		}
		if out.Metric == "" {
			return fmt.Errorf("sweep %s: no trial has reported a metric yet", record.ID)
		}
		if record.Goal(out.Metric) == "" {
			out.Goal = sweep.Minimize
			out.Note = "neither the sweep file nor the trainer says which values of " + out.Metric + " are better: " +
				"the smallest are taken for it"
		}
		query, err := names.Query(in.Where, []string{string(sweep.Completed)}, "")
		if err != nil {
			return err
		}
		query.OrderBy, query.Descending, query.Limit = by, out.Goal == sweep.Maximize, bounded(in.Limit, 5, 100)
		out.Notes = names.Remarks()
		metrics := append([]string{out.Metric}, frame.MainMetrics(ctx, results, record)...)
		parameters := progress.Varied(record, true)
		return results.Trials(ctx, query, func(t *sweep.TrialRecord) error {
			if t.Result == nil {
				return nil
			}
			if _, has := t.Result.Summary[out.Metric]; has {
				out.Trials = append(out.Trials, shownTrialOf(t, parameters, metrics))
			}
			return nil
		})
	})
	return out, err
}

type trialsRequest struct {
	sweepName
	Where      []string `json:"where,omitempty" jsonschema:"conditions such as lr<0.01 or m1= (no m1); all must hold"`
	States     []string `json:"states,omitempty" jsonschema:"only these states, such as failed"`
	Sort       string   `json:"sort,omitempty" jsonschema:"parameter, metric or column; default: index"`
	Descending bool     `json:"descending,omitempty" jsonschema:"largest first"`
	Columns    []string `json:"columns,omitempty" jsonschema:"parameters and metrics to show; default: the main ones"`
	Limit      int      `json:"limit,omitempty" jsonschema:"trials of a page, at most 100; default 20"`
	After      *int64   `json:"after,omitempty" jsonschema:"next of the page before"`
}

type trialsAnswer struct {
	Sweep  string       `json:"sweep"`
	Notes  []string     `json:"notes,omitempty"`
	Trials []shownTrial `json:"trials"`
	Next   *int64       `json:"next,omitempty" jsonschema:"pass it as after to get the next page"`
}

func (a *Tools) trials(ctx context.Context, in *trialsRequest) (out *trialsAnswer, err error) {
	err = a.record(ctx, in.Sweep, func(results sweep.Reader, record *sweep.SweepRecord) error {
		out = &trialsAnswer{Sweep: record.ID, Trials: []shownTrial{}}
		limit := bounded(in.Limit, 20, 100)
		names := frame.NamesIn(ctx, results, record)
		query, err := names.Query(in.Where, in.States, in.Sort)
		if err != nil {
			return err
		}
		query.Descending, query.Limit = in.Descending, limit+1
		if in.After != nil && *in.After >= 0 {
			query.After = &sweep.TrialID{Sweep: record.ID, Index: *in.After}
		}
		parameters, metrics := progress.Varied(record, true), frame.MainMetrics(ctx, results, record)
		if len(in.Columns) > 0 {
			if parameters, metrics, err = names.Divided(in.Columns); err != nil {
				return err
			}
		}
		out.Notes = names.Remarks()
		return results.Trials(ctx, query, func(t *sweep.TrialRecord) error {
			if len(out.Trials) == limit {
				out.Next = &out.Trials[limit-1].Index
				return nil
			}
			out.Trials = append(out.Trials, shownTrialOf(t, parameters, metrics))
			return nil
		})
	})
	return out, err
}

type compareRequest struct {
	sweepName
	By      []string `json:"by,omitempty" jsonschema:"parameters that group trials; default: all that vary but seed"`
	Metrics []string `json:"metrics,omitempty" jsonschema:"default: the objective and the other main metrics"`
	Where   []string `json:"where,omitempty" jsonschema:"conditions such as lr<0.01 or m1= (no m1); all must hold"`
	Limit   int      `json:"limit,omitempty" jsonschema:"groups, at most 50; default 10"`
}

type compareAnswer struct {
	Sweep  string       `json:"sweep"`
	By     []string     `json:"by"`
	Metric string       `json:"metric,omitempty" jsonschema:"groups are sorted by the mean of this metric"`
	Goal   string       `json:"goal,omitempty"`
	Notes  []string     `json:"notes,omitempty"`
	Groups []shownGroup `json:"groups"`
	More   int          `json:"more,omitempty" jsonschema:"further groups that are not shown"`
}

type shownGroup struct {
	Parameters map[string]any         `json:"parameters"`
	Trials     int64                  `json:"trials"`
	Completed  int64                  `json:"completed"`
	Diverged   int64                  `json:"diverged,omitempty" jsonschema:"excluded from means"`
	Failed     int64                  `json:"failed,omitempty"`
	Metrics    map[string]groupMetric `json:"metrics"`
}

type groupMetric struct {
	Count     int64    `json:"count"`
	Mean      *float64 `json:"mean"`
	SD        *float64 `json:"sd,omitempty"`
	Best      *float64 `json:"best"`
	BestTrial int64    `json:"best_trial"`
}

func (a *Tools) compare(ctx context.Context, in *compareRequest) (out *compareAnswer, err error) {
	err = a.record(ctx, in.Sweep, func(results sweep.Reader, record *sweep.SweepRecord) error {
		names := frame.NamesIn(ctx, results, record)
		query, err := names.Query(in.Where, nil, "")
		if err != nil {
			return err
		}
		if _, _, err := names.Divided(slices.Concat(in.By, in.Metrics)); err != nil {
			return err
		}
		by, metrics := names.Own(in.By, sweep.ParameterKind), names.Own(in.Metrics, sweep.MetricKind)
		if len(by) == 0 {
			by = progress.Varied(record, false)
		}
		if len(metrics) == 0 {
			metrics = frame.MainMetrics(ctx, results, record)
		}
		out = &compareAnswer{Sweep: record.ID, By: append([]string{}, by...), Groups: []shownGroup{},
			Notes: names.Remarks()}
		if len(metrics) > 0 {
			out.Metric, out.Goal = metrics[0], record.Goal(metrics[0])
		}
		goals := map[string]string{}
		for _, name := range metrics {
			goals[name] = record.Goal(name)
		}
		f, err := frame.ReadColumns(ctx, results, record, query, frame.GroupColumns(by, metrics)...)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // its files have no names
		groups, err := f.GroupBy(ctx, frame.Filter{}, by, metrics, goals, false)
		if err != nil {
			return err
		}
		limit := min(bounded(in.Limit, 10, 50), len(groups.List))
		out.More = len(groups.List) - limit
		for i := range groups.List[:limit] {
			out.Groups = append(out.Groups, shownGroupOf(groups, &groups.List[i]))
		}
		return nil
	})
	return out, err
}

func shownGroupOf(g *frame.Grouped, group *frame.Group) shownGroup {
	counts := group.Counts()
	shown := shownGroup{Parameters: g.Parameters(group), Trials: counts[0], Completed: counts[1], Diverged: counts[2],
		Failed: counts[3], Metrics: map[string]groupMetric{}}
	for k, name := range g.Metrics {
		s := &group.Metrics[k]
		if s.N == 0 {
			continue
		}
		m := groupMetric{Count: s.N, Mean: digits(*s.Mean), Best: digits(*s.BestBy(g.Goals[name])), BestTrial: s.Best}
		if s.SD != nil {
			m.SD = digits(*s.SD)
		}
		shown.Metrics[name] = m
	}
	return shown
}

type curvesRequest struct {
	sweepName
	Trials  []int64  `json:"trials" jsonschema:"indices of 1 to 10 trials"`
	Metrics []string `json:"metrics,omitempty" jsonschema:"default: the first three that the trial has"`
	Samples int      `json:"samples,omitempty" jsonschema:"samples of a curve, at most 200; default 20"`
}

type curvesAnswer struct {
	Sweep  string         `json:"sweep"`
	Curves []curveSamples `json:"curves"`
	Others []string       `json:"other_metrics,omitempty" jsonschema:"metrics with curves that are not shown"`
}

type curveSamples struct {
	Trial    int64      `json:"trial"`
	Metric   string     `json:"metric"`
	Of       int        `json:"of" jsonschema:"samples that the curve has"`
	Smallest *float64   `json:"smallest,omitempty"`
	Largest  *float64   `json:"largest,omitempty"`
	Steps    []int64    `json:"steps"`
	Values   []*float64 `json:"values"`
}

// maxSamples bounds the samples of an answer; metricsShown is how many metrics it has unless some are named.
const (
	maxSamples   = 4000
	metricsShown = 3
)

func (a *Tools) curves(ctx context.Context, in *curvesRequest) (out *curvesAnswer, err error) {
	if len(in.Trials) < 1 || len(in.Trials) > 10 {
		return nil, fmt.Errorf("%d trials: expected 1 to 10", len(in.Trials))
	}
	err = a.record(ctx, in.Sweep, func(results sweep.Reader, record *sweep.SweepRecord) error {
		out = &curvesAnswer{Sweep: record.ID, Curves: []curveSamples{}}
		var found []sweep.Curve
		var owners []int64
		metrics := frame.NamesIn(ctx, results, record).Own(in.Metrics, sweep.MetricKind)
		for _, index := range in.Trials {
			id := sweep.TrialID{Sweep: record.ID, Index: index}
			curves, err := results.Curves(ctx, id)
			if err == nil && len(in.Metrics) > 0 {
				err = sweep.CheckCurves(ctx, results, id, metrics, curves)
			}
			if err != nil {
				return err
			}
			for i := range curves {
				name := curves[i].Metric
				if len(in.Metrics) == 0 && len(metrics) < metricsShown && !slices.Contains(metrics, name) {
					metrics = append(metrics, name)
				}
				if slices.Contains(metrics, name) {
					found, owners = append(found, curves[i]), append(owners, index)
				} else if !slices.Contains(out.Others, name) {
					out.Others = append(out.Others, name)
				}
			}
		}
		each := min(bounded(in.Samples, 20, 200), max(maxSamples/max(len(found), 1), 2))
		for i := range found {
			out.Curves = append(out.Curves, shownCurve(owners[i], &found[i], each))
		}
		return nil
	})
	return out, err
}

// shownCurve shows a curve by so many of its samples, the first and the last among them.
func shownCurve(trial int64, c *sweep.Curve, most int) curveSamples {
	n := len(c.Values)
	shown := curveSamples{Trial: trial, Metric: c.Metric, Of: n, Steps: []int64{}, Values: []*float64{}}
	low, high := c.Bounds()
	shown.Smallest, shown.Largest = digits(float64(low)), digits(float64(high))
	for i := range min(n, most) {
		at := i
		if n > most {
			at = i * (n - 1) / max(most-1, 1)
		}
		shown.Steps = append(shown.Steps, c.Steps[at])
		shown.Values = append(shown.Values, digits(float64(c.Values[at])))
	}
	return shown
}
