package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
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
	// Accuracy is null of a task that has none, Loss where it is not known.
	Accuracy  *float64 `json:"accuracy"`
	Loss      *float64 `json:"validation_loss"`
	Deviation *float64 `json:"deviation"`
	Published *float64 `json:"published"`
	Artefact  bool     `json:"artefact"`
	TrainSize int      `json:"train_size"`
	TestSize  int      `json:"test_size"`
	Length    int      `json:"length"`
	Classes   int      `json:"classes"`
	Depth     int      `json:"depth"`
}

// Add adds a record.
func (t *Table) Add(r Record) {
	if loss := r.Figure.Loss; !math.IsNaN(loss) {
		r.Loss = &loss
	}
	t.Records = append(t.Records, r)
}

// Formats lists the formats that Write knows.
var Formats = []string{"text", "markdown", "latex", "csv", "json"}

// Write writes the table in a format; bold says whether text may use a
// terminal's bold face.
func (t *Table) Write(w io.Writer, format string, bold bool) error {
	switch format {
	case "text":
		return t.writeText(w, bold)
	case "markdown":
		return t.writeMarkdown(w)
	case "latex":
		return t.writeLaTeX(w)
	case "csv":
		return t.writeCSV(w)
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(t.Records)
	default:
		return fmt.Errorf("format %q: expected one of %s", format, strings.Join(Formats, ", "))
	}
}

func (t *Table) writeText(w io.Writer, bold bool) error {
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
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n\n")
	}
	line := func(cells []Cell) {
		var out strings.Builder
		for i, cell := range cells {
			if i > 0 {
				out.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text))
			text := cell.Text
			if cell.Bold && bold && text != "" {
				text = "\x1b[1m" + text + "\x1b[0m"
			}
			if t.Columns[i].Right {
				out.WriteString(pad + text)
			} else {
				out.WriteString(text + pad)
			}
		}
		b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
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
			b.WriteString(strings.TrimSpace(n.Mark+" "+n.Text) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) writeMarkdown(w io.Writer) error {
	var b strings.Builder
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
			text := escape(cell.Text)
			if cell.Bold && text != "" {
				text = "**" + text + "**"
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
	for _, n := range t.Notes {
		b.WriteString("\n" + escape(strings.TrimSpace(n.Mark+" "+n.Text)) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) writeLaTeX(w io.Writer) error {
	escape := strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`, "$", `\$`,
		"±", `$\pm$`, "≈", `$\approx$`, "−", "$-$", "†", `\textdagger{}`, "‡", `\textdaggerdbl{}`, "–", "--").Replace
	var b strings.Builder
	b.WriteString("% needs \\usepackage{booktabs}\n\\begin{tabular}{")
	for _, c := range t.Columns {
		if c.Right {
			b.WriteString("r")
		} else {
			b.WriteString("l")
		}
	}
	b.WriteString("}\n\\toprule\n")
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(" & ")
		}
		b.WriteString(escape(c.Name))
	}
	b.WriteString(" \\\\\n\\midrule\n")
	for i, row := range t.Rows {
		if t.Rules[i] {
			b.WriteString("\\midrule\n")
		}
		for j, cell := range row {
			if j > 0 {
				b.WriteString(" & ")
			}
			text := escape(cell.Text)
			if cell.Bold && text != "" {
				text = `\textbf{` + text + "}"
			}
			b.WriteString(text)
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	for _, n := range t.Notes {
		b.WriteString("\n\\noindent " + escape(strings.TrimSpace(n.Mark+" "+n.Text)) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"dataset", "model", "selection", "accuracy", "deviation", "replicates", "validation_loss",
		"parameter_count",
		"published", "artefact", "train_size", "test_size", "length", "classes", "depth", "test_loss", "ties"}}
	optional := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprint(*v)
	}
	for _, r := range t.Records {
		rows = append(rows, []string{r.Dataset, r.Model, string(r.Selection), optional(r.Accuracy),
			optional(r.Deviation),
			fmt.Sprint(r.Replicates), optional(r.Loss), fmt.Sprint(r.Count), optional(r.Published),
			fmt.Sprint(r.Artefact),
			fmt.Sprint(r.TrainSize), fmt.Sprint(r.TestSize), fmt.Sprint(r.Length), fmt.Sprint(r.Classes),
			fmt.Sprint(r.Depth), fmt.Sprint(r.TestLoss), fmt.Sprint(r.Ties)})
	}
	return out.WriteAll(rows)
}
