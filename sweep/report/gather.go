package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sweep/sweep"
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

// filling is a table that is being filled.
type filling struct {
	add func(*sweep.TrialRecord) error
	has func() bool
	lay func() (*Table, error)
}

// fill begins to fill the table.
func (r *Request) fill(choice sweep.Select, description *sweep.Description, artifact func(sweep.TrialID) ([]byte,
	error)) *filling {
	if r.Layout != nil {
		board := NewBoard(r.Layout, choice, description)
		return &filling{board.Add, func() bool { return board.any }, board.Table}
	}
	c := NewCollection(choice, description, r.Names)
	return &filling{c.Add, func() bool { return r.Kind.Has(c) }, func() (*Table, error) {
		if r.Selection.Ensemble() > 0 {
			if err := c.Vote(r.Selection, r.Kind.Holds, artifact); err != nil {
				return nil, err
			}
		}
		return r.Kind.Lay(c, r.Selection), nil
	}}
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

// remarks are what results note of how they came about, with the data sets of which they do.
type remarks map[string]map[string]bool

// add adds what a trial's result notes.
func (r remarks) add(t *sweep.TrialRecord) {
	if t.Result == nil || t.Result.Error == "" {
		return
	}
	if r[t.Result.Error] == nil {
		r[t.Result.Error] = map[string]bool{}
	}
	set, _ := t.Parameters["dataset"].(string)
	r[t.Result.Error][set] = true
}

// note appends them to a table's notes.
func (r remarks) note(t *Table) {
	for _, text := range slices.Sorted(maps.Keys(r)) {
		sets := list(slices.Sorted(maps.Keys(r[text])))
		t.note("%s", strings.TrimPrefix(sets+": "+text+".", ": "))
	}
}

// holds reports whether a trial may have a row in the table.
func (r *Request) holds(t *sweep.TrialRecord) bool {
	set, _ := t.Parameters["dataset"].(string)
	return r.Kind == nil || r.Kind.Holds(set)
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
	artifact := func(id sweep.TrialID) ([]byte, error) {
		var b bounded
		_, err := artifacts.Artifact(ctx, id, ProbabilitiesArtifact, 0, &b)
		return b.Bytes(), err
	}
	var rows *filling
	var choice sweep.Select
	forms, said := map[string]bool{}, remarks{}
	for _, reference := range references {
		record, err := results.Sweep(ctx, reference) // with its submission
		if err != nil {
			return nil, nil, err
		}
		if !r.fits(record) {
			continue // nothing for the table
		}
		submission := &record.Grids[0].Submission
		own := submission.Spec.Select.Filled(&submission.Description)
		switch {
		case rows == nil || !together:
			rows, choice, used = r.fill(own, &submission.Description, artifact), own, nil
			clear(forms)
			clear(said)
		case !reflect.DeepEqual(own, choice):
			return nil, nil, &IncomparableError{record.ID, own, choice}
		}
		used = append(used, record.ID)
		forms[r.Forms[record.Name]] = true
		query := sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}}
		err = results.Trials(ctx, query, func(t *sweep.TrialRecord) error {
			if r.holds(t) {
				said.add(t)
			}
			return rows.add(t)
		})
		if err != nil {
			return nil, nil, err
		}
		if !together && rows.has() {
			break
		}
	}
	if rows == nil || !rows.has() {
		return nil, nil, nil
	}
	if table, err = rows.lay(); err != nil {
		return nil, nil, err
	}
	delete(forms, "")
	for _, what := range slices.Sorted(maps.Keys(forms)) {
		table.Notes = slices.Insert(table.Notes, 0, Note{Text: what})
	}
	said.note(table)
	for _, text := range r.Notes {
		table.note("%s", strings.TrimSpace(text))
	}
	return table, used, nil
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
