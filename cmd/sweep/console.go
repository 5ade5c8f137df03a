package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"sweep/sweep"
)

// console is standard error with a few live lines at its end; other output appears above them.
type console struct {
	out io.Writer
	// terminal says that out is one.
	terminal bool
	// asJSON has every line be an object: notes those with a message.
	asJSON bool

	mu sync.Mutex
	// lines are the live lines.
	lines []string
	// broken says that the last output did not end its line.
	broken bool
}

func newConsole(out io.Writer) *console {
	if c, ok := out.(*console); ok {
		return c
	}
	return &console{out: out, terminal: isTerminal(out)}
}

func (c *console) size() (width, height int) { return terminalSize(c.out) }

// Write implements io.Writer.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asJSON {
		for line := range strings.Lines(string(p)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				c.objectLocked(struct {
					Message string `json:"message"`
				}{line})
			}
		}
		return len(p), nil
	}
	lines := c.lines
	if len(lines) > 0 {
		c.drawLocked(nil)
	}
	n, err := c.out.Write(p)
	if len(p) > 0 {
		c.broken = !bytes.HasSuffix(p, []byte("\n"))
	}
	if len(lines) > 0 && !c.broken {
		c.drawLocked(lines)
	}
	return n, err
}

// object prints a value as a line of JSON.
func (c *console) object(value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objectLocked(value)
}

func (c *console) objectLocked(value any) {
	_ = newEncoder(c.out).Encode(value) // as everything on standard error; a snapshot's numbers are finite
}

// draw replaces the live lines; nil removes them.
func (c *console) draw(lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawLocked(lines)
}

func (c *console) drawLocked(lines []string) {
	if len(lines) == 0 && len(c.lines) == 0 {
		return
	}
	var text strings.Builder
	if len(c.lines) == 0 && c.broken {
		text.WriteString("\n")
		c.broken = false
	}
	if n := len(c.lines); n > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", n)
	}
	text.WriteString("\r")
	for _, line := range lines {
		text.WriteString(sweep.Visible(line) + "\x1b[K\n")
	}
	if len(c.lines) > len(lines) {
		text.WriteString("\x1b[J")
	}
	c.lines = lines
	_, _ = io.WriteString(unchanged(c.out), text.String()) // as everything on standard error
}
