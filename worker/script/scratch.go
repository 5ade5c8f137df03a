package script

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
)

// Files that every trial has in its folder.
const (
	parametersFile = "parameters.json"
	configFile     = "config.yaml"
)

// newScratch makes the folder of a trial, from the spare one if there is one: file systems are slow to make files where
// many were removed. Its name is new, so that what an earlier trial has left running does not find it.
func (t *Trainer) newScratch() (string, error) {
	path := filepath.Join(os.TempDir(), "trial-"+rand.Text())
	t.mu.Lock()
	spare := t.spare
	t.spare = ""
	t.mu.Unlock()
	if spare != "" {
		if os.Rename(spare, path) == nil {
			return path, nil
		}
		_ = os.RemoveAll(spare) // gone with its parent, at the latest
	}
	return path, os.Mkdir(path, 0o700)
}

// endScratch removes the folder of a trial that has ended, or keeps it, with the files that the next trial writes over.
func (t *Trainer) endScratch(path string) {
	if emptied(path) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.spare == "" {
			t.spare = path
			return
		}
	}
	_ = os.RemoveAll(path) // gone with its parent, at the latest
}

// emptied removes all but the files that every trial has, and reports whether that can be a trial's folder again.
func emptied(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != os.ModeDir|0o700 {
		return false
	}
	entries, err := os.ReadDir(path)
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		if entry.Name() == parametersFile || entry.Name() == configFile {
			// A link may lead to a file of somebody's, which must not be written over.
			if info, err := os.Lstat(name); err == nil && info.Mode() == 0o600 && links(info) == 1 {
				continue
			}
		}
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err == nil
}
