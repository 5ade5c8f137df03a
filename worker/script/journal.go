package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// journalSuffix follows the name of a trial's checkpoint folder in that of its journal.
	journalSuffix = ".events"
	// longestJournal bounds a journal, in bytes.
	longestJournal = 256 << 20
	// boundary is the line of a journal between two executions.
	boundary = `{"_": {"execution": 1}}`
)

// journal has the lines that a program has reported in all executions of its trial, beside the trial's
// checkpoints: a program that resumes reports only what comes after its checkpoint.
type journal struct {
	file *os.File
	room int64
}

// openJournal enters what earlier executions reported into m and returns the journal for further lines. Without a
// checkpoint the program starts over, and what it reported before does not count. The journal is nil if none is kept.
func (f *folder) openJournal(m *metrics) (*journal, error) {
	if f.journal == "" {
		return nil, nil
	}
	file, err := os.OpenFile(f.journal, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("metrics of a trial: %w", err)
	}
	j := &journal{file, longestJournal}
	info, err := file.Stat()
	switch {
	case err != nil || info.Size() == 0: // a file that was truncated would be written to the disk when it is closed
	case f.empty():
		err = file.Truncate(0)
	default:
		m.replay(file)
		j.room -= info.Size()
		if _, err = file.Seek(0, io.SeekEnd); err == nil {
			_, _ = j.Write([]byte("\n" + boundary + "\n")) // the last line may be a part of one
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metrics of a trial: %w", err), file.Close())
	}
	return j, nil
}

// Write implements io.Writer; it never fails. What cannot be written, and all after it, is missing only if the trial
// is interrupted.
func (j *journal) Write(p []byte) (int, error) {
	if j.room -= int64(len(p)); j.room >= 0 {
		if _, err := j.file.Write(p); err != nil {
			j.room = 0
		}
	}
	return len(p), nil
}

// of returns a reader of what a program reports, all of which is written to the journal, too.
func (j *journal) of(r io.Reader) io.Reader {
	if j == nil {
		return r
	}
	return io.TeeReader(r, j)
}

func (j *journal) close() {
	if j != nil {
		_ = j.file.Close() // what was not written is not there
	}
}

// empty reports whether a folder has no checkpoint.
func (f *folder) empty() bool {
	entries, err := os.ReadDir(f.path)
	return err == nil && len(entries) == 0
}

// removeJournals removes the journals and lists of inputs whose checkpoints are gone.
func (t *Trainer) removeJournals() {
	for _, suffix := range []string{journalSuffix, inputsSuffix} {
		paths, _ := filepath.Glob(filepath.Join(t.options.Checkpoints, "*"+suffix)) // the pattern is well formed
		for _, path := range paths {
			if _, err := os.Stat(strings.TrimSuffix(path, suffix)); errors.Is(err, fs.ErrNotExist) {
				_ = os.Remove(path)
			}
		}
	}
}

// sample is a value that an earlier execution reported.
type sample struct {
	step  int64
	value float64
}

// replay enters the lines of earlier executions.
func (m *metrics) replay(r io.Reader) {
	say := m.say
	m.say, m.replaying = func(string, ...any) {}, true
	lines(r, func(line []byte) {
		if string(bytes.TrimSpace(line)) == boundary {
			m.resume()
			return
		}
		m.line(line)
	}, func() {})
	m.resume()
	m.say, m.replaying = say, false
}

// resume begins the next execution.
func (m *metrics) resume() {
	m.resumed, m.exit, m.problem = true, 0, ""
	m.complaints, m.dropped, m.wrongSteps = 0, 0, 0
	for _, s := range m.series {
		s.earlier.open = true
	}
	for from := range m.steps {
		m.back[from] = true
	}
	clear(m.sources) // other processes follow
	clear(m.labelled)
}

// lastStep is the last step of the process with the lowest rank.
func (m *metrics) lastStep() (step int64) {
	rank := math.MaxInt
	for from, n := range m.steps {
		switch {
		case from.rank < rank:
			rank, step = from.rank, n
		case from.rank == rank:
			step = max(step, n)
		}
	}
	return step
}

// earlier are the values of a metric from earlier executions. While it is open, the metric has no value of this
// execution, and where this one begins is unknown.
type earlier struct {
	samples []sample
	open    bool
}

// settle drops the values of earlier executions from a step on, which were reported after the checkpoint, and
// enters the others as the beginning of the curve.
func (m *metrics) settle(s *series, step int64) {
	n := slices.IndexFunc(s.earlier.samples, func(v sample) bool { return v.step >= step })
	if n >= 0 {
		s.earlier.samples = s.earlier.samples[:n]
	}
	s.earlier.open, s.begun, s.pending = false, false, false
	if m.replaying {
		if n := len(s.earlier.samples); n > 0 {
			s.begun, s.step = true, s.earlier.samples[n-1].step
		}
		return
	}
	for _, v := range s.earlier.samples {
		m.point(s, v.step, float32(v.value))
	}
	s.earlier.samples = nil
}

// settleAll enters what earlier executions reported of the metrics that this one has not reported.
func (m *metrics) settleAll() {
	for _, name := range m.order {
		if s := m.series[name]; s.earlier.open {
			m.settle(s, math.MaxInt64)
		}
	}
}

// history is what earlier executions reported, for the stand-in for Python's wandb: the last step, the summary,
// and for each metric its steps and values. NaN and infinities are as Python has them.
func (m *metrics) history() string {
	var b strings.Builder
	quoted := func(name string) string {
		text, _ := json.Marshal(name) // a text has a form
		return string(text)
	}
	number := func(v float64) string {
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		}
		text, _ := json.Marshal(v) // a finite number has a form
		return string(text)
	}
	fmt.Fprintf(&b, `{"step": %d, "summary": {`, m.lastStep())
	for i, name := range m.order {
		b.WriteString(separator(i) + quoted(name) + ": " + number(m.series[name].summary))
	}
	b.WriteString(`}, "values": {`)
	for i, name := range m.order {
		b.WriteString(separator(i) + quoted(name) + ": [")
		for k, v := range m.series[name].earlier.samples {
			fmt.Fprintf(&b, "%s[%d, %s]", separator(k), v.step, number(v.value))
		}
		b.WriteString("]")
	}
	b.WriteString("}}\n")
	return b.String()
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}
