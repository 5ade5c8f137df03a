-- The schema. sqlite/0001_schema.sql has the same tables, columns and views, in the same order, and says what differs.
--
-- JSON columns are json, not jsonb: what was stored comes back text for text, numbers as they were written. The tables
-- that are written with every trial and result have no foreign keys: the store writes them in the transaction that
-- locks their sweep or trial, and a check of every row would cost more than the row.
--
-- sweep_no and trial_no are internal numbers in the order of creation, so that keys are small; the views show sweep_id
-- and trial_index. Numbers and texts that are 0 or empty by default are those that an INSERT leaves out.


-- Who uses the database.

-- The identity of the database, in one row, and who leads it: term counts the leaders, and the leader has a lease until
-- expires_at, by the clock of this server, which it renews before. See store/lead.go.
CREATE TABLE cluster (
    only_row   boolean     PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    cluster_id text        NOT NULL,
    made_at    timestamptz NOT NULL,
    term       bigint      NOT NULL,
    leader     text        NOT NULL,
    led_since  timestamptz,
    expires_at timestamptz
);
INSERT INTO cluster (cluster_id, made_at, term, leader) VALUES (replace(gen_random_uuid()::text, '-', ''), now(), 0, '');

-- The login by which users' queries run, in one row, which the store makes: see store/postgres/reader.go. Whoever may
-- read it can be that login, which reads results and nothing else; the login itself may not.
CREATE TABLE reader_login (
    only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    role     text    NOT NULL,
    password text    NOT NULL
);

-- Requests of submitters by the keys that they gave them, and the grid that came of each.
CREATE TABLE requests (
    request_key text    PRIMARY KEY,
    sweep_no    bigint,
    ordinal     integer
);

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


-- Sweeps.

-- What sweeps may use: trials that run to an end, and milliseconds of their executions; 0 is no bound. Spent is what
-- they have used. Sweeps share a budget that has a name.
CREATE TABLE budgets (
    budget_no          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name               text   UNIQUE,
    trials             bigint NOT NULL,
    milliseconds       bigint NOT NULL,
    spent_trials       bigint NOT NULL DEFAULT 0,
    spent_milliseconds bigint NOT NULL DEFAULT 0
);

-- The sweeps, as their submitters and others changed them; what was submitted is in grids.
--   reason, waiting      reason says why an active sweep waits, or why it was paused; waiting says that no worker can
--                        run what is left of an active one
--   deleted_at           a sweep that is deleted is hidden first; its own row stays
--   asked_by, purpose    who submitted it, and why
--   canary, most_errors  the first trial of a class is queued alone; the sweep is paused after so many equal errors in
--                        a row, 0 is no bound. Its newest file says both
--   retried_at           when a sweep that was paused because its trials fail was last retried or extended. Trials that
--                        were queued before may have run what has been mended since: their errors do not pause the
--                        sweep again
--   keep                 of how many trials, the best ones, it keeps which artifacts: JSON, empty if it keeps those of
--                        all
--   notes, tags          what describes it: the description of its first file, until a person changes it. Tags are
--                        sorted, with commas between them
CREATE TABLE sweeps (
    sweep_no    bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sweep_id    text        NOT NULL UNIQUE,
    name        text        NOT NULL,
    trainer     text        NOT NULL,
    pool        text        NOT NULL,
    priority    integer     NOT NULL,
    state       text        NOT NULL CHECK (state IN ('active', 'paused', 'cancelled', 'finished')),
    waiting     boolean     NOT NULL DEFAULT FALSE,
    reason      text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    deleted_at  timestamptz,
    asked_by    text        NOT NULL,
    purpose     text        NOT NULL,
    budget_no   bigint      REFERENCES budgets,
    canary      boolean     NOT NULL DEFAULT FALSE,
    most_errors bigint      NOT NULL DEFAULT 0,
    retried_at  timestamptz,
    keep        text        NOT NULL,
    notes       text        NOT NULL,
    tags        text        NOT NULL DEFAULT '',
    edited_by   text        NOT NULL DEFAULT '',
    edited_at   timestamptz
);
CREATE INDEX sweeps_active ON sweeps (sweep_no) WHERE state = 'active';
CREATE INDEX sweeps_by_budget ON sweeps (budget_no) WHERE budget_no IS NOT NULL;

-- The submission of a sweep and its extensions. Point p of a grid is trial first_index + p; the first written points
-- have rows in trials. The rest are pending, or cancelled if the flag is set.
--   attempts, losses    how many executions that are charged to a trial, or whose workers vanish, end it
--   reuse               whether the trials reuse results of other sweeps
--   artifacts           the names of the artifacts that the trials leave, as JSON; empty if none
CREATE TABLE grids (
    sweep_no    bigint      NOT NULL REFERENCES sweeps,
    ordinal     integer     NOT NULL,
    first_index bigint      NOT NULL,
    points      bigint      NOT NULL CHECK (points >= 0),
    written     bigint      NOT NULL CHECK (written BETWEEN 0 AND points),
    cancelled   boolean     NOT NULL,
    attempts    integer     NOT NULL,
    losses      integer     NOT NULL,
    reuse       boolean     NOT NULL,
    artifacts   text        NOT NULL,
    submission  json        NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (sweep_no, ordinal)
);

-- The number of rows in trials by state, kept in the transactions that change them, so that progress costs one row. The
-- others count trials that reuse a result or diverged, reproducibility faults, refusals and quarantined events.
CREATE TABLE counters (
    sweep_no    bigint PRIMARY KEY REFERENCES sweeps,
    pending     bigint NOT NULL DEFAULT 0 CHECK (pending   >= 0),
    queued      bigint NOT NULL DEFAULT 0 CHECK (queued    >= 0),
    running     bigint NOT NULL DEFAULT 0 CHECK (running   >= 0),
    completed   bigint NOT NULL DEFAULT 0 CHECK (completed >= 0),
    failed      bigint NOT NULL DEFAULT 0 CHECK (failed    >= 0),
    cancelled   bigint NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
    stopped     bigint NOT NULL DEFAULT 0 CHECK (stopped   >= 0),
    skipped     bigint NOT NULL DEFAULT 0 CHECK (skipped   >= 0),
    reused      bigint NOT NULL DEFAULT 0 CHECK (reused    >= 0),
    diverged    bigint NOT NULL DEFAULT 0 CHECK (diverged  >= 0),
    faults      bigint NOT NULL DEFAULT 0 CHECK (faults    >= 0),
    refused     bigint NOT NULL DEFAULT 0,
    quarantined bigint NOT NULL DEFAULT 0
);

-- The trials of a sweep that require the same of a worker form a class, whose counts are kept like those of the sweep.
--   tried               whether a trial of it has completed
--   errors, cause       how many of its trials that ended last failed with errors of one cause: their text without
--                       numbers and paths. error is the last one, of trial error_index
--   unconfirmed         how many failures of it are unconfirmed
CREATE TABLE classes (
    sweep_no    bigint  NOT NULL REFERENCES sweeps,
    class_no    integer NOT NULL,
    requirement json    NOT NULL,
    pending     bigint  NOT NULL DEFAULT 0 CHECK (pending >= 0),
    queued      bigint  NOT NULL DEFAULT 0 CHECK (queued  >= 0),
    running     bigint  NOT NULL DEFAULT 0 CHECK (running >= 0),
    tried       boolean NOT NULL DEFAULT FALSE,
    errors      bigint  NOT NULL DEFAULT 0,
    cause       text    NOT NULL DEFAULT '',
    error       text    NOT NULL DEFAULT '',
    error_index bigint  NOT NULL DEFAULT 0,
    unconfirmed bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (sweep_no, class_no)
);

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

-- By what the trials of a generation, those from first_index on, are stopped.
CREATE TABLE stop_rules (
    sweep_no    bigint NOT NULL REFERENCES sweeps,
    first_index bigint NOT NULL,
    rule        jsonb  NOT NULL,
    PRIMARY KEY (sweep_no, first_index)
);


-- Trials.

-- The trials that have been written.
--   class_no            its class, by what it requires of a worker
--   unconfirmed         it failed, and its worker may be to blame; retracted says that such a failure was taken back,
--                       at most once a trial
--   executions          how many there were; charged and losses count those that are charged to it, and whose workers
--                       vanished; refusals what all workers refused
--   execution, worker   the execution that started last
--   heard_at            when it was last queued or heard of, by the store's clock; started_at and finished_at are by
--                       the worker's
--   source_no           the trial whose result it reuses
--   point_key           stands for its grid point: the parameters without the seed
--   parameter0 …        the first parameters that the sweep varies, as texts
CREATE TABLE trials (
    trial_no       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sweep_no       bigint      NOT NULL,
    trial_index    bigint      NOT NULL,
    class_no       integer     NOT NULL DEFAULT 0,
    state          text        NOT NULL CHECK (state IN
        ('pending', 'queued', 'running', 'completed', 'failed', 'cancelled', 'stopped', 'skipped')),
    diverged       boolean     NOT NULL DEFAULT FALSE,
    unconfirmed    boolean     NOT NULL DEFAULT FALSE,
    retracted      boolean     NOT NULL DEFAULT FALSE,
    executions     integer     NOT NULL DEFAULT 0,
    charged        integer     NOT NULL DEFAULT 0,
    losses         integer     NOT NULL DEFAULT 0,
    refusals       integer     NOT NULL DEFAULT 0,
    execution      text        NOT NULL DEFAULT '',
    worker         text        NOT NULL DEFAULT '',
    heard_at       timestamptz,
    queued_at      timestamptz,
    started_at     timestamptz,
    finished_at    timestamptz,
    source_no      bigint,
    point_key      bigint,
    seed           bigint,
    fingerprint    text        NOT NULL,
    dataset_digest text        NOT NULL,
    parameter0     text,
    parameter1     text,
    parameter2     text,
    parameter3     text,
    parameter4     text,
    parameter5     text,
    parameters     json        NOT NULL,
    UNIQUE (sweep_no, trial_index)
);

-- A trial's row is written at least three times (pending, queued, ended): with room for that on its page, an update
-- neither looks for another page nor logs the whole row.
--
-- A trial leaves the index of pending trials when it is queued, but its entry stays until the table is vacuumed, and
-- whoever looks for pending trials walks over it. So vacuum trials after so many changes, not after a share of the
-- table. With autovacuum_naptime at 10s instead of a minute the cost stays the same to the last trial of a large sweep.
ALTER TABLE trials SET (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);

-- The next trials to queue; those to ask after; those with losses; those whose failure is unconfirmed; who reuses whose
-- result.
CREATE INDEX trials_pending     ON trials (sweep_no, class_no, trial_index) WHERE state = 'pending';
CREATE INDEX trials_active      ON trials (sweep_no, trial_index) WHERE state IN ('queued', 'running');
CREATE INDEX trials_losses      ON trials (sweep_no, trial_index) WHERE losses > 0;
CREATE INDEX trials_unconfirmed ON trials (sweep_no) WHERE unconfirmed;
CREATE INDEX trials_source      ON trials (source_no) WHERE source_no IS NOT NULL;

-- Results to reuse are found by the beginning of their fingerprint, which tells them apart as well, in an index of half
-- the size.
CREATE INDEX trials_reuse ON trials (substr(fingerprint, 1, 16), trial_no) WHERE state = 'completed' AND source_no IS NULL;

-- The executions of trials that left more than the result of a completed trial: the view executions has all of them. A
-- lost one ended without a word before another started.
--   charged             what its worker last said; of a lost one, that its worker vanished. A retry of the trial
--                       forgets it
--   replaced            another started in its place while it ran: whether its worker vanished is to be found out
--   alone               nothing else ran in the worker beside it: if such a worker vanishes, its trial is to blame
--   stderr, log_start   the end of its log, and how many bytes came before
--   note                what is remarkable about it
CREATE TABLE stored_executions (
    trial_no   bigint      NOT NULL,
    execution  text        NOT NULL,
    worker     text        NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz,
    outcome    text        NOT NULL CHECK (outcome IN ('running', 'result', 'released', 'lost')),
    charged    boolean     NOT NULL,
    forgotten  boolean     NOT NULL,
    replaced   boolean     NOT NULL,
    alone      boolean     NOT NULL,
    checkpoint bigint      NOT NULL,
    reason     text        NOT NULL,
    note       text        NOT NULL,
    stderr     text        NOT NULL,
    log_start  bigint      NOT NULL,
    PRIMARY KEY (trial_no, execution)
);
CREATE INDEX stored_executions_replaced ON stored_executions (trial_no) WHERE replaced AND NOT charged AND NOT forgotten;

-- What workers said that they cannot run.
CREATE TABLE trial_refusals (
    trial_no   bigint      NOT NULL,
    worker     text        NOT NULL,
    reason     text        NOT NULL,
    refusals   integer     NOT NULL,
    refused_at timestamptz NOT NULL,
    PRIMARY KEY (trial_no, worker)
);

-- The values of the metric by which trials are stopped, at the positions at which they are compared. A trial that
-- reuses a result has none: its source's are its own. Trials of W&B's hyperband have them while they run: bands has the
-- positions, reached the number of values so far, and best the best of them. For the median bands is empty.
CREATE TABLE marks (
    trial_no    bigint           PRIMARY KEY,
    metric      text             NOT NULL,
    value_array real[]           NOT NULL,
    bands       text             NOT NULL,
    reached     bigint           NOT NULL,
    best        double precision NOT NULL
);

-- The decisions that a trial is to stop, which workers are told until it has: its value at a band was worse than the
-- threshold, which was that of so many trials.
CREATE TABLE stops (
    trial_no   bigint           PRIMARY KEY,
    reason     text             NOT NULL,
    band       bigint           NOT NULL,
    value      double precision NOT NULL,
    threshold  double precision NOT NULL,
    trials     bigint           NOT NULL,
    decided_at timestamptz      NOT NULL
);

-- Trials that leave their checkpoint: what they have in common with those that can continue from it, and how far they
-- train. The checkpoint is among the artifacts of a trial that has completed.
CREATE TABLE lineages (
    trial_no bigint PRIMARY KEY,
    lineage  text   NOT NULL,
    budget   bigint NOT NULL
);
CREATE INDEX lineages_by_budget ON lineages (lineage, budget);

-- What a person wrote of a trial in place of its program's notes and tags; NULL is what nobody has changed. edit_no is
-- the number of the last edit, counted for each sweep, by which readers find what has changed.
CREATE TABLE trial_notes (
    sweep_no    bigint      NOT NULL REFERENCES sweeps,
    trial_index bigint      NOT NULL,
    notes       text,
    tags        text,
    edited_by   text        NOT NULL,
    edited_at   timestamptz NOT NULL,
    edit_no     bigint      NOT NULL,
    PRIMARY KEY (sweep_no, trial_index),
    UNIQUE (sweep_no, edit_no)
);


-- Results.

-- The results of trials in a terminal state; a cancelled trial may have none. run_name, run_group, notes and tags are
-- what a program calls its run, and writes of it.
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
    digest          text             NOT NULL,
    run_name        text             NOT NULL,
    run_group       text             NOT NULL,
    notes           text             NOT NULL,
    tags            text             NOT NULL
);

-- What programs have read: lists of files and environment variables, each with the digest of what it had when it was
-- read. Equal lists of a program, by its digest, are one. unrecorded says what is missing, and is empty if nothing is.
CREATE TABLE input_lists (
    list_no     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program     text NOT NULL,
    list_digest text NOT NULL,
    unrecorded  text NOT NULL,
    UNIQUE (program, list_digest)
);

--   kind                file; rewritten, which the trial wrote after it had read it; or variable
--   name                a variable, or a path from the directory in which the program ran
--   digest              SHA-256; absent; changed, of a file that changed while the trial ran; or size and time of a large
--                       file
CREATE TABLE stored_inputs (
    list_no bigint NOT NULL,
    kind    text   NOT NULL,
    name    text   NOT NULL,
    digest  text   NOT NULL,
    PRIMARY KEY (list_no, kind, name)
);

-- The lists of trials. A trial that reuses a result has none: its source's is its own.
CREATE TABLE trial_inputs (
    trial_no bigint PRIMARY KEY,
    list_no  bigint NOT NULL
);
CREATE INDEX trial_inputs_list ON trial_inputs (list_no);

-- One row a trial and metric, never a row a point. The curves of a trial are mostly measured at the same steps: one
-- with values and an empty step_array has the steps of its trial's curve with ordinal 0. A trial that reuses a result
-- has none: its source's are its own.
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

-- The trials whose curves were removed (sweep prune --curves): no other sweep reuses their results.
CREATE TABLE pruned_curves (
    trial_no bigint PRIMARY KEY
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

-- The artifacts of trials: those that their sweeps asked for. The bytes are in the artifact store, at location; one
-- that is not there has no location, and a problem. A trial that reuses a result has its source's. dropped is 1 for an
-- artifact that no sweep keeps any more, as its problem says; 2 when that is certain, so that the bytes can be removed.
-- It has its location until they are.
CREATE TABLE trial_artifacts (
    trial_no   bigint   NOT NULL,
    name       text     NOT NULL,
    media_type text     NOT NULL,
    size       bigint   NOT NULL,
    digest     text     NOT NULL,
    store      text     NOT NULL,
    location   text     NOT NULL,
    problem    text     NOT NULL,
    dropped    smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (trial_no, name)
);
-- Which bytes are still somebody's, when a sweep is deleted; and which are to be removed.
CREATE INDEX trial_artifacts_location ON trial_artifacts (location COLLATE "C") WHERE location <> '';
CREATE INDEX trial_artifacts_dropped ON trial_artifacts (dropped, trial_no) WHERE dropped > 0 AND location <> '';

-- The best trials so far of a sweep with keep, which keep an artifact: those with the smallest score, which is the
-- metric, or its negative where large values are good, of equal ones the first. A trial that reuses a result counts,
-- too.
CREATE TABLE kept_artifacts (
    sweep_no    bigint           NOT NULL,
    name        text             NOT NULL,
    score       double precision NOT NULL,
    trial_index bigint           NOT NULL,
    trial_no    bigint           NOT NULL,
    PRIMARY KEY (sweep_no, name, score, trial_index)
);
CREATE INDEX kept_artifacts_trial ON kept_artifacts (trial_no);


-- What results are compared by, updated with each of them, so that no query reads all trials: see store/group.go. No
-- table knows a metric or a parameter by its name, but the seed.

-- Every metric of a sweep has a number: those below 8 are columns of scores, further ones are rows of metrics. diverged
-- is what a diverged trial counts as in the mean of its grid point; NULL if it does not count.
CREATE TABLE metric_names (
    sweep_no  bigint           NOT NULL,
    metric    text             NOT NULL,
    metric_no bigint           NOT NULL,
    diverged  double precision,
    PRIMARY KEY (sweep_no, metric)
);

-- The first metrics of trials that have any.
CREATE TABLE scores (
    sweep_no    bigint           NOT NULL,
    trial_index bigint           NOT NULL,
    trial_no    bigint           NOT NULL,
    metric0     double precision,
    metric1     double precision,
    metric2     double precision,
    metric3     double precision,
    metric4     double precision,
    metric5     double precision,
    metric6     double precision,
    metric7     double precision,
    PRIMARY KEY (sweep_no, trial_index)
);

-- The further metrics, a row a trial and metric: a list by one of them reads its rows alone. See store/metric.go.
CREATE TABLE metrics (
    sweep_no    bigint           NOT NULL,
    metric_no   bigint           NOT NULL,
    trial_index bigint           NOT NULL,
    trial_no    bigint           NOT NULL,
    value       double precision NOT NULL,
    PRIMARY KEY (sweep_no, metric_no, trial_index)
);

-- The grid points that have results; trial_no is one of their trials, score_mean the mean of the metric that the sweep
-- selects by, diverged replicates included. metrics is JSON by metric, [n, mean, m2, smallest, largest] over the
-- replicates that did not diverge; m2 is the sum of the squared deviations from the mean.
CREATE TABLE point_aggregates (
    sweep_no        bigint           NOT NULL,
    point_key       bigint           NOT NULL,
    group_key       bigint           NOT NULL,
    trial_no        bigint           NOT NULL,
    replicates      bigint           NOT NULL,
    diverged        bigint           NOT NULL,
    score_mean      double precision NOT NULL,
    parameter_count bigint           NOT NULL,
    metrics         json             NOT NULL,
    PRIMARY KEY (sweep_no, point_key)
);

-- The groups whose trials are compared: the best trial, NULL if all diverged, and the best grid point; ties is how many
-- others are exactly as good. Of those that tie the one with the smallest point_key is the best, and of its trials the
-- one with the smallest seed: the order of a file does not show.
CREATE TABLE groups (
    sweep_no              bigint           NOT NULL,
    group_key             bigint           NOT NULL,
    best_trial_no         bigint,
    best_trial_index      bigint           NOT NULL,
    best_trial_score      double precision NOT NULL,
    best_trial_ties       bigint           NOT NULL,
    best_point_key        bigint           NOT NULL,
    best_point_replicates bigint           NOT NULL,
    best_point_score      double precision NOT NULL,
    best_point_ties       bigint           NOT NULL,
    PRIMARY KEY (sweep_no, group_key)
);


-- Views, for users' queries: docs/reference/views.md.

-- Members of a JSON object, or NULL if it has no such member of that type.
CREATE FUNCTION json_text(object json, name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE json_typeof(object -> name) WHEN 'string' THEN object ->> name END
$$;

CREATE FUNCTION json_number(object json, name text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE json_typeof(object -> name) WHEN 'number' THEN (object ->> name)::double precision END
$$;

CREATE FUNCTION json_integer(object json, name text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN json_typeof(object -> name) = 'number' AND object ->> name ~ '^-?[0-9]{1,18}$'
        THEN (object ->> name)::bigint END
$$;

-- The object without a member, as canonical JSON if the object is.
CREATE FUNCTION json_without(object json, name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '{' || coalesce(string_agg(to_json(m.key)::text || ':' || m.value::text, ',' ORDER BY m.place), '') || '}'
    FROM json_each(object) WITH ORDINALITY AS m (key, value, place)
    WHERE m.key <> name
$$;

-- Every trial, with its result if it has one.
CREATE VIEW results AS
SELECT
    s.sweep_id,
    s.name AS sweep_name,
    t.trial_index,
    t.state,
    t.diverged,
    t.parameters,
    o.summary,
    o.best_epoch,
    o.parameter_count,
    o.kernel_level,
    o.seconds,
    o.flops,
    o.weights_digest,
    o.digest,
    t.executions,
    t.charged,
    t.worker,
    (SELECT r.sweep_id FROM trials AS f JOIN sweeps AS r USING (sweep_no) WHERE f.trial_no = t.source_no) AS reused_from_sweep,
    (SELECT f.trial_index FROM trials AS f WHERE f.trial_no = t.source_no) AS reused_from_index,
    o.error,
    t.queued_at,
    t.started_at,
    t.finished_at,
    t.fingerprint,
    t.seed
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
LEFT JOIN outcomes AS o USING (trial_no)
WHERE s.deleted_at IS NULL;

-- A row a point. A trial that reuses a result shows its source's curves.
CREATE VIEW curves AS
SELECT s.sweep_id, t.trial_index, c.metric, p.step, nullif(p.value, 'NaN')::double precision AS value
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN curve_arrays AS c ON c.trial_no = coalesce(t.source_no, t.trial_no)
JOIN curve_arrays AS f ON f.trial_no = c.trial_no
    AND f.ordinal = CASE WHEN cardinality(c.step_array) = 0 AND cardinality(c.value_array) > 0 THEN 0 ELSE c.ordinal END
CROSS JOIN LATERAL unnest(f.step_array, c.value_array) AS p (step, value);

-- The sweeps (trial_index is NULL) and trials that have a name, a group, notes or tags.
CREATE VIEW notes AS
SELECT s.sweep_id, s.name AS sweep_name, CAST(NULL AS bigint) AS trial_index, CAST(NULL AS text) AS run_name,
    CAST(NULL AS text) AS run_group, s.notes, s.tags, nullif(s.edited_by, '') AS edited_by, s.edited_at
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

CREATE VIEW refusals AS
SELECT s.sweep_id, t.trial_index, r.worker, r.reason, r.refusals, r.refused_at
FROM trial_refusals AS r
JOIN trials AS t USING (trial_no)
JOIN sweeps AS s USING (sweep_no);

-- All executions. One that left nothing but the result of a completed trial is told by the trial's row alone; whether
-- anything else ran in its worker is unknown then, so alone is NULL.
CREATE VIEW executions AS
SELECT t.trial_no, t.execution, t.worker, t.started_at, t.finished_at AS ended_at, 'result'::text AS outcome,
    FALSE AS charged, FALSE AS forgotten, FALSE AS replaced, NULL::boolean AS alone, 0::bigint AS checkpoint, ''::text AS reason,
    ''::text AS note, ''::text AS stderr, 0::bigint AS log_start
FROM trials AS t
WHERE t.state = 'completed' AND t.execution <> '' AND NOT EXISTS (
    SELECT 1 FROM stored_executions AS e WHERE e.trial_no = t.trial_no AND e.execution = t.execution)
UNION ALL
SELECT e.trial_no, e.execution, e.worker, e.started_at, e.ended_at, e.outcome, e.charged, e.forgotten, e.replaced,
    e.alone, e.checkpoint, e.reason, e.note, e.stderr, e.log_start
FROM stored_executions AS e;

-- Executions whose workers vanished while they ran.
CREATE VIEW losses AS
SELECT s.sweep_id, t.trial_index, t.state, t.losses,
    (SELECT g.losses FROM grids AS g WHERE g.sweep_no = t.sweep_no AND g.first_index <= t.trial_index
        ORDER BY g.ordinal DESC LIMIT 1) AS limit_losses,
    e.execution, e.worker, e.started_at, e.ended_at AS lost_at
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN stored_executions AS e USING (trial_no)
WHERE t.losses > 0 AND e.outcome = 'lost' AND e.charged AND NOT e.forgotten;

CREATE VIEW artifacts AS
SELECT s.sweep_id, t.trial_index, a.name, a.media_type, a.size, a.digest, a.store, a.problem
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN trial_artifacts AS a ON a.trial_no = coalesce(t.source_no, t.trial_no);

-- What the programs of trials have read. A trial that reuses a result shows its source's.
CREATE VIEW inputs AS
SELECT s.sweep_id, t.trial_index, i.kind, i.name, i.digest
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN trial_inputs AS n ON n.trial_no = coalesce(t.source_no, t.trial_no)
JOIN stored_inputs AS i ON i.list_no = n.list_no
WHERE s.deleted_at IS NULL;

-- Per sweep and group: the best of the completed trials that did not diverge, with the value of the metric of the
-- sweep's select, and how many others are exactly as good.
CREATE VIEW best_trials AS
SELECT
    s.sweep_id, s.name AS sweep_name, t.trial_index, k.best_trial_score AS score, k.best_trial_ties AS ties, t.seed,
    o.best_epoch, o.parameter_count, o.seconds, o.kernel_level, o.weights_digest, t.parameters, o.summary
FROM groups AS k
JOIN sweeps AS s USING (sweep_no)
JOIN trials AS t ON t.trial_no = k.best_trial_no
JOIN outcomes AS o ON o.trial_no = k.best_trial_no
WHERE s.deleted_at IS NULL;

-- A row for each grid point and metric: the mean over the point's completed trials, their sample standard deviation,
-- and the smallest and largest value. Trials that diverged are excluded and counted separately. A trial that the sweep
-- has twice counts once.
CREATE VIEW point_means AS
SELECT
    m.sweep_id, m.sweep_name, m.metric, m.n, m.mean, m.sd, m.smallest, m.largest,
    coalesce(a.diverged, 0) AS diverged, json_without(f.parameters, 'seed') AS grid_point
FROM (
    SELECT
        t.sweep_no, s.sweep_id, s.name AS sweep_name, t.point_key, v.key AS metric, min(t.trial_no) AS trial_no,
        count(v.value) AS n, avg(v.value::double precision) AS mean, stddev_samp(v.value::double precision) AS sd,
        min(v.value::double precision) AS smallest, max(v.value::double precision) AS largest
    FROM sweeps AS s
    JOIN trials AS t USING (sweep_no)
    JOIN outcomes AS o USING (trial_no)
    CROSS JOIN LATERAL json_each_text(o.summary) AS v
    WHERE s.deleted_at IS NULL AND t.state = 'completed' AND NOT t.diverged
        AND NOT EXISTS (SELECT 1 FROM trials AS e WHERE e.trial_no = t.source_no AND e.sweep_no = t.sweep_no)
        AND NOT EXISTS (SELECT 1 FROM trials AS e
            WHERE e.source_no = t.source_no AND e.sweep_no = t.sweep_no AND e.trial_no < t.trial_no)
    GROUP BY t.sweep_no, s.sweep_id, s.name, t.point_key, v.key
) AS m
JOIN trials AS f USING (trial_no)
LEFT JOIN point_aggregates AS a ON a.sweep_no = m.sweep_no AND a.point_key = m.point_key;

-- What the papers' tables are made of: both selections per sweep and group, by the sweep's select:
--   mean    the grid point (the parameters without the seed) that is best by the metric averaged over its replicates:
--           mean and sample standard deviation of their test accuracies;
--   single  the one best trial.
-- A diverged replicate counts as what its trainer says of the metric, and as the worst where trials are compared by
-- another one, so that a grid point does not become the best by the replicates that it lost; alone it is never selected
-- as single. Grid points with fewer replicates than the fullest of their group are not finished, and left out. ties is
-- how many others of the group are exactly as good.
CREATE VIEW accuracy_table AS
SELECT
    sweep_id, sweep_name, json_text(parameters, 'dataset') AS dataset, json_text(parameters, 'model') AS model,
    'mean' AS selection, replicates, diverged,
    CASE WHEN loss_lost = 0 THEN loss WHEN loss_n = 0 THEN loss_diverged
        ELSE loss + (loss_diverged - loss) * loss_lost / (loss_n + loss_lost) END AS validation_loss,
    CASE WHEN accuracy_lost = 0 THEN accuracy WHEN accuracy_n = 0 THEN accuracy_diverged
        ELSE accuracy + (accuracy_diverged - accuracy) * accuracy_lost / (accuracy_n + accuracy_lost) END AS test_accuracy,
    CASE WHEN accuracy_n + accuracy_lost > 1 THEN sqrt((coalesce(m2, 0) + CASE WHEN accuracy_n > 0 AND accuracy_lost > 0
        THEN (accuracy_diverged - accuracy) * (accuracy_diverged - accuracy) * accuracy_n * accuracy_lost
            / (accuracy_n + accuracy_lost) ELSE 0 END) / (accuracy_n + accuracy_lost - 1)) END AS test_accuracy_sd,
    parameter_count,
    json_integer(summary, 'train_size') AS train_size,
    json_integer(summary, 'test_size') AS test_size,
    json_integer(summary, 'length') AS length,
    json_integer(summary, 'classes') AS classes,
    json_integer(summary, 'depth') AS depth,
    NULL::bigint AS trial_index, json_without(parameters, 'seed') AS grid_point, ties
FROM (
    SELECT g.*,
        CASE WHEN loss_diverged IS NULL THEN 0 ELSE diverged END AS loss_lost,
        CASE WHEN accuracy_diverged IS NULL THEN 0 ELSE diverged END AS accuracy_lost
    FROM (
        SELECT
            s.sweep_id, s.name AS sweep_name, t.parameters, o.summary, p.replicates, p.diverged, p.parameter_count,
            k.best_point_ties AS ties,
            coalesce((p.metrics -> 'validation_loss' ->> 0)::double precision, 0) AS loss_n,
            (p.metrics -> 'validation_loss' ->> 1)::double precision AS loss,
            coalesce((p.metrics -> 'test_accuracy' ->> 0)::double precision, 0) AS accuracy_n,
            (p.metrics -> 'test_accuracy' ->> 1)::double precision AS accuracy,
            (p.metrics -> 'test_accuracy' ->> 2)::double precision AS m2,
            (SELECT n.diverged FROM metric_names AS n WHERE n.sweep_no = k.sweep_no AND n.metric = 'validation_loss')
                AS loss_diverged,
            (SELECT n.diverged FROM metric_names AS n WHERE n.sweep_no = k.sweep_no AND n.metric = 'test_accuracy')
                AS accuracy_diverged
        FROM groups AS k
        JOIN sweeps AS s USING (sweep_no)
        JOIN point_aggregates AS p ON p.sweep_no = k.sweep_no AND p.point_key = k.best_point_key
        JOIN trials AS t ON t.trial_no = p.trial_no
        JOIN outcomes AS o ON o.trial_no = p.trial_no
        WHERE s.deleted_at IS NULL
    ) AS g
) AS h
UNION ALL
SELECT
    sweep_id, sweep_name, json_text(parameters, 'dataset'), json_text(parameters, 'model'), 'single', 1, 0,
    json_number(summary, 'validation_loss'),
    json_number(summary, 'test_accuracy'),
    NULL,
    parameter_count,
    json_integer(summary, 'train_size'),
    json_integer(summary, 'test_size'),
    json_integer(summary, 'length'),
    json_integer(summary, 'classes'),
    json_integer(summary, 'depth'),
    trial_index, json_without(parameters, 'seed'), ties
FROM best_trials;

-- Table 4 and Table 2 of the paper: the data sets of the UCR archive, by their names of 2018 or 2015, and MNIST. Those
-- of other tasks are in accuracy_table alone.
CREATE VIEW ucr_table AS
SELECT * FROM accuracy_table WHERE lower(replace(replace(replace(dataset, ' ', ''), '_', ''), '-', '')) IN (
    '50words', 'acsf1', 'adiac', 'allgesturewiimotex', 'allgesturewiimotey', 'allgesturewiimotez', 'arrowhead', 'beef',
    'beetlefly', 'birdchicken', 'bme', 'car', 'cbf', 'chinatown', 'chlorineconcentration', 'cincecgtorso', 'coffee',
    'computers', 'cricketx', 'crickety', 'cricketz', 'crop', 'diatomsizereduction', 'distalphalanxoutlineagegroup',
    'distalphalanxoutlinecorrect', 'distalphalanxtw', 'dodgerloopday', 'dodgerloopgame', 'dodgerloopweekend',
    'earthquakes', 'ecg200', 'ecg5000', 'ecgfivedays', 'electricdevices', 'eoghorizontalsignal', 'eogverticalsignal',
    'ethanollevel', 'faceall', 'facefour', 'facesucr', 'fiftywords', 'fish', 'forda', 'fordb', 'freezerregulartrain',
    'freezersmalltrain', 'fungi', 'generatedcbf', 'gesturemidaird1', 'gesturemidaird2', 'gesturemidaird3',
    'gesturepebblez1', 'gesturepebblez2', 'gunpoint', 'gunpointagespan', 'gunpointmaleversusfemale',
    'gunpointoldversusyoung', 'ham', 'handoutlines', 'haptics', 'herring', 'housetwenty', 'inlineskate',
    'insectepgregulartrain', 'insectepgsmalltrain', 'insectwingbeatsound', 'italypowerdemand', 'largekitchenappliances',
    'lighting2', 'lighting7', 'lightning2', 'lightning7', 'mallat', 'meat', 'medicalimages', 'melbournepedestrian',
    'middlephalanxoutlineagegroup', 'middlephalanxoutlinecorrect', 'middlephalanxtw', 'mixedshapes',
    'mixedshapesregulartrain', 'mixedshapessmalltrain', 'motestrain', 'noninvasivefatalecgthorax1',
    'noninvasivefatalecgthorax2', 'noninvasivefetalecgthorax1', 'noninvasivefetalecgthorax2', 'oliveoil', 'osuleaf',
    'phalangesoutlinescorrect', 'phoneme', 'pickupgesturewiimotez', 'pigairwaypressure', 'pigartpressure', 'pigcvp',
    'plaid', 'plane', 'powercons', 'proximalphalanxoutlineagegroup', 'proximalphalanxoutlinecorrect', 'proximalphalanxtw',
    'refrigerationdevices', 'rock', 'screentype', 'semghandgenderch2', 'semghandmovementch2', 'semghandsubjectch2',
    'shakegesturewiimotez', 'shapeletsim', 'shapesall', 'smallkitchenappliances', 'smoothsubspace',
    'sonyaiborobotsurface', 'sonyaiborobotsurface1', 'sonyaiborobotsurface2', 'sonyaiborobotsurfaceii', 'starlightcurves',
    'strawberry', 'swedishleaf', 'symbols', 'syntheticcontrol', 'toesegmentation1', 'toesegmentation2', 'trace',
    'twoleadecg', 'twopatterns', 'umd', 'uwavegesturelibraryall', 'uwavegesturelibraryx', 'uwavegesturelibraryy',
    'uwavegesturelibraryz', 'wafer', 'wine', 'wordssynonyms', 'wordsynonyms', 'worms', 'wormstwoclass', 'yoga'
);

CREATE VIEW mnist_table AS
SELECT * FROM accuracy_table
WHERE lower(replace(replace(replace(dataset, ' ', ''), '_', ''), '-', '')) IN ('mnist', 'permutedmnist');
