-- The tables. postgres/0001_tables.sql has the same ones.
--
-- Where SQLite's deviate from Postgres':
--   * times are TEXT, UTC with microseconds ("2006-01-02T15:04:05.000000Z"), which sorts as time does;
--   * arrays are BLOBs: steps as signed varints of their differences, values as little-endian single precision
--     (sweep.EncodeSteps, sweep.EncodeValues); the view curves unfolds them;
--   * JSON is TEXT; BOOLEAN is an integer 0 or 1.

-- sweep_no and trial_no are internal numbers in the order of creation, so that keys are small; the views show
-- sweep_id and trial_index.
CREATE TABLE sweeps (
    sweep_no   INTEGER PRIMARY KEY,
    sweep_id   TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    trainer    TEXT    NOT NULL,
    pool       TEXT    NOT NULL,
    priority   INTEGER NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('active', 'paused', 'cancelled', 'finished')),
    created_at TEXT    NOT NULL,
    updated_at TEXT    NOT NULL
);

-- The submission of a sweep and its extensions. Point p of a grid is trial first_index + p; the first written
-- points have rows in trials. The rest are pending, or cancelled if the flag is set.
CREATE TABLE grids (
    sweep_no    INTEGER NOT NULL REFERENCES sweeps,
    ordinal     INTEGER NOT NULL,
    first_index INTEGER NOT NULL,
    points      INTEGER NOT NULL CHECK (points >= 0),
    written     INTEGER NOT NULL CHECK (written BETWEEN 0 AND points),
    cancelled   BOOLEAN NOT NULL,
    attempts    INTEGER NOT NULL,
    reuse       BOOLEAN NOT NULL,
    submission  TEXT    NOT NULL,
    created_at  TEXT    NOT NULL,
    PRIMARY KEY (sweep_no, ordinal)
);

-- What the submitter saw of each data set; dataset_key is the canonical JSON of the parameters that choose it.
CREATE TABLE datasets (
    sweep_no    INTEGER NOT NULL REFERENCES sweeps,
    ordinal     INTEGER NOT NULL,
    dataset_key TEXT    NOT NULL,
    digest      TEXT    NOT NULL,
    PRIMARY KEY (sweep_no, ordinal, dataset_key)
) WITHOUT ROWID;

-- The number of rows in trials by state, kept in the transactions that change them, so that progress costs one row.
CREATE TABLE counters (
    sweep_no  INTEGER PRIMARY KEY REFERENCES sweeps,
    pending   INTEGER NOT NULL DEFAULT 0 CHECK (pending   >= 0),
    queued    INTEGER NOT NULL DEFAULT 0 CHECK (queued    >= 0),
    running   INTEGER NOT NULL DEFAULT 0 CHECK (running   >= 0),
    completed INTEGER NOT NULL DEFAULT 0 CHECK (completed >= 0),
    failed    INTEGER NOT NULL DEFAULT 0 CHECK (failed    >= 0),
    cancelled INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    reused    INTEGER NOT NULL DEFAULT 0 CHECK (reused    >= 0),
    diverged  INTEGER NOT NULL DEFAULT 0 CHECK (diverged  >= 0),
    faults    INTEGER NOT NULL DEFAULT 0 CHECK (faults    >= 0)
);

-- heard_at is when the trial was last queued or heard of, by the store's clock; started_at and finished_at are by
-- the worker's. execution is the one started last. source_no is the trial whose result was taken over.
CREATE TABLE trials (
    trial_no       INTEGER PRIMARY KEY,
    sweep_no       INTEGER NOT NULL REFERENCES sweeps,
    trial_index    INTEGER NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('pending', 'queued', 'running', 'completed', 'failed', 'cancelled')),
    diverged       BOOLEAN NOT NULL DEFAULT FALSE,
    executions     INTEGER NOT NULL DEFAULT 0,
    charged        INTEGER NOT NULL DEFAULT 0,
    execution      TEXT    NOT NULL DEFAULT '',
    worker         TEXT    NOT NULL DEFAULT '',
    heard_at       TEXT,
    queued_at      TEXT,
    started_at     TEXT,
    finished_at    TEXT,
    source_no      INTEGER REFERENCES trials,
    fingerprint    TEXT    NOT NULL,
    dataset_digest TEXT    NOT NULL,
    parameters     TEXT    NOT NULL,
    UNIQUE (sweep_no, trial_index)
);

-- The next trials to queue; those to ask after; and completed results to take over.
CREATE INDEX trials_pending ON trials (sweep_no, trial_index) WHERE state = 'pending';
CREATE INDEX trials_active  ON trials (sweep_no, trial_index) WHERE state IN ('queued', 'running');
CREATE INDEX trials_reuse   ON trials (fingerprint) WHERE state = 'completed' AND source_no IS NULL;

-- The results of trials in a terminal state; a cancelled trial may have none.
CREATE TABLE outcomes (
    trial_no        INTEGER PRIMARY KEY REFERENCES trials,
    summary         TEXT    NOT NULL,
    best_epoch      INTEGER NOT NULL,
    parameter_count INTEGER NOT NULL,
    weights_digest  TEXT    NOT NULL,
    kernel_level    TEXT    NOT NULL,
    seconds         REAL    NOT NULL,
    flops           REAL    NOT NULL,
    error           TEXT    NOT NULL,
    stderr          TEXT    NOT NULL,
    digest          TEXT    NOT NULL
);

-- One row a trial and metric, never a row a point. A trial that took over a result has none: its source's are its own.
CREATE TABLE curve_arrays (
    trial_no    INTEGER NOT NULL REFERENCES trials,
    metric      TEXT    NOT NULL,
    ordinal     INTEGER NOT NULL,
    step_array  BLOB    NOT NULL,
    value_array BLOB    NOT NULL,
    PRIMARY KEY (trial_no, metric)
);

-- One row an execution. charged is what its worker last said; a retry of the trial forgets it. A lost execution is
-- one that ended without a word before another started.
CREATE TABLE executions (
    trial_no   INTEGER NOT NULL REFERENCES trials,
    execution  TEXT    NOT NULL,
    worker     TEXT    NOT NULL,
    started_at TEXT    NOT NULL,
    ended_at   TEXT,
    outcome    TEXT    NOT NULL CHECK (outcome IN ('running', 'result', 'released', 'lost')),
    charged    BOOLEAN NOT NULL,
    forgotten  BOOLEAN NOT NULL,
    checkpoint INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    stderr     TEXT    NOT NULL,
    PRIMARY KEY (trial_no, execution)
) WITHOUT ROWID;

-- Repeats of a trial, at the same kernel level, whose digest differs from that of the recorded result.
CREATE TABLE reproducibility_faults (
    trial_no     INTEGER NOT NULL REFERENCES trials,
    execution    TEXT    NOT NULL,
    worker       TEXT    NOT NULL,
    kernel_level TEXT    NOT NULL,
    expected     TEXT    NOT NULL,
    found        TEXT    NOT NULL,
    found_at     TEXT    NOT NULL,
    PRIMARY KEY (trial_no, execution)
) WITHOUT ROWID;
