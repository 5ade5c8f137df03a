package worker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/wire"
	"sweep/sweep/wire/wiretest"
	"sweep/worker"
)

func newFolder(t *testing.T) *artifact.Store {
	t.Helper()
	folder, err := artifact.NewFolder(filepath.Join(t.TempDir(), "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	return artifact.New(folder, logger(t))
}

// asking is a job whose sweep asks for artifacts.
func asking(index int64, names ...string) wire.Job {
	j := job(index)
	j.Artifacts = names
	return j
}

// record is that of an artifact of sweep s in the pool of the tests.
func record(index int64, a sweep.Artifact) *sweep.ArtifactRecord {
	id := sweep.TrialID{Sweep: "s", Index: index}
	return &sweep.ArtifactRecord{TrialID: id, Artifact: a, Location: sweep.ArtifactLocation(sweep.DefaultPool,
		id, a.Digest)}
}

// check returns what is wrong with an artifact of a trial. It reads again if a busy store does not answer.
func (r *rig) check(store *artifact.Store, index int64, a sweep.Artifact) (err error) {
	r.t.Helper()
	eventually(r.t, "artifact "+a.Name, func() bool {
		err = store.Check(r.t.Context(), record(index, a), true)
		return errors.As(err, new(*sweep.LostError)) || errors.As(err, new(*sweep.DamagedError)) || r.answered(err)
	})
	return err
}

// leave is a trainer that hands over what hand does and succeeds.
func leave(hand func(request sweep.TrainRequest, sink sweep.Sink) error) behaviour {
	return func(_ context.Context, _ *process, request sweep.TrainRequest, sink sweep.Sink) (*sweep.Result, error) {
		if err := hand(request, sink); err != nil {
			return nil, err
		}
		return outcome(request), nil
	}
}

// What a sweep asks for is stored before the result is reported, which says where
// each is, or why not.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	small, large := artifacttest.Content(1, 1000), artifacttest.Content(2, 3<<20)
	r := newRig(t, leave(func(request sweep.TrainRequest, sink sweep.Sink) error {
		if request.Index == 0 && len(request.Artifacts) != 6 {
			return fmt.Errorf("asked for %v", request.Artifacts)
		}
		return errors.Join(
			sink.Artifact(sweep.Artifact{Name: "small"}, bytes.NewReader(large)), // is replaced
			sink.Artifact(sweep.Artifact{Name: "small", MediaType: "text/plain"}, bytes.NewReader(small)),
			sink.Artifact(sweep.Artifact{Name: "large", Size: 3 << 20,
				Digest: artifacttest.Record(sweep.TrialID{}, large).Digest}, bytes.NewReader(large)),
			sink.Artifact(sweep.Artifact{Name: "unwanted"}, bytes.NewReader(large)),
			sink.Artifact(sweep.Artifact{Name: "damaged", Digest: artifacttest.Record(sweep.TrialID{}, large).Digest},
				bytes.NewReader(small)),
			sink.Artifact(sweep.Artifact{Name: "short", Size: 1001}, bytes.NewReader(small)),
			sink.Artifact(sweep.Artifact{Name: "huge"}, io.LimitReader(zeros{}, 1<<40)),
		)
	}))
	store, dir := newFolder(t), t.TempDir()
	j := asking(0, "huge", "large", "small", "damaged", "short", "absent")
	j.Limits.Artifact, j.Limits.Artifacts = 4<<20, 20<<20
	r.publish(j, job(1))
	r.start(worker.Options{Artifacts: store, CheckpointDir: dir})
	got := r.result(0).Artifacts
	want := map[string]string{
		"huge": "it has more than 4 MiB (limits.artifact)", "damaged": "damaged in transit from the trainer: the " +
			"digests differ",
		"short":  "damaged in transit from the trainer: received 1000 bytes of 1001",
		"absent": "the trainer did not hand it over",
	}
	if len(got) != len(j.Artifacts) {
		t.Fatalf("%+v", got)
	}
	for i, a := range got {
		if a.Name != j.Artifacts[i] || a.Problem != want[a.Name] {
			t.Errorf("%+v", a)
		}
		if a.Problem != "" {
			if a.Digest != "" || a.Size != 0 {
				t.Errorf("%+v", a)
			}
			continue
		}
		if err := r.check(store, 0, a); err != nil || a.Store != store.Name() {
			t.Errorf("%+v: %v", a, err)
		}
	}
	if a := got[2]; a.Size != 1000 || a.MediaType != "text/plain" {
		t.Errorf("%+v", a)
	}
	if a := r.result(1).Artifacts; a != nil { // that does not ask
		t.Errorf("%+v", a)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// All artifacts of a trial together are bounded.
func TestArtifactsTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t, leave(func(_ sweep.TrainRequest, sink sweep.Sink) error {
		return errors.Join(sink.Artifact(sweep.Artifact{Name: "a"}, bytes.NewReader(make([]byte, 600))),
			sink.Artifact(sweep.Artifact{Name: "b"}, bytes.NewReader(make([]byte, 600))),
			sink.Artifact(sweep.Artifact{Name: "c"}, bytes.NewReader(make([]byte, 400))))
	}))
	j := asking(0, "a", "b", "c")
	j.Limits.Artifact, j.Limits.Artifacts = 1000, 1000
	r.publish(j, asking(1, "a"))
	r.start(worker.Options{Artifacts: newFolder(t)})
	got := r.result(0).Artifacts
	if len(got) != 3 || got[0].Problem != "" || !strings.Contains(got[1].Problem, "limits.artifacts") ||
		got[2].Problem != "" {
		t.Errorf("%+v", got)
	}
	if got := r.result(1).Artifacts; len(got) != 1 || got[0].Size != 600 {
		t.Errorf("%+v", got)
	}
}

// Media are stored unasked, a bounded number of them, behind what the sweep requests.
func TestMedia(t *testing.T) {
	t.Parallel()
	r := newRig(t, leave(func(_ sweep.TrainRequest, sink sweep.Sink) error {
		var all error
		for i := range sweep.MaxMedia + 3 {
			all = errors.Join(all, sink.Artifact(sweep.Artifact{Name: fmt.Sprintf("%s%03d.png", sweep.MediaPrefix, i)},
				strings.NewReader(fmt.Sprint(i))))
		}
		return errors.Join(all, sink.Artifact(sweep.Artifact{Name: "weights"}, strings.NewReader("w")),
			sink.Artifact(sweep.Artifact{Name: "media.000.png"}, strings.NewReader("newer")))
	}))
	store := newFolder(t)
	r.publish(asking(0, "weights"))
	r.start(worker.Options{Artifacts: store})
	got := r.result(0).Artifacts
	if len(got) != 1+sweep.MaxMedia || got[0].Name != "weights" || got[1].Name != "media.000.png" ||
		got[1].Size != int64(len("newer")) || got[sweep.MaxMedia].Name != "media.099.png" {
		t.Errorf("%d artifacts: %+v", len(got), got)
	}
	for _, a := range got {
		if err := r.check(store, 0, a); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

// Without a store, or with one that does not take anything, the result says so.
func TestArtifactsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := artifact.NewFolder(filepath.Join(file, "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	for want, store := range map[string]*artifact.Store{"no artifact store": nil,
		"not stored: artifact store file://": artifact.New(folder, nil)} {
		r := newRig(t, leave(func(_ sweep.TrainRequest, sink sweep.Sink) error {
			return sink.Artifact(sweep.Artifact{Name: "weights"}, strings.NewReader("x"))
		}))
		r.publish(asking(0, "weights"))
		r.start(worker.Options{Artifacts: store})
		if got := r.result(0); got.State != sweep.Completed || len(got.Artifacts) != 1 ||
			!strings.Contains(got.Artifacts[0].Problem, want) {
			t.Errorf("%+v", got)
		}
	}
}

// What an execution without a result handed over is not stored.
func TestArtifactsOfAReleasedExecution(t *testing.T) {
	t.Parallel()
	failed := false
	r := newRig(t, func(_ context.Context, _ *process, request sweep.TrainRequest,
		sink sweep.Sink) (*sweep.Result, error) {
		if !failed {
			failed = true
			return nil, errors.Join(errors.New("broken"), sink.Artifact(sweep.Artifact{Name: "weights"},
				strings.NewReader("first")))
		}
		return outcome(request), nil
	})
	r.publish(asking(0, "weights"))
	dir := t.TempDir()
	folder, err := artifact.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.start(worker.Options{Artifacts: artifact.New(folder, nil)})
	r.release(0, 1)
	r.queueEmpties() // a job that is there is not published again
	r.publish(asking(0, "weights"))
	if got := r.result(0).Artifacts; len(got) != 1 || got[0].Problem != "the trainer did not hand it over" {
		t.Errorf("%+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("stored: %v, %v", left, err)
	}
}

// noise is bytes that are nowhere in memory all at once.
type noise struct {
	random *rand.ChaCha8
	left   int64
}

func (n *noise) Read(p []byte) (int, error) {
	if n.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), n.left)]
	n.left -= int64(len(p))
	return n.random.Read(p)
}

// A trial ends without an artifact for which there is no room, with the reason, and
// its slot goes on: only somebody who makes room could help.
func TestArtifactWithoutRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, leave(func(request sweep.TrainRequest, sink sweep.Sink) error {
		return sink.Artifact(sweep.Artifact{Name: "weights"},
			bytes.NewReader(artifacttest.Content(uint64(request.Index), 200<<10)))
	}))
	objects, err := r.wire.Objects(wire.DefaultBucket, 512<<10)
	if err != nil {
		t.Fatal(err)
	}
	store := artifact.New(objects, logger(t))
	eventually(t, "the artifact store", func() bool {
		return r.answered(store.Prepare(t.Context(), sweep.DefaultPool))
	})
	for i := range int64(5) {
		r.publish(asking(i, "weights"))
	}
	r.start(worker.Options{Artifacts: store, CheckpointDir: t.TempDir()})
	stored := 0
	for i := range int64(5) {
		result := r.result(i)
		if result.State != sweep.Completed || len(result.Artifacts) != 1 {
			t.Fatalf("trial %d: %+v", i, result)
		}
		switch a := result.Artifacts[0]; {
		case a.Problem == "":
			stored++
			if err := r.check(store, i, a); err != nil {
				t.Error(err)
			}
		case !a.Full || a.Digest != "" || !strings.Contains(a.Problem, "bucket SWEEP_ARTIFACTS_cpu has 512 KiB"):
			t.Errorf("trial %d: %+v", i, a)
		}
	}
	if stored != 2 {
		t.Errorf("%d artifacts of 200 KiB are stored in 512 KiB, want 2", stored)
	}
	r.queueEmpties()
}

// A worker whose results the broker does not take says so with its heartbeats.
func TestReportsWithoutRoom(t *testing.T) {
	t.Parallel()
	conn := wiretest.Run(t, wiretest.Options{Dir: t.TempDir(), MaxStore: 4 << 20}).Connect(t)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	r := rigOver(t, conn, leave(func(sweep.TrainRequest, sweep.Sink) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		config := jetstream.StreamConfig{Name: "OTHERS", Subjects: []string{"others"}}
		if _, err := js.CreateStream(ctx, config); err != nil {
			return err
		}
		for {
			_, err := js.Publish(ctx, "others", make([]byte, 512<<10))
			if errors.As(err, new(*jetstream.APIError)) { // it is full
				return nil
			}
			if err != nil {
				return err
			}
		}
	}))
	r.publish(job(0))
	r.start(worker.Options{CheckpointDir: t.TempDir()})
	problem := func() string {
		b, _ := r.lastHeartbeat()
		return b.Problem
	}
	eventually(t, "a heartbeat that says that the broker is full", func() bool {
		return strings.Contains(problem(), "JetStream storage of the NATS servers is full")
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := js.DeleteStream(ctx, "OTHERS"); err != nil {
		t.Fatal(err)
	}
	r.result(0)
	eventually(t, "a heartbeat without a problem", func() bool { return problem() == "" })
}

// An artifact of 300 MB gets through a broker that is restarted in the middle, and
// the parts that were there are not sent again.
func TestArtifactThroughARestartedBroker(t *testing.T) {
	t.Parallel()
	size := int64(300_000_000)
	if testing.Short() { // the race detector slows its digests down
		size = 60_000_000
	}
	dir := t.TempDir()
	server := wiretest.Run(t, wiretest.Options{Dir: dir, Port: -1})
	conn := server.Connect(t)
	r := rigOver(t, conn, leave(func(_ sweep.TrainRequest, sink sweep.Sink) error {
		return sink.Artifact(sweep.Artifact{Name: "weights"}, &noise{rand.NewChaCha8([32]byte{7}), size})
	}))
	objects, err := r.wire.Objects(wire.DefaultBucket, 0)
	if err != nil {
		t.Fatal(err)
	}
	store := artifact.New(objects, logger(t))
	eventually(t, "the artifact store", func() bool {
		return r.answered(store.Prepare(t.Context(), sweep.DefaultPool))
	})
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stored := func() uint64 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := js.Stream(ctx, "OBJ_"+wire.DefaultBucket+"_"+sweep.DefaultPool)
		if err != nil {
			return 0
		}
		return s.CachedInfo().State.Bytes
	}
	r.publish(asking(0, "weights"))
	r.start(worker.Options{Artifacts: store, CheckpointDir: t.TempDir()})
	for deadline := time.Now().Add(5 * time.Minute); stored() < uint64(size)/3; {
		if time.Now().After(deadline) {
			t.Fatal("a third of the artifact is still not there")
		}
		time.Sleep(time.Millisecond)
	}
	port := server.Port()
	server.Stop()
	wiretest.Run(t, wiretest.Options{Dir: dir, Port: port})
	var got *sweep.Result
	for deadline := time.Now().Add(5 * time.Minute); got == nil; {
		if time.Now().After(deadline) {
			t.Fatal("no result")
		}
		batch, err := r.events.Fetch(t.Context(), 50*time.Millisecond)
		if err != nil { // the broker is away, or was
			r.term++
			if events, err := r.wire.Events(t.Context(), r.term); err == nil {
				r.events = events
			}
			continue
		}
		for _, e := range batch.Events {
			if e.Kind == sweep.EventResult {
				got = e.Result
			}
		}
		if err := batch.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	if len(got.Artifacts) != 1 || got.Artifacts[0].Size != size || got.Artifacts[0].Problem != "" {
		t.Fatalf("%+v", got.Artifacts)
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, &noise{rand.NewChaCha8([32]byte{7}), size}); err != nil {
		t.Fatal(err)
	}
	if want := hex.EncodeToString(digest.Sum(nil)); got.Artifacts[0].Digest != want {
		t.Errorf("digest %s, want %s", got.Artifacts[0].Digest, want)
	}
	if err := r.check(store, 0, got.Artifacts[0]); err != nil {
		t.Error(err)
	}
	if kept := stored(); kept > uint64(size)*11/10 {
		t.Errorf("%d bytes are stored of an artifact of %d: what was interrupted stayed", kept, size)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := js.Stream(ctx, "OBJ_"+wire.DefaultBucket+"_"+sweep.DefaultPool)
	if err != nil {
		t.Fatal(err)
	}
	// At most the part that was under way is sent twice, 16 MiB of 60 MB; from its beginning
	// the artifact would be a third and more.
	if state := s.CachedInfo().State; state.LastSeq > state.Msgs*13/10 {
		t.Errorf("%d messages were sent for %d: the upload began again", state.LastSeq, state.Msgs)
	}
}
