-- A failure is unconfirmed while the worker may be to blame for it; it is retracted at most once a trial.
ALTER TABLE trials ADD COLUMN unconfirmed boolean NOT NULL DEFAULT FALSE;
ALTER TABLE trials ADD COLUMN retracted boolean NOT NULL DEFAULT FALSE;
CREATE INDEX trials_unconfirmed ON trials (sweep_no) WHERE unconfirmed;
ALTER TABLE classes ADD COLUMN unconfirmed bigint NOT NULL DEFAULT 0;

-- How each worker fares with the trials of a class: whether it has completed one, how many have failed since, and the
-- text of the last error without numbers and paths.
CREATE TABLE standings (
    sweep_no  bigint  NOT NULL REFERENCES sweeps,
    class_no  integer NOT NULL,
    worker    text    NOT NULL,
    completed boolean NOT NULL,
    failures  bigint  NOT NULL,
    cause     text    NOT NULL,
    PRIMARY KEY (sweep_no, class_no, worker)
);
