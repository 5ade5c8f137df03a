package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sweep/coordinator/store/storetest"
	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
)

// fickle is an artifact store in which some deletions fail, before or after they are done.
type fickle struct {
	artifact.Backend
	calls int
}

var errInterrupted = errors.New("interrupted")

func (i *fickle) Delete(ctx context.Context, location string) error {
	if i.calls++; i.calls%4 == 1 {
		return errInterrupted
	}
	if err := i.Backend.Delete(ctx, location); err != nil || i.calls%4 != 3 {
		return err
	}
	return errInterrupted
}

// What a sweep keeps of its best trials alone is removed of the others, wherever that is interrupted.
func TestRemoveDropped(t *testing.T) {
	s, ctx := storetest.Open(t), t.Context()
	folder, err := artifact.NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	backend := &fickle{Backend: folder}
	artifacts := artifact.New(backend, logger(t))
	c := New(Options{Store: s, Artifacts: artifacts, Logger: logger(t)})
	example := storetest.Example{ID: "s1", Submission: submission("keep", 1, 6)}
	example.Submission.Spec.Artifacts = []string{"weights"}
	example.Submission.Spec.Keep = map[string]int64{"weights": 2}
	example.Submission.Spec.Select = sweep.Select{By: "loss", Goal: sweep.Maximize}
	for i := range int64(6) {
		id := sweep.TrialID{Sweep: "s1", Index: i}
		content := fmt.Appendf(nil, "weights of %d", i)
		r := artifacttest.Record(id, content)
		if err := artifacts.Put(ctx, r.Location, bytes.NewReader(content), r.Size); err != nil {
			t.Fatal(err)
		}
		example.Trials = append(example.Trials, sweep.Trial{TrialID: id, Parameters: sweep.Parameters{"x": i}})
		result := event(sweep.EventResult, id, newExecution())
		result.Result = outcome(id)
		result.Result.Summary = map[string]float64{"loss": float64(i)}
		result.Result.Artifacts = []sweep.Artifact{r.Artifact}
		example.Events = append(example.Events, result)
	}
	example.Add(t, s)
	states := func() []string { return artifactStates(t, c, "s1", sweep.CheckDigest) }
	want := []string{"0 dropped", "1 dropped", "2 dropped", "3 dropped", "4 stored", "5 stored"}
	attempts := 1
	for ; ; attempts++ {
		if got := states(); !slices.Equal(got, want) {
			t.Fatalf("%v", got)
		}
		if err := c.removeDropped(ctx); err == nil {
			break
		} else if !errors.Is(err, errInterrupted) || attempts > 100 {
			t.Fatal(err)
		}
	}
	if attempts < 3 {
		t.Errorf("%d attempts", attempts)
	}
	if got := states(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for i, e := range example.Events {
		a := artifacttest.Record(e.TrialID, fmt.Appendf(nil, "weights of %d", i))
		_, lost := errors.AsType[*sweep.LostError](artifacts.Check(ctx, a, true))
		if lost != (i < 4) {
			t.Errorf("trial %d: lost is %v", i, lost)
		}
	}
	more := submission("keep", 6, 1)
	more.Spec.Select = example.Submission.Spec.Select
	if _, err := c.Extend(ctx, "s1", more); err == nil ||
		!strings.Contains(err.Error(), "keep: {weights: 2}, the extension {}") {
		t.Errorf("an extension that keeps all: %v", err)
	}
	id := sweep.TrialID{Sweep: "s1"}
	if _, err := c.Artifact(ctx, id, "weights", 0, &bytes.Buffer{}); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
