package script

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// lines calls take for each line that a program writes to its pipe, and tooLong for each of
// more than MaxLine bytes, until the reader ends.
func lines(r io.Reader, take func([]byte), tooLong func()) {
	buffered := bufio.NewReaderSize(r, MaxLine+1)
	for {
		line, err := buffered.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			tooLong()
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = buffered.ReadSlice('\n')
			}
		} else if len(line) > 0 {
			take(line)
		}
		if err != nil {
			return
		}
	}
}

// logLimit is how many bytes of a trial's log are kept.
const logLimit = 64 << 10

// trialLog keeps the end of a trial's log and writes all of it to next.
type trialLog struct {
	mu   sync.Mutex
	text []byte
	cut  bool
	next io.Writer
}

// Write implements io.Writer; it never fails.
func (l *trialLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if len(l.text) > 2*logLimit {
		n := copy(l.text, l.text[len(l.text)-logLimit:])
		l.text, l.cut = l.text[:n], true
	}
	_, _ = l.next.Write(p) // the end is kept in any case
	return len(p), nil
}

// end returns the last whole lines of the log, of limit bytes at most.
func (l *trialLog) end(limit int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, cut := l.text, l.cut
	if len(text) > limit {
		text, cut = text[len(text)-limit:], true
	}
	if newline := bytes.IndexByte(text, '\n'); cut && newline >= 0 && newline+1 < len(text) {
		text = text[newline+1:]
	}
	return string(text)
}
