package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/frame"
)

// Kind is one of the tables.
type Kind struct {
	// Name is what the command line calls it.
	Name string
	// Holds reports whether a data set or task has a row in it. Each is in one table.
	Holds func(set string) bool
	// Lay lays it out.
	Lay func(*Collection, Selection) *Table
}

// Has reports whether a collection has a row for the table.
func (k *Kind) Has(c *Collection) bool { return c.Has(k.Holds) }

// A Request is a request for a table: of a Kind, or of a Layout.
type Request struct {
	Kind      *Kind
	Names     Names
	Selection Selection
	Layout    *Layout
	// Named are the names of the sweeps that are considered if Sweeps names none; empty means any.
	// A note says what those in Forms are.
	Named []string
	Forms map[string]string
	// Notes stand below the table.
	Notes []string
	// Sweeps are references of the sweeps in the table; empty means the newest that has a row for
	// it or, with All, all such sweeps.
	Sweeps []string
	All    bool
}

// Name is what the command line calls the table.
func (r *Request) Name() string {
	if len(r.Named) > 0 {
		return r.Named[0]
	}
	return r.Kind.Name
}

// IncomparableError says that two sweeps of one table compare their trials by different rules.
type IncomparableError struct {
	Sweep      string
	Own, Other sweep.Select
}

// Error implements error.
func (e *IncomparableError) Error() string {
	return fmt.Sprintf("sweep %s compares its trials by %v, another of this table by %v: make a table for each",
		e.Sweep, e.Own, e.Other)
}

// Artifacts reads the artifacts of trials.
type Artifacts interface {
	// Artifact writes the content of an artifact from an offset.
	Artifact(ctx context.Context, id sweep.TrialID, name string, from int64,
		out io.Writer) (*sweep.ArtifactRecord, error)
}

// fits reports whether a sweep may have rows for the table.
func (r *Request) fits(record *sweep.SweepRecord) bool {
	if len(r.Sweeps) == 0 && len(r.Named) > 0 && !slices.Contains(r.Named, record.Name) {
		return false
	}
	if r.Layout != nil {
		return true
	}
	description := &record.Grids[0].Submission.Description
	return description.Open || description.Parameter("dataset") != nil && description.Parameter("model") != nil
}

// remarks notes in a table what the results of sweeps note of how they came about, with the data sets of which they do.
func (r *Request) remarks(ctx context.Context, results sweep.Reader, sweeps []string, table *Table) error {
	sets := map[string]map[string]bool{}
	query := sweep.TrialQuery{Sweeps: sweeps, States: []sweep.State{sweep.Completed},
		Where: []sweep.TrialCondition{{Name: sweep.FieldKind.Of("error"), Operator: "!=", Value: ""}}}
	err := results.Trials(ctx, query, func(t *sweep.TrialRecord) error {
		if set, _ := t.Parameters["dataset"].(string); r.Kind == nil || r.Kind.Holds(set) {
			if sets[t.Result.Error] == nil {
				sets[t.Result.Error] = map[string]bool{}
			}
			sets[t.Result.Error][set] = true
		}
		return nil
	})
	for _, text := range slices.Sorted(maps.Keys(sets)) {
		table.note("%s", strings.TrimPrefix(list(slices.Sorted(maps.Keys(sets[text])))+": "+text+".", ": "))
	}
	return err
}

// Gather collects the sweeps' completed trials and lays out the table, nil if it has no row. used
// are the sweeps. Artifacts are read for ensembles only. Sweeps that do not fit together are an
// *[IncomparableError].
func (r *Request) Gather(ctx context.Context, results sweep.Reader,
	artifacts Artifacts) (table *Table, used []string, err error) {
	references, together := r.Sweeps, r.All || len(r.Sweeps) > 0
	if len(references) == 0 {
		records, err := results.Sweeps(ctx)
		if err != nil {
			return nil, nil, err
		}
		for i := range records {
			references = append(references, records[i].ID)
		}
	}
	var records []*sweep.SweepRecord
	for i := 0; i < len(references) && table == nil; i++ {
		record, err := results.Sweep(ctx, references[i]) // with its submission
		if err != nil {
			return nil, nil, err
		}
		if !r.fits(record) {
			continue // nothing for the table
		}
		if together && records != nil && !alike(record, records[0]) {
			return nil, nil, &IncomparableError{record.ID, choiceOf(record), choiceOf(records[0])}
		}
		if records = append(records, record); !together {
			records = records[len(records)-1:]
			if table, err = r.table(ctx, results, artifacts, records); err != nil {
				return nil, nil, err
			}
		}
	}
	if together && records != nil {
		table, err = r.table(ctx, results, artifacts, records)
	}
	if table == nil || err != nil {
		return nil, nil, err
	}
	forms := map[string]bool{}
	for _, record := range records {
		used = append(used, record.ID)
		forms[r.Forms[record.Name]] = true
	}
	delete(forms, "")
	for _, what := range slices.Sorted(maps.Keys(forms)) {
		table.Notes = slices.Insert(table.Notes, 0, Note{Text: what})
	}
	if err := r.remarks(ctx, results, used, table); err != nil {
		return nil, nil, err
	}
	for _, text := range r.Notes {
		table.note("%s", strings.TrimSpace(text))
	}
	return table, used, nil
}

// alike reports whether two sweeps compare their trials alike. A parameter of groups that one of the trainers does
// not have tells none of its trials apart.
func alike(a, b *sweep.SweepRecord) bool {
	own, other := choiceOf(a), choiceOf(b)
	has := func(r *sweep.SweepRecord, name string) bool {
		d := &r.Grids[0].Submission.Description
		return d.Open || d.Parameter(name) != nil
	}
	unknown := func(name string) bool { return !has(a, name) || !has(b, name) }
	own.Group = slices.DeleteFunc(slices.Clone(own.Group), unknown)
	other.Group = slices.DeleteFunc(slices.Clone(other.Group), unknown)
	return slices.Equal(own.Group, other.Group) && own.By == other.By && own.Goal == other.Goal
}

// choiceOf is how the trials of a sweep are compared.
func choiceOf(record *sweep.SweepRecord) sweep.Select {
	submission := &record.Grids[0].Submission
	return submission.Spec.Select.Filled(&submission.Description)
}

// table lays out the table of sweeps that fit together, without notes, nil if it has no row.
func (r *Request) table(ctx context.Context, results sweep.Reader, artifacts Artifacts,
	records []*sweep.SweepRecord) (*Table, error) {
	f, err := frame.Read(ctx, results, records, sweep.TrialQuery{States: []sweep.State{sweep.Completed}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	widest := slices.MaxFunc(records, func(a, b *sweep.SweepRecord) int {
		return len(choiceOf(a).Group) - len(choiceOf(b).Group)
	})
	choice, description := choiceOf(widest), &widest.Grids[0].Submission.Description
	if r.Layout != nil {
		return r.Layout.Table(ctx, f, choice, description)
	}
	c, err := NewCollection(ctx, f, choice, description, r.Names)
	if err == nil && r.Kind.Has(c) && r.Selection.Ensemble() > 0 {
		err = c.Vote(r.Selection, r.Kind.Holds, func(id sweep.TrialID) ([]byte, error) {
			var b bounded
			_, err := artifacts.Artifact(ctx, id, ProbabilitiesArtifact, 0, &b)
			return b.Bytes(), err
		})
	}
	if err != nil || !r.Kind.Has(c) {
		return nil, err
	}
	return r.Kind.Lay(c, r.Selection), nil
}

// longestVotes bounds the class probabilities of a trial, in bytes: ten thousand rows
// of ten classes are 240 kB.
const longestVotes = 64 << 20

// bounded is a buffer that takes longestVotes at most.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > longestVotes {
		return 0, fmt.Errorf("its class probabilities have more than %s", sweep.SizeText(longestVotes))
	}
	return b.Buffer.Write(p)
}
