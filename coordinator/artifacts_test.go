package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/wire"
)

// A coordinator makes a place for a pool's artifacts before workers need it, shows
// what they put there, and removes what nothing refers to any more.
func TestArtifacts(t *testing.T) {
	b := newBench(t)
	objects, err := b.wire.Objects(wire.DefaultBucket)
	if err != nil {
		t.Fatal(err)
	}
	store := artifact.New(objects, logger(t))
	c, _ := b.start(Options{Artifacts: store})
	s := submission("weights", 1, 4)
	s.Spec.Artifacts = []string{"weights"}
	content := func(id sweep.TrialID) []byte { return fmt.Appendf(nil, "weights of %s", id) }
	w := &crew{b: b}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		if !slices.Equal(d.Artifacts, s.Spec.Artifacts) {
			t.Errorf("a job of %v", d.Artifacts)
		}
		r := artifacttest.Record(d.TrialID, content(d.TrialID))
		if err := store.Put(ctx, r.Location, bytes.NewReader(content(d.TrialID)), r.Size); err != nil {
			return err
		}
		result := event(sweep.EventResult, d.TrialID, newExecution())
		result.Result = outcome(d.TrialID)
		result.Result.Artifacts = []sweep.Artifact{r.Artifact}
		if d.Index == 3 {
			result.Result.State = sweep.Failed
		}
		if err := w.publish(ctx, result); err != nil {
			return err
		}
		return d.DoubleAck(ctx)
	}
	stop := w.start()
	id := b.submit(c, s)
	if _, err := c.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	stop()
	states := func(check sweep.ArtifactCheck) (list []string) {
		t.Helper()
		err := c.CheckArtifacts(t.Context(), sweep.ArtifactQuery{Sweep: "weights"}, check, func(a *sweep.CheckedArtifact) error {
			list = append(list, fmt.Sprint(a.Index, " ", a.State))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, check := range []sweep.ArtifactCheck{sweep.CheckNothing, sweep.CheckSize, sweep.CheckDigest} {
		if got := states(check); !slices.Equal(got, []string{"0 stored", "1 stored", "2 stored", "3 stored"}) {
			t.Errorf("%s: %v", check, got)
		}
	}
	trial := func(index int64) sweep.TrialID { return sweep.TrialID{Sweep: id, Index: index} }
	var out bytes.Buffer
	if r, err := c.Artifact(t.Context(), trial(2), "weights", 0, &out); err != nil || !bytes.Equal(out.Bytes(), content(trial(2))) || r.Size != int64(out.Len()) {
		t.Errorf("%+v, %v, %q", r, err, &out)
	}
	whole := bytes.Clone(out.Bytes())
	for _, from := range []int64{1, int64(len(whole)) - 1, int64(len(whole))} {
		out.Reset()
		if _, err := c.Artifact(t.Context(), trial(2), "weights", from, &out); err != nil || !bytes.Equal(out.Bytes(), whole[from:]) {
			t.Errorf("from byte %d: %q, %v", from, &out, err)
		}
	}
	for _, from := range []int64{-1, int64(len(whole)) + 1} {
		if _, err := c.Artifact(t.Context(), trial(2), "weights", from, &out); err == nil {
			t.Errorf("there is a byte %d", from)
		}
	}
	if _, err := c.Artifact(t.Context(), trial(2), "samples", 0, &out); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("%v", err)
	}
	// A retry forgets what a trial left: the bytes are nobody's then.
	if n, err := c.RetryNamed(t.Context(), id, []int64{0, 3}); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	orphan := artifacttest.Record(trial(3), content(trial(3)))
	for range 2 {
		if err := c.RemoveArtifacts(t.Context(), sweep.DefaultPool, id); err != nil {
			t.Fatal(err)
		}
		var lost *sweep.LostError
		if err := store.Check(t.Context(), orphan, false); !errors.As(err, &lost) {
			t.Errorf("%v", err)
		}
		if got := states(sweep.CheckDigest); !slices.Equal(got, []string{"0 stored", "1 stored", "2 stored"}) {
			t.Errorf("%v", got)
		}
	}
	kept := artifacttest.Record(trial(0), content(trial(0)))
	if _, err := c.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), "weights"); err != nil {
		t.Fatal(err)
	}
	var lost *sweep.LostError
	if err := store.Check(t.Context(), kept, false); !errors.As(err, &lost) {
		t.Errorf("%v", err)
	}
}

// Some trials of a sweep are cancelled: their jobs go, their workers are told, and
// the others go on to the sweep's end.
func TestCancelNamed(t *testing.T) {
	b := newBench(t)
	c, _ := b.start(Options{})
	var mu sync.Mutex
	told := map[int64]bool{}
	unsubscribe, err := b.wire.Cancellations(func(_ string, indices []int64) {
		mu.Lock()
		defer mu.Unlock()
		for _, index := range indices {
			told[index] = true
		}
		if len(indices) == 0 {
			t.Error("all trials are stopped")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unsubscribe() }()
	began, end := make(chan int64, 8), make(chan struct{})
	w := &crew{b: b, slots: 2}
	w.run = func(ctx context.Context, d *wire.Delivery) error {
		began <- d.Index
		select {
		case <-end:
		case <-ctx.Done():
			return nil
		}
		return w.report(ctx, d)
	}
	w.start()
	id := b.submit(c, submission("some", 1, 8))
	first, second := <-began, <-began
	other := slices.IndexFunc([]int64{0, 1, 2, 3}, func(i int64) bool { return i != first && i != second })
	if n, err := c.CancelNamed(t.Context(), id, nil); n != 0 || err != nil {
		t.Errorf("no trials: %d, %v", n, err)
	}
	for want := int64(2); want >= 0; want -= 2 {
		if n, err := c.CancelNamed(t.Context(), id, []int64{first, int64(other)}); n != want || err != nil {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
	if _, err := c.CancelNamed(t.Context(), id, []int64{second, 8}); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("%v", err)
	}
	b.until("the workers to be told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return told[first] && told[int64(other)] && !told[second]
	})
	close(end)
	record, err := c.Wait(t.Context(), id)
	if err != nil || record.State != sweep.SweepFinished {
		t.Fatalf("%+v, %v", record, err)
	}
	progress, err := b.store.Progress(t.Context(), id)
	if err != nil || progress.Completed != 6 || progress.Cancelled != 2 {
		t.Errorf("%+v, %v", progress, err)
	}
	if n, err := b.jobs(); err != nil || n > 1 {
		t.Errorf("%d jobs are left, %v", n, err)
	}
}
