package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/coordinator"
	"sweep/sweep"
	"sweep/sweep/policy"
	"sweep/worker/script"
)

// compareInputs finds which results of a plan's program were made from what is on this disk: only these are reused. The
// note says which inputs have changed since the others were made that trials of the plan would reuse, of those that
// differ in the fewest. It is empty if there are none.
func (p *plan) compareInputs(ctx context.Context, results sweep.Reader) (note string, err error) {
	s := p.submission.Spec.Script
	if s == nil || !p.submission.Reuse {
		return "", nil
	}
	p.submission.Unchanged = nil
	var points []sweep.Fingerprint
	if p.grid.Count() <= checkedPoints && !policy.ByResults(&p.submission.Spec) { // else any result may be of a trial
		points = coordinator.Fingerprints(p.submission, p.grid)
	}
	lists, checker, reused := 0, p.checker(), map[sweep.Fingerprint]bool{}
	var others []changedList
	for _, program := range slices.Sorted(maps.Values(p.submission.Datasets)) {
		query := sweep.InputQuery{Program: program, Fingerprints: points}
		err := results.Inputs(ctx, query, func(l *sweep.InputList) error {
			lists++
			rows := checker.Changed(&l.Inputs)
			if len(rows) > 0 {
				others = append(others, changedList{l, rows})
				return ctx.Err()
			}
			p.submission.Unchanged = append(p.submission.Unchanged, l.ListDigest)
			for _, fingerprint := range l.Fingerprints {
				reused[fingerprint] = true
			}
			return ctx.Err()
		})
		if err != nil {
			return "", fmt.Errorf("inputs of earlier results: %w", err)
		}
	}
	if lists >= sweep.MaxInputLists {
		note = fmt.Sprintf("only the newest %d lists of inputs were compared: results with others are not reused",
			sweep.MaxInputLists)
	}
	for i := range others {
		if l := others[i]; points != nil {
			l.Trials = 0
			for _, fingerprint := range l.Fingerprints {
				if !reused[fingerprint] {
					l.Trials++
				}
			}
		}
	}
	changed, trials := closest(others)
	if len(changed) == 0 {
		return note, nil
	}
	if note != "" {
		note = "; " + note
	}
	verb := "are"
	if trials == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s of this program %s not reused: made with another %s%s",
		sweep.CountText(trials, "earlier result"), verb, someNames(slices.Sorted(maps.Keys(changed))), note), nil
}

// changedList is a list of inputs with those that have changed.
type changedList struct {
	*sweep.InputList
	changed []sweep.Input
}

// closest returns the names of what has changed in the lists that differ in the fewest inputs, and how many trials have
// these lists.
func closest(lists []changedList) (changed map[string]bool, trials int64) {
	changed = map[string]bool{}
	fewest := sweep.MaxInputs
	for _, l := range lists {
		if l.Trials == 0 || len(l.changed) > fewest {
			continue
		}
		if len(l.changed) < fewest {
			clear(changed)
			fewest, trials = len(l.changed), 0
		}
		trials += l.Trials
		for _, row := range l.changed {
			changed[inputName(row)] = true
		}
	}
	return changed, trials
}

// checker compares lists of inputs with this machine. Only programs that run here have its variables.
func (p *plan) checker() *script.Checker {
	variables := os.LookupEnv
	if !p.own {
		variables = nil
	}
	return script.NewChecker(p.submission.Spec.Script.Directory, variables)
}

// changedInputs returns a function that names the inputs of a list which have changed since, except for those that the
// trial itself has changed; nil of plans without a program.
func (p *plan) changedInputs() func(in *sweep.Inputs) (names []string) {
	if p.submission.Spec.Script == nil {
		return nil
	}
	checker := p.checker()
	return func(in *sweep.Inputs) (names []string) {
		for _, row := range checker.Changed(in) {
			if row.Kind != sweep.RewrittenInput && row.Digest != sweep.ChangedInput {
				names = append(names, inputName(row))
			}
		}
		return names
	}
}

// inputName is what an input is called in messages.
func inputName(row sweep.Input) string {
	if row.Kind == sweep.VariableInput {
		return "variable " + row.Name
	}
	return row.Name
}

// someNames lists names, a few of them if they are many.
func someNames(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %s", strings.Join(names[:most], ", "), sweep.CountText(more, "other input"))
	}
	return strings.Join(names, ", ")
}

// changedForRetry names inputs of failed trials that have changed since: retried, the trials run with the new ones.
func changedForRetry(ctx context.Context, results sweep.Reader, id string, indices []int64) []string {
	const most = 20
	record, err := results.Sweep(ctx, id)
	if err != nil || record.Trainer != sweep.ScriptTrainer {
		return nil // the retry says what is wrong
	}
	s := record.Grids[len(record.Grids)-1].Submission.Spec.Script
	if s == nil {
		return nil
	}
	if _, err := os.Stat(s.Directory); err != nil {
		return nil // the program is elsewhere
	}
	if len(indices) == 0 {
		query := sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Failed}, Limit: most}
		_ = results.Trials(ctx, query, func(t *sweep.TrialRecord) error { // the note alone is missing
			indices = append(indices, t.Index)
			return nil
		})
	}
	checker, changed := script.NewChecker(s.Directory, nil), map[string]bool{}
	for _, index := range indices[:min(len(indices), most)] {
		_ = results.Inputs(ctx, sweep.InputQuery{Sweep: record.ID, Index: &index}, func(l *sweep.InputList) error {
			for _, row := range checker.Changed(&l.Inputs) {
				if row.Kind == sweep.FileInput && row.Digest != sweep.ChangedInput {
					changed[inputName(row)] = true
				}
			}
			return nil
		})
	}
	return slices.Sorted(maps.Keys(changed))
}

// hintRetry says what becomes of retried trials of which these inputs have changed.
func (s *settings) hintRetry(cmd *cobra.Command, id string, changed []string) {
	switch out := cmd.ErrOrStderr(); {
	case len(changed) == 0:
		s.laterHint(cmd, id)
	case s.server() == "":
		fmt.Fprintf(out, "note: %s changed since: run the file of sweep %s again to train with the new version; that "+
			"begins a new sweep if trials of this one have completed with the old version\n", someNames(changed), id)
	default:
		fmt.Fprintf(out, "note: %s changed since: the retried trials run with the new version\n", someNames(changed))
	}
}

// recorded reports whether all that the programs of a sweep's completed trials have read is recorded.
func recorded(ctx context.Context, results sweep.Reader, id string) bool {
	counts, err := results.Progress(ctx, id)
	if err != nil {
		return false
	}
	missing := counts.Completed
	err = results.Inputs(ctx, sweep.InputQuery{Sweep: id}, func(l *sweep.InputList) error {
		if l.Unrecorded == "" {
			missing -= l.Trials
		}
		return nil
	})
	return err == nil && missing <= 0
}

// shownInput is an input as expand lists it: those of earlier results, and whether they are on this disk as they were.
type shownInput struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// State is unchanged or changed.
	State string `json:"state"`
}

// expandInputs lists the inputs that earlier results of a plan's program have, and what was not recorded of them.
func (s *settings) expandInputs(ctx context.Context, p *plan) (inputs []shownInput, unrecorded string) {
	if p.submission.Spec.Script == nil || len(p.submission.Datasets) == 0 {
		return nil, ""
	}
	checker, states := p.checker(), map[sweep.Input]string{}
	_ = using(ctx, s.openReader, func(results reader) error { // expand works without a store
		for _, program := range p.submission.Datasets {
			err := results.Inputs(ctx, sweep.InputQuery{Program: program}, func(l *sweep.InputList) error {
				unrecorded = cmp.Or(unrecorded, l.Unrecorded)
				changed := checker.Changed(&l.Inputs)
				for _, row := range l.Rows {
					key := sweep.Input{Kind: row.Kind, Name: row.Name}
					if !slices.Contains(changed, row) {
						states[key] = "unchanged"
					} else if states[key] == "" {
						states[key] = "changed"
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for row, state := range states {
		inputs = append(inputs, shownInput{row.Kind, row.Name, state})
	}
	slices.SortFunc(inputs, func(a, b shownInput) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return inputs, unrecorded
}

// maxShownInputs is how many inputs are listed for people.
const maxShownInputs = 50

// writeInputs lists the inputs of earlier results.
func writeInputs(out io.Writer, inputs []shownInput, unrecorded string) error {
	if len(inputs) > 0 {
		fmt.Fprint(out, "\ninputs of earlier results; a result is reused while its inputs are unchanged\n")
	}
	w := newColumns(out)
	for _, input := range inputs[:min(len(inputs), maxShownInputs)] {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", input.Kind, input.Name, input.State)
	}
	if more := len(inputs) - maxShownInputs; more > 0 {
		fmt.Fprintf(w, "  and %s, which --json lists\n", sweep.CountText(more, "other input"))
	}
	if unrecorded != "" {
		fmt.Fprintf(w, "  not recorded: %s\n", unrecorded)
	}
	return w.Flush()
}

// inputsOf loads what a trial's program has read, nil if that is not known.
func inputsOf(ctx context.Context, results sweep.Reader, id sweep.TrialID) (in *sweep.InputList, err error) {
	err = results.Inputs(ctx, sweep.InputQuery{Sweep: id.Sweep, Index: &id.Index}, func(l *sweep.InputList) error {
		in = l
		return nil
	})
	return in, err
}

// warnInputs prints what compareInputs says of results that are asked for.
func (p *plan) warnInputs(cmd *cobra.Command, results sweep.Reader) error {
	note, err := p.compareInputs(cmd.Context(), results)
	if err == nil && note != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	return err
}

// writeTrialInputs lists what a trial's program has read.
func writeTrialInputs(w io.Writer, in *sweep.Inputs) {
	for _, row := range in.Rows[:min(len(in.Rows), maxShownInputs)] {
		digest := row.Digest
		if sweep.IsDigest(digest) {
			digest = digest[:12]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", row.Name, row.Kind, digest)
	}
	if more := len(in.Rows) - maxShownInputs; more > 0 {
		fmt.Fprintf(w, "and %s, which --json lists\n", sweep.CountText(more, "other input"))
	}
	if in.Unrecorded != "" {
		fmt.Fprintf(w, "not recorded: %s\n", in.Unrecorded)
	}
}
