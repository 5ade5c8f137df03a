package wire_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
)

func openObjects(t *testing.T, w *wire.Wire, pool string) *wire.Objects {
	t.Helper()
	objects, err := w.Objects(wire.DefaultBucket, 0)
	if err == nil {
		err = objects.Prepare(t.Context(), pool)
	}
	if err == nil { // again, it is there
		err = objects.Prepare(t.Context(), pool)
	}
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestObjects(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) artifact.Backend {
		w, err := wire.New(wiretest.Start(t), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Setup(t.Context(), sweep.Cluster{ID: "c"}, false); err != nil {
			t.Fatal(err)
		}
		return openObjects(t, w, "cpu")
	}, nil)
}

// smallServer has room for store bytes, as a server has that jobs, results and
// artifacts share.
func smallServer(t *testing.T, store int64) (*wire.Wire, jetstream.JetStream) {
	t.Helper()
	conn := wiretest.Run(t, wiretest.Options{Dir: t.TempDir(), MaxStore: store}).Connect(t)
	w, err := wire.New(conn, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Setup(t.Context(), sweep.Cluster{ID: "c"}, false); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	return w, js
}

// fill stores artifacts of size bytes in a pool until the store is full, and returns
// them. A store that is full says so at once: it is not tried again.
func fill(t *testing.T, objects *wire.Objects, pool string, size, most int) (stored []*sweep.ArtifactRecord) {
	t.Helper()
	store := artifact.New(objects, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for i := range most {
		content := artifacttest.Content(uint64(i), size)
		r := artifacttest.Record(sweep.TrialID{Sweep: "s", Index: int64(i)}, content)
		r.Location = sweep.ArtifactLocation(pool, r.TrialID, r.Digest)
		err := store.Put(ctx, r.Location, bytes.NewReader(content), r.Size)
		if errors.Is(err, sweep.ErrStoreFull) && ctx.Err() == nil {
			return stored
		}
		if err != nil {
			t.Fatalf("artifact %d of %d bytes: %v; want an error that says that the store is full, at once",
				i, size, err)
		}
		stored = append(stored, r)
	}
	t.Fatalf("%d artifacts of %d bytes are stored, and the store is still not full", most, size)
	return nil
}

// bucketSize is what a pool's bucket may hold, and holds.
func bucketSize(t *testing.T, js jetstream.JetStream, pool string) (most int64, used uint64) {
	t.Helper()
	s, err := js.Stream(t.Context(), "OBJ_"+wire.DefaultBucket+"_"+pool)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().Config.MaxBytes, s.CachedInfo().State.Bytes
}

// Artifacts leave room for jobs and events, and for the artifacts of other pools,
// though only the server knows how much it stores.
func TestObjectsLeaveRoom(t *testing.T) {
	const room = 16 << 20
	w, js := smallServer(t, room)
	var all uint64
	for _, pool := range []string{"cpu", "gpu", "big"} {
		objects := openObjects(t, w, pool)
		stored := fill(t, objects, pool, 256<<10, room/(256<<10)+1)
		if len(stored) == 0 {
			t.Errorf("pool %s: no artifact is stored", pool)
		}
		for _, r := range stored {
			if err := artifact.New(objects, nil).Check(t.Context(), r, true); err != nil {
				t.Errorf("pool %s: %v", pool, err)
			}
		}
		_, used := bucketSize(t, js, pool)
		all += used
	}
	if all > room/2 || all < room/8 {
		t.Errorf("artifacts take %d of %d bytes, want between an eighth and a half", all, room)
	}
	if err := w.OpenQueue(t.Context(), queue("cpu")); err != nil {
		t.Error(err)
	}
	if err := w.Publish(t.Context(), "cpu", "w",
		sweep.Event{Kind: sweep.EventStarted, TrialID: sweep.TrialID{Sweep: "s"}, Execution: "e", Time: time.Now()}); err != nil {
		t.Error(err)
	}
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		switch name {
		case wire.EventsStream, "SWEEP_JOBS_cpu", "OBJ_SWEEP_ARTIFACTS_cpu", "OBJ_SWEEP_ARTIFACTS_gpu", "OBJ_SWEEP_ARTIFACTS_big":
		default:
			t.Errorf("stream %s is left", name)
		}
	}
}

// The buckets of pools that are prepared at the same time leave room, too: each sees the others' shares.
func TestObjectsAtTheSameTime(t *testing.T) {
	const room = 16 << 20
	w, js := smallServer(t, room)
	objects, err := w.Objects(wire.DefaultBucket, 0)
	if err != nil {
		t.Fatal(err)
	}
	pools := []string{"cpu", "gpu", "big", "tpu"}
	var all sync.WaitGroup
	for _, pool := range pools {
		all.Go(func() {
			if err := objects.Prepare(t.Context(), pool); err != nil {
				t.Errorf("pool %s: %v", pool, err)
			}
		})
	}
	all.Wait()
	var sizes []int64
	for _, pool := range pools {
		most, _ := bucketSize(t, js, pool)
		sizes = append(sizes, most)
	}
	slices.Sort(sizes)
	if want := []int64{room / 32, room / 16, room / 8, room / 4}; !slices.Equal(sizes, want) {
		t.Errorf("the buckets may have %v bytes, want %v", sizes, want)
	}
}

// Removing sweeps makes room again.
func TestObjectsHaveRoomAgain(t *testing.T) {
	w, _ := smallServer(t, 8<<20)
	objects := openObjects(t, w, "cpu")
	store := artifact.New(objects, nil)
	first := fill(t, objects, "cpu", 256<<10, 33)
	if err := store.RemoveSweep(t.Context(), "cpu", "s", func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if again := fill(t, objects, "cpu", 256<<10, 33); len(again) != len(first) {
		t.Errorf("%d artifacts fit, %d before", len(again), len(first))
	}
}

// A bucket without a bound gets one and keeps what is
// in it, also where it has filled the server; one that its operator has bounded
// stays as it is, unless a size is set.
func TestObjectsTakeOverBuckets(t *testing.T) {
	const room = 8 << 20
	w, js := smallServer(t, room)
	for pool, most := range map[string]int64{"cpu": -1, "gpu": 1 << 20} {
		_, err := js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{
			Bucket: wire.DefaultBucket + "_" + pool, Description: "artifacts of trials", Storage: jetstream.FileStorage,
			MaxBytes: most,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	objects, err := w.Objects(wire.DefaultBucket, 0)
	if err != nil {
		t.Fatal(err)
	}
	old := fill(t, objects, "cpu", 256<<10, room/(256<<10)+1)
	_, before := bucketSize(t, js, "cpu")
	objects = openObjects(t, w, "cpu")
	openObjects(t, w, "gpu")
	most, after := bucketSize(t, js, "cpu")
	if most <= 0 || most > room/2 || after != before {
		t.Errorf("the bucket may have %d bytes of %d, and has %d of %d", most, room, after, before)
	}
	if most, _ := bucketSize(t, js, "gpu"); most != 1<<20 {
		t.Errorf("the bucket that an operator bounded may have %d bytes", most)
	}
	for _, r := range old {
		if err := artifact.New(objects, nil).Check(t.Context(), r, true); err != nil {
			t.Error(err)
		}
	}
	if more := fill(t, objects, "cpu", 300<<10, 1); len(more) > 0 { // others than those
		t.Error("a bucket beyond its bound takes more")
	}
	sized, err := w.Objects(wire.DefaultBucket, 3<<20)
	if err == nil {
		err = sized.Prepare(t.Context(), "gpu")
	}
	if err != nil {
		t.Fatal(err)
	}
	if most, _ := bucketSize(t, js, "gpu"); most != 3<<20 {
		t.Errorf("the bucket may have %d bytes, and its size is set to %d", most, 3<<20)
	}
}
