package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

type trialsOptions struct {
	where      []string
	states     []string
	sort       string
	descending bool
	limit      int
	columns    []string
	asJSON     bool
}

func newTrials(s *settings) *cobra.Command {
	var options trialsOptions
	cmd := &cobra.Command{
		Use:     "trials [SWEEP]",
		Short:   "List a sweep's trials, filtered and sorted by parameters or metrics",
		GroupID: "ask",
		Long: `List the trials of a sweep (the newest if none is named) with the parameters in
which they differ and their summary metrics.

--where compares a parameter, a summary metric or a column (index, seconds,
parameter_count, best_epoch) with a value: NAME=VALUE, and likewise !=, <, <=,
> and >=; several must all hold. --sort takes the same names; trials without the
value come last.

Exit codes: 0 done, 2 a condition that cannot be read, 4 no such sweep.`,
		Example: `  sweep trials --sort validation_loss --limit 10
  sweep trials ucr --where dataset=CBF --where 'lr<0.01' --sort test_accuracy --descending
  sweep trials --state failed --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runTrials(cmd, s, options, args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&options.where, "where", nil, "condition on a parameter, metric or column, as lr=0.01")
	f.StringSliceVar(&options.states, "state", nil, "only these states: pending, queued, running, completed, failed, cancelled")
	f.StringVar(&options.sort, "sort", "index", "parameter, metric or column to sort by")
	f.BoolVar(&options.descending, "descending", false, "largest first")
	f.IntVar(&options.limit, "limit", 50, "largest number of trials; 0 lists all")
	f.StringSliceVar(&options.columns, "columns", nil, "parameters and metrics to show (default: what differs, and the main metrics)")
	f.BoolVar(&options.asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func runTrials(cmd *cobra.Command, s *settings, options trialsOptions, args []string) error {
	results, record, err := s.findSweep(cmd.Context(), args)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }()
	query, err := options.query(record.ID)
	if err != nil {
		return err
	}
	if options.asJSON {
		return writeLines(cmd, results, query)
	}
	var trials []*sweep.TrialRecord
	err = results.Trials(cmd.Context(), query, func(t *sweep.TrialRecord) error {
		trials = append(trials, t)
		return nil
	})
	if err != nil {
		return err
	}
	columns := options.columns
	if len(columns) == 0 {
		columns = differing(record, trials)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "INDEX\tSTATE\t%s\n", strings.ToUpper(strings.Join(columns, "\t")))
	for _, t := range trials {
		cells := []string{fmt.Sprint(t.Index), trialState(t)}
		for _, name := range columns {
			cells = append(cells, trialCell(t, name))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, t := range trials {
		if t.State == sweep.Failed && t.Result != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "\ntrial %d failed: %s\n%s", t.Index, t.Result.Error, indent(t.Result.Stderr))
		}
	}
	return nil
}

func (o *trialsOptions) query(id string) (sweep.TrialQuery, error) {
	q := sweep.TrialQuery{Sweeps: []string{id}, OrderBy: o.sort, Descending: o.descending, Limit: o.limit}
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

// parseCondition reads NAME OPERATOR VALUE; a value that is JSON is taken as
// that, anything else as text.
func parseCondition(text string) (sweep.TrialCondition, error) {
	at := strings.IndexAny(text, "=!<>")
	if at <= 0 {
		return sweep.TrialCondition{}, usageError("--where %q: expected NAME=VALUE, or !=, <, <=, >, >= in place of =", text)
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

// differing chooses the parameters in which the trials differ by the sweep
// file, then the summary metrics that have a goal.
func differing(record *sweep.SweepRecord, trials []*sweep.TrialRecord) []string {
	var columns []string
	add := func(name string) {
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	for _, g := range record.Grids {
		for _, axis := range g.Submission.Spec.Axes {
			for _, p := range axis.Parameters {
				if p.Values.Len() > 1 {
					add(p.Name)
				}
			}
		}
	}
	for _, g := range record.Grids {
		for _, m := range g.Submission.Description.Metrics {
			if m.Summary && m.Goal != "" && anyHas(trials, m.Name) {
				add(m.Name)
			}
		}
	}
	return append(columns, "best_epoch", "seconds")
}

func anyHas(trials []*sweep.TrialRecord, metric string) bool {
	return slices.ContainsFunc(trials, func(t *sweep.TrialRecord) bool {
		if t.Result == nil {
			return false
		}
		_, ok := t.Result.Summary[metric]
		return ok
	})
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

func trialCell(t *sweep.TrialRecord, name string) string {
	if v, ok := t.Parameters[name]; ok {
		return shortJSON(v)
	}
	if t.Result == nil {
		return ""
	}
	if v, ok := t.Result.Summary[name]; ok {
		return fmt.Sprintf("%.4g", v)
	}
	switch name {
	case "seconds":
		return fmt.Sprintf("%.3g", t.Result.Seconds)
	case "best_epoch":
		return fmt.Sprint(t.Result.BestEpoch)
	case "parameter_count":
		return fmt.Sprint(t.Result.ParameterCount)
	default:
		return ""
	}
}

func indent(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}
