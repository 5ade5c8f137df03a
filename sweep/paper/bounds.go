package paper

import (
	"fmt"
	"math"

	"sweep/sweep/report"
)

// Bound is what one theorem says of a trained network, beside what was measured.
type Bound struct {
	Trial, Dataset, Model string
	Theorem               string
	Rows                  int     // m
	Margin                float64 // γ; NaN of a theorem about a loss
	// Train is the margin loss of the training rows, and Test the error of the test rows; of a theorem about
	// a loss its means.
	Train, Test float64
	Complexity  float64 // G(w), B(w) or C αT
	Term        float64 // what the theorem says but for a constant, or another term
	Bound       float64 // of Test - Train with all constants; NaN where the paper has none
	Start       bool    // h(0) is not 0
}

// Bounds lays out what the theorems say of the networks of trials with probability 1 - δ.
func Bounds(bounds []Bound, delta float64, notes []string) *report.Table {
	t := &report.Table{Title: fmt.Sprintf("Bounds of test − train, with probability %g", 1-delta),
		Rules: map[int]bool{},
		Columns: []report.Column{{Name: "trial"}, {Name: "data set"}, {Name: "model"}, {Name: "theorem"},
			{Name: "m", Right: true}, {Name: "γ", Right: true}, {Name: "train", Right: true},
			{Name: "test", Right: true}, {Name: "gap", Right: true}, {Name: "complexity", Right: true},
			{Name: "term", Right: true}, {Name: "bound", Right: true}},
		Data: &report.Data{Columns: []string{"trial", "dataset", "model", "theorem", "rows", "margin", "train", "test",
			"gap", "complexity", "term", "bound", "start"}},
	}
	started := false
	for i, b := range bounds {
		t.Rules[i] = i > 0 && bounds[i-1].Trial != b.Trial
		theorem := b.Theorem
		if b.Start {
			theorem, started = theorem+" †", true
		}
		cells := []report.Cell{{Text: b.Trial}, {Text: b.Dataset}, {Text: ModelName(b.Model)}, {Text: theorem},
			{Text: fmt.Sprint(b.Rows)}}
		values := []any{b.Trial, b.Dataset, b.Model, b.Theorem, b.Rows}
		for _, x := range []float64{b.Margin, b.Train, b.Test, b.Test - b.Train, b.Complexity, b.Term, b.Bound} {
			text, value := boundText(x)
			cells, values = append(cells, report.Cell{Text: text}), append(values, value)
		}
		t.Rows, t.Data.Rows = append(t.Rows, cells), append(t.Data.Rows, append(values, b.Start))
	}
	t.Notes = []report.Note{
		{Text: "Theorem 5, corollary 1 of Zhang, Lei and Dhillon (2018), and the bound of Neyshabur et al. (2017). " +
			"Train is the share of training rows whose margin is at most γ, test the error of the test rows, " +
			"complexity G(w) or B(w), and term √((complexity + ln(m/δ)) / m), which the theorems have times a " +
			"constant. Bound is theorem 5 with the constants of its proof."},
		{Text: "Theorem 1 of the SGORNN paper: train and test are mean losses, complexity is C αT, term 4 C αT / √m, " +
			"and bound the whole right side, with the largest loss that the states allow for B_L."},
		{Text: "Biases are part of the matrices. A bound above 1, or above the largest loss, says nothing."},
	}
	if started {
		t.Notes = append(t.Notes, report.Note{Mark: "†", Text: "h(0) is trained; the theorem has h(0) = 0, as " +
			"initial_state: zero has it."})
	}
	for _, note := range notes {
		t.Notes = append(t.Notes, report.Note{Text: note})
	}
	return t
}

// boundText is a number for readers and for programs: nothing for NaN, and no number for what overflows.
func boundText(x float64) (text string, value any) {
	switch {
	case math.IsNaN(x):
		return "", nil
	case math.IsInf(x, 0):
		return "∞", nil
	}
	return fmt.Sprintf("%.3g", x), x
}
