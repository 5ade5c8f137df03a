package store

import (
	"context"
	"fmt"
	"strings"

	"sweep/coordinator/store/database"
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
		t.run(`INSERT INTO trial_notes AS n (sweep_no, trial_index, notes, tags, edited_by, edited_at, edit_no)
			VALUES ($1, $2, CAST($3 AS text), CAST($4 AS text), $5, $6,
				(SELECT coalesce(max(edit_no), 0) + 1 FROM trial_notes WHERE sweep_no = $1))
			ON CONFLICT (sweep_no, trial_index) DO UPDATE SET notes = coalesce(excluded.notes, n.notes),
				tags = coalesce(excluded.tags, n.tags), edited_by = excluded.edited_by, edited_at = excluded.edited_at,
				edit_no = excluded.edit_no`,
			number, *edit.Index, notes, tags, edit.By, t.now)
	})
}

// Edited implements sweep.Store.
func (s *Store) Edited(ctx context.Context, id string, after int64) (trials []int64, last int64, err error) {
	last = after
	err = s.viewSweep(ctx, "read the edits of", id, func(t *transaction, number int64) {
		t.each(func(row database.Row) error {
			var index int64
			err := row.Scan(&index, &last)
			trials = append(trials, index)
			return err
		}, `SELECT trial_index, edit_no FROM trial_notes WHERE sweep_no = $1 AND edit_no > $2 ORDER BY edit_no`,
			number, after)
	})
	return trials, last, err
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

// hasTag is the condition that a trial has a tag, or has it not.
func (b *builder) hasTag(c sweep.TrialCondition) (string, error) {
	tag, wanted, err := c.Tag()
	if err != nil {
		return "", err
	}
	tags, _ := b.column(sweep.FieldKind.Of(sweep.TagColumn))
	all := "(',' || coalesce(" + tags.text + ", '') || ',')"
	operator := map[bool]string{true: " <> ", false: " = "}[wanted]
	return "(replace(" + all + ", " + b.constant(","+tag+",", "text") + ", '')" + operator + all + ")", nil
}
