-- The tables. sqlite/0001_tables.sql has the same ones, and says where it deviates.
--
-- JSON columns are json, not jsonb: what was stored comes back text for text, numbers as they were written.
-- The tables that are written with every result have no foreign keys: the store writes them in the transaction that
-- locks their trial, and a check of every row of a curve would cost more than the row.

-- sweep_no and trial_no are internal numbers in the order of creation, so that keys are small; the views show
-- sweep_id and trial_index.
CREATE TABLE sweeps (
    sweep_no   bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sweep_id   text        NOT NULL UNIQUE,
    name       text        NOT NULL,
    trainer    text        NOT NULL,
    pool       text        NOT NULL,
    priority   integer     NOT NULL,
    state      text        NOT NULL CHECK (state IN ('active', 'paused', 'cancelled', 'finished')),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

-- The submission of a sweep and its extensions. Point p of a grid is trial first_index + p; the first written
-- points have rows in trials. The rest are pending, or cancelled if the flag is set.
CREATE TABLE grids (
    sweep_no    bigint      NOT NULL REFERENCES sweeps,
    ordinal     integer     NOT NULL,
    first_index bigint      NOT NULL,
    points      bigint      NOT NULL CHECK (points >= 0),
    written     bigint      NOT NULL CHECK (written BETWEEN 0 AND points),
    cancelled   boolean     NOT NULL,
    attempts    integer     NOT NULL,
    reuse       boolean     NOT NULL,
    submission  json        NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (sweep_no, ordinal)
);

-- What the submitter saw of each data set; dataset_key is the canonical JSON of the parameters that choose it.
CREATE TABLE datasets (
    sweep_no    bigint  NOT NULL REFERENCES sweeps,
    ordinal     integer NOT NULL,
    dataset_key text    NOT NULL,
    digest      text    NOT NULL,
    PRIMARY KEY (sweep_no, ordinal, dataset_key)
);

-- The number of rows in trials by state, kept in the transactions that change them, so that progress costs one row.
CREATE TABLE counters (
    sweep_no  bigint PRIMARY KEY REFERENCES sweeps,
    pending   bigint NOT NULL DEFAULT 0 CHECK (pending   >= 0),
    queued    bigint NOT NULL DEFAULT 0 CHECK (queued    >= 0),
    running   bigint NOT NULL DEFAULT 0 CHECK (running   >= 0),
    completed bigint NOT NULL DEFAULT 0 CHECK (completed >= 0),
    failed    bigint NOT NULL DEFAULT 0 CHECK (failed    >= 0),
    cancelled bigint NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    reused    bigint NOT NULL DEFAULT 0 CHECK (reused    >= 0),
    diverged  bigint NOT NULL DEFAULT 0 CHECK (diverged  >= 0),
    faults    bigint NOT NULL DEFAULT 0 CHECK (faults    >= 0)
);

-- heard_at is when the trial was last queued or heard of, by the store's clock; started_at and finished_at are by
-- the worker's. execution is the one started last. source_no is the trial whose result was taken over.
CREATE TABLE trials (
    trial_no       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sweep_no       bigint      NOT NULL REFERENCES sweeps,
    trial_index    bigint      NOT NULL,
    state          text        NOT NULL CHECK (state IN ('pending', 'queued', 'running', 'completed', 'failed', 'cancelled')),
    diverged       boolean     NOT NULL DEFAULT FALSE,
    executions     integer     NOT NULL DEFAULT 0,
    charged        integer     NOT NULL DEFAULT 0,
    execution      text        NOT NULL DEFAULT '',
    worker         text        NOT NULL DEFAULT '',
    heard_at       timestamptz,
    queued_at      timestamptz,
    started_at     timestamptz,
    finished_at    timestamptz,
    source_no      bigint      REFERENCES trials,
    fingerprint    text        NOT NULL,
    dataset_digest text        NOT NULL,
    parameters     json        NOT NULL,
    UNIQUE (sweep_no, trial_index)
);

-- The next trials to queue; those to ask after; and completed results to take over.
CREATE INDEX trials_pending ON trials (sweep_no, trial_index) WHERE state = 'pending';
CREATE INDEX trials_active  ON trials (sweep_no, trial_index) WHERE state IN ('queued', 'running');
CREATE INDEX trials_reuse   ON trials (fingerprint) WHERE state = 'completed' AND source_no IS NULL;

-- The results of trials in a terminal state; a cancelled trial may have none.
CREATE TABLE outcomes (
    trial_no        bigint           PRIMARY KEY,
    summary         json             NOT NULL,
    best_epoch      bigint           NOT NULL,
    parameter_count bigint           NOT NULL,
    weights_digest  text             NOT NULL,
    kernel_level    text             NOT NULL,
    seconds         double precision NOT NULL,
    flops           double precision NOT NULL,
    error           text             NOT NULL,
    stderr          text             NOT NULL,
    digest          text             NOT NULL
);

-- One row a trial and metric, never a row a point. A trial that took over a result has none: its source's are its own.
CREATE TABLE curve_arrays (
    trial_no    bigint   NOT NULL,
    metric      text     NOT NULL,
    ordinal     integer  NOT NULL,
    step_array  bigint[] NOT NULL,
    value_array real[]   NOT NULL,
    PRIMARY KEY (trial_no, metric)
);

-- Postgres' own compression takes 2.6 ms for a thousand steps, a hundred times as long as writing them: lz4 where the
-- server has it, else none. Values in single precision hardly compress.
ALTER TABLE curve_arrays ALTER COLUMN value_array SET STORAGE EXTERNAL;
DO $$
BEGIN
    ALTER TABLE curve_arrays ALTER COLUMN step_array SET COMPRESSION lz4;
EXCEPTION
    WHEN feature_not_supported OR invalid_parameter_value THEN
        ALTER TABLE curve_arrays ALTER COLUMN step_array SET STORAGE EXTERNAL;
END
$$;

-- One row an execution. charged is what its worker last said; a retry of the trial forgets it. A lost execution is
-- one that ended without a word before another started.
CREATE TABLE executions (
    trial_no   bigint      NOT NULL,
    execution  text        NOT NULL,
    worker     text        NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz,
    outcome    text        NOT NULL CHECK (outcome IN ('running', 'result', 'released', 'lost')),
    charged    boolean     NOT NULL,
    forgotten  boolean     NOT NULL,
    checkpoint bigint      NOT NULL,
    reason     text        NOT NULL,
    stderr     text        NOT NULL,
    PRIMARY KEY (trial_no, execution)
);

-- Repeats of a trial, at the same kernel level, whose digest differs from that of the recorded result.
CREATE TABLE reproducibility_faults (
    trial_no     bigint      NOT NULL,
    execution    text        NOT NULL,
    worker       text        NOT NULL,
    kernel_level text        NOT NULL,
    expected     text        NOT NULL,
    found        text        NOT NULL,
    found_at     timestamptz NOT NULL,
    PRIMARY KEY (trial_no, execution)
);
