package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/progress"
)

type trialsOptions struct {
	where      []string
	states     []string
	sort       string
	descending bool
	best       bool
	after      int64
	limit      int
	columns    []string
	groupBy    []string
	wide       bool
	asJSON     bool
}

func newTrials(s *settings) *cobra.Command {
	var options trialsOptions
	cmd := &cobra.Command{
		Use:   "trials [SWEEP]",
		Short: "List a sweep's trials, filtered and sorted by parameters or metrics",
		Long: `Without SWEEP, the newest sweep is listed. By default the list shows the parameters in
which the trials differ, and their summary metrics, as many as fit the terminal (100
columns elsewhere); it names the others, which --columns or --wide show. Numbers are
shortened, except with --json. The list is followed by the reasons why trials failed
and why workers refused trials; a refusal is not a failure.

--where compares a parameter, a summary metric or a column (index, seconds,
parameter_count, best_epoch, refusals) with a value: NAME=VALUE, or !=, <, <=, >, >=
in place of =. Trials must meet all conditions.

--sort takes the same names. A metric with a goal is sorted with its best value first;
--descending sets the direction explicitly. Trials without a value come last. To get
the next page, pass the last index with --after.

--best shows only the best trial of each group, by the sweep file's select. --group-by
lists groups of trials that agree in the given parameters ('*': all but the seed), the
best group first, with their number of trials, mean ± standard deviation of each
metric, and the best trial by the metric that sorts them. Failed and diverged trials are
excluded from means and counted separately.

Exit codes: 0 done, 2 an invalid condition, 4 no such sweep.`,
		Example: `  sweep trials --sort validation_loss --limit 10
  sweep trials ucr --where dataset=CBF --where 'lr<0.01' --sort test_accuracy
  sweep trials ucr --sort validation_loss --after 17
  sweep trials ucr --group-by '*' --limit 10
  sweep trials ucr --group-by dataset,model --columns test_accuracy
  sweep trials --state failed --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if options.wide && options.asJSON {
				return usageError("--wide and --json exclude each other: JSON always has everything")
			}
			return withSweep(cmd, s.openReader, args, func(results reader, record *sweep.SweepRecord) error {
				if len(options.groupBy) > 0 {
					return runGroups(cmd, results, record, &options)
				}
				return runTrials(cmd, results, record, &options)
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&options.where, "where", nil, "condition on a parameter, metric or column, such as lr=0.01")
	f.StringSliceVar(&options.states, "state", nil, "only these states: pending, queued, running, completed, failed, "+
		"cancelled, stopped, skipped")
	f.StringVar(&options.sort, "sort", "index", "parameter, metric or column to sort by")
	f.BoolVar(&options.descending, "descending", false, "largest first (default: the best first)")
	f.BoolVar(&options.best, "best", false, "show only the best trial of each group, by the sweep file's select")
	f.Int64Var(&options.after, "after", -1, "continue after the trial with this index")
	f.IntVar(&options.limit, "limit", 50, "maximum number of trials; 0 lists all")
	f.StringSliceVar(&options.columns, "columns", nil, "parameters and metrics to show (default: those that differ, "+
		"and the main metrics)")
	f.StringSliceVar(&options.groupBy, "group-by", nil, "list groups of trials that agree in these parameters; '*' "+
		"for all that vary but the seed")
	f.BoolVar(&options.wide, "wide", false, "show all columns and whole values, whatever the width of the terminal")
	f.BoolVar(&options.asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func runTrials(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord, options *trialsOptions) error {
	if !cmd.Flags().Changed("descending") {
		options.descending = goalOf(record, options.sort) == sweep.Maximize
	}
	if cmd.Flags().Changed("after") && options.after < 0 {
		return usageError("--after %d: expected the index of a trial", options.after)
	}
	query, err := options.query(record.ID)
	if err != nil {
		return err
	}
	if err := checkNames(cmd.Context(), results, record, query, options.columns); err != nil {
		return err
	}
	if options.asJSON {
		return exportLines(cmd, results, query, false, cmd.OutOrStdout())
	}
	if query.Limit > 0 {
		query.Limit++ // tells whether there are more
	}
	var trials []*sweep.TrialRecord
	err = results.Trials(cmd.Context(), query, func(t *sweep.TrialRecord) error {
		trials = append(trials, t)
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range trials {
		if err := fillNotFinite(cmd.Context(), results, t); err != nil {
			return err
		}
	}
	more := options.limit > 0 && len(trials) > options.limit
	if more {
		trials = trials[:options.limit]
	}
	if err := trialTable(record, trials, options).write(cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(cmd.ErrOrStderr(), "more trials match: --after %d shows the next, --limit 0 all\n",
			trials[len(trials)-1].Index)
	}
	ties := map[int64]int64{}
	if options.best {
		ties = tiesOf(cmd.Context(), results, record.ID)
	}
	for _, t := range trials {
		if others := ties[t.Index]; others > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "\ntrial %d: ties in its group: %d\n",
				t.Index, others)
		}
	}
	for _, note := range trialNotes(trials) {
		fmt.Fprint(cmd.OutOrStdout(), note)
	}
	return nil
}

// trialTable lays trials out. If not all columns fit, the metric by which trials compete and the parameters
// go last.
func trialTable(record *sweep.SweepRecord, trials []*sweep.TrialRecord, options *trialsOptions) *columns {
	table := &columns{wide: options.wide, more: "--columns NAME,… or --wide shows them"}
	table.add(always, "index", "state")
	var names []string
	if len(options.columns) > 0 {
		names = slices.DeleteFunc(slices.Clone(options.columns), func(name string) bool {
			return slices.Contains(table.names, name)
		})
		table.add(always, names...)
	} else {
		var parameters, metrics []string
		parameters, metrics = variedParameters(record, true), shownMetrics(record, trials)
		names = append(slices.Clone(parameters), metrics...)
		for i, name := range parameters {
			table.add(10+i, name)
		}
		first := competing(record)
		for i, name := range metrics {
			rank := 1000 + i
			switch {
			case name == "seconds":
				rank = 999
			case slices.Contains(first, name):
				rank = 1 + i
			}
			table.add(rank, name)
		}
	}
	for _, t := range trials {
		cells := []string{fmt.Sprint(t.Index), trialState(t)}
		for _, name := range names {
			cells = append(cells, trialCell(t, name))
		}
		table.row(cells...)
	}
	return table
}

// tiesOf returns how many others are exactly as good as the best trials of a sweep, by
// their indices; none where the database answers no SQL.
func tiesOf(ctx context.Context, results sweep.Reader, id string) map[int64]int64 {
	ties := map[int64]int64{}
	_ = results.Query(ctx, "SELECT trial_index, ties FROM best_trials WHERE ties > 0 AND sweep_id = '"+id+"'",
		func(_ []string, row []any) error {
			index, _ := row[0].(int64)
			ties[index], _ = row[1].(int64)
			return nil
		})
	return ties
}

func (o *trialsOptions) query(id string) (sweep.TrialQuery, error) {
	q := sweep.TrialQuery{Sweeps: []string{id}, OrderBy: o.sort, Descending: o.descending, Limit: o.limit}
	q.Best = o.best
	if o.after >= 0 {
		q.After = &sweep.TrialID{Sweep: id, Index: o.after}
	}
	for _, name := range o.states {
		state := sweep.State(name)
		if !slices.Contains(sweep.States, state) {
			return q, usageError("--state %s: expected one of %v", name, sweep.States)
		}
		q.States = append(q.States, state)
	}
	for _, text := range o.where {
		condition, err := parseCondition(text)
		if err != nil {
			return q, err
		}
		q.Where = append(q.Where, condition)
	}
	return q, nil
}

// checkNames refuses what no trial of a sweep can have: sorted by that, trials are in
// no order. Which metrics a program reports is known when its sweep has ended.
func checkNames(ctx context.Context, results sweep.Reader, record *sweep.SweepRecord, query sweep.TrialQuery,
	shown []string) error {
	known := slices.Clone(sweep.TrialColumns)
	open := false
	for _, g := range record.Grids {
		description := &g.Submission.Description
		open = open || len(description.Metrics) == 0
		for i := range description.Metrics {
			known = append(known, description.Metrics[i].Name)
		}
		for i := range description.Parameters {
			known = append(known, description.Parameters[i].Name)
		}
		known = append(known, variedParameters(record, false)...)
	}
	type flagged struct{ flag, name string }
	var all []flagged
	if query.OrderBy != "" {
		all = append(all, flagged{"sort", query.OrderBy})
	}
	for _, condition := range query.Where {
		all = append(all, flagged{"where", condition.Name})
	}
	for _, name := range shown {
		all = append(all, flagged{"columns", name})
	}
	for _, f := range all {
		mayHave := open && record.State != sweep.SweepFinished
		if mayHave || slices.Contains(known, f.name) || open && anyHas(ctx, results, record.ID, f.name) {
			continue
		}
		hint := ""
		if !open {
			hint = fmt.Sprintf(" (all: sweep trainer describe %s)", record.Trainer)
		}
		return usageError("--%s %s: no trial of this sweep has this name; trials differ in %s, and have metrics "+
			"such as %s%s", f.flag, f.name, strings.Join(variedParameters(record, false), ", "),
			strings.Join(mainMetrics(ctx, results, record), ", "), hint)
	}
	return nil
}

// anyHas reports whether a trial of a sweep has a parameter or metric, true if that cannot be told.
func anyHas(ctx context.Context, results sweep.Reader, id, name string) (found bool) {
	err := results.Trials(ctx, sweep.TrialQuery{
		Sweeps: []string{id}, Limit: 1, Where: []sweep.TrialCondition{{Name: name, Operator: "!="}},
	}, func(*sweep.TrialRecord) error {
		found = true
		return nil
	})
	return found || err != nil
}

// goalOf returns the goal of a metric: the sweep's own if its trials compete by it,
// else the trainer's.
func goalOf(record *sweep.SweepRecord, name string) string {
	for i := range record.Grids {
		submission := &record.Grids[i].Submission
		if choice := submission.Spec.Select; choice.By == name && choice.Goal != "" {
			return choice.Goal
		}
		if m := submission.Description.Metric(name); m != nil && submission.Description.Parameter(name) == nil {
			return m.Goal
		}
	}
	return ""
}

// parseCondition reads NAME OPERATOR VALUE; a value that is JSON is taken as
// that, anything else as text.
func parseCondition(text string) (sweep.TrialCondition, error) {
	at := strings.IndexAny(text, "=!<>")
	if at <= 0 {
		return sweep.TrialCondition{}, usageError("--where %q: expected NAME=VALUE, or !=, <, <=, >, >= in place of =",
			text)
	}
	operator := text[at : at+1]
	if at+1 < len(text) && text[at+1] == '=' {
		operator = text[at : at+2]
	}
	if operator == "!" {
		return sweep.TrialCondition{}, usageError("--where %q: expected != rather than !", text)
	}
	if operator == "==" {
		operator = "="
	}
	word := strings.TrimSpace(strings.TrimLeft(text[at:], "=!<>"))
	value, err := sweep.DecodeValue([]byte(word))
	if err != nil {
		value = word
	}
	return sweep.TrialCondition{Name: strings.TrimSpace(text[:at]), Operator: operator, Value: value}, nil
}

// shownMetrics chooses the summary metrics that have a goal or, of programs, all that came, the ones by which
// trials compete first; and the time that trials took.
func shownMetrics(record *sweep.SweepRecord, trials []*sweep.TrialRecord) []string {
	have := reported{}
	for _, t := range trials {
		_ = have.add(t) // it never fails
	}
	var names []string
	add := func(list ...string) {
		for _, name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if isOpen(record) {
		add(competing(record)...)
		add(have.sorted()...)
		return append(names, "seconds")
	}
	for _, g := range record.Grids {
		for _, m := range g.Submission.Description.Metrics {
			if m.Summary && m.Goal != "" && have[m.Name] {
				add(m.Name)
			}
		}
	}
	return append(names, "best_epoch", "seconds")
}

// competing are the metrics by which a sweep's trials are compared: one, if extensions name no other.
func competing(record *sweep.SweepRecord) (names []string) {
	for _, g := range record.Grids {
		if by := g.Submission.Spec.Select.By; by != "" && !slices.Contains(names, by) {
			names = append(names, by)
		}
	}
	return names
}

// isOpen reports whether trials may report metrics that no description has, as programs do.
func isOpen(record *sweep.SweepRecord) bool {
	return slices.ContainsFunc(record.Grids, func(g sweep.GridRecord) bool { return g.Submission.Description.Open })
}

func trialState(t *sweep.TrialRecord) string {
	switch {
	case t.Result != nil && t.Result.Diverged:
		return "diverged"
	case t.ReusedFrom != nil:
		return "reused"
	default:
		return string(t.State)
	}
}

// refusal tells how often a trial was refused, and why the last time.
func refusal(t *sweep.TrialRecord) string {
	times := fmt.Sprintf("refused %d times, last", t.Refusals)
	if t.Refusals == 1 {
		times = "refused"
	}
	return fmt.Sprintf("%s by worker %s: %s", times, t.RefusedBy, t.LastRefusal)
}

// trialColumns are the columns of trials that are neither parameters nor metrics.
var trialColumns = map[string]func(t *sweep.TrialRecord) any{
	"index":       func(t *sweep.TrialRecord) any { return t.Index },
	"state":       func(t *sweep.TrialRecord) any { return t.State },
	"worker":      func(t *sweep.TrialRecord) any { return t.Worker },
	"executions":  func(t *sweep.TrialRecord) any { return t.Executions },
	"charged":     func(t *sweep.TrialRecord) any { return t.Charged },
	"losses":      func(t *sweep.TrialRecord) any { return t.Losses },
	"refusals":    func(t *sweep.TrialRecord) any { return t.Refusals },
	"fingerprint": func(t *sweep.TrialRecord) any { return t.Fingerprint },
	"run_name":    func(t *sweep.TrialRecord) any { return t.RunName },
	"run_group":   func(t *sweep.TrialRecord) any { return t.RunGroup },
	"notes":       func(t *sweep.TrialRecord) any { return t.Notes },
	"tag":         func(t *sweep.TrialRecord) any { return strings.Join(t.Tags, ",") },
}

// resultColumns are those of trials that have a result.
var resultColumns = map[string]func(r *sweep.Result) any{
	"seconds":         func(r *sweep.Result) any { return costText(r.Seconds) },
	"flops":           func(r *sweep.Result) any { return costText(r.Flops) },
	"best_epoch":      func(r *sweep.Result) any { return reportedText(r.BestEpoch) },
	"parameter_count": func(r *sweep.Result) any { return reportedText(r.ParameterCount) },
	"kernel_level":    func(r *sweep.Result) any { return r.KernelLevel },
	"diverged":        func(r *sweep.Result) any { return r.Diverged },
	"error":           func(r *sweep.Result) any { return r.Error },
	"digest":          func(r *sweep.Result) any { return r.Digest },
}

func trialCell(t *sweep.TrialRecord, name string) string {
	if v, ok := t.Parameters[name]; ok {
		return progress.ValueText(v)
	}
	if t.Result != nil {
		if v, ok := t.Result.Summary[name]; ok {
			return fmt.Sprintf("%.4g", v)
		}
	}
	if column := trialColumns[name]; column != nil {
		return fmt.Sprint(column(t))
	}
	if column := resultColumns[name]; column != nil && t.Result != nil {
		return fmt.Sprint(column(t.Result))
	}
	return ""
}

func indent(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}
