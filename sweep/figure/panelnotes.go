package figure

import (
	"slices"
	"strings"
)

// panelNotes are the notes of a page's panels: each once, with the panels that have it if not all do.
type panelNotes struct {
	titles []string // of the panels that are drawn
	texts  []string
	of     map[string][]string // the panels that have a text
	// lines are those of all panels, over linear and over logarithmic axes.
	linear, logarithmic []line
}

// add adds the notes of a panel, in which grid points stand for their groups.
func (n *panelNotes) add(title string, f *Figure, points string) {
	n.titles = append(n.titles, title)
	if f.logarithmic {
		n.logarithmic = append(n.logarithmic, f.lines...)
	} else {
		n.linear = append(n.linear, f.lines...)
	}
	texts := f.notes
	if points != "" {
		texts = append(slices.Clone(texts), points+".")
	}
	for _, text := range texts {
		if n.of == nil {
			n.of = map[string][]string{}
		}
		if n.of[text] == nil {
			n.texts = append(n.texts, text)
		}
		n.of[text] = append(n.of[text], title)
	}
}

// sentences are the notes in the order in which they came.
func (n *panelNotes) sentences() (list []string) {
	if len(n.linear) > 0 {
		list = append(list, bandNote(n.linear, false))
	}
	if len(n.logarithmic) > 0 {
		if note := bandNote(n.logarithmic, true); !slices.Contains(list, note) {
			list = append(list, note)
		}
	}
	for _, text := range n.texts {
		if titles := n.of[text]; len(titles) < len(n.titles) {
			text = strings.Join(titles, ", ") + " – " + text
		}
		list = append(list, text)
	}
	return list
}
