package trainer

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"sync"

	"sweep/sweep"
)

// stderrLimit is how many bytes of a trainer's standard error are kept.
const stderrLimit = sweep.LogLimit

// tail keeps the last whole lines that are written to it, up to stderrLimit bytes; of a longer
// line it keeps the end.
type tail struct {
	mu   sync.Mutex
	text []byte
	// total is how many bytes were written. text is the end of them and may begin within a
	// line.
	total int64
	// unlogged is what forward has not logged yet, if logging.
	logging  bool
	unlogged []byte
	// pipe reads standard error without blocking; nil if that is not possible.
	pipe *pipe
}

// Write implements io.Writer; it never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(p)
	return len(p), nil
}

// add is Write for callers that hold the lock.
func (t *tail) add(p []byte) {
	t.text = append(t.text, p...)
	t.total += int64(len(p))
	// Cutting at twice the limit moves every byte once at most.
	if len(t.text) > 2*stderrLimit {
		n := copy(t.text, t.text[len(t.text)-stderrLimit-1:])
		t.text = t.text[:n]
	}
	if t.logging {
		t.unlogged = append(t.unlogged, p...)
	}
}

// empty reports whether nothing was ever written.
func (t *tail) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.text) == 0
}

// String returns what is kept.
func (t *tail) String() string {
	text, _, _ := t.since(0)
	return text
}

// since returns what was written after the first from bytes, as far as it is kept, and where
// that begins and ends.
func (t *tail) since(from int64) (text string, start, end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	start, end = max(from, 0), t.total
	if start >= end {
		return "", end, end
	}
	if end-start <= stderrLimit {
		return string(t.text[int64(len(t.text))-(end-start):]), start, end
	}
	// One more byte shows whether the cut is at the beginning of a line.
	kept := t.text[len(t.text)-stderrLimit-1:]
	if newline := bytes.IndexByte(kept, '\n'); newline >= 0 && newline+1 < len(kept) {
		kept = kept[newline+1:]
	} else {
		kept = kept[1:]
	}
	return string(kept), end - int64(len(kept)), end
}

// drain reads what has been written and was not read yet.
func (t *tail) drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pipe != nil {
		_ = t.pipe.drain() // forward gets its error, too
	}
}

// open prepares the tail for forward. From then on drain reads, even if forward is run late.
func (t *tail) open(r io.Reader, log *slog.Logger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.logging = log.Enabled(context.Background(), slog.LevelDebug)
	if file, ok := r.(*os.File); ok {
		t.pipe = newPipe(file, t.add)
	}
}

// forward copies a trainer's standard error, which was opened, to the tail, and line by line to
// the log, until the reader ends.
func (t *tail) forward(r io.Reader, log *slog.Logger) {
	t.mu.Lock()
	p := t.pipe
	t.mu.Unlock()
	buffer := make([]byte, 8<<10)
	for {
		var err error
		if p != nil {
			err = p.wait(func() (came bool, end error) {
				t.mu.Lock()
				defer t.mu.Unlock()
				before := t.total
				end = p.drain()
				return t.total > before, end
			})
		} else {
			var n int
			n, err = r.Read(buffer)
			_, _ = t.Write(buffer[:n])
		}
		t.log(log, err != nil)
		if err != nil {
			return
		}
	}
}

// longestLine is the length in bytes from which an unfinished line is logged.
const longestLine = 8 << 10

// log logs the finished lines, and everything that is left if it is the last call.
func (t *tail) log(log *slog.Logger, last bool) {
	t.mu.Lock()
	n := bytes.LastIndexByte(t.unlogged, '\n') + 1
	if last || len(t.unlogged)-n > longestLine {
		n = len(t.unlogged)
	}
	lines := bytes.Clone(t.unlogged[:n])
	t.unlogged = t.unlogged[:copy(t.unlogged, t.unlogged[n:])]
	t.mu.Unlock()
	for line := range bytes.Lines(lines) {
		log.Debug(string(bytes.TrimRight(line, "\r\n")))
	}
}
