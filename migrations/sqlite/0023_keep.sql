-- Of how many trials, the best ones, a sweep keeps which artifacts: JSON, empty if it keeps those of all.
ALTER TABLE sweeps ADD COLUMN keep TEXT NOT NULL DEFAULT '';

-- The best trials of such a sweep so far, which keep an artifact: those with the smallest score, which is the metric, or its
-- negative where large values are good, of equal ones the first. A trial that reuses a result counts, too.
CREATE TABLE kept_artifacts (
    sweep_no INTEGER NOT NULL REFERENCES sweeps,
    name TEXT NOT NULL,
    score REAL NOT NULL,
    trial_index INTEGER NOT NULL,
    trial_no INTEGER NOT NULL REFERENCES trials,
    PRIMARY KEY (sweep_no, name, score, trial_index)
) WITHOUT ROWID;
CREATE INDEX kept_artifacts_trial ON kept_artifacts (trial_no);

-- 1 for an artifact that no sweep keeps any more, as its problem says; 2 when that is certain, so that the bytes can be
-- removed. It has its location until they are.
ALTER TABLE trial_artifacts ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
CREATE INDEX trial_artifacts_dropped ON trial_artifacts (dropped, trial_no) WHERE dropped > 0 AND location <> '';
