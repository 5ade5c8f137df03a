package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"sweep/sweep"
)

// Table is a laid-out table: the same cells for every format, and the records
// behind them for programs.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell
	// Rules are the row numbers before which a line is drawn.
	Rules map[int]bool
	// Notes follow the table; a cell refers to note i by Mark, if it has one.
	Notes []Note
	// Records are the rows as programs read them: one a data set and model.
	Records []Record
	// Data are the rows as programs read them where they are no Records; else nil.
	Data *Data
}

// Data is a table for programs, without text that is only to be read.
type Data struct {
	Columns []string
	Rows    [][]any // a number or text each, nil where there is none
}

// Column is a column's head.
type Column struct {
	Name  string
	Right bool // aligned to the right
}

// Cell is one field.
type Cell struct {
	Text string
	Bold bool
}

// Note is a footnote.
type Note struct {
	Mark, Text string
}

// Record is one figure of a table with everything that belongs to it.
type Record struct {
	Dataset   string    `json:"dataset"`
	Model     string    `json:"model"`
	Selection Selection `json:"selection"`
	Figure
	// Accuracy is null of a task that has none, and as the losses where it is not known.
	Accuracy  *float64 `json:"accuracy"`
	Loss      *float64 `json:"validation_loss"`
	TestLoss  *float64 `json:"test_loss"`
	Deviation *float64 `json:"deviation"`
	Published *float64 `json:"published"`
	// PublishedCount is the published number of parameters.
	PublishedCount *int64 `json:"published_parameter_count"`
	Artefact       bool   `json:"artefact"`
	Facts
}

// Add adds a record, with its losses and, if it has an Accuracy, its Deviation.
func (t *Table) Add(r Record) {
	r.Loss, r.TestLoss = known(r.Figure.Loss), known(r.Figure.TestLoss)
	if r.Accuracy != nil {
		r.Accuracy, r.Deviation = known(*r.Accuracy), known(r.Figure.Deviation)
	}
	t.Records = append(t.Records, r)
}

// known is a value, nil for NaN.
func known(value float64) *float64 {
	if math.IsNaN(value) {
		return nil
	}
	return &value
}

// Formats lists the formats that Write knows.
var Formats = []string{"text", "markdown", "latex", "csv", "json"}

// Write writes the table in a format; bold says whether text may use a
// terminal's bold face.
func (t *Table) Write(w io.Writer, format string, bold bool) error {
	var b strings.Builder
	switch format {
	case "text":
		t.writeText(&b, bold)
	case "markdown":
		t.writeMarkdown(&b)
	case "latex":
		t.writeLaTeX(&b)
	case "csv":
		return t.writeCSV(w)
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if t.Data != nil {
			return encoder.Encode(t.Data.objects())
		}
		return encoder.Encode(t.Records)
	default:
		return fmt.Errorf("format %q: expected one of %s", format, strings.Join(Formats, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text is the cell in a format that escapes characters and marks bold text.
func (c Cell) text(escape func(string) string, open, end string) string {
	text := escape(c.Text)
	if c.Bold && text != "" {
		return open + text + end
	}
	return text
}

// text is the note after its mark.
func (n Note) text() string { return strings.TrimSpace(n.Mark + " " + n.Text) }

func (t *Table) writeText(b *strings.Builder, bold bool) {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].Text))
		}
	}
	total := -2
	for _, width := range widths {
		total += width + 2
	}
	if t.Title != "" {
		b.WriteString(sweep.Visible(t.Title) + "\n\n")
	}
	open, end := "", ""
	if bold {
		open, end = "\x1b[1m", "\x1b[0m"
	}
	plain := sweep.Visible
	line := func(cells []Cell) {
		fields := make([]string, len(cells))
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text))
			text := cell.text(plain, open, end)
			if t.Columns[i].Right {
				fields[i] = pad + text
			} else {
				fields[i] = text + pad
			}
		}
		b.WriteString(strings.TrimRight(strings.Join(fields, "  "), " ") + "\n")
	}
	head := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = Cell{Text: c.Name}
	}
	line(head)
	b.WriteString(strings.Repeat("─", total) + "\n")
	for i, row := range t.Rows {
		if t.Rules[i] {
			b.WriteString(strings.Repeat("─", total) + "\n")
		}
		line(row)
	}
	if len(t.Notes) > 0 {
		b.WriteString("\n")
		for _, n := range t.Notes {
			b.WriteString(sweep.Visible(n.text()) + "\n")
		}
	}
}

func (t *Table) writeMarkdown(b *strings.Builder) {
	if t.Title != "" {
		b.WriteString(t.Title + "\n\n")
	}
	escape := strings.NewReplacer("|", "\\|", "*", "\\*").Replace
	b.WriteString("|")
	for _, c := range t.Columns {
		b.WriteString(" " + escape(c.Name) + " |")
	}
	b.WriteString("\n|")
	for _, c := range t.Columns {
		if c.Right {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteString("\n")
	for _, row := range t.Rows {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(" " + cell.text(escape, "**", "**") + " |")
		}
		b.WriteString("\n")
	}
	for _, n := range t.Notes {
		b.WriteString("\n" + escape(n.text()) + "\n")
	}
}

func (t *Table) writeLaTeX(b *strings.Builder) {
	escape := strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`, "$", `\$`,
		"±", `$\pm$`, "²", `$^2$`, "γ", `$\gamma$`, "δ", `$\delta$`, "α", `$\alpha$`, "β", `$\beta$`, "√", `$\surd$`,
		"‖", `$\|$`, "∞", `$\infty$`, "≈", `$\approx$`, "−", "$-$", "†", `\textdagger{}`, "‡", `\textdaggerdbl{}`,
		"–", "--").Replace
	b.WriteString("% needs \\usepackage{booktabs}\n\\begin{tabular}{")
	for _, c := range t.Columns {
		if c.Right {
			b.WriteString("r")
		} else {
			b.WriteString("l")
		}
	}
	b.WriteString("}\n\\toprule\n")
	fields := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		fields[i] = escape(c.Name)
	}
	b.WriteString(strings.Join(fields, " & ") + " \\\\\n\\midrule\n")
	for i, row := range t.Rows {
		if t.Rules[i] {
			b.WriteString("\\midrule\n")
		}
		for j, cell := range row {
			fields[j] = cell.text(escape, `\textbf{`, "}")
		}
		b.WriteString(strings.Join(fields, " & ") + " \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	for _, n := range t.Notes {
		b.WriteString("\n\\noindent " + escape(n.text()) + "\n")
	}
}

func (t *Table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if t.Data != nil {
		return out.WriteAll(t.Data.lines())
	}
	rows := [][]string{{"dataset", "model", "selection", "accuracy", "deviation", "replicates", "validation_loss",
		"parameter_count",
		"published", "artefact", "train_size", "test_size", "length", "classes", "depth", "test_loss", "ties",
		"published_parameter_count"}}
	for _, r := range t.Records {
		rows = append(rows, []string{r.Dataset, r.Model, string(r.Selection), optional(r.Accuracy),
			optional(r.Deviation),
			fmt.Sprint(r.Replicates), optional(r.Loss), fmt.Sprint(r.Count), optional(r.Published),
			fmt.Sprint(r.Artefact),
			fmt.Sprint(r.Train), fmt.Sprint(r.Test), fmt.Sprint(r.Length), fmt.Sprint(r.Classes),
			fmt.Sprint(r.Depth), optional(r.TestLoss), fmt.Sprint(r.Ties), optional(r.PublishedCount)})
	}
	return out.WriteAll(rows)
}

// optional is a value as text, "" without one.
func optional[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}

// objects are the rows by the names of their columns.
func (d *Data) objects() []map[string]any {
	objects := make([]map[string]any, len(d.Rows))
	for i, row := range d.Rows {
		objects[i] = map[string]any{}
		for j, name := range d.Columns {
			objects[i][name] = row[j]
		}
	}
	return objects
}

// lines are the names of the columns and the rows, with nothing in place of nil.
func (d *Data) lines() [][]string {
	lines := [][]string{d.Columns}
	for _, row := range d.Rows {
		line := make([]string, len(row))
		for j, value := range row {
			if value != nil {
				line[j] = fmt.Sprint(value)
			}
		}
		lines = append(lines, line)
	}
	return lines
}
