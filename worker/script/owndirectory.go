package script

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sweep/sweep"
)

// Listing says what the directories have that trials of a program get of their own; "" if they share one. home is a
// folder of this program, which is left out.
func Listing(ctx context.Context, s *sweep.Script, home string) (string, error) {
	if !s.Own {
		return "", nil
	}
	p := new(Trainer).projectOf(s.Directory, os.TempDir())
	l, err := newLayout(ctx, p, skippedBelow(p.directory, home), maxCopied)
	if err != nil {
		return "", err
	}
	for _, f := range l.files[:len(l.files)-l.large] {
		file, err := os.Open(filepath.Join(l.root, f.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", l.unreadable(f.name, err)
		}
		if err == nil {
			_ = file.Close() // it was only opened
		}
	}
	return l.text(), nil
}

// skippedBelow are those of some folders, and that of temporary files, that are in a directory.
func skippedBelow(directory string, folders ...string) (skipped []string) {
	for _, folder := range append(folders, os.TempDir()) {
		if folder = filepath.Clean(folder); folder != directory && below(folder, []string{directory}) {
			skipped = append(skipped, folder)
		}
	}
	return skipped
}

// directoriesFolder has the directories of trials that have one of their own; "" if they are among the temporary files.
func (t *Trainer) directoriesFolder() string {
	if t.options.Checkpoints == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(t.options.Checkpoints), "directories")
}

// ownDirectory makes the trial's own directory, if the sweep wants that, and has its program run in it, until remove is
// called.
func (e *execution) ownDirectory(ctx context.Context) (remove func(), err error) {
	e.project = e.trainer.projectOf(e.directory, e.scratch)
	e.workdir = e.directory
	if !e.request.Script.Own {
		return func() {}, nil
	}
	var homes []string
	if e.trainer.options.Checkpoints != "" {
		homes = append(homes, filepath.Dir(filepath.Dir(e.trainer.options.Checkpoints)))
	}
	l, err := newLayout(ctx, e.project, skippedBelow(e.directory, homes...), e.trainer.options.maxCopied)
	if err != nil {
		return nil, err
	}
	folder, lock, err := e.lockedFolder()
	if err != nil {
		return nil, fmt.Errorf("directory: own: %w", err)
	}
	remove = func() {
		_ = removeTree(folder) // or the next start does
		_ = lock.Close()       // it was only locked
	}
	copied := filepath.Join(folder, filepath.Base(l.root))
	if err = l.make(ctx, copied); err == nil {
		copied, err = filepath.EvalSymlinks(copied) // as programs see it
	}
	if err != nil {
		remove()
		return nil, err
	}
	within, err := filepath.Rel(l.root, l.directory)
	if err != nil {
		remove()
		return nil, err
	}
	e.workdir, e.project.copied, e.links = filepath.Join(copied, within), copied, l.linked()
	return remove, nil
}

// lockedFolder makes a folder for the trial's own directory. One that is not locked was left by a process that was
// killed.
func (e *execution) lockedFolder() (path string, lock *os.File, err error) {
	parent := e.trainer.directoriesFolder()
	if parent == "" {
		parent = e.scratch
	}
	const attempts = 10 // another process may take it for a leftover before it is locked
	for range attempts {
		if err = os.MkdirAll(parent, 0o755); err != nil {
			return "", nil, err
		}
		name := fmt.Sprintf("%s-%d-", filepath.Base(e.request.Sweep), e.request.Index)
		if path, err = os.MkdirTemp(parent, name); err != nil {
			return "", nil, err
		}
		if lock, err = lockFolder(path); err != nil {
			continue
		}
		if _, err = os.Lstat(path); err == nil {
			return path, lock, nil
		}
		_ = lock.Close() // it was only locked
	}
	return "", nil, err
}

// removeLeftDirectories removes the directories of trials whose processes were killed.
func (t *Trainer) removeLeftDirectories() {
	entries, _ := os.ReadDir(t.directoriesFolder()) // none yet
	for _, entry := range entries {
		path := filepath.Join(t.directoriesFolder(), entry.Name())
		if lock, err := lockFolder(path); err == nil {
			_ = removeTree(path) // or the next start does
			_ = lock.Close()     // it was only locked
		}
	}
}

// removeTree removes a folder, including write-protected folders in it.
func removeTree(folder string) error {
	err := os.RemoveAll(folder)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // if this fails, it cannot be removed
		}
		return nil
	})
	return os.RemoveAll(folder)
}
