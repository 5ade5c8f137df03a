package worker

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"sweep/sweep"
)

// memoryArtifact is the size in bytes up to which an artifact is kept in memory until its trial
// ends.
const memoryArtifact = 256 << 10

// notHandedOver is the problem of an artifact that the trainer did not send.
const notHandedOver = "the trainer did not hand it over"

// handed is an artifact of the trainer. It is kept here until the trial has a result: artifacts of
// trials without a result are not stored.
type handed struct {
	sweep.Artifact
	content io.ReaderAt
	// file is the content of a large artifact, else nil.
	file *os.File
}

// drop removes the artifact's file, unless keep has moved it.
func (h *handed) drop() {
	if h.file != nil {
		_ = h.file.Close() // it is not needed any more
		_ = os.Remove(h.file.Name())
	}
}

// keep makes the content a file of its own. It stays readable here.
func (h *handed) keep(path string) error {
	if h.file != nil {
		return os.Rename(h.file.Name(), path)
	}
	content, err := io.ReadAll(io.NewSectionReader(h.content, 0, h.Size))
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// Artifact implements sweep.Sink. The result contains what is wrong with an artifact that exceeds
// the limits, or differs from its announced size or digest.
func (e *execution) Artifact(a sweep.Artifact, content io.Reader) error {
	if !e.takes(a.Name) {
		e.slot.worker.log.Debug("artifact dropped: not requested, or too many media", "trial", e.delivery.TrialID,
			"artifact", a.Name)
		return nil
	}
	if before := e.artifacts[a.Name]; before != nil {
		before.drop()
		delete(e.artifacts, a.Name)
	}
	h, err := e.spool(a, content)
	if err != nil {
		h = &handed{Artifact: sweep.Artifact{Name: a.Name, MediaType: a.MediaType, Problem: err.Error()}}
		e.slot.worker.log.Warn("artifact not stored", "trial", e.delivery.TrialID, "artifact", a.Name, "error", err)
	}
	if e.artifacts == nil {
		e.artifacts = map[string]*handed{}
	}
	e.artifacts[a.Name] = h
	return nil
}

// takes reports whether an artifact is kept: if the sweep requests it, or as one of a bounded number of media.
func (e *execution) takes(name string) bool {
	if slices.Contains(e.delivery.Artifacts, name) || e.artifacts[name] != nil {
		return true
	}
	return sweep.IsMedia(name) && len(e.media()) < sweep.MaxMedia
}

// media returns the names of the media that were handed over unasked, sorted.
func (e *execution) media() (names []string) {
	for name := range e.artifacts {
		if !slices.Contains(e.delivery.Artifacts, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// spool reads an artifact and computes its digest.
func (e *execution) spool(a sweep.Artifact, content io.Reader) (*handed, error) {
	one, all := e.delivery.Limits.ArtifactSizes()
	for _, other := range e.artifacts {
		all -= other.Size
	}
	most := min(one, all)
	digest := sha256.New()
	h := &handed{Artifact: sweep.Artifact{Name: a.Name, MediaType: a.MediaType}}
	bounded := io.TeeReader(io.LimitReader(content, most+1), digest)
	head, err := io.ReadAll(io.LimitReader(bounded, memoryArtifact))
	h.Size, h.content = int64(len(head)), bytes.NewReader(head)
	if err == nil && len(head) == memoryArtifact {
		err = h.toFile(e.slot.worker, head, bounded)
	}
	h.Digest = hex.EncodeToString(digest.Sum(nil))
	switch {
	case err != nil:
		err = fmt.Errorf("%s%w", sweep.NotReceived, err)
	case h.Size > one:
		err = fmt.Errorf("it has more than %s (limits.artifact)", sweep.SizeText(one))
	case h.Size > all:
		one, all := e.delivery.Limits.ArtifactSizes()
		err = fmt.Errorf("the trial's artifacts have more than %s together (limits.artifacts)",
			sweep.SizeText(max(one, all)))
	case a.Size != 0 && a.Size != h.Size:
		err = fmt.Errorf("%sreceived %d bytes of %d", sweep.Damaged, h.Size, a.Size)
	case a.Digest != "" && a.Digest != h.Digest:
		err = errors.New(sweep.Damaged + "the digests differ")
	}
	if err != nil {
		h.drop()
		return nil, err
	}
	return h, nil
}

// toFile writes the artifact to a file, whose name it removes unless the spool is to have it.
func (h *handed) toFile(w *Worker, head []byte, rest io.Reader) error {
	dir := cmp.Or(w.spool.dir, w.options.CheckpointDir, os.TempDir())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// That of a killed worker is removed with the worker's spool or, where an open file cannot be removed, by
	// removeOldCheckpoints.
	f, err := os.CreateTemp(dir, "artifact-*"+unfinishedSuffix)
	if err != nil {
		return err
	}
	if w.spool.dir == "" {
		_ = os.Remove(f.Name()) // if this fails, drop removes it
	}
	h.file, h.content = f, f
	h.Size, err = io.Copy(f, io.MultiReader(bytes.NewReader(head), rest))
	return err
}

// dropArtifacts removes all artifacts.
func (e *execution) dropArtifacts() {
	for _, h := range e.artifacts {
		h.drop()
	}
	e.artifacts = nil
}

// store has the artifacts stored that the sweep names, and media, and adds them to the result. It fails only if
// the execution has ended.
func (e *execution) store(r *sweep.Result) error {
	var artifacts []sweep.Artifact
	for _, name := range slices.Concat(e.delivery.Artifacts, e.media()) {
		a := sweep.Artifact{Name: name, Problem: notHandedOver}
		if h := e.artifacts[name]; h != nil {
			a = h.Artifact
		}
		artifacts = append(artifacts, a)
	}
	return e.leave(e.ctx, r, artifacts)
}

// leave puts artifacts into a result, and into the spool, if it takes them; else it stores them now.
func (e *execution) leave(ctx context.Context, r *sweep.Result, artifacts []sweep.Artifact) error {
	w := e.slot.worker
	r.Artifacts = artifacts
	waiting := 0
	for i := range artifacts {
		a := &artifacts[i]
		if a.Problem == "" && w.options.Artifacts == nil {
			a.Problem = "its worker has no artifact store"
		}
		if a.Problem != "" {
			a.Size, a.Digest = 0, ""
		} else {
			waiting++
		}
	}
	if waiting == 0 {
		return nil
	}
	var err error
	if e.spooled, err = w.spool.keep(e, artifacts); err == nil {
		return nil
	}
	media := errors.Is(err, errSpoolFull) && len(e.delivery.Artifacts) == 0
	if !errors.Is(err, errNoSpool) {
		w.log.Warn("artifacts not taken into the spool", "trial", e.delivery.TrialID, "error", err)
	}
	w.spool.inPlace.Add(1)
	defer w.spool.inPlace.Add(-1)
	for i := range artifacts {
		a := &artifacts[i]
		switch {
		case a.Problem != "":
			continue
		case media:
			a.Problem = sweep.NotStored + err.Error()
		default:
			if err := w.put(ctx, e.delivery.TrialID, a, e.artifacts[a.Name].content); err != nil {
				return err
			}
		}
		if a.Problem != "" {
			a.Size, a.Digest = 0, ""
		}
	}
	return nil
}

// stoppedEarly is the problem of a checkpoint that there is none of.
const stoppedEarly = "the trial was stopped early, before its trainer saved a checkpoint"

// storeStopped stores the checkpoint of a trial that was stopped early, if its sweep keeps checkpoints and trials can
// continue from them: that of its end, if its trainer had come there, else its last one. If the worker is stopped
// meanwhile, there is none.
func (e *execution) storeStopped(r *sweep.Result) {
	d := e.slot.description
	if d == nil || !slices.Contains(e.delivery.Artifacts, sweep.CheckpointArtifact) {
		return
	}
	if lineage, _ := d.Lineage(e.delivery.Parameters, e.delivery.DatasetDigest); lineage == "" {
		return
	}
	a := sweep.Artifact{Name: sweep.CheckpointArtifact, Problem: stoppedEarly}
	if e.artifacts[a.Name] == nil {
		if state := e.lastCheckpoint(); state != nil {
			_ = e.Artifact(sweep.Artifact{Name: a.Name}, bytes.NewReader(state)) // what is wrong is its Problem
		}
	}
	if h := e.artifacts[a.Name]; h != nil {
		a = h.Artifact
	}
	if e.leave(e.running, r, []sweep.Artifact{a}) != nil {
		r.Artifacts = []sweep.Artifact{{Name: a.Name, Problem: sweep.NotStored + "the worker was stopped"}}
	}
}

// put stores an artifact of a trial, or sets its Problem. It fails only if ctx has ended.
func (w *Worker) put(ctx context.Context, id sweep.TrialID, a *sweep.Artifact, content io.ReaderAt) error {
	store := w.options.Artifacts
	a.Store = store.Name()
	err := store.Put(ctx, sweep.ArtifactLocation(w.options.Pool, id, a.Digest), content, a.Size)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		a.Problem = sweep.NotStored + err.Error()
		if a.Full = errors.Is(err, sweep.ErrStoreFull); a.Full && !w.logFull() {
			return nil
		}
		w.log.Error("artifact not stored", "trial", id, "artifact", a.Name, "error", err)
	}
	return nil
}

// fullPause is the shortest time between two log lines about a full artifact store: each trial
// would log one.
const fullPause = 10 * time.Minute

// logFull reports whether a full artifact store is to be logged now.
func (w *Worker) logFull() bool {
	now := time.Now().UnixNano()
	logged := w.fullLogged.Load()
	return (logged == 0 || now-logged > int64(fullPause)) && w.fullLogged.CompareAndSwap(logged, now)
}
