package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// folderAge is how long the checkpoints of a trial wait for it to come again.
const folderAge = 14 * 24 * time.Hour

// folder is a trial's folder for checkpoints. It is named by fingerprint: whatever
// trial asks for the same result goes on from it.
type folder struct {
	path string
	lock *os.File
}

// openFolder opens the checkpoint folder of a fingerprint, one of its own in
// another place if a trial of this fingerprint runs already.
func (t *Trainer) openFolder(fingerprint, otherwise string) (*folder, error) {
	path := filepath.Join(otherwise, "checkpoints")
	if t.options.Checkpoints != "" && fingerprint != "" {
		path = filepath.Join(t.options.Checkpoints, filepath.Base(fingerprint))
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("checkpoint folder: %w", err)
	}
	lock, err := lockFolder(path)
	if errors.Is(err, errTaken) {
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
	return &folder{path, lock}, nil
}

// close gives the folder up, and removes it when its trial is complete.
func (f *folder) close(complete bool) {
	if complete {
		_ = os.RemoveAll(f.path) // what stays is removed with time
	}
	_ = os.Remove(f.path) // unless there is something in it
	_ = f.lock.Close()    // it was only locked
}

// removeOld removes checkpoints that nobody came back for.
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
