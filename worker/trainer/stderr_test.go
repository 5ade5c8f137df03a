package trainer

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// The tail is the end of what was written, cut at lines, however it came.
func TestTail(t *testing.T) {
	var all strings.Builder
	for i := 0; all.Len() < 5*stderrLimit; i++ {
		fmt.Fprintf(&all, "line %d %s\n", i, strings.Repeat("x", i%97))
	}
	for _, length := range []int{0, 1, 100, stderrLimit - 1, stderrLimit, stderrLimit + 1, 2 * stderrLimit,
		2*stderrLimit + 1, all.Len()} {
		for _, size := range []int{1, 7, 4096, 1 << 20} {
			text := all.String()[:length]
			var kept tail
			for rest := []byte(text); len(rest) > 0; {
				n := min(size, len(rest))
				_, _ = kept.Write(rest[:n])
				rest = rest[n:]
			}
			got := kept.String()
			if length <= stderrLimit {
				if got != text {
					t.Fatalf("%d bytes in pieces of %d: %d bytes kept", length, size, len(got))
				}
				continue
			}
			if !strings.HasSuffix(text, got) || len(got) > stderrLimit || len(got) < stderrLimit-110 {
				t.Fatalf("%d bytes in pieces of %d: %d bytes kept, a suffix: %v", length, size, len(got),
					strings.HasSuffix(text, got))
			}
			if before := text[len(text)-len(got)-1]; before != '\n' {
				t.Fatalf("%d bytes in pieces of %d: the first line is cut", length, size)
			}
			if cap(kept.text) > 4*stderrLimit+size {
				t.Fatalf("%d bytes of memory", cap(kept.text))
			}
		}
	}
}

// A line that is too long is kept at its end.
func TestTailOfOneLine(t *testing.T) {
	var kept tail
	_, _ = kept.Write(bytes.Repeat([]byte("a"), 10*stderrLimit))
	_, _ = kept.Write([]byte("end"))
	if got := kept.String(); len(got) != stderrLimit || !strings.HasSuffix(got, "aend") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-4:])
	}
}

// Every line goes to the log at level debug; whatever happens with the log, the
// tail has it.
func TestForward(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	text := "first\r\nsecond\n" + strings.Repeat("x", 20<<10) + "\nlast"
	var kept tail
	kept.open(strings.NewReader(text), logger)
	kept.forward(strings.NewReader(text), logger)
	if kept.String() != text {
		t.Error("the tail differs from the text")
	}
	for _, want := range []string{"level=DEBUG msg=first\n", "msg=second\n", "msg=last\n"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

func TestErrorLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"\n\n":                          "",
		"one\ntwo\n\n":                  "two",
		"log\npanic: why\n\ngoroutine":  "panic: why",
		"fatal error: out of memory\nx": "fatal error: out of memory",
		strings.Repeat("é", 200):        strings.Repeat("é", 150) + "…",
	} {
		if got := errorLine(text); got != want {
			t.Errorf("errorLine(%.20q) = %q, want %q", text, got, want)
		}
	}
}

// What was written behind a place is the tail from there on, whole lines of it if
// it is more than is kept.
func TestTailSince(t *testing.T) {
	var kept tail
	total := int64(0)
	var starts []int64
	for i := range 5000 {
		starts = append(starts, total)
		n, _ := fmt.Fprintf(&kept, "line %d %s\n", i, strings.Repeat("x", i%97))
		total += int64(n)
	}
	for i, from := range starts {
		text, start, end := kept.since(from)
		if end != total || start+int64(len(text)) != total || start < from {
			t.Fatalf("from %d: %d bytes from %d to %d of %d", from, len(text), start, end, total)
		}
		whole := total-from <= stderrLimit
		if whole != (start == from) || !strings.HasPrefix(text, "line ") || whole &&
			!strings.HasPrefix(text, fmt.Sprintf("line %d ", i)) {
			t.Fatalf("from %d of %d: %.20q from %d", from, total, text, start)
		}
	}
	for _, from := range []int64{total, total + 7} {
		if text, start, end := kept.since(from); text != "" || start != total || end != total {
			t.Errorf("from %d: %q from %d to %d", from, text, start, end)
		}
	}
}
