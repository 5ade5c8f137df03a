-- A failure is unconfirmed while the worker may be to blame for it; it is retracted at most once a trial.
ALTER TABLE trials ADD COLUMN unconfirmed BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE trials ADD COLUMN retracted BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX trials_unconfirmed ON trials (sweep_no) WHERE unconfirmed;
ALTER TABLE classes ADD COLUMN unconfirmed INTEGER NOT NULL DEFAULT 0;

-- How each worker fares with the trials of a class: whether it has completed one, how many have failed since, and the
-- text of the last error without numbers and paths.
CREATE TABLE standings (
    sweep_no  INTEGER NOT NULL REFERENCES sweeps,
    class_no  INTEGER NOT NULL,
    worker    TEXT    NOT NULL,
    completed BOOLEAN NOT NULL,
    failures  INTEGER NOT NULL,
    cause     TEXT    NOT NULL,
    PRIMARY KEY (sweep_no, class_no, worker)
) WITHOUT ROWID;
