package trainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// scratch is the directory of a process, with its home and its temporary files, removed when the
// process ends. The worker locks it; the kernel unlocks it when the worker ends: an unlocked
// directory was left by a killed worker.
type scratch struct {
	dir  string
	lock *os.File
}

// scratchPrefix begins the names of these directories.
const scratchPrefix = "sweep-trainer-"

// newScratch makes a directory in parent.
func newScratch(parent string) (*scratch, error) {
	// Another worker may take it for a leftover before it is locked.
	const attempts = 10
	var err error
	for range attempts {
		var s *scratch
		if s, err = makeScratch(parent); err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errLocked) {
			break
		}
	}
	return nil, fmt.Errorf("directory of a trainer: %w", err)
}

func makeScratch(parent string) (*scratch, error) {
	dir, err := os.MkdirTemp(parent, scratchPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: dir}
	if s.lock, err = lockDirectory(dir); err == nil {
		for _, name := range []string{s.home(), s.temp()} {
			if err == nil {
				err = os.Mkdir(name, 0o700)
			}
		}
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *scratch) home() string { return filepath.Join(s.dir, "home") }
func (s *scratch) temp() string { return filepath.Join(s.dir, "tmp") }

// remove removes the directory; what cannot be removed is left for removeLeftovers.
func (s *scratch) remove() {
	_ = removeTree(s.dir)
	if s.lock != nil {
		_ = s.lock.Close() // it was only locked
	}
}

// removeTree removes a directory, including write-protected folders.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // if this fails, it cannot be removed
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// removeLeftovers removes the directories in parent that killed workers left.
func removeLeftovers(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // newScratch reports it
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), scratchPrefix) {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		if lock, err := lockDirectory(path); err == nil {
			_ = removeTree(path) // or the next start does
			_ = lock.Close()
		}
	}
}
