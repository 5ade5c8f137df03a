package trainer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
)

// stderrLimit is how much of a trainer's standard error is kept.
const stderrLimit = 64 << 10

// tail keeps the end of what is written to it: whole lines, stderrLimit bytes at
// most. Of a line longer than that it keeps the end.
type tail struct {
	mu   sync.Mutex
	text []byte
	// cut says that text begins behind a cut, perhaps within a line.
	cut bool
}

// Write implements io.Writer; it never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	// Cutting at twice the limit moves every byte once at most.
	if len(t.text) > 2*stderrLimit {
		n := copy(t.text, t.text[len(t.text)-stderrLimit-1:])
		t.text, t.cut = t.text[:n], true
	}
	return len(p), nil
}

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, cut := t.text, t.cut
	if len(text) > stderrLimit {
		// One byte more tells whether the cut is at the beginning of a line.
		text, cut = text[len(text)-stderrLimit-1:], true
	}
	if !cut {
		return string(text)
	}
	if end := bytes.IndexByte(text, '\n'); end >= 0 && end+1 < len(text) {
		return string(text[end+1:])
	}
	return string(text[1:])
}

// forward copies a trainer's standard error to the tail, and line by line to the
// log, until the reader ends.
func (t *tail) forward(r io.Reader, log *slog.Logger) {
	lines := bufio.NewReaderSize(r, 8<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			_, _ = t.Write(line)
			if log.Enabled(context.Background(), slog.LevelDebug) {
				log.Debug(string(bytes.TrimRight(line, "\r\n")))
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
