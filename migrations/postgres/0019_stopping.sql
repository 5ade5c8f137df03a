-- A trial may be stopped early. The new constraint is wider than the old one, so that stored rows need not be checked.
ALTER TABLE trials DROP CONSTRAINT trials_state_check;
ALTER TABLE trials ADD CONSTRAINT trials_state_check
    CHECK (state IN ('pending', 'queued', 'running', 'completed', 'failed', 'cancelled', 'stopped', 'skipped')) NOT VALID;

ALTER TABLE counters ADD COLUMN stopped bigint NOT NULL DEFAULT 0 CHECK (stopped >= 0);
ALTER TABLE counters ADD COLUMN skipped bigint NOT NULL DEFAULT 0 CHECK (skipped >= 0);

-- The values of the metric by which trials are stopped, at the positions at which they are compared. A trial that reuses a
-- result has none: its source's are its own.
CREATE TABLE marks (
    trial_no bigint PRIMARY KEY,
    metric text NOT NULL,
    value_array real[] NOT NULL
);

-- By what the trials of a generation, those from first_index on, are stopped.
CREATE TABLE stop_rules (
    sweep_no bigint NOT NULL REFERENCES sweeps,
    first_index bigint NOT NULL,
    rule jsonb NOT NULL,
    PRIMARY KEY (sweep_no, first_index)
);
