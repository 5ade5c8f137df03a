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

// drop removes the artifact's file.
func (h *handed) drop() {
	if h.file != nil {
		_ = h.file.Close() // it is not needed any more
		_ = os.Remove(h.file.Name())
	}
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
	return sweep.IsMedia(name) && len(e.media()) < sweep.MostMedia
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
		err = h.toFile(e.slot.worker.options.CheckpointDir, head, bounded)
	}
	h.Digest = hex.EncodeToString(digest.Sum(nil))
	switch {
	case err != nil:
		err = fmt.Errorf("not received from the trainer: %w", err)
	case h.Size > one:
		err = fmt.Errorf("it has more than %s (limits.artifact)", sweep.SizeText(one))
	case h.Size > all:
		one, all := e.delivery.Limits.ArtifactSizes()
		err = fmt.Errorf("the trial's artifacts have more than %s together (limits.artifacts)",
			sweep.SizeText(max(one, all)))
	case a.Size != 0 && a.Size != h.Size:
		err = fmt.Errorf("damaged in transit from the trainer: received %d bytes of %d", h.Size, a.Size)
	case a.Digest != "" && a.Digest != h.Digest:
		err = errors.New("damaged in transit from the trainer: the digests differ")
	}
	if err != nil {
		h.drop()
		return nil, err
	}
	return h, nil
}

// toFile writes the artifact to a file, whose name it removes.
func (h *handed) toFile(dir string, head []byte, rest io.Reader) error {
	dir = cmp.Or(dir, os.TempDir())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// Where an open file cannot be removed, removeOldCheckpoints removes that of a killed
	// worker.
	f, err := os.CreateTemp(dir, "artifact-*"+unfinishedSuffix)
	if err != nil {
		return err
	}
	_ = os.Remove(f.Name()) // if this fails, drop removes it
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

// store stores the artifacts that the sweep names, and media, and adds them to the result. It fails only if
// the execution has ended.
func (e *execution) store(r *sweep.Result) error {
	r.Artifacts = nil
	for _, name := range slices.Concat(e.delivery.Artifacts, e.media()) {
		a := sweep.Artifact{Name: name, Problem: notHandedOver}
		if h := e.artifacts[name]; h != nil {
			a = h.Artifact
			if a.Problem == "" {
				if err := e.put(e.ctx, &a, h.content); err != nil {
					return err
				}
			}
		}
		if a.Problem != "" {
			a.Size, a.Digest = 0, ""
		}
		r.Artifacts = append(r.Artifacts, a)
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
		if a = h.Artifact; a.Problem == "" && e.put(e.running, &a, h.content) != nil {
			a.Problem = "not stored: the worker was stopped"
		}
	}
	if a.Problem != "" {
		a.Size, a.Digest = 0, ""
	}
	r.Artifacts = []sweep.Artifact{a}
}

// put stores an artifact, or sets its Problem.
func (e *execution) put(ctx context.Context, a *sweep.Artifact, content io.ReaderAt) error {
	w := e.slot.worker
	store := w.options.Artifacts
	if store == nil {
		a.Problem = "its worker has no artifact store"
		return nil
	}
	a.Store = store.Name()
	err := store.Put(ctx, sweep.ArtifactLocation(w.options.Pool, e.delivery.TrialID, a.Digest), content, a.Size)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		a.Problem = "not stored: " + err.Error()
		if a.Full = errors.Is(err, sweep.ErrStoreFull); a.Full && !w.logFull() {
			return nil
		}
		w.log.Error("artifact not stored", "trial", e.delivery.TrialID, "artifact", a.Name, "error", err)
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
