package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Checkpoints are files named by fingerprint: whatever trial asks for the same
// result can go on from there. They stay on this machine: those of trials that
// ended elsewhere, or never will, go with time.

const (
	// checkpointAge is how long a checkpoint waits for its trial to come again.
	checkpointAge = 14 * 24 * time.Hour
	// unfinishedAge is how long a checkpoint may take to be written.
	unfinishedAge = time.Hour

	checkpointSuffix = ".checkpoint"
	unfinishedSuffix = ".tmp"
)

// removeOldCheckpoints removes what nobody will come for. Other workers may use
// the directory at the same time.
func (w *Worker) removeOldCheckpoints(now time.Time) {
	if w.options.CheckpointDir == "" {
		return
	}
	entries, err := os.ReadDir(w.options.CheckpointDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("old checkpoints not removed", "error", err)
	}
	for _, entry := range entries {
		age, known := map[string]time.Duration{checkpointSuffix: checkpointAge, unfinishedSuffix: unfinishedAge}[filepath.Ext(entry.Name())]
		info, err := entry.Info()
		if !known || err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) < age {
			continue // not ours, or gone
		}
		if err := os.Remove(filepath.Join(w.options.CheckpointDir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.log.Warn("old checkpoint not removed", "error", err)
		}
	}
}

func (e *execution) checkpointPath() string {
	dir := e.slot.worker.options.CheckpointDir
	if dir == "" || e.delivery.Fingerprint == "" {
		return ""
	}
	return filepath.Join(dir, filepath.Base(string(e.delivery.Fingerprint))+checkpointSuffix)
}

// loadCheckpoint returns the trial's checkpoint, nil if there is none that can be read.
func (e *execution) loadCheckpoint() []byte {
	path := e.checkpointPath()
	if path == "" {
		return nil
	}
	state, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.slot.worker.log.Warn("checkpoint not read; the trial starts anew", "trial", e.delivery.TrialID, "error", err)
	}
	return state
}

// saveCheckpoint replaces the trial's checkpoint in one step.
func (e *execution) saveCheckpoint(state []byte) error {
	path := e.checkpointPath()
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "checkpoint-*"+unfinishedSuffix)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	_, err = f.Write(state)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("checkpoint: %w", err), os.Remove(f.Name()))
	}
	return nil
}

func (e *execution) removeCheckpoint() {
	path := e.checkpointPath()
	if path == "" {
		return
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.slot.worker.log.Warn("checkpoint not removed", "trial", e.delivery.TrialID, "error", err)
	}
}
