package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// folderAge is how long the checkpoints of an interrupted trial are kept.
const folderAge = 14 * 24 * time.Hour

// folder is a trial's folder for checkpoints. It is named by fingerprint: any trial with the
// same result can resume from it.
type folder struct {
	path string
	lock *os.File
	// journal is the path of what the program has reported; empty if nothing outlives the execution.
	journal string
}

// openFolder opens the checkpoint folder of a fingerprint. If a trial with this fingerprint
// already runs, it makes a new folder in otherwise.
func (t *Trainer) openFolder(fingerprint, otherwise string) (*folder, error) {
	path, journal := filepath.Join(otherwise, "checkpoints"), ""
	if t.options.Checkpoints != "" && fingerprint != "" {
		path = filepath.Join(t.options.Checkpoints, filepath.Base(fingerprint))
		journal = path + journalSuffix
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("checkpoint folder: %w", err)
	}
	lock, err := lockFolder(path)
	if errors.Is(err, errTaken) {
		journal = ""
		if path, err = os.MkdirTemp(otherwise, "checkpoints-"); err == nil {
			lock, err = lockFolder(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint folder: %w", err)
	}
	// Its age counts from its last use.
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return &folder{path, lock, journal}, nil
}

// close unlocks the folder, and removes it if its trial is complete.
func (f *folder) close(complete bool) {
	if complete {
		_ = os.RemoveAll(f.path) // what stays is removed with time
	}
	_ = os.Remove(f.path) // fails unless it is empty
	if _, err := os.Stat(f.path); f.journal != "" && errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(f.journal)
	}
	_ = f.lock.Close() // it was only locked
}

// removeOld removes checkpoints that have not been used for folderAge.
func (t *Trainer) removeOld(now time.Time) {
	entries, err := os.ReadDir(t.options.Checkpoints)
	if err != nil {
		return // there are none yet
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || now.Sub(info.ModTime()) < folderAge {
			continue
		}
		path := filepath.Join(t.options.Checkpoints, entry.Name())
		if lock, err := lockFolder(path); err == nil {
			_ = os.RemoveAll(path)
			_ = lock.Close()
		}
	}
}
