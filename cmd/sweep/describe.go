package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sweep/sweep"
)

// describeWidth is the number of columns that a description takes.
const describeWidth = 100

func writeDescription(cmd *cobra.Command, d *sweep.Description) error {
	l := &layout{}
	l.line(fmt.Sprintf("trainer %s, version %s, results of version %s", d.Name, d.Version, d.ResultVersion))
	names := []string{}
	for _, p := range d.Parameters {
		names = append(names, p.Name)
	}
	for _, m := range d.Metrics {
		names = append(names, m.Name)
	}
	for _, a := range d.Artifacts {
		names = append(names, a.Name)
	}
	l.margin = longest(names) + 2

	l.line("\nPARAMETER")
	for _, p := range d.Parameters {
		l.entry(p.Name, p.Accepts())
		for _, own := range p.DefaultsText() {
			l.text(own)
		}
		l.doc(p.Doc)
		for _, note := range p.AppliesText() {
			l.text(note)
		}
	}
	l.line("\nMETRIC")
	for _, m := range d.Metrics {
		var where []string
		for _, text := range []string{m.Goal, string(m.Part), m.Unit} {
			if text != "" {
				where = append(where, text)
			}
		}
		if m.Curve {
			where = append(where, "curve")
		}
		if m.Summary {
			where = append(where, "summary")
		}
		if m.Diverged != nil {
			where = append(where, fmt.Sprintf("%v if diverged", *m.Diverged))
		}
		l.entry(m.Name, strings.Join(where, ", "))
		l.doc(m.Doc)
		if m.AbsentWhen != nil {
			l.text("absent for " + m.AbsentWhen.Text())
		}
	}
	if len(d.Artifacts) > 0 {
		l.line("\nARTIFACT")
	}
	for _, a := range d.Artifacts {
		l.entry(a.Name, a.MediaType)
		l.doc(a.Doc)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), l.String())
	return err
}

// layout is text with names in a margin and paragraphs beside them.
type layout struct {
	strings.Builder
	margin int
}

func (l *layout) line(text string) { l.WriteString(text + "\n") }

// entry begins what belongs to a name.
func (l *layout) entry(name, text string) {
	l.wrap(name+strings.Repeat(" ", max(l.margin-utf8.RuneCountInString(name), 1)), l.margin, text)
}

// text is a paragraph of an entry.
func (l *layout) text(text string) { l.wrap(strings.Repeat(" ", l.margin), l.margin, text) }

// doc is a description: a paragraph, and further lines as a list, in which a name
// before a colon stands by itself.
func (l *layout) doc(doc string) {
	first, rest, more := strings.Cut(doc, "\n")
	if first != "" {
		l.text(first)
	}
	if !more {
		return
	}
	var items [][2]string
	var names []string
	for item := range strings.SplitSeq(rest, "\n") {
		name, text, named := strings.Cut(item, ": ")
		if !named {
			name, text = "", item
		}
		items, names = append(items, [2]string{name, text}), append(names, name)
	}
	width := longest(names)
	for _, item := range items {
		before := strings.Repeat(" ", l.margin+2) + item[0] + strings.Repeat(" ",
			width-utf8.RuneCountInString(item[0])+2)
		l.wrap(before, utf8.RuneCountInString(before), item[1])
	}
}

// wrap writes text after the words before it, and breaks long lines between words; further lines are
// indented.
func (l *layout) wrap(before string, indent int, text string) {
	line, empty := before, true
	for _, word := range breakable(text) {
		if !empty && utf8.RuneCountInString(line)+utf8.RuneCountInString(strings.TrimRight(word, " ")) > describeWidth {
			l.line(strings.TrimRight(line, " "))
			line = strings.Repeat(" ", indent)
		}
		line, empty = line+word, false
	}
	l.line(strings.TrimRight(line, " "))
}

// breakable is text in parts between which a line may end: after blanks and bars.
func breakable(text string) (parts []string) {
	for text != "" {
		at := strings.IndexAny(text, " |")
		if at < 0 {
			return append(parts, text)
		}
		parts, text = append(parts, text[:at+1]), text[at+1:]
	}
	return parts
}

func longest(names []string) (length int) {
	for _, name := range names {
		length = max(length, utf8.RuneCountInString(name))
	}
	return length
}
