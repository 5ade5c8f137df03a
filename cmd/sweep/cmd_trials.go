package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/frame"
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
	columns    namesFlag
	groupBy    namesFlag
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

--where compares a parameter, a summary metric or a column (index, seconds, refusals)
with a value: NAME=VALUE, or !=, <, <=, >, >= in place of =. Trials must meet all
conditions.

Write names as they are, commas and operators included, or in double quotes:
"acc, top-5">0.5. If a parameter, a metric and a column share a name, write
parameter.lr, metric.lr or trial.state. A plain name means the metric with --sort, the
parameter with --group-by, and with --where the parameter if it can have the value, else
the metric. The command prints which one it used, and shows both.

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
	f.StringSliceVar(&options.states, "state", nil, "only these states: pending, queued, running, completed, "+
		"diverged, failed, cancelled, stopped, skipped")
	f.StringVar(&options.sort, "sort", "index", "parameter, metric or column to sort by")
	f.BoolVar(&options.descending, "descending", false, "largest first (default: the best first)")
	f.BoolVar(&options.best, "best", false, "show only the best trial of each group, by the sweep file's select")
	f.Int64Var(&options.after, "after", -1, "continue after the trial with this index")
	f.IntVar(&options.limit, "limit", 50, "maximum number of trials; 0 lists all")
	f.Var(&options.columns, "columns", "parameters and metrics to show (default: those that differ, "+
		"and the main metrics)")
	f.Var(&options.groupBy, "group-by", "list groups of trials that agree in these parameters; '*' "+
		"for all that vary but the seed")
	f.BoolVar(&options.wide, "wide", false, "show all columns and whole values, whatever the width of the terminal")
	f.BoolVar(&options.asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func runTrials(cmd *cobra.Command, results sweep.Reader, record *sweep.SweepRecord, options *trialsOptions) error {
	if cmd.Flags().Changed("after") && options.after < 0 {
		return usageError("--after %d: expected the index of a trial", options.after)
	}
	if !cmd.Flags().Changed("sort") {
		options.sort = ""
	}
	names := frame.NamesIn(cmd.Context(), results, record)
	query, err := names.Query(options.where, options.states, options.sort)
	if err != nil {
		return err
	}
	query.Descending, query.Limit, query.Best = options.descending, options.limit, options.best
	if options.after >= 0 {
		query.After = &sweep.TrialID{Sweep: record.ID, Index: options.after}
	}
	if !cmd.Flags().Changed("descending") {
		query.Descending = query.OrderBy.Is(sweep.MetricKind) && record.Goal(query.OrderBy.Own()) == sweep.Maximize
	}
	shown, err := options.shown(names)
	if err != nil {
		return err
	}
	if options.asJSON {
		remark(cmd.ErrOrStderr(), names)
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
	both := says(cmd.ErrOrStderr(), names, trials)
	table := trialTable(names, record, trials, shown, both)
	table.wide = options.wide
	if err := table.write(cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
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
// go last; those of both are always shown.
func trialTable(names *frame.Names, record *sweep.SweepRecord, trials []*sweep.TrialRecord, asked [][]sweep.Name,
	both []sweep.Name) *columns {
	table := &columns{more: "--columns NAME,… or --wide shows them"}
	fixed := []sweep.Name{sweep.FieldKind.Of("index"), sweep.FieldKind.Of("state")}
	for _, name := range fixed {
		table.add(always, names.Label(name))
	}
	shown := slices.Clone(fixed)
	add := func(rank int, name sweep.Name) {
		if slices.Contains(both, name) {
			rank = always
		}
		if !slices.Contains(shown, name) {
			shown = append(shown, name)
			label := names.Label(name)
			if logged := sweep.MetricKind.Of(name.Own()); name.Is(sweep.ParameterKind) && names.Has(logged) &&
				covers(trials, name, logged) { // programs log what they are given
				label = name.Own()
			}
			table.add(rank, label)
		}
	}
	for _, all := range asked {
		for _, name := range differing(trials, all) {
			add(always, name)
		}
	}
	if len(asked) == 0 {
		parameters := progress.Varied(record, true)
		for i, own := range parameters {
			add(10+i, sweep.ParameterKind.Of(own))
		}
		first := competing(record)
		for i, name := range shownMetrics(record, trials) {
			rank := 1000 + i
			switch {
			case name == sweep.FieldKind.Of("seconds"):
				rank = 999
			case slices.Contains(first, name.Own()) && name.Is(sweep.MetricKind):
				rank = 1 + i
			}
			if parameter := sweep.ParameterKind.Of(name.Own()); slices.Contains(parameters, name.Own()) &&
				name.Is(sweep.MetricKind) && covers(trials, parameter, name) {
				continue
			}
			add(rank, name)
		}
	}
	for _, name := range both {
		add(always, name)
	}
	for _, t := range trials {
		cells := []string{fmt.Sprint(t.Index), t.StateText()}
		for _, name := range shown[len(fixed):] {
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

// shown is what each of the columns that are asked for may mean.
func (o *trialsOptions) shown(names *frame.Names) (shown [][]sweep.Name, err error) {
	for _, text := range o.columns.in(names) {
		all, err := names.Read("columns", text)
		if err != nil {
			return nil, err
		}
		shown = append(shown, all)
	}
	return shown, nil
}

// shownMetrics chooses the summary metrics that have a goal or, of programs, all that came, the ones by which
// trials compete first; and the time that trials took.
func shownMetrics(record *sweep.SweepRecord, trials []*sweep.TrialRecord) []sweep.Name {
	have := frame.Reported{}
	for _, t := range trials {
		_ = have.Add(t) // it never fails
	}
	var names []sweep.Name
	add := func(list ...string) {
		for _, own := range list {
			if name := sweep.MetricKind.Of(own); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if isOpen(record) {
		add(competing(record)...)
		add(have.Sorted()...)
		return append(names, sweep.FieldKind.Of("seconds"))
	}
	for _, g := range record.Grids {
		for _, m := range g.Submission.Description.Metrics {
			if m.Summary && have[m.Name] && (m.Goal != "" || m.Name == sweep.BestEpochMetric) {
				add(m.Name)
			}
		}
	}
	return append(names, sweep.FieldKind.Of("seconds"))
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
	"seconds": func(r *sweep.Result) any {
		if r.Seconds == 0 {
			return notReported
		}
		return fmt.Sprintf("%.3g", r.Seconds)
	},
	"kernel_level": func(r *sweep.Result) any { return r.KernelLevel },
	"diverged":     func(r *sweep.Result) any { return r.Diverged },
	"error":        func(r *sweep.Result) any { return r.Error },
	"digest":       func(r *sweep.Result) any { return r.Digest },
}

func indent(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}
