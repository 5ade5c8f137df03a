package worker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sweep/sweep"
	"sweep/sweep/wire"
)

// Checkpoints are files named by fingerprint: whatever trial asks for the same
// result can go on from there. They stay on this machine and go when their trial
// has ended, wherever that was; those whose coordinator is never heard of again
// go with time.

const (
	// checkpointAge is how long a checkpoint waits for its trial to come again.
	checkpointAge = 14 * 24 * time.Hour
	// unfinishedAge is how long a checkpoint may take to be written.
	unfinishedAge = time.Hour

	checkpointSuffix = ".checkpoint"
	asideSuffix      = ".aside" // of a checkpoint that did not fit
	unfinishedSuffix = ".tmp"
)

// checkpointHeader is the first line of a checkpoint: what it is of. The state
// follows.
type checkpointHeader struct {
	sweep.TrialID
	Trainer       string `json:"trainer"`
	ResultVersion string `json:"result_version"`
	KernelLevel   string `json:"kernel_level"`
	Step          int64  `json:"step"`
}

// header is what a checkpoint of this execution is of.
func (e *execution) header(step int64) checkpointHeader {
	h := checkpointHeader{TrialID: e.delivery.TrialID, Step: step, Trainer: e.slot.trainer}
	if d := e.slot.description; d != nil {
		h.ResultVersion, h.KernelLevel = d.ResultVersion, d.KernelLevel
	}
	return h
}

// unfit says why a trial with header h cannot go on from a checkpoint.
func (c *checkpointHeader) unfit(h checkpointHeader) string {
	switch {
	case c.Trainer != h.Trainer:
		return fmt.Sprintf("it is of trainer %s", c.Trainer)
	case c.ResultVersion != h.ResultVersion:
		return fmt.Sprintf("it is of result version %s, and the trainer's is %s", c.ResultVersion, h.ResultVersion)
	case c.KernelLevel == "" && h.KernelLevel != "":
		return fmt.Sprintf("it names no kernel level, and this worker's is %s", h.KernelLevel)
	case c.KernelLevel != h.KernelLevel:
		return fmt.Sprintf("it is of kernel level %s, and this worker's is %s", c.KernelLevel, h.KernelLevel)
	}
	return ""
}

// readHeader reads a checkpoint's first line.
func readHeader(line []byte) (checkpointHeader, error) {
	var h checkpointHeader
	err := json.Unmarshal(line, &h)
	if err == nil && h.Trainer == "" {
		err = errors.New("no trainer is named")
	}
	if err != nil {
		return h, fmt.Errorf("its first line cannot be read: %w", err)
	}
	return h, nil
}

func (e *execution) checkpointPath() string { return e.slot.worker.checkpointPath(e.delivery) }

func (w *Worker) checkpointPath(d *wire.Delivery) string {
	dir := w.options.CheckpointDir
	if dir == "" || d.Fingerprint == "" {
		return ""
	}
	return filepath.Join(dir, filepath.Base(string(d.Fingerprint))+checkpointSuffix)
}

// hasCheckpoint reports whether there is a checkpoint to go on from.
func (w *Worker) hasCheckpoint(d *wire.Delivery) bool {
	path := w.checkpointPath(d)
	if path == "" {
		return false
	}
	_, err := os.Lstat(path)
	return err == nil
}

// loadCheckpoint returns the state to go on from, nil if there is none, and notes
// what became of it. A
// checkpoint that does not fit is set aside.
func (e *execution) loadCheckpoint() []byte {
	path := e.checkpointPath()
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	e.found = true
	var h checkpointHeader
	line, state, _ := bytes.Cut(data, []byte{'\n'})
	if err == nil {
		h, err = readHeader(line)
	}
	if err == nil {
		if problem := h.unfit(e.header(0)); problem != "" {
			err = errors.New(problem)
		}
	}
	if err == nil {
		e.note = fmt.Sprintf("resumed from the checkpoint at step %d", h.Step)
		return state
	}
	e.note = fmt.Sprintf("starts over; its checkpoint was set aside: %v", err)
	e.slot.worker.log.Warn("checkpoint set aside; the trial starts over", "trial", e.delivery.TrialID,
		"error", err)
	if err := os.Rename(path, path+asideSuffix); err != nil {
		e.slot.worker.log.Warn("checkpoint not set aside", "trial", e.delivery.TrialID, "error", err)
	}
	return nil
}

// saveCheckpoint replaces the trial's checkpoint in one step.
func (e *execution) saveCheckpoint(step int64, state []byte) error {
	path := e.checkpointPath()
	if path == "" {
		return nil
	}
	line, err := json.Marshal(e.header(step))
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return writeFile(path, append(line, '\n'), state)
}

// writeFile replaces a file in one step.
func writeFile(path string, parts ...[]byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "checkpoint-*"+unfinishedSuffix)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
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
	if path := e.checkpointPath(); path != "" {
		e.slot.worker.remove(path, path+asideSuffix)
	}
}

func (w *Worker) remove(paths ...string) {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.log.Warn("checkpoint not removed", "error", err)
		}
	}
}

// eachCheckpoint calls do for each checkpoint, set aside or not, and for those
// that are not finished.
func (w *Worker) eachCheckpoint(do func(path, suffix string, info fs.FileInfo)) {
	if w.options.CheckpointDir == "" {
		return
	}
	entries, err := os.ReadDir(w.options.CheckpointDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("checkpoints cannot be listed", "error", err)
	}
	for _, entry := range entries {
		suffix := filepath.Ext(entry.Name())
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || suffix != checkpointSuffix && suffix != asideSuffix &&
			suffix != unfinishedSuffix {
			continue // not ours, or gone
		}
		do(filepath.Join(w.options.CheckpointDir, entry.Name()), suffix, info)
	}
}

// removeOldCheckpoints removes what has waited for too long. Other workers may
// use the directory at the same time.
func (w *Worker) removeOldCheckpoints(now time.Time) {
	w.eachCheckpoint(func(path, suffix string, info fs.FileInfo) {
		age := checkpointAge
		if suffix == unfinishedSuffix {
			age = unfinishedAge
		}
		if now.Sub(info.ModTime()) >= age {
			w.remove(path)
		}
	})
}

// mostIdle bounds the checkpoints in a heartbeat.
const mostIdle = 1000

// idleCheckpoints returns the trials that have a checkpoint here and do not run here.
func (w *Worker) idleCheckpoints() (trials []sweep.TrialID) {
	running := map[sweep.TrialID]bool{}
	for _, s := range w.slots {
		if e := s.current(); e != nil {
			running[e.delivery.TrialID] = true
		}
	}
	look := w.headers.look()
	w.eachCheckpoint(func(path, suffix string, info fs.FileInfo) {
		if suffix == unfinishedSuffix || len(trials) == mostIdle {
			return
		}
		if h := look.of(path, info); h != nil && !running[h.TrialID] {
			trials = append(trials, h.TrialID)
		}
	})
	return trials
}

// headers remembers the headers of checkpoints: a directory that all workers share
// has everybody's, and is looked through at each heartbeat. It belongs to the
// goroutine of the heartbeats.
type headers map[string]knownHeader

// knownHeader is the header of a checkpoint, nil if it has none, as of a time and size.
type knownHeader struct {
	written time.Time
	size    int64
	header  *checkpointHeader
}

// looked is one look: what is known comes from known, and what is there goes into there.
type looked struct{ known, there headers }

// look begins a look, after which what was not there is forgotten.
func (h *headers) look() looked {
	l := looked{*h, headers{}}
	*h = l.there
	return l
}

// of returns a checkpoint's header, nil if it has none. The file is opened only if it
// has changed.
func (l looked) of(path string, info fs.FileInfo) *checkpointHeader {
	k, ok := l.known[path]
	if !ok || !k.written.Equal(info.ModTime()) || k.size != info.Size() {
		k = knownHeader{written: info.ModTime(), size: info.Size()}
		if h, err := headerOf(path); err == nil {
			k.header = &h
		}
	}
	l.there[path] = k
	return k.header
}

// removeCheckpoints removes the checkpoints of trials that have ended.
func (w *Worker) removeCheckpoints(ended []sweep.TrialID) {
	if len(ended) == 0 {
		return
	}
	gone := map[sweep.TrialID]bool{}
	for _, id := range ended {
		gone[id] = true
	}
	w.eachCheckpoint(func(path, suffix string, info fs.FileInfo) {
		k, known := w.headers[path]
		if known && k.written.Equal(info.ModTime()) && (k.header == nil || !gone[k.header.TrialID]) {
			return // that of another trial
		}
		if h, err := headerOf(path); err == nil && suffix != unfinishedSuffix && gone[h.TrialID] {
			w.remove(path)
		}
	})
}

// headerOf reads what a checkpoint is of.
func headerOf(path string) (checkpointHeader, error) {
	f, err := os.Open(path)
	if err != nil {
		return checkpointHeader{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	line, err := bufio.NewReader(f).ReadSlice('\n')
	if err != nil {
		return checkpointHeader{}, err
	}
	return readHeader(line)
}

// probeDisk writes a small file where checkpoints are kept and removes it.
func (e *execution) probeDisk() error {
	dir := e.slot.worker.options.CheckpointDir
	if dir == "" {
		dir = os.TempDir()
	}
	path := filepath.Join(dir, "probe"+unfinishedSuffix)
	if err := writeFile(path, make([]byte, 64<<10)); err != nil {
		return err
	}
	return os.Remove(path)
}
