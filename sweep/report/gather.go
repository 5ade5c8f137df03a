package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"

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

// A Request is a request for a table.
type Request struct {
	Kind      *Kind
	Names     Names
	Selection Selection
	// Sweeps are references of the sweeps in the table; empty means the newest that has a row for
	// it or, with All, all such sweeps.
	Sweeps []string
	All    bool
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
	var collection *Collection
	var choice sweep.Select
	for _, reference := range references {
		record, err := results.Sweep(ctx, reference) // with its submission
		if err != nil {
			return nil, nil, err
		}
		submission := &record.Grids[0].Submission
		if submission.Description.Parameter("dataset") == nil || submission.Description.Parameter("model") == nil {
			continue // nothing for a table
		}
		own := submission.Spec.Select.Filled(&submission.Description)
		switch {
		case collection == nil || !together:
			collection, choice, used = NewCollection(own, &submission.Description, r.Names), own, nil
		case !reflect.DeepEqual(own, choice):
			return nil, nil, &IncomparableError{record.ID, own, choice}
		}
		used = append(used, record.ID)
		query := sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}}
		if err := results.Trials(ctx, query, collection.Add); err != nil {
			return nil, nil, err
		}
		if !together && r.Kind.Has(collection) {
			break
		}
	}
	if collection == nil || !r.Kind.Has(collection) {
		return nil, nil, nil
	}
	if r.Selection.Ensemble() > 0 {
		err := collection.Vote(r.Selection, r.Kind.Holds, func(id sweep.TrialID) ([]byte, error) {
			var b bounded
			_, err := artifacts.Artifact(ctx, id, ProbabilitiesArtifact, 0, &b)
			return b.Bytes(), err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return r.Kind.Lay(collection, r.Selection), used, nil
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
