package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sweep/sweep"
	"sweep/sweep/artifact"
)

// lostArtifacts lists, on out, the artifacts of completed trials that their sweep asks for and that were lost, and
// counts them: those that could not be stored, and of reused results those that the store, if given, does not have any
// more. What the sweep itself has stored was verified then.
func lostArtifacts(ctx context.Context, results sweep.Reader, id string, store *artifact.Store,
	out io.Writer) (lost int, err error) {
	record, err := results.Sweep(ctx, id)
	if err != nil {
		return 0, err
	}
	var declared []string
	for i := range record.Grids {
		declared = append(declared, record.Grids[i].Submission.Spec.Artifacts...)
	}
	if len(declared) == 0 {
		return 0, nil
	}
	own := sweep.ArtifactPrefix(record.Pool, record.ID)
	var found []*sweep.CheckedArtifact
	var unchecked error
	verify := store != nil
	err = results.Artifacts(ctx, sweep.ArtifactQuery{Sweep: id}, func(r *sweep.ArtifactRecord) error {
		a := &sweep.CheckedArtifact{ArtifactRecord: *r, State: sweep.ArtifactMissing}
		switch {
		case !slices.Contains(declared, r.Name) || r.Dropped:
			return nil
		case r.Problem != "":
			if !r.WasLost() {
				return nil
			}
		case !verify || strings.HasPrefix(r.Location, own):
			return nil
		default:
			a.Problem, unchecked = checkProblem(store.Check(ctx, r, false))
			if verify = unchecked == nil; a.Problem == "" {
				return nil
			}
		}
		found = append(found, a)
		return nil
	})
	if err == nil {
		found, err = ofCompleted(ctx, results, id, found)
	}
	if err != nil {
		return 0, fmt.Errorf("which artifacts are lost cannot be told: %w", err)
	}
	var problems artifactProblems
	for _, a := range found {
		problems.add(a)
	}
	problems.print(out)
	if unchecked != nil {
		fmt.Fprintf(out, "warning: artifacts of reused results are not all verified: %v\n", unchecked)
	}
	return len(found), nil
}

// checkProblem says what a check found wrong with an artifact, or why it could not be checked.
func checkProblem(err error) (problem string, unchecked error) {
	if gone, ok := errors.AsType[*sweep.LostError](err); ok {
		return gone.Problem, nil
	}
	if damaged, ok := errors.AsType[*sweep.DamagedError](err); ok {
		return damaged.Problem + "; train it again, with --reuse=false, to have it made anew", nil
	}
	return "", err
}

// ofCompleted returns those of the artifacts whose trials completed.
func ofCompleted(ctx context.Context, results sweep.Reader, id string,
	found []*sweep.CheckedArtifact) ([]*sweep.CheckedArtifact, error) {
	if len(found) == 0 {
		return nil, nil
	}
	others := map[int64]bool{}
	query := sweep.TrialQuery{Sweeps: []string{id}, States: []sweep.State{sweep.Failed, sweep.Stopped, sweep.Cancelled,
		sweep.Skipped}}
	err := results.Trials(ctx, query, func(t *sweep.TrialRecord) error {
		others[t.Index] = true
		return nil
	})
	return slices.DeleteFunc(found, func(a *sweep.CheckedArtifact) bool { return others[a.Index] }), err
}
