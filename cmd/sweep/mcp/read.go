package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sweep/sweep"
	"sweep/sweep/frame"
	"sweep/sweep/progress"
	"sweep/sweep/wire"
)

// addReading adds the tools that read sweeps, logs, SQL and trainers.
func (a *Tools) addReading(server *sdk.Server) {
	addReader(a, server, "list", "List sweeps, newest first.", a.list)
	addWaiter(server, "status", "Show one sweep: its state, counts of trials, objective, varied parameters, why it "+
		"waits and why trials failed. With wait_seconds, answer when it ends or waits.", a.status)
	addReader(a, server, "logs", "Read the end of what a trial wrote to standard error, also while it runs.", a.logs)
	addReader(a, server, "sql", "Run one read-only SQL statement. Views: results, best_trials, point_means, curves; "+
		"sweep://docs/views.md explains all; with sweep, t has a row per trial and a column for each parameter and "+
		"metric.", a.sql)
	addReader(a, server, "describe_trainer", "List a trainer's parameters and metrics; with names, their full "+
		"documentation.", a.describeTrainer)
	addReader(a, server, "check", "Check the text of a sweep file and estimate its cost, without running it.", a.check)
}

type listRequest struct {
	State string `json:"state,omitempty" jsonschema:"active, waiting, paused, finished or cancelled; default: all"`
	Limit int    `json:"limit,omitempty" jsonschema:"sweeps of a page, at most 100; default 20"`
	After string `json:"after,omitempty" jsonschema:"next of the page before"`
}

type listAnswer struct {
	Sweeps []listedSweep `json:"sweeps"`
	Next   string        `json:"next,omitempty" jsonschema:"pass it as after to get the next page"`
}

type listedSweep struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	State     sweep.SweepState `json:"state"`
	Reason    string           `json:"reason,omitempty"`
	Trials    int64            `json:"trials"`
	Completed int64            `json:"completed"`
	Failed    int64            `json:"failed"`
	CreatedAt time.Time        `json:"created_at"`
}

// sweepStates are the states of sweeps.
var sweepStates = []sweep.SweepState{sweep.SweepActive, sweep.SweepWaiting, sweep.SweepPaused, sweep.SweepFinished,
	sweep.SweepCancelled}

func (a *Tools) list(ctx context.Context, in *listRequest) (*listAnswer, error) {
	out := &listAnswer{Sweeps: []listedSweep{}}
	return out, a.Read(ctx, func(results sweep.Reader) error {
		var states []sweep.SweepState
		if in.State != "" {
			if !slices.Contains(sweepStates, sweep.SweepState(in.State)) {
				return fmt.Errorf("state %q: expected one of %v", in.State, sweepStates)
			}
			states = append(states, sweep.SweepState(in.State))
		}
		records, err := results.Sweeps(ctx, states...)
		if err != nil {
			return err
		}
		if in.After != "" {
			at := slices.IndexFunc(records, func(r sweep.SweepRecord) bool { return r.ID == in.After })
			if at < 0 {
				return fmt.Errorf("after %q: no such sweep in this list: begin again without after", in.After)
			}
			records = records[at+1:]
		}
		limit := bounded(in.Limit, 20, 100)
		for i := range records[:min(limit, len(records))] {
			r := &records[i]
			counts, err := results.Progress(ctx, r.ID)
			if err != nil {
				return err
			}
			out.Sweeps = append(out.Sweeps, listedSweep{r.ID, r.Name, r.State, r.Reason, counts.Total(),
				counts.Completed, counts.Failed, r.CreatedAt})
			if i+1 == limit && len(records) > limit {
				out.Next = r.ID
			}
		}
		return nil
	})
}

type statusRequest struct {
	sweepName
	WaitSeconds int `json:"wait_seconds,omitempty" jsonschema:"wait so long for the end of the sweep, at most 300"`
}

type statusAnswer struct {
	progress.Status
	Problem    string    `json:"problem,omitempty" jsonschema:"what keeps trials from advancing"`
	Parameters []string  `json:"parameters" jsonschema:"the parameters in which trials differ"`
	Failures   []failure `json:"failures,omitempty" jsonschema:"the most frequent errors of failed trials"`
}

// failure is an error that trials have in common.
type failure struct {
	Error  string `json:"error"`
	Trials int64  `json:"trials"`
	Trial  int64  `json:"trial" jsonschema:"the first of them"`
}

// statusPause is the time between two looks at a sweep that is waited for.
const statusPause = 300 * time.Millisecond

func (a *Tools) status(ctx context.Context, in *statusRequest) (out *statusAnswer, err error) {
	deadline := time.Now().Add(time.Duration(min(in.WaitSeconds, 300)) * time.Second)
	err = a.record(ctx, in.Sweep, func(results sweep.Reader, record *sweep.SweepRecord) error {
		for record.State == sweep.SweepActive && time.Now().Before(deadline) && a.Problem() == nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(statusPause):
			}
			if record, err = results.Sweep(ctx, record.ID); err != nil {
				return err
			}
		}
		list, err := progress.StatusOf(ctx, results, record.ID)
		if err != nil {
			return err
		}
		out = &statusAnswer{Status: list[0], Problem: wire.ProblemOf(results),
			Parameters: append([]string{}, progress.Varied(record, true)...)}
		out.Losses = out.Losses[:min(len(out.Losses), progress.ShownLosses)]
		out.Metric, out.Goal = objectiveOf(ctx, results, record)
		if problem := a.Problem(); problem != nil {
			out.Problem = problem.Error()
		}
		out.Failures, err = failuresOf(ctx, results, record.ID)
		return err
	})
	return out, err
}

// objectiveOf returns the metric by which the trials of a sweep are compared, and its goal.
func objectiveOf(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord) (metric, goal string) {
	names := frame.MainMetrics(ctx, results, record)
	if len(names) == 0 {
		return "", ""
	}
	if goal = record.Goal(names[0]); goal == "" {
		goal = sweep.Minimize
	}
	return names[0], goal
}

// failuresOf returns the most frequent errors of the failed trials of a sweep.
func failuresOf(ctx context.Context, results sweep.Reader, id string) (list []failure, err error) {
	err = results.Query(ctx, "SELECT error, count(*), min(trial_index) FROM results WHERE sweep_id = '"+id+
		"' AND state = 'failed' GROUP BY error ORDER BY 2 DESC, 3 LIMIT 5", func(_ []string, row []any) error {
		text, _ := row[0].(string)
		count, _ := row[1].(int64)
		first, _ := row[2].(int64)
		list = append(list, failure{shortened(text), count, first})
		return nil
	})
	return list, err
}

// maxText is how much of a text an answer has, in bytes.
const maxText = 1000

// shortened is the beginning of a text.
func shortened(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

type logsRequest struct {
	sweepName
	Trial     int64  `json:"trial" jsonschema:"index of the trial"`
	Execution string `json:"execution,omitempty" jsonschema:"default: the last"`
	Bytes     int    `json:"bytes,omitempty" jsonschema:"at most 16000; default 4000"`
}

type logsAnswer struct {
	Text    string `json:"text"`
	Omitted int    `json:"omitted,omitempty" jsonschema:"bytes before text that are left out"`
	Note    string `json:"note,omitempty"`
}

func (a *Tools) logs(ctx context.Context, in *logsRequest) (out *logsAnswer, err error) {
	err = a.record(ctx, in.Sweep, func(results sweep.Reader, record *sweep.SweepRecord) error {
		var text, notes strings.Builder
		id := sweep.TrialID{Sweep: record.ID, Index: in.Trial}
		if err := a.Logs(ctx, results, id, in.Execution, &text, &notes); err != nil {
			return err
		}
		out = &logsAnswer{Text: text.String(), Note: strings.TrimSpace(notes.String())}
		if more := len(out.Text) - bounded(in.Bytes, 4000, 16000); more > 0 {
			out.Text, out.Omitted = strings.ToValidUTF8(out.Text[more:], ""), more
		}
		return nil
	})
	return out, err
}

type sqlRequest struct {
	Statement string `json:"statement" jsonschema:"one read-only SQL statement"`
	Sweep     string `json:"sweep,omitempty" jsonschema:"sweep whose trials are available as t"`
	Limit     int    `json:"limit,omitempty" jsonschema:"rows, at most 1000; default 100"`
}

type sqlAnswer struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	More    bool     `json:"more,omitempty" jsonschema:"there are more rows: use LIMIT and OFFSET"`
}

// maxBytes bounds the rows of an answer.
const maxBytes = 64 << 10

// errEnough ends a query whose further rows are not needed.
var errEnough = errors.New("enough rows")

func (a *Tools) sql(ctx context.Context, in *sqlRequest) (*sqlAnswer, error) {
	out := &sqlAnswer{Columns: []string{}, Rows: [][]any{}}
	limit, size := bounded(in.Limit, 100, 1000), 0
	row := func(columns []string, row []any) error {
		out.Columns = columns
		if len(out.Rows) == limit || size > maxBytes {
			out.More = true
			return errEnough
		}
		values := make([]any, len(row))
		for i, v := range row {
			switch v := v.(type) {
			case float64:
				values[i] = digits(v)
			case []byte:
				values[i] = shortened(string(v))
				size += len(v)
			case string:
				values[i] = shortened(v)
				size += len(v)
			default:
				values[i] = v
			}
			size += 8
		}
		out.Rows = append(out.Rows, values)
		return nil
	}
	return out, a.Read(ctx, func(results sweep.Reader) (err error) {
		if in.Sweep != "" {
			err = results.QuerySweep(ctx, in.Sweep, in.Statement, row)
		} else {
			err = results.Query(ctx, in.Statement, row)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
}

type trainerRequest struct {
	Trainer string   `json:"trainer,omitempty" jsonschema:"default: builtin"`
	Names   []string `json:"names,omitempty" jsonschema:"parameters and metrics to document in full"`
}

type trainerAnswer struct {
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	Parameters []describedName `json:"parameters"`
	Metrics    []describedName `json:"metrics"`
}

type describedName struct {
	Name    string `json:"name"`
	Accepts string `json:"accepts" jsonschema:"type, values and default of a parameter; goal and unit of a metric"`
	Doc     string `json:"doc,omitempty"`
}

func (a *Tools) describeTrainer(ctx context.Context, in *trainerRequest) (*trainerAnswer, error) {
	var args []string
	if in.Trainer != "" {
		args = append(args, in.Trainer)
	}
	d, err := a.Describe(ctx, args)
	if err != nil {
		return nil, err
	}
	out := &trainerAnswer{Name: d.Name, Version: d.Version, Parameters: []describedName{}, Metrics: []describedName{}}
	unknown := slices.Clone(in.Names)
	asked := func(name string) bool {
		unknown = slices.DeleteFunc(unknown, func(other string) bool { return other == name })
		return slices.Contains(in.Names, name)
	}
	for _, p := range d.Parameters {
		one := describedName{Name: p.Name, Accepts: p.Accepts()}
		if asked(p.Name) {
			one.Doc = strings.Join(slices.Concat(p.DefaultsText(), []string{p.Doc}, p.AppliesText()), "\n")
		} else if len(in.Names) > 0 {
			continue
		}
		out.Parameters = append(out.Parameters, one)
	}
	for _, m := range d.Metrics {
		one := describedName{Name: m.Name, Accepts: strings.TrimSpace(m.Goal + " " + m.Unit)}
		if asked(m.Name) {
			one.Doc = m.Doc
		} else if len(in.Names) > 0 {
			continue
		}
		out.Metrics = append(out.Metrics, one)
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("trainer %s has no parameter or metric %s", d.Name, strings.Join(unknown, ", "))
	}
	return out, nil
}

type checkRequest struct {
	File string `json:"file" jsonschema:"text of the sweep file"`
}

type checkAnswer struct {
	Name        string         `json:"name"`
	Trials      int64          `json:"trials"`
	First       map[string]any `json:"first" jsonschema:"the first grid point"`
	Last        map[string]any `json:"last"`
	CoreSeconds float64        `json:"core_seconds,omitempty" jsonschema:"estimated training time of one core"`
	Bytes       int64          `json:"bytes,omitempty" jsonschema:"estimated memory of a trial"`
	Notes       []string       `json:"notes,omitempty"`
}

func (a *Tools) check(ctx context.Context, in *checkRequest) (*checkAnswer, error) {
	p, err := a.plan(ctx, in.File)
	if err != nil {
		return nil, err
	}
	out := &checkAnswer{Name: p.Submission.Spec.Name, Trials: p.Grid.Count(), Bytes: p.Bytes, Notes: p.Notes}
	if err := a.Runs(&p.Submission.Spec); err != nil {
		out.Notes = append(out.Notes, "cannot be submitted here: "+err.Error())
	}
	first, err := p.Grid.At(0)
	if err != nil {
		return nil, err
	}
	last, err := p.Grid.At(p.Grid.Known() - 1)
	if err != nil {
		return nil, err
	}
	out.First, out.Last = first, last
	rate, err := p.Speed(ctx)
	if err != nil {
		return nil, err
	}
	if seconds := digits(p.Submission.Flops / rate); rate > 0 && seconds != nil {
		out.CoreSeconds = *seconds
	}
	return out, nil
}
