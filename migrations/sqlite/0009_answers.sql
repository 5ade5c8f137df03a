-- What trials are compared by stands in columns, taken out of the JSON once, and the best of each group is kept up to
-- date: a question reads neither JSON nor all trials. See store/contest.go.

-- The parameters that the views show. point_key stands for the grid point: the parameters without the seed.
ALTER TABLE trials ADD COLUMN point_key INTEGER;
ALTER TABLE trials ADD COLUMN dataset TEXT;
ALTER TABLE trials ADD COLUMN model TEXT;
ALTER TABLE trials ADD COLUMN seed INTEGER;
ALTER TABLE trials ADD COLUMN lr REAL;
ALTER TABLE trials ADD COLUMN decay REAL;
ALTER TABLE trials ADD COLUMN batch INTEGER;

-- Who took over whose result.
CREATE INDEX trials_source ON trials (source_no) WHERE source_no IS NOT NULL;

-- The metrics of trials that have any. metric1 to metric4 are further ones that a sweep's trials are compared by.
CREATE TABLE scores (
    sweep_no            INTEGER NOT NULL REFERENCES sweeps,
    trial_index         INTEGER NOT NULL,
    trial_no            INTEGER NOT NULL REFERENCES trials,
    validation_loss     REAL,
    validation_accuracy REAL,
    test_accuracy       REAL,
    train_loss          REAL,
    metric1             REAL,
    metric2             REAL,
    metric3             REAL,
    metric4             REAL,
    PRIMARY KEY (sweep_no, trial_index)
) WITHOUT ROWID;

-- The grid points that have results, with what their replicates come to. sample_no is one of them.
CREATE TABLE points (
    sweep_no        INTEGER NOT NULL REFERENCES sweeps,
    point_key       INTEGER NOT NULL,
    contest_key     INTEGER NOT NULL,
    first_index     INTEGER NOT NULL,
    sample_no       INTEGER NOT NULL REFERENCES trials,
    replicates      INTEGER NOT NULL,
    diverged        INTEGER NOT NULL,
    score           REAL    NOT NULL,
    losses          INTEGER NOT NULL,
    loss            REAL    NOT NULL,
    accuracies      INTEGER NOT NULL,
    accuracy        REAL    NOT NULL,
    accuracy_spread REAL    NOT NULL,
    parameter_count INTEGER NOT NULL,
    PRIMARY KEY (sweep_no, point_key)
) WITHOUT ROWID;

-- The groups whose trials compete: the best trial, NULL if all diverged, and the best grid point.
CREATE TABLE contests (
    sweep_no        INTEGER NOT NULL REFERENCES sweeps,
    contest_key     INTEGER NOT NULL,
    best_no         INTEGER REFERENCES trials,
    best_index      INTEGER NOT NULL,
    best_score      REAL    NOT NULL,
    lead_key        INTEGER NOT NULL,
    lead_replicates INTEGER NOT NULL,
    lead_index      INTEGER NOT NULL,
    lead_score      REAL    NOT NULL,
    PRIMARY KEY (sweep_no, contest_key)
) WITHOUT ROWID;

-- Sweeps whose earlier trials are still to be entered into these columns and tables: those before next_index are. The
-- program does that, page by page: see store/fill.go.
CREATE TABLE unscored (
    sweep_no   INTEGER PRIMARY KEY REFERENCES sweeps,
    next_index INTEGER NOT NULL
);
INSERT INTO unscored (sweep_no, next_index) SELECT sweep_no, 0 FROM sweeps;

-- A sweep that is deleted is hidden first; its own row stays.
ALTER TABLE sweeps ADD COLUMN deleted_at TEXT;

DROP VIEW ucr_table;
DROP VIEW mnist_table;
DROP VIEW accuracy_table;
DROP VIEW best_trials;
DROP VIEW results;

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
    t.dataset,
    t.model,
    t.seed,
    t.lr,
    t.decay,
    t.batch,
    c.validation_loss,
    c.validation_accuracy,
    1 - c.validation_accuracy AS validation_error,
    c.test_accuracy,
    c.train_loss
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
LEFT JOIN outcomes AS o USING (trial_no)
LEFT JOIN scores AS c ON c.sweep_no = t.sweep_no AND c.trial_index = t.trial_index
WHERE s.deleted_at IS NULL;

-- Per sweep and group: the best of the completed trials that did not diverge, by the sweep's select; of equal ones the
-- first.
CREATE VIEW best_trials AS
SELECT
    s.sweep_id, s.name AS sweep_name, t.dataset, t.model, t.trial_index, c.validation_loss, c.validation_accuracy,
    1 - c.validation_accuracy AS validation_error, c.test_accuracy, c.train_loss, o.best_epoch, o.parameter_count,
    t.seed, t.lr, t.decay, t.batch, o.seconds, o.kernel_level, o.weights_digest, t.parameters, o.summary
FROM contests AS k
JOIN sweeps AS s USING (sweep_no)
JOIN trials AS t ON t.trial_no = k.best_no
JOIN outcomes AS o ON o.trial_no = k.best_no
LEFT JOIN scores AS c ON c.sweep_no = t.sweep_no AND c.trial_index = t.trial_index
WHERE s.deleted_at IS NULL;

-- Both selections per sweep and group, by the sweep's select:
--   mean    the grid point (the parameters without the seed) that is best by the metric averaged over its replicates:
--           mean and sample standard deviation of their test accuracies;
--   single  the one best trial.
-- A diverged replicate counts as validation loss 20 and test accuracy 0, and as the worst where trials compete by another
-- metric, so that a grid point does not win by the replicates that it lost; alone it is never selected as single.
-- Grid points with fewer replicates than the fullest of their group are not finished, and left out.
CREATE VIEW accuracy_table AS
SELECT
    s.sweep_id, s.name AS sweep_name, t.dataset, t.model, 'mean' AS selection, p.replicates, p.diverged,
    CASE WHEN p.losses > 0 THEN p.loss END AS validation_loss,
    CASE WHEN p.accuracies > 0 THEN p.accuracy END AS test_accuracy,
    CASE WHEN p.accuracies > 1 THEN sqrt(p.accuracy_spread / (p.accuracies - 1)) END AS test_accuracy_sd,
    p.parameter_count, o.summary ->> '$.train_size' AS train_size, o.summary ->> '$.test_size' AS test_size,
    o.summary ->> '$.length' AS length, o.summary ->> '$.classes' AS classes, o.summary ->> '$.depth' AS depth,
    NULL AS trial_index, json_remove(t.parameters, '$.seed') AS grid_point
FROM contests AS k
JOIN sweeps AS s USING (sweep_no)
JOIN points AS p ON p.sweep_no = k.sweep_no AND p.point_key = k.lead_key
JOIN trials AS t ON t.trial_no = p.sample_no
JOIN outcomes AS o ON o.trial_no = p.sample_no
WHERE s.deleted_at IS NULL
UNION ALL
SELECT
    sweep_id, sweep_name, dataset, model, 'single', 1, 0, validation_loss,
    test_accuracy, NULL, parameter_count, summary ->> '$.train_size', summary ->> '$.test_size',
    summary ->> '$.length', summary ->> '$.classes', summary ->> '$.depth',
    trial_index, json_remove(parameters, '$.seed')
FROM best_trials;

-- Table 4 and Table 2 of the paper: the data sets named …mnist… apart from all others.
CREATE VIEW ucr_table AS
SELECT * FROM accuracy_table WHERE dataset IS NOT NULL AND lower(dataset) NOT LIKE '%mnist%';

CREATE VIEW mnist_table AS
SELECT * FROM accuracy_table WHERE lower(dataset) LIKE '%mnist%';
