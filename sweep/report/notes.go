package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sweep/sweep"
)

// Explain notes how the figures were selected: which were exactly as good as others, what
// validation saw of the tested weights, and how many points vote where validation chose their
// number.
func (c *Collection) Explain(t *Table, rows []*Row, by Selection) {
	var tied, voting []string
	averages, others := false, false
	var refitted []string // the labels of what was refitted
	for _, s := range rows {
		for _, model := range c.Models(s) {
			f, ok := s.Figures[model]
			if !ok {
				continue
			}
			name := s.Title() + " " + c.Model(model)
			if f.Ties > 0 {
				tied = append(tied, fmt.Sprintf("%s (%d)", name, f.Ties))
			}
			if by == Auto {
				voting = append(voting, fmt.Sprintf("%s %d", name, f.Points))
			}
			if share(f, "refit") > 0 {
				refitted = append(refitted, s.Label)
				averages = averages || share(f, "average") > 0
			} else {
				others = true
			}
		}
	}
	if refitted != nil && strings.HasPrefix(c.choice.By, "validation_") {
		tested := "the final weights"
		if averages {
			tested = "the mean of the last weights"
		}
		of := ""
		if slices.Sort(refitted); others && refitted[0] != "" {
			of = list(slices.Compact(refitted)) + ": selected"
		}
		t.note("%s by the %s before the refit; tested with %s, which have trained on the validation rows, too.",
			cmp.Or(of, "Selected"), c.extreme(), tested)
	}
	if len(tied) > 0 {
		what := "grid points"
		if by == Single {
			what = "trials"
		}
		t.note("Exactly as good as other %s, so that their %s does not choose: %s. The one that is shown does not "+
			"depend on the order of the sweep file.",
			what, strings.ReplaceAll(c.choice.By, "_", " "), list(tied))
	}
	if len(voting) > 0 {
		t.note("Grid points that vote: %s.", list(voting))
	}
}

// note adds a note that no cell refers to.
func (t *Table) note(format string, arguments ...any) {
	t.Notes = append(t.Notes, Note{Text: fmt.Sprintf(format, arguments...)})
}

// list joins the first of some texts.
func list(texts []string) string {
	const most = 12
	if left := len(texts) - most; left > 0 {
		return strings.Join(texts[:most], "; ") + fmt.Sprintf("; and %d more", left)
	}
	return strings.Join(texts, "; ")
}

// share is a parameter of the selected point, 0 if it has none.
func share(f Figure, name string) float64 {
	v, _ := sweep.Number(f.Parameters[name])
	return v
}
