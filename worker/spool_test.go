package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sweep/sweep"
	"sweep/sweep/artifact"
	"sweep/sweep/artifact/artifacttest"
	"sweep/sweep/wire"
	"sweep/worker"
)

// deadStore is a folder that answers nothing until it is revived.
type deadStore struct {
	*artifact.Folder
	alive chan struct{}
	// failing, if set, is what it answers instead.
	failing error
	once    sync.Once
}

func (d *deadStore) Write(ctx context.Context, location string, content *io.SectionReader) error {
	if d.failing != nil {
		select {
		case <-d.alive:
		default:
			return d.failing
		}
	}
	select {
	case <-d.alive:
		return d.Folder.Write(ctx, location, content)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *deadStore) revive() { d.once.Do(func() { close(d.alive) }) }

func newDeadStore(t *testing.T, failing error) (*deadStore, *artifact.Store) {
	t.Helper()
	folder, err := artifact.NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &deadStore{Folder: folder, alive: make(chan struct{}), failing: failing}
	return d, artifact.New(d, logger(t))
}

// leaveWeights is a trainer whose trials leave an artifact of 300 kB, if they are asked for it, and a small one.
func leaveWeights(t *testing.T) *rig {
	t.Helper()
	return newRig(t, leave(func(request sweep.TrainRequest, sink sweep.Sink) error {
		if len(request.Artifacts) == 0 {
			return nil
		}
		return errors.Join(
			sink.Artifact(sweep.Artifact{Name: "weights"}, bytes.NewReader(weightsOf(request.Index))),
			sink.Artifact(sweep.Artifact{Name: "media.note"}, strings.NewReader("small")))
	}))
}

func weightsOf(index int64) []byte { return artifacttest.Content(uint64(index), 300_000) }

// leaving is a job whose sweep asks for artifacts, as coordinators make it.
func leaving(index int64) wire.Job {
	j := asking(index, "weights")
	j.Requirement.Artifacts = true
	return j
}

// spooled is how many results wait at a worker, and why.
func (w *run) spooled() (results int, problem string) {
	status := w.Status()
	if status.Spool == nil {
		return 0, ""
	}
	return status.Spool.Results, status.Spool.Problem
}

// stored checks a result of leaveWeights.
func (r *rig) stored(store *artifact.Store, index int64) {
	r.t.Helper()
	result := r.result(index)
	if result.State != sweep.Completed || len(result.Artifacts) != 2 {
		r.t.Fatalf("trial %d: %+v", index, result)
	}
	for _, a := range result.Artifacts {
		if a.Problem != "" || a.Store != store.Name() {
			r.t.Errorf("trial %d: %+v", index, a)
			continue
		}
		if err := r.check(store, index, a); err != nil {
			r.t.Errorf("trial %d: %+v: %v", index, a, err)
		}
	}
}

// empty waits until nothing is left in a directory but empty ones.
func (r *rig) empty(dir string) {
	r.t.Helper()
	eventually(r.t, "an empty spool", func() bool {
		files := 0
		_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files++
			}
			return nil
		})
		return files == 0
	})
}

// A store that does not answer occupies no slot: trials that leave artifacts end, and so do others, and the worker says
// what waits and why. When the store answers, all results come, with their artifacts.
func TestDeadStoreOccupiesNoSlot(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]error{"hang": nil, "error": errors.New("out of order")} {
		r := leaveWeights(t)
		dead, store := newDeadStore(t, failing)
		dir := t.TempDir()
		for i := range int64(5) {
			r.publish(leaving(i))
		}
		w := r.start(worker.Options{Artifacts: store, SpoolDir: dir, CheckpointDir: t.TempDir()})
		eventually(t, "five results in the spool", func() bool { n, _ := w.spooled(); return n == 5 })
		r.publish(job(5), job(6))
		r.result(5)
		r.result(6)
		if failing != nil {
			eventually(t, "the reason", func() bool {
				_, problem := w.spooled()
				return strings.Contains(problem, "out of order") && strings.Contains(problem, "5 results")
			})
		}
		eventually(t, "a heartbeat that lists the executions", func() bool {
			b, _ := r.lastHeartbeat()
			return len(b.Storing) == 5 && len(b.Running) == 0
		})
		if got := r.of(sweep.EventResult, 0); len(got) != 0 {
			t.Errorf("%s: a result came without its artifacts", name)
		}
		dead.revive()
		for i := range int64(5) {
			r.stored(store, i)
		}
		r.queueEmpties()
		r.empty(dir)
	}
}

// What a worker that is gone left, its successor with the same directory stores and reports, under the execution that
// it was; a job of such a trial is not run again.
func TestSpoolOfAWorkerThatIsGone(t *testing.T) {
	t.Parallel()
	r := leaveWeights(t)
	dead, store := newDeadStore(t, nil)
	dir := t.TempDir()
	r.publish(leaving(0), leaving(1))
	first := r.start(worker.Options{Artifacts: store, SpoolDir: dir})
	eventually(t, "both in the spool", func() bool { n, _ := first.spooled(); return n == 2 })
	first.drain()
	for i := range int64(2) { // the trials may run elsewhere meanwhile
		if release := r.release(i, 1); release.Charged || !strings.Contains(release.Reason, "spool") {
			t.Errorf("%+v", release)
		}
	}
	r.queueEmpties()
	r.publish(leaving(1)) // but not here
	second := r.start(worker.Options{Name: "second", Artifacts: store, SpoolDir: dir})
	eventually(t, "the job taken", func() bool {
		b, _ := r.lastHeartbeat()
		return b.Name == "second" && len(b.Storing) == 2
	})
	dead.revive()
	r.stored(store, 0)
	r.stored(store, 1)
	r.queueEmpties()
	second.drain()
	for i := range int64(2) {
		results, released := r.of(sweep.EventResult, i), r.of(sweep.EventReleased, i)
		if len(results) != 1 || results[0].Execution != released[0].Execution || results[0].Worker != "w" {
			t.Errorf("trial %d: %+v", i, results)
		}
	}
	r.empty(dir)
	if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// Of two workers with one directory neither takes what is the other's.
func TestSpoolOfTwoWorkers(t *testing.T) {
	t.Parallel()
	r := leaveWeights(t)
	dead, store := newDeadStore(t, nil)
	dir := t.TempDir()
	r.publish(leaving(0))
	first := r.start(worker.Options{Artifacts: store, SpoolDir: dir})
	eventually(t, "a result in the spool", func() bool { n, _ := first.spooled(); return n == 1 })
	second := r.start(worker.Options{Name: "second", Artifacts: newFolder(t), SpoolDir: dir})
	eventually(t, "the second worker", func() bool { b, _ := r.lastHeartbeat(); return b.Name == "second" })
	if n, _ := second.spooled(); n != 0 {
		t.Errorf("it has %d results", n)
	}
	dead.revive()
	r.stored(store, 0)
	r.empty(dir)
}

// A file that was not wholly on the disk when the machine failed is not stored: the trial runs again.
func TestDamagedSpool(t *testing.T) {
	t.Parallel()
	r := leaveWeights(t)
	dead, store := newDeadStore(t, nil)
	dir := t.TempDir()
	r.publish(leaving(0))
	first := r.start(worker.Options{Artifacts: store, SpoolDir: dir})
	eventually(t, "a result in the spool", func() bool { n, _ := first.spooled(); return n == 1 })
	first.drain()
	r.queueEmpties()
	digest := artifacttest.Record(sweep.TrialID{}, weightsOf(0)).Digest
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", digest))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if err := os.Truncate(files[0], 1000); err != nil {
		t.Fatal(err)
	}
	dead.revive()
	r.start(worker.Options{Artifacts: store, SpoolDir: dir})
	r.empty(dir)
	r.publish(leaving(0))
	r.stored(store, 0)
}

// With a full spool a worker offers to run other trials alone, and says why; it takes the rest when there is room.
func TestFullSpool(t *testing.T) {
	t.Parallel()
	r := leaveWeights(t)
	dead, store := newDeadStore(t, errors.New("out of order"))
	w := r.start(worker.Options{Artifacts: store, SpoolDir: t.TempDir(), Spool: 1_000_000})
	for i := range int64(5) {
		r.publish(leaving(i))
	}
	eventually(t, "an offer without artifacts", func() bool {
		return strings.Contains(w.Status().Offer.NoArtifacts, "out of order")
	})
	r.offer.NoArtifacts = "full"
	eventually(t, "the queue of that offer", func() bool {
		return r.answered(r.wire.OpenQueue(t.Context(), r.queueName()))
	})
	r.publish(job(10), job(11))
	r.result(10)
	r.result(11)
	if n, _ := w.spooled(); n > 5 {
		t.Errorf("%d results in the spool", n)
	}
	dead.revive()
	eventually(t, "an offer with artifacts", func() bool {
		return w.Status().Offer.NoArtifacts == ""
	})
	r.offer.NoArtifacts = ""
	for i := range int64(5) {
		r.await(fmt.Sprintf("trial %d stored, or refused while the spool was full", i), func() bool {
			return len(r.of(sweep.EventResult, i))+len(r.of(sweep.EventRefused, i)) > 0
		})
	}
}

// A trial that is cancelled while its artifacts wait is released, and leaves nothing.
func TestCancelledInTheSpool(t *testing.T) {
	t.Parallel()
	r := leaveWeights(t)
	dead, store := newDeadStore(t, nil)
	defer dead.revive()
	dir := t.TempDir()
	r.publish(leaving(0), leaving(1))
	w := r.start(worker.Options{Artifacts: store, SpoolDir: dir})
	eventually(t, "both in the spool", func() bool { n, _ := w.spooled(); return n == 2 })
	if err := r.wire.Cancel("s", 0, 1); err != nil {
		t.Fatal(err)
	}
	for i := range int64(2) {
		if release := r.release(i, 1); release.Reason != "cancelled" || release.Charged {
			t.Errorf("%+v", release)
		}
	}
	r.queueEmpties()
	r.empty(dir)
}

// A worker that is told to stop stores what it can within its grace.
func TestSpoolDrains(t *testing.T) {
	t.Parallel()
	r := leaveWeights(t)
	dead, store := newDeadStore(t, nil)
	dir := t.TempDir()
	r.publish(leaving(0))
	w := r.start(worker.Options{Artifacts: store, SpoolDir: dir, Grace: patience})
	eventually(t, "a result in the spool", func() bool { n, _ := w.spooled(); return n == 1 })
	w.stop()
	eventually(t, "the drain", func() bool { b, _ := r.lastHeartbeat(); return b.State == wire.WorkerDraining })
	dead.revive()
	if err := w.wait(); err != nil {
		t.Fatal(err)
	}
	r.stored(store, 0)
	r.queueEmpties()
	r.empty(dir)
}

// Without room on the disk of the spool a slot stores its artifacts itself.
func TestSpoolThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := leaveWeights(t)
	store := newFolder(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.publish(leaving(0))
	r.start(worker.Options{Artifacts: store, SpoolDir: filepath.Join(file, "below")})
	r.stored(store, 0)
	r.queueEmpties()
}

// /readyz gives the reason why results wait.
func TestReadyzOfADeadStore(t *testing.T) {
	t.Parallel()
	r := leaveWeights(t)
	dead, store := newDeadStore(t, errors.New("out of order"))
	d := worker.NewDaemon(worker.Options{Wire: r.wire, Launcher: r.launcher, Name: "w", Artifacts: store,
		SpoolDir: t.TempDir(), Logger: logger(t)})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	defer func() {
		stop()
		<-ended
	}()
	ready := func() (int, string) {
		answer := httptest.NewRecorder()
		d.Handler(func() error { return nil }).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return answer.Code, answer.Body.String()
	}
	r.publish(leaving(0))
	eventually(t, "the reason", func() bool {
		code, text := ready()
		return code == http.StatusServiceUnavailable && strings.Contains(text, "out of order")
	})
	dead.revive()
	r.stored(store, 0)
	eventually(t, "readiness", func() bool { code, _ := ready(); return code == http.StatusOK })
}
