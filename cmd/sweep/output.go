package main

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sweep/sweep"
)

// newColumns aligns the columns of lines whose values tabs separate; Flush prints them.
func newColumns(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 8, 2, ' ', 0) }

// newEncoder prints values as lines of JSON.
func newEncoder(out io.Writer) *json.Encoder {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder
}

// writeJSON prints value as indented JSON.
func writeJSON(cmd *cobra.Command, value any) error {
	encoder := newEncoder(cmd.OutOrStdout())
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// exactText is a value as no other one is written: a text that is the JSON of another value is in quotes.
func exactText(value any) string {
	if text, ok := value.(string); ok && !sweep.PlainText(text) {
		quoted, _ := sweep.CanonicalJSON(text) // a text has a form
		return string(quoted)
	}
	return sweep.JSONText(value)
}

// isTerminal reports whether a stream, of input or output, is a terminal.
func isTerminal(stream any) bool {
	switch s := stream.(type) {
	case *console:
		return s.terminal
	case *visible:
		stream = s.out
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalSize is the size of a terminal, or 80 columns by 24 lines if w is none.
func terminalSize(w io.Writer) (width, height int) {
	width, height = 80, 24
	if f, ok := unchanged(w).(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			width, height = cmp.Or(w, width), cmp.Or(h, height)
		}
	}
	return width, height
}
