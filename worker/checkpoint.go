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

// Checkpoints are files named by fingerprint: any trial with the same result can resume from them.
// They stay on this machine and are removed when their trial has ended, on any worker, or when
// they are older than checkpointAge.

const (
	// checkpointAge is how long a checkpoint is kept for its trial.
	checkpointAge = 14 * 24 * time.Hour
	// unfinishedAge is how long a checkpoint may take to be written.
	unfinishedAge = time.Hour

	checkpointSuffix = ".checkpoint"
	asideSuffix      = ".aside" // of a checkpoint from which its trial cannot resume
	unfinishedSuffix = ".tmp"
)

// checkpointHeader is the first line of a checkpoint, before the state.
type checkpointHeader struct {
	sweep.TrialID
	Trainer       string `json:"trainer"`
	ResultVersion string `json:"result_version"`
	KernelLevel   string `json:"kernel_level"`
	Step          int64  `json:"step"`
}

// header returns the header of a checkpoint of this execution.
func (e *execution) header(step int64) checkpointHeader {
	h := checkpointHeader{TrialID: e.delivery.TrialID, Step: step, Trainer: e.slot.trainer}
	if d := e.slot.description; d != nil {
		h.ResultVersion, h.KernelLevel = d.ResultVersion, d.KernelLevel
	}
	return h
}

// unfit returns why a trial with header h cannot resume from a checkpoint, "" if it can.
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

func (e *execution) checkpointPath() string {
	return e.slot.worker.checkpointPath(e.delivery.Fingerprint)
}

func (w *Worker) checkpointPath(f sweep.Fingerprint) string {
	dir := w.options.CheckpointDir
	if dir == "" || f == "" {
		return ""
	}
	return filepath.Join(dir, filepath.Base(string(f))+checkpointSuffix)
}

// hasCheckpoint reports whether there is a checkpoint to resume from.
func (w *Worker) hasCheckpoint(d *wire.Delivery) bool {
	path := w.checkpointPath(d.Fingerprint)
	if path == "" {
		return false
	}
	_, err := os.Lstat(path)
	return err == nil
}

// loadCheckpoint returns the state to resume from, nil if there is none, and records in note what
// became of the checkpoint. One that does not fit is set aside.
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

// lastCheckpoint returns the state of the trial's last checkpoint, nil if there is none that fits.
func (e *execution) lastCheckpoint() []byte {
	path := e.checkpointPath()
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	line, state, _ := bytes.Cut(data, []byte{'\n'})
	if h, err := readHeader(line); err != nil || h.unfit(e.header(0)) != "" {
		return nil
	}
	return state
}

// saveCheckpoint replaces the trial's checkpoint atomically.
func (e *execution) saveCheckpoint(step int64, state []byte) error {
	path := e.checkpointPath()
	if path == "" {
		return nil
	}
	line, err := json.Marshal(e.header(step))
	if err == nil {
		err = writeFile(path, append(line, '\n'), state)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// writeFile replaces a file atomically.
func writeFile(path string, parts ...[]byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "checkpoint-*"+unfinishedSuffix)
	if err != nil {
		return err
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
		return errors.Join(err, os.Remove(f.Name()))
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

// eachCheckpoint calls do for each checkpoint, including unfinished ones and those set aside.
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
			continue // another file, or removed meanwhile
		}
		do(filepath.Join(w.options.CheckpointDir, entry.Name()), suffix, info)
	}
}

// removeOldCheckpoints removes checkpoints that are too old. Other workers may use the directory at
// the same time.
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

// maxIdle bounds the checkpoints in a heartbeat.
const maxIdle = 1000

// idleCheckpoints returns the trials that have a checkpoint here and do not run here.
func (w *Worker) idleCheckpoints() (trials []sweep.TrialID) {
	running := map[sweep.TrialID]bool{}
	for e := range w.executions {
		running[e.delivery.TrialID] = true
	}
	there := headers{} // without removed checkpoints
	w.eachCheckpoint(func(path, suffix string, info fs.FileInfo) {
		if suffix == unfinishedSuffix || len(trials) == maxIdle {
			return
		}
		there[path] = w.headers.of(path, info)
		if h := there[path].header; h != nil && !running[h.TrialID] {
			trials = append(trials, h.TrialID)
		}
	})
	w.headers = there
	return trials
}

// headers caches the headers of checkpoints by path: a directory that all workers share has many,
// which each heartbeat lists. Only the goroutine of the heartbeats uses it.
type headers map[string]cachedHeader

// cachedHeader is the header of a checkpoint with a time and size, nil if it has none.
type cachedHeader struct {
	written time.Time
	size    int64
	header  *checkpointHeader
}

// of returns the header of a checkpoint. It opens the file only if that has changed.
func (h headers) of(path string, info fs.FileInfo) cachedHeader {
	c, ok := h[path]
	if ok && c.written.Equal(info.ModTime()) && c.size == info.Size() {
		return c
	}
	c = cachedHeader{written: info.ModTime(), size: info.Size()}
	if header, err := headerOf(path); err == nil {
		c.header = &header
	}
	return c
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
		if h := w.headers.of(path, info).header; suffix != unfinishedSuffix && h != nil && gone[h.TrialID] {
			w.remove(path)
		}
	})
}

// headerOf reads the header of a checkpoint.
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
