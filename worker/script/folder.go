package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sweep/sweep"
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
	// inputs is the path of the list of what the program has read; empty without a journal.
	inputs string
	// earlier is what the executions have read whose checkpoint is there.
	earlier []sweep.Input
}

// openFolder opens the checkpoint folder of a fingerprint. If a trial with this fingerprint
// already runs, it makes a new folder in otherwise.
func (t *Trainer) openFolder(fingerprint, otherwise string) (*folder, error) {
	path, journal, inputs := filepath.Join(otherwise, "checkpoints"), "", ""
	if t.options.Checkpoints != "" && fingerprint != "" {
		path = filepath.Join(t.options.Checkpoints, filepath.Base(fingerprint))
		journal, inputs = path+journalSuffix, path+inputsSuffix
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("checkpoint folder: %w", err)
	}
	lock, err := lockFolder(path)
	if errors.Is(err, errTaken) {
		journal, inputs = "", ""
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
	return &folder{path: path, lock: lock, journal: journal, inputs: inputs}, nil
}

// inputsSuffix follows the name of a trial's checkpoint folder in that of its list of inputs.
const inputsSuffix = ".inputs"

// clearChanged empties the folder, and forgets what was reported, if a source that the program had read has changed
// since: its checkpoint is another program's. It names some of these.
func (f *folder) clearChanged(directory string) (changed []string, err error) {
	var in sweep.Inputs
	text, _ := os.ReadFile(f.inputs) // without it there was no execution before, or it has recorded nothing
	_ = json.Unmarshal(text, &in)
	for _, row := range NewChecker(directory, nil).Changed(&in) {
		if row.Kind == sweep.FileInput && row.Digest != sweep.ChangedInput && isSource(row.Name) {
			changed = append(changed, row.Name)
		}
	}
	entries, err := os.ReadDir(f.path)
	if len(changed) == 0 {
		if len(entries) > 0 {
			f.earlier = in.Rows
		}
		return nil, nil
	}
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(f.path, entry.Name())))
	}
	for _, path := range []string{f.journal, f.inputs} {
		if removed := os.Remove(path); !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint of another program: %w", err)
	}
	return changed, nil
}

// close unlocks the folder, and removes it if its trial is complete.
func (f *folder) close(complete bool) {
	if complete {
		_ = os.RemoveAll(f.path) // what stays is removed with time
	}
	_ = os.Remove(f.path) // fails unless it is empty
	if _, err := os.Stat(f.path); f.journal != "" && errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(f.journal)
		_ = os.Remove(f.inputs)
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
