package main

import (
	"io"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sweep/sweep"
	"sweep/sweep/report"
)

// visible is what every command prints to: texts come from programs, files and other users, and a terminal
// would obey their control characters.
type visible struct {
	out io.Writer

	mu sync.Mutex
	// begun has the first bytes of a character whose others have not been written.
	begun []byte
}

// Write implements io.Writer.
func (v *visible) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := string(append(v.begun, p...))
	end := len(text)
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				end = at
			}
			break
		}
	}
	if len(text) > 0 && end == len(text) && text[end-1] == '\r' { // a line break may follow
		end--
	}
	v.begun = append(v.begun[:0], text[end:]...)
	if _, err := io.WriteString(v.out, sweep.Visible(text[:end])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes the begun character.
func (v *visible) flush() {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _ = io.WriteString(v.out, sweep.Visible(string(v.begun))) // nobody is left who could be told
	v.begun = nil
}

// unchanged returns what a stream of a command writes to, for what acts on a terminal itself and for
// programs that print to the user's own terminal.
func unchanged(stream io.Writer) io.Writer {
	if v, ok := stream.(*visible); ok {
		return v.out
	}
	return stream
}

// dataOut is standard output for data, which files and other programs get unchanged.
func dataOut(cmd *cobra.Command) io.Writer {
	if out := cmd.OutOrStdout(); isTerminal(out) {
		return out
	}
	return unchanged(cmd.OutOrStdout())
}

// writeTable prints a table, which is bold in places on a terminal.
func writeTable(cmd *cobra.Command, table *report.Table, format string) error {
	out := cmd.OutOrStdout()
	if isTerminal(out) && format == "text" { // which has no control characters but these
		return table.Write(unchanged(out), format, true)
	}
	return table.Write(out, format, false)
}
