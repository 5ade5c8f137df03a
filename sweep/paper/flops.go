package paper

import (
	"fmt"

	"sweep/sweep/report"
)

// CountFlops counts the floating point operations of one time step of Algorithm 1, forward and
// back, with m1 reflectors of U and m2 of V, none for oRNN; with m1 = 1 alone those of one
// reflector. norms says that ‖u‖² is kept, products that α of the forward pass is.
type CountFlops func(m1, m2 int, norms, products bool) (forward, backward int, err error)

// flopsRow is a row of Table 1 of Zhang, Lei, Dhillon (2018), or of the text beside it.
type flopsRow struct {
	name, formula   string
	published       int
	summed          int // by the table's own H_prod and H_grad; 0 for these
	m1, m2          int
	back            bool
	norms, products bool
}

// Flops lays out Table 1 of Zhang, Lei, Dhillon (2018) at n, m1 and m2, with m = m1 for oRNN, beside
// counts of the same algorithms. The table contradicts itself, so its totals stand beside the sums
// over its own first rows.
func Flops(n, m1, m2 int, count CountFlops) (*report.Table, error) {
	t := &report.Table{Title: fmt.Sprintf("Floating point operations of a time step: n = %d, m1 = %d, m2 = %d, "+
		"m = m1, k = n", n, m1, m2), Rules: map[int]bool{5: true},
		Columns: []report.Column{{Name: "algorithm"}, {Name: "formula"}, {Name: "published", Right: true},
			{Name: "by its first rows", Right: true}, {Name: "counted", Right: true},
			{Name: "/ published", Right: true}, {Name: "/ first rows", Right: true}},
		Data: &report.Data{Columns: []string{"algorithm", "formula", "published", "by_first_rows", "counted",
			"counted_by_published", "counted_by_first_rows"}},
	}
	for _, row := range flopsRows(n, m1, m2) {
		forward, backward, err := count(row.m1, row.m2, row.norms, row.products)
		if err != nil {
			return nil, err
		}
		counted := forward
		if row.back {
			counted = backward
		}
		ratio := float64(counted) / float64(row.published)
		cells := []report.Cell{{Text: row.name}, {Text: row.formula}, {Text: fmt.Sprint(row.published)}, {},
			{Text: fmt.Sprint(counted)}, {Text: fmt.Sprintf("%.3f", ratio)}, {}}
		values := []any{row.name, row.formula, row.published, nil, counted, ratio, nil}
		if row.summed > 0 {
			ratio = float64(counted) / float64(row.summed)
			cells[3].Text, cells[6].Text = fmt.Sprint(row.summed), fmt.Sprintf("%.3f", ratio)
			values[3], values[6] = row.summed, ratio
		}
		t.Rows, t.Data.Rows = append(t.Rows, cells), append(t.Data.Rows, values)
	}
	t.Notes = []report.Note{
		{Text: "Counted: the additions, subtractions, multiplications and divisions of Algorithms 1 to 3 while they " +
			"run, without those that add gradients up over time steps and without σ and its derivative, which are " +
			"computed once for all time steps."},
		{Text: "By its first rows: the sum of 4k or 3n + 6k over the reflectors. The published totals follow from " +
			"other costs of a reflector: 4k forward and 3n + 3k back for Spectral-RNN, 2n + 2k and 3n + 4k for oRNN."},
		{Text: "Backward the paper computes −αg − βh for all n coordinates, 3n operations. Only the last k are not " +
			"0, so that the algorithm needs 9k operations where H_grad has 3n + 6k."},
	}
	return t, nil
}

// flopsRows are the rows of Table 1 after those of one reflector without what it keeps, which
// section 4.2 names.
func flopsRows(n, m1, m2 int) []flopsRow {
	// sum adds up constant·n + factor·k over the reflectors with k = n, n - 1, …
	sum := func(constant, factor, m int) int { return m*constant*n + factor*(m*n-m*(m-1)/2) }
	m := m1
	return []flopsRow{
		{name: "H_prod(h, u_k), nothing kept", formula: "6k", published: 6 * n, m1: 1},
		{name: "H_prod(h, u_k)", formula: "4k", published: 4 * n, m1: 1, norms: true},
		{name: "H_grad(h, u_k, g), nothing kept", formula: "3n + 10k", published: 13 * n, m1: 1, back: true},
		{name: "H_grad(h, u_k, g), norms kept", formula: "3n + 8k", published: 11 * n, m1: 1, back: true, norms: true},
		{name: "H_grad(h, u_k, g)", formula: "3n + 6k", published: 9 * n, m1: 1, back: true, norms: true,
			products: true},
		{name: "Spectral-RNN-Local FP(n, m1, m2)", formula: "4n(m1+m2) − 2m1² − 2m2² + O(n)",
			published: 4*n*(m1+m2) - 2*m1*m1 - 2*m2*m2, summed: sum(0, 4, m1) + sum(0, 4, m2),
			m1: m1, m2: m2, norms: true, products: true},
		{name: "Spectral-RNN-Local BP(n, m1, m2)", formula: "6n(m1+m2) − 1.5m1² − 1.5m2² + O(n)",
			published: 6*n*(m1+m2) - 3*(m1*m1+m2*m2)/2, summed: sum(3, 6, m1) + sum(3, 6, m2),
			m1: m1, m2: m2, back: true, norms: true, products: true},
		{name: "oRNN-Local FP(n, m)", formula: "4nm − m² + O(n)", published: 4*n*m - m*m, summed: sum(0, 4, m),
			m1: m, norms: true, products: true},
		{name: "oRNN-Local BP(n, m)", formula: "7nm − 2m² + O(n)", published: 7*n*m - 2*m*m, summed: sum(3, 6, m),
			m1: m, back: true, norms: true, products: true},
	}
}
