package script

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"time"
)

// lines splits what a program writes to its pipe and calls take for each line,
// tooLong for one of more than MaxLine bytes, until the reader ends.
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

// logLimit is how much of a trial's log is kept.
const logLimit = 64 << 10

// trialLog keeps the end of a trial's log and hands everything on.
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
	_, _ = l.next.Write(p) // the log is kept whoever listens
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
	if cut {
		for i, c := range text[:max(len(text)-1, 0)] {
			if c == '\n' {
				text = text[i+1:]
				break
			}
		}
	}
	return string(text)
}

// batchEvery is how often points are handed on while a trial runs.
const batchEvery = 500 * time.Millisecond
