-- A trial may be stopped early. SQLite cannot change a constraint without a name, so the table is copied; the next migration
-- can drop and add this one by its name. The views are not looked at when the copy is renamed: they are about trials again.
CREATE TABLE trials_copy (
    trial_no INTEGER PRIMARY KEY,
    sweep_no INTEGER NOT NULL REFERENCES sweeps,
    trial_index INTEGER NOT NULL,
    state TEXT NOT NULL,
    diverged BOOLEAN NOT NULL DEFAULT FALSE,
    executions INTEGER NOT NULL DEFAULT 0,
    charged INTEGER NOT NULL DEFAULT 0,
    execution TEXT NOT NULL DEFAULT '',
    worker TEXT NOT NULL DEFAULT '',
    heard_at TEXT,
    queued_at TEXT,
    started_at TEXT,
    finished_at TEXT,
    source_no INTEGER REFERENCES trials,
    fingerprint TEXT NOT NULL,
    dataset_digest TEXT NOT NULL,
    parameters TEXT NOT NULL,
    class_no INTEGER NOT NULL DEFAULT 0,
    refusals INTEGER NOT NULL DEFAULT 0,
    point_key INTEGER,
    seed INTEGER,
    losses INTEGER NOT NULL DEFAULT 0,
    parameter0 TEXT,
    parameter1 TEXT,
    parameter2 TEXT,
    parameter3 TEXT,
    parameter4 TEXT,
    parameter5 TEXT,
    UNIQUE (sweep_no, trial_index),
    CONSTRAINT trials_state_check
        CHECK (state IN ('pending', 'queued', 'running', 'completed', 'failed', 'cancelled', 'stopped', 'skipped'))
);
INSERT INTO trials_copy (trial_no, sweep_no, trial_index, state, diverged, executions, charged, execution, worker, heard_at, queued_at, started_at,
    finished_at, source_no, fingerprint, dataset_digest, parameters, class_no, refusals, point_key, seed, losses, parameter0,
    parameter1, parameter2, parameter3, parameter4, parameter5)
SELECT trial_no, sweep_no, trial_index, state, diverged, executions, charged, execution, worker, heard_at, queued_at, started_at,
    finished_at, source_no, fingerprint, dataset_digest, parameters, class_no, refusals, point_key, seed, losses, parameter0,
    parameter1, parameter2, parameter3, parameter4, parameter5
FROM trials ORDER BY trial_no;
PRAGMA legacy_alter_table = ON;
DROP TABLE trials;
ALTER TABLE trials_copy RENAME TO trials;
PRAGMA legacy_alter_table = OFF;
CREATE INDEX trials_active ON trials (sweep_no, trial_index) WHERE state IN ('queued', 'running');
CREATE INDEX trials_reuse ON trials (substr(fingerprint, 1, 16), trial_no) WHERE state = 'completed' AND source_no IS NULL;
CREATE INDEX trials_pending ON trials (sweep_no, class_no, trial_index) WHERE state = 'pending';
CREATE INDEX trials_source ON trials (source_no) WHERE source_no IS NOT NULL;
CREATE INDEX trials_losses ON trials (sweep_no, trial_index) WHERE losses > 0;

ALTER TABLE counters ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped >= 0);
ALTER TABLE counters ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0);

-- The values of the metric by which trials are stopped, at the positions at which they are compared. A trial that reuses a
-- result has none: its source's are its own.
CREATE TABLE marks (
    trial_no INTEGER PRIMARY KEY REFERENCES trials,
    metric TEXT NOT NULL,
    value_array BLOB NOT NULL
);

-- By what the trials of a generation, those from first_index on, are stopped: JSON.
CREATE TABLE stop_rules (
    sweep_no INTEGER NOT NULL REFERENCES sweeps,
    first_index INTEGER NOT NULL,
    rule TEXT NOT NULL,
    PRIMARY KEY (sweep_no, first_index)
) WITHOUT ROWID;
