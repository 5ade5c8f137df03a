package store

import (
	"context"
	"fmt"
	"strings"

	"sweep/sweep"
)

// SetAnnotation implements sweep.Store. Tags are stored as one text, with commas between them.
func (s *Store) SetAnnotation(ctx context.Context, id string, edit sweep.Edit) error {
	if err := edit.Check(); err != nil {
		return fmt.Errorf("annotate sweep %s: %w", id, err)
	}
	var tags any // NULL
	if edit.Tags != nil {
		tags = joinTags(edit.Tags)
	}
	var notes any
	if edit.Notes != nil {
		notes = *edit.Notes
	}
	return s.updateSweep(ctx, "annotate", id, func(t *transaction, number int64) {
		if edit.Index == nil { // updated_at stays: it says when the sweep ended
			t.run(`UPDATE sweeps SET notes = coalesce(CAST($1 AS text), notes), tags = coalesce(CAST($2 AS text), tags),
				edited_by = $3, edited_at = $4 WHERE sweep_no = $5`, notes, tags, edit.By, t.now, number)
			return
		}
		if !t.one([]any{new(int64)}, `SELECT trial_no FROM trials WHERE sweep_no = $1 AND trial_index = $2`,
			number, *edit.Index) {
			t.fail(fmt.Errorf("trial %d: %w", *edit.Index, sweep.ErrNotFound))
		}
		t.run(`INSERT INTO trial_notes AS n (sweep_no, trial_index, notes, tags, edited_by, edited_at)
			VALUES ($1, $2, CAST($3 AS text), CAST($4 AS text), $5, $6)
			ON CONFLICT (sweep_no, trial_index) DO UPDATE SET notes = coalesce(excluded.notes, n.notes),
				tags = coalesce(excluded.tags, n.tags), edited_by = excluded.edited_by, edited_at = excluded.edited_at`,
			number, *edit.Index, notes, tags, edit.By, t.now)
	})
}

func joinTags(tags []string) string { return strings.Join(sweep.SortTags(tags), ",") }

// labels are those of a result, as its columns have them.
type labels struct{ name, group, notes, tags string }

func labelsOf(result *sweep.Result) (l labels) {
	if result.Labels != nil {
		kept, _ := result.Labels.Clean()
		l = labels{kept.Name, kept.Group, kept.Notes, joinTags(kept.Tags)}
	}
	return l
}

// annotationRow receives notes, tags, edited_by and edited_at.
type annotationRow struct {
	sweep.Annotation
	tags string
}

func (a *annotationRow) columns() []any { return []any{&a.Notes, &a.tags, &a.EditedBy, &a.EditedAt} }

func (a *annotationRow) annotation() sweep.Annotation {
	if a.tags != "" {
		a.Tags = strings.Split(a.tags, ",")
	}
	return a.Annotation
}

// editedOf is what a trial's edit has of a column, or its result; NULL if it is empty.
func editedOf(name string) string {
	return "nullif(coalesce((SELECT n." + name + " FROM trial_notes AS n WHERE n.sweep_no = t.sweep_no AND " +
		"n.trial_index = t.trial_index), o." + name + "), '')"
}

// hasTag is the condition that a trial has one of its tags.
func (b *builder) hasTag(c sweep.TrialCondition, want any) (string, error) {
	tag, isText := want.(string)
	if !isText || c.Operator != "=" && c.Operator != "!=" {
		return "", fmt.Errorf("condition on %s: expected %[1]s=TEXT or %[1]s!=TEXT", c.Name)
	}
	all := "(',' || coalesce(" + columns[sweep.TagColumn].text + ", '') || ',')"
	found := "replace(" + all + ", CAST(" + b.bind(","+tag+",") + " AS text), '') <> " + all
	if strings.Contains(tag, ",") { // no tag has a comma
		found = "FALSE AND " + found
	}
	if c.Operator == "!=" {
		return "NOT (" + found + ")", nil
	}
	return "(" + found + ")", nil
}
