package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"sweep/sweep"
)

// Statement implements sweep.Store. Its conditions and its order are those with which Trials answers, over the views.
func (s *Store) Statement(ctx context.Context, id string, list sweep.Listing) (text string, err error) {
	record, err := s.Sweep(ctx, id)
	if err != nil {
		return "", err
	}
	err = s.viewSweep(ctx, "describe the list of", record.ID, func(t *transaction, number int64) {
		of := selection{TrialQuery: sweep.TrialQuery{OrderBy: list.OrderBy, Descending: list.Descending},
			dialect: s.db.Dialect(), metric: func(string) *metricPlace { return nil }, own: t.ownNames([]int64{number})}
		b := of.builder()
		b.shown = record.ID
		shown := []string{"trial_index", "state", "diverged"}
		for i, name := range list.Columns {
			if name != "trial.index" && name != "trial.state" {
				shown = append(shown, b.value(record, name)+" AS "+quoteColumn(list.Headings[i]))
			}
		}
		b.text.WriteString("\nWHERE sweep_id = " + literal(record.ID))
		if len(list.States) > 0 {
			states := slices.Clone(list.States)
			for i := range states {
				states[i] = literal(states[i])
			}
			b.text.WriteString("\nAND " + b.viewed(columns["state"].text) + " IN (" + strings.Join(states, ", ") + ")")
		}
		b.where(list.Where)
		order := "results.trial_index" // a metric may be called trial_index
		if of.inOrder() {
			order += of.direction()
		} else {
			order = b.order(list.OrderBy, of.direction()) + ", " + order
		}
		b.text.WriteString("\nORDER BY " + order)
		if list.Limit > 0 || list.Offset > 0 { // SQLite has no OFFSET without LIMIT
			fmt.Fprintf(&b.text, "\nLIMIT %d OFFSET %d", cmp.Or(list.Limit, math.MaxInt64), list.Offset)
		}
		text = b.after("SELECT "+strings.Join(shown, ",\n       ")+"\nFROM results").text.String() + "\n"
		t.fail(b.err)
	})
	return text, err
}

// value is what a list shows of a name, as in t.
func (b *builder) value(record *sweep.SweepRecord, name sweep.Name) string {
	if c, ok := b.column(name); ok {
		return c.text
	}
	p := namedParameter{name: name.Own(), kind: sweep.NumberType}
	if name.Is(sweep.MetricKind) {
		return memberOf(b.dialect, "summary", p.name, p.kind)
	}
	p.kind = sweep.AnyType
	for _, known := range sweepParameters(record) {
		if known.name == p.name {
			p = known
		}
	}
	if p.kind == sweep.AnyType {
		return anyOf(b.dialect, "parameters", p)
	}
	return memberOf(b.dialect, "parameters", p.name, p.kind)
}

// notedColumns are the columns of the view notes by the names of fields.
var notedColumns = map[string]string{"run_name": "run_name", "run_group": "run_group", "notes": "notes",
	sweep.TagColumn: "tags"}

// noted is a column of the view notes, in a statement that is shown.
func (b *builder) noted(column string) string {
	join := "\nLEFT JOIN (SELECT trial_index, run_name, run_group, notes, tags FROM notes WHERE sweep_id = " +
		literal(b.shown) + "\n    AND trial_index IS NOT NULL) AS n USING (trial_index)"
	if !strings.Contains(b.joins.String(), join) {
		b.joins.WriteString(join)
	}
	return "nullif(n." + column + ", '')"
}

// viewed is an expression over the tables, in a statement that is shown over the view results.
func (b *builder) viewed(text string) string {
	if b.shown == "" {
		return text
	}
	return strings.NewReplacer("t.", "", "o.", "").Replace(text)
}

// literal writes a constant in SQL.
func literal(value any) string {
	if text, is := value.(string); is {
		return sweep.QuoteSQL(text)
	}
	return fmt.Sprint(value)
}
