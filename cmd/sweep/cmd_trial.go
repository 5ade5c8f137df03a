package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/progress"
	"sweep/sweep/wire"
)

func newTrial(s *settings) *cobra.Command {
	return family("trial", "Show, cancel and retry single trials of a sweep, by their indices", "",
		"  sweep trial show ucr 17\n  sweep trial cancel ucr 3-7\n  sweep trial retry ucr 17",
		newTrialShow(s), newTrialCancel(s), newTrialRetry(s))
}

// maxIndices bounds the trials that a command line names.
const maxIndices = 100_000

// parseIndices reads trial indices: numbers, and ranges as 3-7, both ends in.
func parseIndices(args []string) ([]int64, error) {
	var indices []int64
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			first, last, ranged := strings.Cut(word, "-")
			if !ranged {
				last = first
			}
			from, err := strconv.ParseInt(first, 10, 64)
			to, lastErr := strconv.ParseInt(last, 10, 64)
			if err != nil || lastErr != nil || from < 0 || to < from {
				return nil, usageError("%q is not a trial index: expected a number, or a range such as 3-7", word)
			}
			if to-from >= int64(maxIndices-len(indices)) {
				return nil, usageError("too many trials: at most %d can be named", maxIndices)
			}
			for ; from <= to; from++ {
				indices = append(indices, from)
			}
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices), nil
}

// parseIndex reads the index of one trial.
func parseIndex(text string) (int64, error) {
	indices, err := parseIndices([]string{text})
	if err != nil || len(indices) != 1 {
		return 0, usageError("%q is not a trial index", text)
	}
	return indices[0], nil
}

// shownTrial is a trial as "trial show" prints it.
type shownTrial struct {
	*sweep.TrialRecord
	// Reason says why it is in its state.
	Reason     string                   `json:"reason"`
	Executions []sweep.Execution        `json:"execution_list"`
	Artifacts  []*sweep.CheckedArtifact `json:"artifacts,omitempty"`
	// Config is what the program has set besides the parameters.
	Config map[string]any `json:"config,omitempty"`
	// Inputs are what the program has read.
	Inputs *sweep.Inputs `json:"inputs,omitempty"`
}

func newTrialShow(s *settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SWEEP INDEX",
		Short: "Show one trial: parameters, state, metrics, executions, artifacts",
		Long: `The state comes with its reason, and each execution with its worker, start, end and
outcome. "sweep logs" shows the output of executions, "sweep curves" the curves.

Exit codes: 0 done, 2 an invalid index, 4 no such sweep or trial.`,
		Example: "  sweep trial show latest 17\n  sweep trial show ucr 17 --json",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := parseIndex(args[1])
			if err != nil {
				return err
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				shown, err := loadTrial(cmd, t, record, index)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(cmd, struct {
						*shownTrial
						Result *sweep.PlainResult `json:"result,omitempty"`
					}{shown, shown.Result.Plain()})
				}
				if err := fillNotFinite(cmd.Context(), t, shown.TrialRecord); err != nil {
					return err
				}
				return writeTrial(cmd, shown)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// loadTrial loads all there is to say of a trial.
func loadTrial(cmd *cobra.Command, t target, record *sweep.SweepRecord, index int64) (*shownTrial, error) {
	ctx, id := cmd.Context(), sweep.TrialID{Sweep: record.ID, Index: index}
	executions, err := t.Executions(ctx, id) // it says why there is no such trial
	if err != nil {
		return nil, err
	}
	trial, err := t.Trial(ctx, id)
	if err != nil {
		return nil, err
	}
	shown := &shownTrial{TrialRecord: trial, Executions: executions, Reason: reasonOf(record, trial, executions)}
	err = t.CheckArtifacts(ctx, sweep.ArtifactQuery{Sweep: record.ID, Indices: []int64{index}}, sweep.CheckSize,
		func(a *sweep.CheckedArtifact) error {
			shown.Artifacts = append(shown.Artifacts, a)
			return nil
		})
	for _, a := range shown.Artifacts {
		const most = 2 << 20
		if a.Name == sweep.ConfigArtifact && a.State == sweep.ArtifactStored && a.Size < most {
			var content bytes.Buffer
			if _, err := t.Artifact(ctx, id, a.Name, 0, &content); err == nil {
				// A program may write anything there; the artifact is listed all the same.
				_ = json.Unmarshal(content.Bytes(), &shown.Config)
			}
			for name := range trial.Parameters {
				delete(shown.Config, name)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	list, err := inputsOf(ctx, t, id)
	if list != nil {
		shown.Inputs = &list.Inputs
	}
	return shown, err
}

// reasonOf says why a trial is in its state.
func reasonOf(record *sweep.SweepRecord, t *sweep.TrialRecord, executions []sweep.Execution) string {
	before := ""
	if n := len(executions); n > 0 && executions[n-1].Outcome != sweep.ExecutionRunning {
		last := executions[n-1]
		before = fmt.Sprintf("; the previous execution on %s was %s", last.Worker, last.Outcome)
		if last.Reason != "" {
			before += ": " + last.Reason
		}
	}
	lost := ""
	if workers := lostWorkers(executions); len(workers) > 0 {
		lost = "; " + progress.LossText(workers, lossLimit(record, t.Index))
	}
	switch t.State {
	case sweep.Pending:
		reason := "waiting for its turn"
		switch record.State {
		case sweep.SweepPaused:
			reason = "its sweep is paused"
		case sweep.SweepWaiting:
			reason = "no worker can run it"
		}
		if record.Reason != "" && record.State != sweep.SweepActive {
			reason += ": " + record.Reason
		}
		if t.LastRefusal != "" {
			reason += fmt.Sprintf("; %s refused it: %s", t.RefusedBy, t.LastRefusal)
		}
		return reason + before + lost
	case sweep.Queued:
		return "its job is waiting for a free worker" + before + lost
	case sweep.Running:
		return "on worker " + t.Worker + lost
	case sweep.Cancelled:
		if record.State == sweep.SweepCancelled {
			return "its sweep was cancelled"
		}
		return "the trial was cancelled"
	case sweep.Failed, sweep.Stopped, sweep.Skipped:
		if t.Result != nil && t.Result.Error != "" {
			return t.Result.Error
		}
		return "its trainer reported a failure"
	}
	switch {
	case t.ReusedFrom != nil:
		return fmt.Sprintf("its result was reused from trial %s", *t.ReusedFrom)
	case t.Result != nil && t.Result.Diverged:
		return "its training diverged"
	}
	if record.Trainer == sweep.ScriptTrainer {
		return "its program ended with exit status 0"
	}
	return "its trainer returned a result"
}

// lostWorkers names the workers that vanished while they ran a trial.
func lostWorkers(executions []sweep.Execution) (names []string) {
	for _, e := range executions {
		if e.Outcome == sweep.ExecutionLost && e.Charged && !e.Forgotten {
			names = append(names, e.Worker)
		}
	}
	return names
}

// lossLimit is how many lost executions end a trial of a sweep.
func lossLimit(record *sweep.SweepRecord, index int64) (limit int) {
	for _, g := range record.Grids {
		if g.First <= index {
			limit = g.Submission.Spec.Limits.Losses
		}
	}
	return cmp.Or(limit, sweep.DefaultLosses)
}

func writeTrial(cmd *cobra.Command, t *shownTrial) error {
	w := newColumns(cmd.OutOrStdout())
	fmt.Fprintf(w, "trial %d of sweep %s (%s)\n", t.Index, t.Sweep, t.SweepName)
	fmt.Fprintf(w, "%s: %s\n", t.StateText(), t.Reason)
	if t.State == sweep.Completed && t.Result != nil && t.Result.Error != "" {
		fmt.Fprintf(w, "note: %s\n", t.Result.Error)
	}
	if t.RunName != "" {
		fmt.Fprintf(w, "run: %s\n", t.RunName)
	}
	if t.RunGroup != "" {
		fmt.Fprintf(w, "group: %s\n", t.RunGroup)
	}
	writeAnnotation(w, "", t.Annotation)
	section := func(title string) { fmt.Fprintf(w, "\n%s\n", title) }
	section("PARAMETERS")
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		fmt.Fprintf(w, "%s\t%s\n", name, progress.ValueText(t.Parameters[name]))
	}
	if len(t.Config) > 0 {
		section("CONFIG OF THE PROGRAM")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Config)) {
		text, err := json.Marshal(t.Config[name]) // without control characters
		if err == nil && sweep.CheckName("config", name) == nil {
			fmt.Fprintf(w, "%s\t%s\n", name, text)
		}
	}
	if r := t.Result; r != nil {
		section("METRICS")
		for _, name := range slices.Sorted(maps.Keys(r.Summary)) {
			fmt.Fprintf(w, "%s\t%s\n", name, summaryText(r.Summary[name]))
		}
		fmt.Fprintf(w, "seconds\t%.4g\n", r.Seconds)
		if r.WeightsDigest != "" {
			fmt.Fprintf(w, "weights_digest\t%s\n", r.WeightsDigest)
		}
	}
	if len(t.Executions) > 0 {
		section("EXECUTION\tWORKER\tSTARTED\tTOOK\tOUTCOME\tLOG")
	}
	for _, e := range t.Executions {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Worker, e.StartedAt.Local().Format(time.DateTime),
			executionTime(e), executionOutcome(e), sweep.SizeText(e.LogSize))
	}
	for _, e := range t.Executions { // on lines of their own: reasons are long
		if why := executionWhy(e); why != "" {
			fmt.Fprintf(w, "%s: %s\n", e.ID, why)
		}
	}
	if len(t.Artifacts) > 0 {
		section("ARTIFACT\tSTATE\tSIZE\tDIGEST\tPROBLEM")
	}
	for _, a := range t.Artifacts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.12s\t%s\n", a.Name, a.State, sweep.SizeText(a.Size), a.Digest, a.Problem)
	}
	if t.Inputs != nil {
		section("INPUT\tKIND\tDIGEST")
		writeTrialInputs(w, t.Inputs)
	}
	return w.Flush()
}

// notReported stands for what a trainer does not report.
const notReported = "none"

// summaryText is a value of a metric with six digits, an integer of up to nine with all of its own.
func summaryText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e9 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return fmt.Sprintf("%.6g", v)
}

func executionTime(e sweep.Execution) string {
	if e.EndedAt.IsZero() {
		return "-"
	}
	return roughly(e.EndedAt.Sub(e.StartedAt))
}

func executionOutcome(e sweep.Execution) string {
	text := string(e.Outcome)
	if e.Charged {
		text += ", charged"
	}
	if e.Forgotten {
		text += ", forgotten"
	}
	return text
}

// executionWhy is the reason why an execution ended, with its notes.
func executionWhy(e sweep.Execution) string {
	var words []string
	for _, text := range []string{e.Reason, e.Note} {
		if text != "" {
			words = append(words, strings.Join(strings.Fields(text), " "))
		}
	}
	if e.Checkpoint > 0 {
		words = append(words, fmt.Sprintf("checkpoint at step %d", e.Checkpoint))
	}
	return strings.Join(words, "; ")
}

// trialsCommand is a command that changes some trials of a sweep; do returns of how many it did what verb
// says.
func trialsCommand(s *settings, name, long, example, verb string, do func(cmd *cobra.Command, t target,
	id string, indices []int64) (int64, error)) *cobra.Command {
	return &cobra.Command{
		Use:   name + " SWEEP INDEX...",
		Short: wire.Purpose(name + "_trials"),
		Long: long + `

INDEX is a number or a range such as 3-7. If one of the trials does not exist, nothing
is changed. Repeating the command has no further effect.

Exit codes: 0 done, 1 not possible, 2 an invalid index, 4 no such sweep or trial.`,
		Example: example,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			indices, err := parseIndices(args[1:])
			if err != nil {
				return err
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				n, err := do(cmd, t, record.ID, indices)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "sweep %s: %s %d of %s\n", record.ID, verb, n,
					sweep.CountText(len(indices), "trial"))
				return err
			})
		},
	}
}

func newTrialCancel(s *settings) *cobra.Command {
	return trialsCommand(s, "cancel", "Running trials are stopped, waiting ones never start, and results are kept.",
		"  sweep trial cancel latest 17\n  sweep trial cancel ucr 3 10-20", "cancelled",
		func(cmd *cobra.Command, t target, id string, indices []int64) (int64, error) {
			return t.CancelNamed(cmd.Context(), id, indices)
		})
}

func newTrialRetry(s *settings) *cobra.Command {
	return trialsCommand(s, "retry", "Completed trials keep their results.",
		"  sweep trial retry latest 17\n  sweep trial retry ucr 3 10-20", "retrying",
		func(cmd *cobra.Command, t target, id string, indices []int64) (int64, error) {
			return s.retry(cmd, t, id, indices)
		})
}
