package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"sweep/sweep"
	"sweep/sweep/progress"
)

const (
	// textWidth is the width of tables that no terminal shows.
	textWidth = 100
	// cellWidth is the width of the widest cell, unless everything is shown.
	cellWidth = 40
	// namedColumns is how many of the columns left out are named.
	namedColumns = 8
)

// columns is a table of results that fits the terminal: columns with smaller ranks come in first, and those
// that do not fit are named below the table.
type columns struct {
	names []string
	ranks []int
	rows  [][]string
	// wide shows everything, whatever its width.
	wide bool
	// exact headings are not put in capitals.
	exact bool
	// more says how to see what is left out.
	more string
}

// always is the rank of columns that are never left out.
const always = 0

// add adds columns of a rank.
func (c *columns) add(rank int, names ...string) {
	for _, name := range names {
		c.names = append(c.names, name)
		c.ranks = append(c.ranks, rank)
	}
}

// row adds a row, which has a cell of one line for each column.
func (c *columns) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = sweep.Visible(strings.ReplaceAll(cell, "\n", " "))
	}
	c.rows = append(c.rows, cells)
}

// write prints the table to out, and what it leaves out to notes.
func (c *columns) write(out, notes io.Writer) error {
	shown, left, widths := c.fit(tableWidth(out))
	var text strings.Builder
	line := func(cells []string) {
		var words []string
		for _, i := range shown {
			words = append(words, pad(cells[i], widths[i]))
		}
		text.WriteString(strings.TrimRight(strings.Join(words, "  "), " ") + "\n")
	}
	head := c.names
	if !c.exact {
		head = sweep.Headings(c.names)
	}
	line(head)
	for _, cells := range c.rows {
		line(cells)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if len(left) > 0 {
		text := strings.Join(left[:min(len(left), namedColumns)], ", ")
		if n := len(left) - namedColumns; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(notes, "columns not shown: %s (%s)\n", text, c.more)
	}
	return nil
}

// fit chooses the columns that fit into a width, names the others, and says how wide each is.
func (c *columns) fit(width int) (shown []int, left []string, widths []int) {
	widths = make([]int, len(c.names))
	order := make([]int, len(c.names))
	for i, name := range c.names {
		order[i] = i
		widths[i] = ansi.StringWidth(name)
		for _, cells := range c.rows {
			widths[i] = max(widths[i], ansi.StringWidth(cells[i]))
		}
		if !c.wide && c.ranks[i] != always {
			widths[i] = min(widths[i], cellWidth)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return c.ranks[a] - c.ranks[b] })
	total := -2
	for _, i := range order {
		if c.wide || c.ranks[i] == always || total+widths[i]+2 <= width {
			total += widths[i] + 2
			shown = append(shown, i)
		}
	}
	slices.Sort(shown)
	for i, name := range c.names {
		if !slices.Contains(shown, i) {
			left = append(left, name)
		}
	}
	return shown, left, widths
}

// width is how wide the table is with all its columns.
func (c *columns) width() int {
	_, _, widths := c.fit(math.MaxInt)
	total := -2
	for _, w := range widths {
		total += w + 2
	}
	return total
}

// tableWidth is how wide a table on out may be.
func tableWidth(out io.Writer) int {
	if !isTerminal(out) {
		return textWidth
	}
	width, _ := terminalSize(out)
	return width
}

// parameterList lists the parameters of a trial in which the trials of its sweep differ, each after a comma, as many
// as there is room for; at least one, shortened.
func parameterList(record *sweep.SweepRecord, p sweep.Parameters, room int) string {
	var text strings.Builder
	names := slices.DeleteFunc(progress.Varied(record, true), func(name string) bool {
		_, has := p[name]
		return !has
	})
	for i, name := range names {
		further := ""
		if left := len(names) - i; left > 1 {
			further = fmt.Sprintf(", … %d more", left)
		}
		free := room - ansi.StringWidth(further) - len(", ")
		item := ", " + ansi.Truncate(sweep.Visible(name+" "+progress.ValueText(p[name])), max(free, cellWidth), "…")
		if i > 0 && free < ansi.StringWidth(item)-len(", ") {
			text.WriteString(further)
			break
		}
		text.WriteString(item)
		room -= ansi.StringWidth(item)
	}
	return text.String()
}
