package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// The spool is DIR/POOL/WORKER/EXECUTION: each worker has a directory that it locks, with one for each execution. That
// has the artifacts, each under its digest, and the result, which is written last: without it, it is unfinished.

const (
	// spoolVersion is the version of spoolFile.
	spoolVersion = 1
	spoolName    = "result.json"
)

// errSpoolVersion says that another version of the program wrote a spoolFile.
var errSpoolVersion = errors.New("unknown version")

// spoolFile is the end of an execution, as it waits in the spool.
type spoolFile struct {
	Version     int               `json:"version"`
	Pool        string            `json:"pool"`
	Fingerprint sweep.Fingerprint `json:"fingerprint"`
	// Events are to be reported when the artifacts are stored, the result last.
	Events []sweep.Event `json:"events"`
	Took   time.Duration `json:"took"`
	// Checkpoint says that the trial's checkpoint is not needed any more then.
	Checkpoint bool `json:"checkpoint,omitempty"`
}

// result is the result among the events.
func (f *spoolFile) result() *sweep.Result { return f.Events[len(f.Events)-1].Result }

// write writes the file into the directory of its execution.
func (f *spoolFile) write(dir string) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, spoolName), data)
}

// readSpoolFile reads the file of an execution.
func readSpoolFile(dir string) (*spoolFile, error) {
	data, err := os.ReadFile(filepath.Join(dir, spoolName))
	if err != nil {
		return nil, err
	}
	var f spoolFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, spoolName), err)
	}
	if f.Version != spoolVersion {
		return nil, fmt.Errorf("%s: %w %d: this program knows %d", filepath.Join(dir, spoolName), errSpoolVersion,
			f.Version, spoolVersion)
	}
	if n := len(f.Events); n == 0 || f.Events[n-1].Result == nil {
		return nil, fmt.Errorf("%s: there is no result in it", filepath.Join(dir, spoolName))
	}
	return &f, nil
}

// load returns the end of an entry's execution.
func (e *spooled) load() (*spoolFile, error) {
	if e.kept != nil {
		f := *e.kept
		f.Events = append([]sweep.Event{}, f.Events...)
		result := *f.result()
		result.Artifacts = append([]sweep.Artifact{}, result.Artifacts...)
		f.Events[len(f.Events)-1].Result = &result
		return &f, nil
	}
	return readSpoolFile(e.dir)
}

// content is the path of an artifact's content.
func (e *spooled) content(a *sweep.Artifact) string {
	return filepath.Join(e.dir, filepath.Base(a.Digest))
}

// write moves the content of artifacts into the entry's directory.
func (e *spooled) write(handed map[string]*handed, artifacts []sweep.Artifact) error {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return err
	}
	for i := range artifacts {
		a := &artifacts[i]
		if a.Problem != "" {
			continue
		}
		if err := handed[a.Name].keep(e.content(a)); err != nil {
			return err
		}
	}
	return nil
}

// verify compares the artifacts with their digests: the machine may have failed before they were on its disk.
func (e *spooled) verify(f *spoolFile) error {
	for _, a := range f.result().Artifacts {
		if a.Problem != "" {
			continue
		}
		in, err := os.Open(e.content(&a))
		if err != nil {
			return err
		}
		digest := sha256.New()
		_, err = io.Copy(digest, in)
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
		if hex.EncodeToString(digest.Sum(nil)) != a.Digest {
			return fmt.Errorf("artifact %s is damaged", a.Name)
		}
	}
	return nil
}

// entryDir is the directory of an execution.
func (s *spool) entryDir(execution string) string {
	return filepath.Join(s.dir, filepath.Base(execution))
}

// open makes this worker's directory and takes up what workers left that are gone, to store it until running ends.
func (s *spool) open(running context.Context) {
	w := s.worker
	if w.options.SpoolDir == "" || w.options.Artifacts == nil {
		return
	}
	pool := filepath.Join(w.options.SpoolDir, filepath.Base(w.options.Pool))
	dir := filepath.Join(pool, w.id)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		s.lock, err = lockDir(dir, true)
	}
	if err != nil {
		w.log.Warn("no spool: trials occupy their slots until their artifacts are stored", "error", err)
		return
	}
	s.dir = dir
	s.takeUp(running, dir)
	others, err := os.ReadDir(pool)
	if err != nil {
		w.log.Warn("what other workers left for the artifact store cannot be listed", "error", err)
	}
	for _, other := range others {
		path := filepath.Join(pool, other.Name())
		if !other.IsDir() || path == dir {
			continue
		}
		lock, err := lockDir(path, false)
		if err != nil {
			continue // it is in use, or was just removed
		}
		if s.takeUp(running, path) {
			if err := os.RemoveAll(path); err != nil {
				w.log.Warn("directory in the spool not removed", "error", err)
			}
		}
		_ = lock.Close()
	}
	if n := len(s.entries); n > 0 {
		w.log.Info("storing artifacts that an earlier worker left", "results", n, "bytes", s.size)
	}
}

// takeUp takes up the finished entries of a directory, and reports whether all of them are this worker's now. The rest
// is removed.
func (s *spool) takeUp(running context.Context, dir string) (all bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.worker.log.Warn("what an earlier worker left for the artifact store cannot be listed", "error", err)
		return false
	}
	all = true
	for _, found := range entries {
		path := filepath.Join(dir, found.Name())
		file, err := readSpoolFile(path)
		if errors.Is(err, errSpoolVersion) {
			s.worker.log.Warn("what an earlier worker left for the artifact store stays where it is", "error", err)
			all = false
			continue
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && found.IsDir() {
				s.worker.log.Warn("what an earlier worker left for the artifact store cannot be read and is removed",
					"error", err)
			}
			if err := os.RemoveAll(path); err != nil {
				s.worker.log.Warn("directory in the spool not removed", "error", err)
			}
			continue
		}
		last := &file.Events[len(file.Events)-1]
		entry := &spooled{Running: wire.Running{TrialID: last.TrialID, Execution: last.Execution}, found: true,
			fingerprint: file.Fingerprint, dir: s.entryDir(found.Name()), took: file.Took, complete: true}
		if path != entry.dir {
			if err := os.Rename(path, entry.dir); err != nil {
				s.worker.log.Warn("what an earlier worker left for the artifact store stays where it is", "error", err)
				all = false
				continue
			}
		}
		for _, a := range file.result().Artifacts {
			if a.Problem == "" {
				entry.size += a.Size
			}
		}
		s.enter(running, entry)
	}
	return all
}

// shut gives up the directory, and removes it if nothing is left.
func (s *spool) shut() {
	if s.dir == "" {
		return
	}
	if left, err := os.ReadDir(s.dir); err == nil {
		for _, f := range left {
			if strings.HasSuffix(f.Name(), unfinishedSuffix) {
				_ = os.Remove(filepath.Join(s.dir, f.Name())) // the next worker removes it
			}
		}
	}
	_ = os.Remove(s.dir) // fails unless it is empty
	_ = s.lock.Close()
}
