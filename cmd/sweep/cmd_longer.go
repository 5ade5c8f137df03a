package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// longerOptions say which trials are trained longer, and how long.
type longerOptions struct {
	set    string
	best   int
	where  []string
	dryRun bool
	run    runOptions
}

func newLonger(s *settings) *cobra.Command {
	var o longerOptions
	cmd := &cobra.Command{
		Use:   "longer SWEEP --set NAME=NUMBER",
		Short: "Train finished trials of a sweep longer",
		Long: `Makes a sweep of the completed trials of SWEEP with more epochs or steps. A trial whose
checkpoint is kept continues from it: its result has the same bits as if it had been
trained so long at once, and costs the difference. Others start from their beginning.
The command prints how many of each there are, and why.

Checkpoints are kept of trials with the parameter open_ended: true if the sweep file
has artifacts: [checkpoint], or of the best ten of them with keep: {checkpoint: 10}.

--best N takes the N best trials by the sweep's select, --where those that match a
condition, as in "sweep trials". Trials that diverged, or train as long already, are
left out. So are trials that were stopped early, unless --where names their state, as
in --where state=stopped; they may be trained to the end that they had. Trials that
depend on where training ends, such as those with refit or schedule: linear, are
refused.

With a cluster (--nats) the sweep is submitted, otherwise it is run here. Repeating the
command adds nothing.

Exit codes: 0 done, 1 error, 2 the trials cannot be trained longer, 3 some trials
failed, 4 no such sweep.`,
		Example: "  sweep longer latest --set epochs=2000\n" +
			"  sweep longer grid --set epochs=2000 --best 5\n" +
			"  sweep longer grid --set epochs=2000 --where model=lstm --dry-run",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.do(cmd, s, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.set, "set", "", "the parameter that says how long trials train, and its new value")
	f.IntVar(&o.best, "best", 0, "train only so many of the best trials longer")
	f.StringArrayVar(&o.where, "where", nil, "condition on a parameter, metric or column, such as lr=0.01")
	f.BoolVar(&o.dryRun, "dry-run", false, "only print which trials would be trained longer")
	f.IntVar(&o.run.slots, "slots", runtime.NumCPU(), "number of trials that run at the same time")
	o.run.devices.addFlags(f)
	f.BoolVar(&o.run.quiet, "quiet", false, "show only the result; same as --progress quiet")
	addProgressFlag(cmd, &o.run.progress)
	return cmd
}

// longer is a sweep of trials that are trained longer.
type longer struct {
	first  *sweep.Submission // the submission of the sweep
	source []byte            // its sweep file
	key    string
	trials int
}

func (o *longerOptions) do(cmd *cobra.Command, s *settings, args []string) error {
	name, value, err := o.parse()
	if err != nil {
		return err
	}
	var made *longer
	err = withSweep(cmd, s.openReader, args, func(results reader, record *sweep.SweepRecord) error {
		description, err := s.describe(cmd.Context(), []string{record.Trainer})
		if err == nil {
			made, err = o.make(cmd, results, record, description, name, value)
		}
		return err
	})
	if err != nil || o.dryRun || made.trials == 0 {
		return err
	}
	// What the file does not say is that of the first sweep.
	adopt := func(p *plan) error {
		spec, own := &p.submission.Spec, &made.first.Spec
		spec.Pool, spec.Memory, spec.Priority, spec.Limits = own.Pool, own.Memory, own.Priority, own.Limits
		spec.Need = own.Need
		p.submission.Key = made.key
		return nil
	}
	what := "sweep longer " + args[0]
	if s.server() == "" {
		o.run.reuse, o.run.plan.source, o.run.checked = true, made.source, adopt
		return runSweep(cmd, s, o.run, what)
	}
	p, err := s.prepare(cmd, what, planOptions{source: made.source}, true)
	if err != nil {
		return err
	}
	p.submission.Spec.Requires = made.first.Spec.Requires
	if err := adopt(p); err != nil {
		return err
	}
	return with(cmd, s.openTarget, func(t target) error {
		done, err := t.Submit(cmd.Context(), p.submission, false)
		if err == nil {
			fmt.Fprintln(cmd.OutOrStdout(), done.Sweep)
		}
		return err
	})
}

// parse reads --set.
func (o *longerOptions) parse() (name string, value int64, err error) {
	name, text, ok := strings.Cut(o.set, "=")
	parsed, decodeErr := sweep.DecodeValue([]byte(text))
	value, whole := parsed.(int64)
	if !ok || decodeErr != nil || !whole || value < 1 {
		return "", 0, usageError("--set %q: expected a parameter and a number, as in --set epochs=2000", o.set)
	}
	if o.best < 0 {
		return "", 0, usageError("--best %d: expected a number of trials", o.best)
	}
	return name, value, nil
}

// make selects the trials, prints what becomes of them, and writes the file of their sweep.
func (o *longerOptions) make(cmd *cobra.Command, results reader, record *sweep.SweepRecord, d *sweep.Description,
	name string, value int64) (*longer, error) {
	var budgets []string
	for i := range d.Parameters {
		if d.Parameters[i].Budget {
			budgets = append(budgets, d.Parameters[i].Name)
		}
	}
	if !slices.Contains(budgets, name) {
		if len(budgets) == 0 {
			return nil, usageError("trainer %s does not say which parameter is how long a trial trains", d.Name)
		}
		return nil, usageError("--set %s: expected %s, which say how long a trial trains", name,
			strings.Join(budgets, " or "))
	}
	trials, err := o.selected(cmd, results, record, d, name, value)
	if err != nil {
		return nil, err
	}
	if len(trials) == 0 {
		return &longer{}, nil
	}
	if err := o.explain(cmd, results, record.ID, d, trials); err != nil {
		return nil, err
	}
	l := &longer{first: &record.Grids[0].Submission, trials: len(trials)}
	points := make([]sweep.Parameters, len(trials))
	for i, t := range trials {
		points[i] = t.Parameters.Clone()
		points[i][name] = value
	}
	l.source = longerFile(record, d, points, fmt.Sprintf("%s=%d", name, value))
	digest := sha256.Sum256(l.source)
	l.key = "longer/" + record.ID + "/" + hex.EncodeToString(digest[:])
	return l, nil
}

// selected returns the trials to train longer, in the order of their indices. Of those that differ in their budget
// alone, as in the rungs of a halving, it is the longest one.
func (o *longerOptions) selected(cmd *cobra.Command, results reader, record *sweep.SweepRecord, d *sweep.Description,
	name string, value int64) (trials []*sweep.TrialRecord, err error) {
	choice := record.Grids[0].Submission.Spec.Select.Filled(&record.Grids[0].Submission.Description)
	if o.best > 0 && choice.By == "" {
		return nil, usageError("--best %d: the sweep names no metric by which trials are compared", o.best)
	}
	names := frame.NamesIn(cmd.Context(), results, record)
	query, err := names.Query(o.where, []string{"completed", "diverged", "stopped"}, "")
	if err != nil {
		return nil, err
	}
	if o.best > 0 {
		query.OrderBy, query.Descending = sweep.MetricKind.Of(choice.By), choice.Goal == sweep.Maximize
	}
	remark(cmd.ErrOrStderr(), names)
	named := slices.ContainsFunc(query.Where, func(c sweep.TrialCondition) bool { return c.Name == "trial.state" })
	diverged, long, shorter, stopped := 0, 0, 0, 0
	points := map[string]int{} // their places in trials
	err = results.Trials(cmd.Context(), query, func(t *sweep.TrialRecord) error {
		budget, ok := t.Parameters[name].(int64)
		switch {
		case !ok:
			return usageError("--set %s: trial %d does not have this parameter: select others with --where", name,
				t.Index)
		case t.Result != nil && t.Result.Diverged:
			diverged++
			return nil
		case t.State == sweep.Stopped && !named:
			stopped++
			return nil
		case budget > value || budget == value && t.State != sweep.Stopped:
			long++
			return nil
		}
		point := t.Parameters.Clone()
		point[name] = value
		key, err := point.Canonical()
		if err != nil {
			return err
		}
		place, again := points[string(key)]
		if !again && o.best > 0 && len(trials) == o.best {
			return nil
		}
		if err := d.Endless(t.Parameters); err != nil {
			return &exitError{exitUsage, fmt.Errorf("trial %d: %w", t.Index, err)}
		}
		own := *t
		if !again {
			points[string(key)] = len(trials)
			trials = append(trials, &own)
			return nil
		}
		if shorter++; trials[place].Parameters[name].(int64) < budget { // an integer, as above
			trials[place] = &own
		}
		return nil
	})
	out := cmd.ErrOrStderr()
	if diverged > 0 {
		fmt.Fprintf(out, "left out: %s that diverged\n", sweep.CountText(int64(diverged), "trial"))
	}
	if long > 0 {
		fmt.Fprintf(out, "left out: %s with %s of %d or more\n", sweep.CountText(int64(long), "trial"), name, value)
	}
	if shorter > 0 {
		fmt.Fprintf(out, "left out: %s whose point has a trial with more %s\n",
			sweep.CountText(int64(shorter), "trial"), name)
	}
	if stopped > 0 {
		fmt.Fprintf(out, "left out: %s that were stopped early; --where state=stopped selects them\n",
			sweep.CountText(int64(stopped), "trial"))
	}
	if err == nil && len(trials) == 0 {
		fmt.Fprintln(out, "no trial is left to be trained longer")
	}
	slices.SortFunc(trials, func(a, b *sweep.TrialRecord) int { return cmp.Compare(a.Index, b.Index) })
	return trials, err
}

// explain prints how many trials continue from a checkpoint, and why the others do not.
func (o *longerOptions) explain(cmd *cobra.Command, results reader, id string, d *sweep.Description,
	trials []*sweep.TrialRecord) error {
	checkpoints := map[int64]sweep.ArtifactRecord{}
	query := sweep.ArtifactQuery{Sweep: id, Name: sweep.CheckpointArtifact}
	for _, t := range trials {
		query.Indices = append(query.Indices, t.Index)
	}
	err := results.Artifacts(cmd.Context(), query, func(r *sweep.ArtifactRecord) error {
		checkpoints[r.Index] = *r
		return nil
	})
	if err != nil {
		return err
	}
	continued := 0
	anew := map[string]int{}
	first := map[string]string{} // a reason of each cause
	for _, t := range trials {
		checkpoint, kept := checkpoints[t.Index]
		lineage, _ := d.Lineage(t.Parameters, t.DatasetDigest)
		fingerprint, err := d.Fingerprint(t.Parameters, t.DatasetDigest)
		switch {
		case lineage == "" || !kept:
			anew["no checkpoint is kept: the sweep file needs open_ended: true and artifacts: [checkpoint]"]++
		case checkpoint.Dropped:
			anew["the checkpoint is "+checkpoint.Problem]++
		case checkpoint.Problem != "":
			cause := sweep.FailureCause(checkpoint.Problem)
			if first[cause] == "" {
				first[cause] = "the checkpoint is missing: " + checkpoint.Problem
			}
			anew[first[cause]]++
		case err != nil || fingerprint != t.Fingerprint:
			anew["the checkpoint is of another version of the trainer"]++
		default:
			continued++
		}
	}
	from := "continue from their checkpoints"
	if len(trials) == 1 {
		from = "continues from its checkpoint"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d of %s %s\n", continued, sweep.CountText(int64(len(trials)), "trial"), from)
	for _, reason := range slices.Sorted(maps.Keys(anew)) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d from the beginning: %s\n", anew[reason], reason)
	}
	return nil
}

// longerFile writes a sweep file whose grid points resolve to the given ones.
func longerFile(record *sweep.SweepRecord, d *sweep.Description, points []sweep.Parameters,
	set string) []byte {
	names := longerNames(record, d, points)
	var file bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&file, format+"\n", args...) }
	text := func(value any) string {
		encoded, err := sweep.CanonicalJSON(value)
		if err != nil {
			panic(err) // cannot happen: the values come from a database
		}
		return string(encoded)
	}
	line("name: %s", text(strings.TrimPrefix(record.Name+" "+set, " ")))
	line("description: %s", text("trials of sweep "+record.ID+", trained longer"))
	line("trainer: %s", text(record.Trainer))
	line("parameters:")
	var together []string
	for _, name := range names {
		values := make([]any, len(points))
		var first any
		for i := range points {
			if values[i] = points[i][name]; first == nil {
				first = values[i]
			}
		}
		varies := false
		for i := range values {
			if values[i] == nil { // it does not apply there
				values[i] = first
			}
			varies = varies || !sweep.Equal(values[i], first)
		}
		if !varies {
			line("  %s: {value: %s}", text(name), text(first))
			continue
		}
		together = append(together, name)
		line("  %s: {values: %s}", text(name), text(values))
	}
	if len(together) > 1 {
		line("zip: [%s]", text(asAny(together)))
	}
	spec := &record.Grids[0].Submission.Spec
	choice := spec.Select.Filled(&record.Grids[0].Submission.Description)
	if choice.By != "" {
		line("select: {group: %s, by: %s, goal: %s}", text(asAny(choice.Group)), text(choice.By), text(choice.Goal))
	}
	if len(spec.Artifacts) > 0 {
		line("artifacts: %s", text(asAny(spec.Artifacts)))
	}
	if len(spec.Keep) > 0 {
		keep := map[string]any{}
		for name, trials := range spec.Keep {
			keep[name] = trials
		}
		line("keep: %s", text(keep))
	}
	return file.Bytes()
}

func asAny(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// longerNames are the parameters that a file must have: those of the sweep's files, unless the points follow
// from them by other defaults than before.
func longerNames(record *sweep.SweepRecord, d *sweep.Description, points []sweep.Parameters) []string {
	all, written := map[string]bool{}, map[string]bool{}
	for p := range record.AxisParameters() {
		written[p.Name] = true
	}
	enough := true
	for _, point := range points {
		short := sweep.Parameters{}
		for name, value := range point {
			all[name] = true
			if s := d.Parameter(name); written[name] || s == nil || s.Budget {
				short[name] = value
				written[name] = true
			}
		}
		resolved, err := d.Resolve(short)
		enough = enough && err == nil && maps.EqualFunc(resolved, point, sweep.Equal)
	}
	names := written
	if !enough {
		names = all
	}
	for name := range names {
		if !all[name] {
			delete(names, name) // it applies to none of the points
		}
	}
	return slices.Sorted(maps.Keys(names))
}
