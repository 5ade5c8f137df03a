package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"sweep/coordinator"
	"sweep/sweep"
	"sweep/sweep/policy"
)

// Bounds of what sweep tell reads.
const (
	maxPoints     = 10_000
	longestPoint  = 1 << 20
	linesUntilNow = -1 // --from of no value
)

func newTell(s *settings) *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use:   "tell SWEEP [FILE]",
		Short: "Add the points of a search of your own to a sweep of a cluster, as JSON lines",
		Long: `Each line of FILE, or of standard input, is a point as a JSON object: the values of the
parameters that have several values in the sweep's file. Parameters with a single
value are filled in, and so are replicates. The trials of the points are printed as JSON
lines, in the same order; "sweep ask" has their results. A point that the sweep has
already is not added again: its trial is printed, with "had": true.

--from N says that the sweep has N trials so far. With it the command can be repeated:
if the points are already there, it prints their trials again and adds nothing; if
others are, it fails.

Exit codes: 0 done, 1 not possible, 2 a point is invalid, 4 no such sweep or file.`,
		Example: "  echo '{\"lr\": 0.003}' | sweep tell latest\n  sweep tell tuning points.jsonl --from 16",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.server() == "" {
				return usageError("tell needs a cluster: set its NATS servers with --nats, SWEEP_NATS or the " +
					"settings file; \"sweep nats\", \"sweep coordinator\" and \"sweep worker\" make one on this " +
					"machine")
			}
			if cmd.Flags().Changed("from") && from < 0 {
				return usageError("--from %d: a sweep has 0 trials or more", from)
			}
			in, name := cmd.InOrStdin(), "standard input"
			if len(args) > 1 {
				f, err := os.Open(args[1])
				if err != nil {
					return fmt.Errorf("tell: %w", err)
				}
				defer func() { _ = f.Close() }() // it was read
				in, name = f, args[1]
			}
			points, err := readPoints(in, name)
			if err != nil {
				return err
			}
			return withSweep(cmd, s.openTarget, args, func(t target, record *sweep.SweepRecord) error {
				return tellPoints(cmd, t, record, &told{name: name, points: points, from: from})
			})
		},
	}
	cmd.Flags().Int64Var(&from, "from", linesUntilNow, "number of trials that the sweep has so far (default: as many "+
		"as it has)")
	return cmd
}

// told are points that a user has chosen.
type told struct {
	name   string // of the file
	points []toldPoint
	from   int64
}

// toldPoint is a point with its line.
type toldPoint struct {
	line int
	sweep.Parameters
}

// readPoints reads points, one JSON object a line.
func readPoints(in io.Reader, name string) (points []toldPoint, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestPoint)
	number := 1
	for ; lines.Scan(); number++ {
		line := lines.Bytes()
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF")) // a byte order mark
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		point := toldPoint{line: number}
		if err := point.UnmarshalJSON(line); err != nil {
			return nil, usageError("%s:%d: expected a point as a JSON object, as in {\"lr\": 0.003}: %w", name, number,
				err)
		}
		if points = append(points, point); len(points) > maxPoints {
			return nil, usageError("%s has more than %d points: add them in parts", name, maxPoints)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, usageError("%s:%d: the line is longer than %s: write each point on a line of its own", name, number,
			sweep.SizeText(longestPoint))
	} else if err != nil {
		return nil, fmt.Errorf("%s: after %d points: %w", name, len(points), err)
	}
	if len(points) == 0 {
		return nil, usageError("%s has no points: write one JSON object a line, as in {\"lr\": 0.003}", name)
	}
	return points, nil
}

// toldTrials are the trials of a point.
type toldTrials struct {
	Index int64 `json:"index"`
	// Trials is how many there are, from Index on: the replicates.
	Trials int64 `json:"trials,omitempty"`
	// Indices are those of all trials, if they are not next to each other.
	Indices []int64 `json:"indices,omitempty"`
	// Had says that the sweep had them all before.
	Had bool `json:"had,omitempty"`
}

// tellPoints adds those points to a sweep that it lacks, points with the same parameters at once.
func tellPoints(cmd *cobra.Command, t target, record *sweep.SweepRecord, told *told) error {
	if policy.ByResults(&record.Grids[0].Submission.Spec) {
		return fmt.Errorf("sweep %s chooses its points by results and takes no others: submit a file with method: "+
			"grid or random, and tell that sweep", record.ID)
	}
	have := record.Points()
	if told.from == linesUntilNow {
		told.from = have
	}
	if told.from > have {
		return usageError("--from %d: sweep %s has %s", told.from, record.ID, sweep.CountText(have, "trial"))
	}
	first := &record.Grids[0].Submission
	if err := told.fill(first); err != nil {
		return err
	}
	indices, complete, err := told.locate(cmd.Context(), record)
	if err == nil && !complete {
		err = programUnchanged(cmd.Context(), t, record.ID, 0)
	}
	if err != nil {
		return err
	}
	for from := 0; !complete && from < len(told.points); {
		until := from + 1
		for until < len(told.points) && sameNames(told.points[from].Parameters, told.points[until].Parameters) {
			until++
		}
		submission, err := told.submission(record.ID, first, from, until)
		if err == nil {
			_, err = t.Extend(cmd.Context(), record.ID, submission)
		}
		if err != nil {
			return err
		}
		from = until
	}
	if !complete {
		if record, err = t.Sweep(cmd.Context(), record.ID); err != nil {
			return err
		}
		if indices, _, err = told.locate(cmd.Context(), record); err != nil {
			return err
		}
	}
	encoder := newEncoder(cmd.OutOrStdout())
	for i := range told.points {
		n := len(told.points[i].replicates(first))
		if err := encoder.Encode(trialsAt(indices[:n], told.from)); err != nil {
			return err
		}
		indices = indices[n:]
	}
	return nil
}

// trialsAt describes the trials of a point, which were told when the sweep had so many.
func trialsAt(indices []int64, had int64) toldTrials {
	trials := toldTrials{Index: indices[0], Had: slices.Max(indices) < had}
	if n := len(indices); n > 1 {
		trials.Trials = int64(n)
		for i, index := range indices {
			if index != indices[0]+int64(i) {
				trials.Indices = indices
			}
		}
	}
	return trials
}

// locate returns the trials that a sweep has of the points, replicate by replicate, -1 for each that it lacks, and
// whether it lacks none. It fails if the sweep has others from the trial on that the points begin with.
func (t *told) locate(ctx context.Context, record *sweep.SweepRecord) (indices []int64, complete bool, err error) {
	var points []sweep.Parameters
	for i := range t.points {
		points = append(points, t.points[i].replicates(&record.Grids[0].Submission)...)
	}
	if indices, err = coordinator.Locate(ctx, record, points); err != nil {
		return nil, false, err
	}
	next, complete := t.from, true
	for _, index := range indices {
		if index == next {
			next++
		}
		if index > next || index < 0 && next != record.Points() {
			return nil, false, fmt.Errorf("sweep %s has other trials from %d on: --from is the number of trials "+
				"before the points are added", record.ID, t.from)
		}
		complete = complete && index >= 0
	}
	return indices, complete, nil
}

// replicates are a point with each of the seeds of a file, if the point has none itself.
func (p *toldPoint) replicates(first *sweep.Submission) []sweep.Parameters {
	seeds := seedsOf(first)
	if _, given := p.Parameters[sweep.SeedParameter]; given || seeds == nil {
		return []sweep.Parameters{p.Parameters}
	}
	var list []sweep.Parameters
	for i := range seeds.Len() {
		point := maps.Clone(p.Parameters)
		point[sweep.SeedParameter] = seeds.Parameters[0].Values.At(i)
		list = append(list, point)
	}
	return list
}

// seedsOf is the axis of the seeds of a file, nil if it has none.
func seedsOf(first *sweep.Submission) *sweep.Axis {
	for i := range first.Spec.Axes {
		if first.Spec.Axes[i].Parameters[0].Name == sweep.SeedParameter {
			return &first.Spec.Axes[i]
		}
	}
	return nil
}

func sameNames(a, b sweep.Parameters) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if _, ok := b[name]; !ok {
			return false
		}
	}
	return true
}

// fill gives the points the parameters with a single value, and checks them.
func (t *told) fill(first *sweep.Submission) error {
	optional, known := map[string]bool{sweep.SeedParameter: true}, map[string]bool{}
	for _, c := range first.Spec.Conditions {
		optional[c.Parameter] = true
	}
	lines := map[string]int{}
	for i := range t.points {
		point := &t.points[i]
		bad := func(format string, arguments ...any) error {
			return usageError("%s:%d: %w", t.name, point.line, fmt.Errorf(format, arguments...))
		}
		for _, axis := range first.Spec.Axes {
			for _, p := range axis.Parameters {
				known[p.Name] = true
				value, given := point.Parameters[p.Name]
				_, number := sweep.Number(value)
				switch {
				case given && !number && (p.Values.Range != nil || p.Values.Distribution != nil):
					return bad("%s must be a number, not %s", p.Name, sweep.JSONText(value))
				case given:
				case p.Values.Len() == 1 && p.Values.Distribution == nil:
					point.Parameters[p.Name] = p.Values.At(0)
				case !optional[p.Name]:
					return bad("the point has no value for %s, which varies in the sweep", p.Name)
				}
			}
		}
		for _, name := range point.Names() {
			if !known[name] && first.Description.Parameter(name) == nil {
				return bad("the sweep has no parameter %q%s", name, meant(name, "", slices.Sorted(maps.Keys(known))))
			}
		}
		resolved, err := first.Description.Resolve(point.Parameters)
		if err != nil {
			return bad("%w", err)
		}
		key, err := first.Description.DatasetKey(resolved)
		if err != nil {
			return bad("%w", err)
		}
		if _, known := first.Datasets[key]; !known && len(first.Datasets) > 0 {
			return bad("the sweep's file has no data %s; submit a sweep with these", key)
		}
		canonical, err := point.Canonical()
		if err != nil {
			return bad("%w", err)
		}
		if before := lines[string(canonical)]; before > 0 {
			return bad("the point repeats that of line %d", before)
		}
		lines[string(canonical)] = point.line
	}
	return nil
}

// submission is the extension with some of the points, which have the same parameters.
func (t *told) submission(id string, first *sweep.Submission, from, until int) (*sweep.Submission, error) {
	extension := *first
	spec := &extension.Spec
	points, key := sweep.Axis{}, sha256.New()
	names := t.points[from].Names()
	for _, name := range names {
		p := sweep.AxisParameter{Name: name}
		for i := from; i < until; i++ {
			p.Values.List = append(p.Values.List, t.points[i].Parameters[name])
		}
		points.Parameters = append(points.Parameters, p)
	}
	axes := []sweep.Axis{points}
	if seeds := seedsOf(first); seeds != nil && !slices.Contains(names, sweep.SeedParameter) {
		axes = append(axes, *seeds)
	}
	spec.Axes, spec.Conditions, spec.Exclude, spec.Cap, spec.Random, spec.Budget = axes, nil, nil, 0, nil, nil
	spec.Policies = policy.Undrawn(spec.Policies)
	for i := from; i < until; i++ {
		canonical, err := t.points[i].Canonical()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", t.name, t.points[i].line, err)
		}
		_, _ = key.Write(append(canonical, '\n')) // a hash takes everything
	}
	extension.Source, extension.Flops = "", 0
	extension.Key = fmt.Sprintf("told-%s-%d-%s", id, t.from, hex.EncodeToString(key.Sum(nil)[:16]))
	return &extension, nil
}
