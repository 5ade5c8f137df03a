-- What several workers, coordinators and submitters of one database need of each other.

-- The identity of the database, in one row, and who leads it: see store/lead.go.
CREATE TABLE cluster (
    only_row   boolean     PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    cluster_id text        NOT NULL,
    made_at    timestamptz NOT NULL,
    term       bigint      NOT NULL,
    leader     text        NOT NULL,
    led_since  timestamptz
);
INSERT INTO cluster (cluster_id, made_at, term, leader) VALUES (replace(gen_random_uuid()::text, '-', ''), now(), 0, '');

-- The trials of a sweep that need the same of a worker form a class, whose counts are kept like those of the sweep.
CREATE TABLE classes (
    sweep_no    bigint  NOT NULL REFERENCES sweeps,
    class_no    integer NOT NULL,
    requirement json    NOT NULL,
    pending     bigint  NOT NULL DEFAULT 0 CHECK (pending >= 0),
    queued      bigint  NOT NULL DEFAULT 0 CHECK (queued  >= 0),
    running     bigint  NOT NULL DEFAULT 0 CHECK (running >= 0),
    PRIMARY KEY (sweep_no, class_no)
);
ALTER TABLE trials ADD COLUMN class_no integer NOT NULL DEFAULT 0, ADD COLUMN refusals integer NOT NULL DEFAULT 0;

-- The trials that there are need what their grid said.
INSERT INTO classes (sweep_no, class_no, requirement)
SELECT g.sweep_no, g.ordinal, json_build_object('trainer', s.trainer, 'result_version', g.submission -> 'description' ->> 'result_version')
FROM grids AS g JOIN sweeps AS s USING (sweep_no) WHERE g.written > 0;

UPDATE trials AS t SET class_no = g.ordinal FROM grids AS g
WHERE g.sweep_no = t.sweep_no AND g.ordinal > 0 AND t.trial_index >= g.first_index AND t.trial_index < g.first_index + g.points;

UPDATE classes AS c SET pending = n.pending, queued = n.queued, running = n.running FROM (
    SELECT sweep_no, class_no, count(*) FILTER (WHERE state = 'pending') AS pending, count(*) FILTER (WHERE state = 'queued') AS queued,
        count(*) FILTER (WHERE state = 'running') AS running
    FROM trials WHERE state IN ('pending', 'queued', 'running') GROUP BY sweep_no, class_no) AS n
WHERE n.sweep_no = c.sweep_no AND n.class_no = c.class_no;

DROP INDEX trials_pending;
CREATE INDEX trials_pending ON trials (sweep_no, class_no, trial_index) WHERE state = 'pending';

-- waiting says that no worker can run what is left of an active sweep; reason says why it waits, or why it was paused.
ALTER TABLE sweeps ADD COLUMN waiting boolean NOT NULL DEFAULT FALSE, ADD COLUMN reason text NOT NULL DEFAULT '';
CREATE INDEX sweeps_active ON sweeps (sweep_no) WHERE state = 'active';

-- Requests of submitters by the keys that they gave them, and the grid that came of each.
CREATE TABLE requests (
    request_key text PRIMARY KEY,
    sweep_no    bigint,
    ordinal     integer
);

-- What workers said that they cannot run. trials.refusals counts all of a trial.
CREATE TABLE trial_refusals (
    trial_no   bigint      NOT NULL,
    worker     text        NOT NULL,
    reason     text        NOT NULL,
    refusals   integer     NOT NULL,
    refused_at timestamptz NOT NULL,
    PRIMARY KEY (trial_no, worker)
);

CREATE VIEW refusals AS
SELECT s.sweep_id, t.trial_index, r.worker, r.reason, r.refusals, r.refused_at
FROM trial_refusals AS r JOIN trials AS t USING (trial_no) JOIN sweeps AS s USING (sweep_no);

-- Events that the database did not take, the newest of them; event is as it came, as JSON, cut at its limit.
CREATE TABLE quarantine (
    quarantine_no bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    received_at   timestamptz NOT NULL,
    sweep_id      text        NOT NULL,
    trial_index   bigint      NOT NULL,
    execution     text        NOT NULL,
    kind          text        NOT NULL,
    worker        text        NOT NULL,
    error         text        NOT NULL,
    event         bytea       NOT NULL
);
ALTER TABLE counters ADD COLUMN refused bigint NOT NULL DEFAULT 0, ADD COLUMN quarantined bigint NOT NULL DEFAULT 0;

-- What is remarkable about an execution.
ALTER TABLE executions ADD COLUMN note text NOT NULL DEFAULT '';
