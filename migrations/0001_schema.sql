-- The tables, in the words of Postgres. For SQLite, package migrate writes its types in their place:
--   * times are integers: microseconds since 1970. The views show them in UTC, as "2006-01-02T15:04:05.000000Z";
--   * arrays are BLOBs: steps as signed varints of their differences, values as little-endian single precision
--     (sweep.EncodeSteps, sweep.EncodeValues); the view curves unfolds them;
--   * JSON is TEXT; BOOLEAN is an integer 0 or 1;
--   * there are no foreign keys, and no login of users' queries: they run on a connection that cannot write.
--
-- JSON columns are json, not jsonb: what was stored comes back text for text, numbers as they were written. The tables
-- that are written with every trial and result have no foreign keys: the store writes them in the transaction that
-- locks their sweep or trial, and a check of every row would cost more than the row.
--
-- sweep_no and trial_no are internal numbers in the order of creation, so that keys are small; the views show sweep_id
-- and trial_index. Numbers and texts that are 0 or empty by default are those that an INSERT leaves out. Postgres has the
-- comments on tables and their columns by COMMENT ON, as those of views.sql.


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
INSERT INTO cluster (cluster_id, made_at, term, leader)
VALUES ({{if .SQLite}}lower(hex(randomblob(16))), CAST(unixepoch('subsec') * 1000000 AS bigint){{else -}}
    replace(gen_random_uuid()::text, '-', ''), now(){{end}}, 0, '');

{{if .Postgres -}}
-- The login by which users' queries run, in one row, which the store makes: see store/postgres/reader.go. Whoever may
-- read it can be that login, which reads results and nothing else; the login itself may not.
CREATE TABLE reader_login (
    only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    role     text    NOT NULL,
    password text    NOT NULL
);

{{end -}}
-- Requests of submitters by the keys that they gave them, and the grid that came of each.
CREATE TABLE requests (
    request_key text    PRIMARY KEY,
    sweep_no    bigint,
    ordinal     integer
){{.WithoutRowid}};

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
--   sweep_no            the sweep's number, in the order of creation
--   sweep_id            its id
--   name                its name; several sweeps may have one
--   trainer             which trainer runs its trials
--   pool                the workers that run its trials
--   priority            those with a higher one are queued first
--   state               active, paused, cancelled or finished
--   waiting             no worker can run what is left of an active one
--   reason              why an active sweep waits, or why it was paused
--   created_at          when it was submitted
--   updated_at          when its state, reason, priority or budget changed last
--   deleted_at          a sweep that is deleted is hidden first; its own row stays
--   asked_by            who submitted it
--   purpose             why it was submitted
--   budget_no           its budget, if it has one
--   canary              whether the first trial of a class is queued alone, by the newest file of the sweep
--   most_errors         equal errors in a row after which the sweep is paused, by its newest file; 0 is no bound
--   retried_at          when a sweep that was paused because its trials fail was last retried or extended. Trials that
--                       were queued before may have run what has been mended since: their errors do not pause the
--                       sweep again
--   keep                of how many trials, the best ones, it keeps which artifacts: JSON, empty if it keeps those of
--                       all
--   notes, tags         what describes it: the description of its first file, until a person changes it. Tags are
--                       sorted, with commas between them
--   edited_by           who changed its notes or tags last; empty if nobody did
--   edited_at           when they were changed
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
){{.WithoutRowid}};

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
){{.WithoutRowid}};


-- Trials.

-- The trials that have been written.
--   trial_no            the trial's number, in the order of creation
--   sweep_no            the sweep's number
--   trial_index         the trial's number in its sweep, from 0 on
--   class_no            its class, by what it requires of a worker
--   state               pending, queued, running, completed, failed, cancelled, stopped or skipped
--   diverged            whether its training diverged; such a trial is completed
--   unconfirmed         it failed, and its worker may be to blame
--   retracted           such a failure was taken back, at most once a trial
--   executions          how many executions have started
--   charged             how many of them are charged to the trial
--   losses              how many of their workers vanished
--   refusals            how often workers refused it
--   execution           the execution that started last
--   worker              the worker of the execution that started last
--   heard_at            when it was last queued or heard of, by the store's clock
--   queued_at           when it was queued last
--   started_at          when the execution that started last did, by its worker's clock
--   finished_at         when it ended, by its worker's clock
--   source_no           the trial whose result it reuses
--   point_key           stands for its grid point: the parameters without the seed
--   seed                its seed, if it has one
--   fingerprint         SHA-256 of trainer, result version, data or program, and parameters: equal fingerprint, equal
--                       result
--   dataset_digest      the digest of its data set or program; empty if it has none
--   parameter0, parameter1, parameter2, parameter3, parameter4, parameter5
--                       the first parameters that the sweep varies, as texts
--   parameters          the values of its parameters, as JSON
CREATE TABLE trials (
    trial_no       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sweep_no       bigint      NOT NULL,
    trial_index    bigint      NOT NULL,
    class_no       integer     NOT NULL DEFAULT 0,
    state          text        NOT NULL CONSTRAINT trials_state_check CHECK (state IN
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

{{if .Postgres -}}
-- A trial's row is written at least three times (pending, queued, ended): with room for that on its page, an update
-- neither looks for another page nor logs the whole row.
--
-- A trial leaves the index of pending trials when it is queued, but its entry stays until the table is vacuumed, and
-- whoever looks for pending trials walks over it. So vacuum trials after so many changes, not after a share of the
-- table. With autovacuum_naptime at 10s instead of a minute the cost stays the same to the last trial of a large sweep.
ALTER TABLE trials SET (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);
{{end -}}

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
){{.WithoutRowid}};
CREATE INDEX stored_executions_replaced ON stored_executions (trial_no) WHERE replaced AND NOT charged AND NOT forgotten;

-- What workers said that they cannot run.
CREATE TABLE trial_refusals (
    trial_no   bigint      NOT NULL,
    worker     text        NOT NULL,
    reason     text        NOT NULL,
    refusals   integer     NOT NULL,
    refused_at timestamptz NOT NULL,
    PRIMARY KEY (trial_no, worker)
){{.WithoutRowid}};

-- The values of the metric by which trials are stopped, in the order in which they became known: those of a trial at
-- the positions (numbers of values) at which trials are compared, and the best one of all so far, if that is
-- compared. They replace the trial's earlier ones, of which a retry leaves none. running says that the trial was observed
-- while it ran, else its result had them. A trial that reuses a result has a copy.
CREATE TABLE stored_observations (
    observation_no bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trial_no       bigint           NOT NULL,
    metric         text             NOT NULL,
    running        boolean          NOT NULL,
    position_array bigint[]         NOT NULL,
    value_array    real[]           NOT NULL,
    best           double precision
);
CREATE INDEX stored_observations_trial ON stored_observations (trial_no, observation_no);

-- The decisions that a trial is to stop: its value at a position is worse than the threshold, which is that of so many
-- trials. Without a value, it is that of a generation, which begins with the trial, and by which workers decide.
--   observation_no      the decision is by the sweep's observations up to this one; 0 for a generation, which knows all
--                       of the trials before it
--   pending             workers are told until the trial has ended
CREATE TABLE stored_decisions (
    trial_no       bigint           NOT NULL,
    observation_no bigint           NOT NULL,
    position       bigint           NOT NULL,
    rule           text             NOT NULL,
    metric         text             NOT NULL,
    value          double precision,
    threshold      double precision NOT NULL,
    trials         bigint           NOT NULL,
    reason         text             NOT NULL,
    pending        boolean          NOT NULL,
    decided_at     timestamptz      NOT NULL,
    PRIMARY KEY (trial_no, observation_no, position)
){{.WithoutRowid}};
CREATE INDEX stored_decisions_pending ON stored_decisions (trial_no) WHERE pending;

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
){{.WithoutRowid}};


-- Results.

-- The results of trials in a terminal state; a cancelled trial may have none. run_name, run_group, notes and tags are
-- what a program calls its run, and writes of it.
CREATE TABLE outcomes (
    trial_no        bigint           PRIMARY KEY,
    summary         json             NOT NULL,
    weights_digest  text             NOT NULL,
    kernel_level    text             NOT NULL,
    seconds         double precision NOT NULL,
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
){{.WithoutRowid}};

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

{{if .Postgres -}}
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
{{end -}}

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
){{.WithoutRowid}};

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
){{.WithoutRowid}};
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
){{.WithoutRowid}};
CREATE INDEX kept_artifacts_trial ON kept_artifacts (trial_no);


-- What results are compared by, updated with each of them, so that no query reads all trials: see store/group.go. No
-- table knows a metric or a parameter by its name, but the seed.

-- Every metric of a sweep has a number: those below 8 are columns of scores, further ones are rows of metric_values. diverged
-- is what a diverged trial counts as in the mean of its grid point; NULL if it does not count.
CREATE TABLE metric_names (
    sweep_no  bigint           NOT NULL,
    metric    text             NOT NULL,
    metric_no bigint           NOT NULL,
    diverged  double precision,
    PRIMARY KEY (sweep_no, metric)
){{.WithoutRowid}};

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
){{.WithoutRowid}};

-- The further metrics, a row a trial and metric: a list by one of them reads its rows alone. See store/metric.go.
CREATE TABLE metric_values (
    sweep_no    bigint           NOT NULL,
    metric_no   bigint           NOT NULL,
    trial_index bigint           NOT NULL,
    trial_no    bigint           NOT NULL,
    value       double precision NOT NULL,
    PRIMARY KEY (sweep_no, metric_no, trial_index)
){{.WithoutRowid}};

-- The grid points that have results; trial_no is one of their trials, score_mean the mean of the metric that the sweep
-- selects by, diverged replicates included. metrics is JSON by metric, [n, mean, m2, smallest, largest] over the
-- replicates that did not diverge; m2 is the sum of the squared deviations from the mean. Of one replicate it is
-- [1, value].
CREATE TABLE point_aggregates (
    sweep_no        bigint           NOT NULL,
    point_key       bigint           NOT NULL,
    group_key       bigint           NOT NULL,
    trial_no        bigint           NOT NULL,
    replicates      bigint           NOT NULL,
    diverged        bigint           NOT NULL,
    score_mean      double precision NOT NULL,
    metrics         json             NOT NULL,
    PRIMARY KEY (sweep_no, point_key)
){{.WithoutRowid}};

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
){{.WithoutRowid}};

-- The views that there are, with the digests of their SQL: views.sql, and what package paper has.
CREATE TABLE schema_views (
    name    text    PRIMARY KEY,
    ordinal integer NOT NULL,
    digest  text    NOT NULL
){{.WithoutRowid}};


-- What views are written with.

{{if .Postgres -}}
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
{{- else -}}
-- curve_points(step_array, value_array) has a row for each point of the two arrays: a virtual table that the program
-- registers on its own connections (coordinator/store/sqlite). Other programs can read every view but curves.
CREATE VIRTUAL TABLE curve_points USING curve_points;
{{- end}}
