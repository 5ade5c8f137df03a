-- What describes a sweep: the description of its first file, until a person changes it. Tags are sorted, with commas between
-- them.
ALTER TABLE sweeps ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN edited_by TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN edited_at TEXT;
UPDATE sweeps SET notes = coalesce((SELECT g.submission ->> '$.spec.description' FROM grids AS g
    WHERE g.sweep_no = sweeps.sweep_no AND g.ordinal = 0), '');
-- What was submitted without a purpose had the description as its purpose.
UPDATE sweeps SET purpose = '' WHERE purpose = notes;

-- What a program calls its run.
ALTER TABLE outcomes ADD COLUMN run_name TEXT NOT NULL DEFAULT '';
ALTER TABLE outcomes ADD COLUMN run_group TEXT NOT NULL DEFAULT '';
ALTER TABLE outcomes ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE outcomes ADD COLUMN tags TEXT NOT NULL DEFAULT '';

-- What a person wrote of a trial in place of its program's notes and tags; NULL is what nobody has changed.
-- edit_no is the number of the last edit, counted for each sweep, by which readers find what has changed.
CREATE TABLE trial_notes (
    sweep_no INTEGER NOT NULL REFERENCES sweeps,
    trial_index INTEGER NOT NULL,
    notes TEXT,
    tags TEXT,
    edited_by TEXT NOT NULL,
    edited_at TEXT NOT NULL,
    edit_no INTEGER NOT NULL,
    PRIMARY KEY (sweep_no, trial_index),
    UNIQUE (sweep_no, edit_no)
) WITHOUT ROWID;

-- The sweeps (trial_index is NULL) and trials that have a name, a group, notes or tags.
CREATE VIEW notes AS
SELECT s.sweep_id, s.name AS sweep_name, NULL AS trial_index, NULL AS run_name, NULL AS run_group, s.notes, s.tags,
    nullif(s.edited_by, '') AS edited_by, s.edited_at
FROM sweeps AS s
WHERE s.deleted_at IS NULL AND (s.notes <> '' OR s.tags <> '' OR s.edited_at IS NOT NULL)
UNION ALL
SELECT s.sweep_id, s.name, t.trial_index, nullif(o.run_name, ''), nullif(o.run_group, ''), coalesce(n.notes, o.notes, ''),
    coalesce(n.tags, o.tags, ''), n.edited_by, n.edited_at
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
LEFT JOIN outcomes AS o USING (trial_no)
LEFT JOIN trial_notes AS n ON n.sweep_no = t.sweep_no AND n.trial_index = t.trial_index
WHERE s.deleted_at IS NULL
    AND (n.sweep_no IS NOT NULL OR o.run_name <> '' OR o.run_group <> '' OR o.notes <> '' OR o.tags <> '');
