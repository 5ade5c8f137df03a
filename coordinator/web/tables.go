package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"sweep/sweep"
	"sweep/sweep/report"
)

// longestVotes bounds the class probabilities of a trial, in bytes: ten thousand rows
// of ten classes are 240 kB.
const longestVotes = 64 << 20

// table answers a table of the papers, from the sweeps that are named, or from the
// newest that has a row for it.
func (s *Server) table(r *http.Request) (any, error) {
	q := queryOf(r)
	at, references := slices.IndexFunc(report.Kinds, func(k report.Kind) bool { return k.Name == r.PathValue("kind") }), q.list("sweep")
	if at < 0 {
		return nil, &requestError{http.StatusNotFound, fmt.Sprintf("no table %.40q", r.PathValue("kind"))}
	}
	kind := &report.Kinds[at]
	selection := report.Mean
	if text := q.text("select"); text != "" {
		var err error
		if selection, err = report.ParseSelection(text); err != nil {
			return nil, bad(err)
		}
	}
	turn := s.questions // it reads all trials of a sweep
	if selection.Ensemble() > 0 {
		switch {
		case !kind.Classes:
			return nil, bad(fmt.Errorf("the table %s has no classes to vote on: ask for mean or single", kind.Name))
		case s.options.Artifacts == nil:
			return nil, errNoArtifacts
		}
		turn = s.voting
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if len(references) == 0 {
		records, err := s.options.Store.Sweeps(r.Context())
		if err != nil {
			return nil, err
		}
		for i := range records {
			references = append(references, records[i].ID)
		}
	}
	together := len(q.list("sweep")) > 0
	var collection *report.Collection
	var choice sweep.Select
	used := []string{}
	for _, reference := range references {
		record, err := s.options.Store.Sweep(r.Context(), reference)
		if err != nil {
			return nil, err
		}
		submission := &record.Grids[0].Submission
		if submission.Description.Parameter("dataset") == nil || submission.Description.Parameter("model") == nil {
			continue
		}
		own := submission.Spec.Select.Filled(&submission.Description)
		switch {
		case collection == nil || !together:
			collection, choice, used = report.NewCollection(own), own, nil
		case !reflect.DeepEqual(own, choice):
			return nil, bad(fmt.Errorf("sweep %s compares its trials by %v, another of this table by %v: ask for their tables apart", record.ID, own, choice))
		}
		used = append(used, record.ID)
		query := sweep.TrialQuery{Sweeps: []string{record.ID}, States: []sweep.State{sweep.Completed}}
		if err := s.options.Store.Trials(r.Context(), query, collection.Add); err != nil {
			return nil, err
		}
		if !together && kind.Has(collection) {
			break
		}
	}
	if collection == nil || !kind.Has(collection) {
		return map[string]any{"table": nil, "sweeps": []string{}}, nil
	}
	if selection.Ensemble() > 0 {
		if err := collection.Vote(selection, s.votes(r.Context())); err != nil {
			return nil, err
		}
	}
	table := kind.Lay(collection, selection)
	rules := []int{}
	for at, is := range table.Rules {
		if is {
			rules = append(rules, at)
		}
	}
	return map[string]any{"sweeps": used, "rules": rules, "table": map[string]any{
		"title": table.Title, "columns": table.Columns, "rows": table.Rows, "notes": table.Notes,
	}}, nil
}

// votes returns what reads a trial's class probabilities.
func (s *Server) votes(ctx context.Context) func(id sweep.TrialID) ([]byte, error) {
	return func(id sweep.TrialID) ([]byte, error) {
		var b bounded
		_, err := s.options.Artifacts.Artifact(ctx, id, report.ProbabilitiesArtifact, 0, &b)
		return b.Bytes(), err
	}
}

// bounded is a buffer that takes longestVotes at most.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > longestVotes {
		return 0, fmt.Errorf("its class probabilities have more than %s", sweep.SizeText(longestVotes))
	}
	return b.Buffer.Write(p)
}
