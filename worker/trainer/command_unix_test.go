//go:build unix

package trainer

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sweep/sweep/sweeptest"
)

// heldLog is a log that takes nothing until release is closed; it first creates a file.
type heldLog struct {
	slog.Handler
	file    string
	release chan struct{}
}

func (l *heldLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *heldLog) Handle(context.Context, slog.Record) error {
	_ = os.WriteFile(l.file, nil, 0o644)
	<-l.release
	return nil
}

// What a process wrote to standard error before its end is kept, however late its reader is.
func TestLateReader(t *testing.T) {
	scratch, err := newScratch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	held := &heldLog{slog.DiscardHandler, filepath.Join(t.TempDir(), "held"), make(chan struct{})}
	c := newCommand([]string{"/bin/sh", "-c", `echo first >&2; until [ -e "$0" ]; do sleep 0.02; done; echo last >&2`,
		held.file}, nil, scratch, slog.New(held))
	c.env = os.Environ()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	sweeptest.Until(t, "the end of the process", func() bool { return !c.alive() })
	time.Sleep(2 * pipeGrace) // no other process is waited for so long
	close(held.release)
	<-c.gone
	if got := c.stderr.String(); got != "first\nlast\n" {
		t.Errorf("standard error %q", got)
	}
}

// The first line on standard output is read even if nobody could before the process had ended.
func TestLateFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "banner": "banner", "banner\nmore\n": "banner", strings.Repeat("x", 20<<10): strings.Repeat("x", 16<<10),
	} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		defer writer.Close() // another process has it open
		if _, err := writer.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := reader.SetReadDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		c := newCommand(nil, nil, nil, nil)
		_ = c.handshake.Close() // nobody waits for a handshake
		c.readStdout(reader)
		if got := c.firstLine(); got != want {
			t.Errorf("%.20q: the first line is %.20q", text, got)
		}
	}
}
