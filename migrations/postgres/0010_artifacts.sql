-- What executions leave besides their results, and what is kept of their logs.

-- The artifacts of trials: those that their sweeps asked for. The bytes are in the artifact store, at location; one
-- that is not there has no location, and a problem. A trial that took a result over has its source's.
CREATE TABLE trial_artifacts (
    trial_no   bigint NOT NULL,
    name       text   NOT NULL,
    media_type text   NOT NULL,
    size       bigint NOT NULL,
    digest     text   NOT NULL,
    store      text   NOT NULL,
    location   text   NOT NULL,
    problem    text   NOT NULL,
    PRIMARY KEY (trial_no, name)
);
-- Which bytes are still somebody's, when a sweep is deleted.
CREATE INDEX trial_artifacts_location ON trial_artifacts (location COLLATE "C") WHERE location <> '';

CREATE VIEW artifacts AS
SELECT s.sweep_id, t.trial_index, a.name, a.media_type, a.size, a.digest, a.store, a.problem
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN trial_artifacts AS a ON a.trial_no = coalesce(t.source_no, t.trial_no);

-- The names of the artifacts that a grid's trials leave, as JSON; empty if none.
ALTER TABLE grids ADD COLUMN artifacts text NOT NULL DEFAULT '';

-- executions.stderr is the end of the execution's log, log_start how many bytes came before it.
ALTER TABLE executions ADD COLUMN log_start bigint NOT NULL DEFAULT 0;
