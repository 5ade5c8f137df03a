-- What trials are compared by stands in columns, taken out of the JSON once, and the best of each group is kept up to
-- date: a question reads neither JSON nor all trials. See store/contest.go.

-- The parameters that the views show. point_key stands for the grid point: the parameters without the seed.
ALTER TABLE trials ADD COLUMN point_key bigint, ADD COLUMN dataset text, ADD COLUMN model text, ADD COLUMN seed bigint,
    ADD COLUMN lr double precision, ADD COLUMN decay double precision, ADD COLUMN batch bigint;

-- Who took over whose result.
CREATE INDEX trials_source ON trials (source_no) WHERE source_no IS NOT NULL;

-- The metrics of trials that have any. metric1 to metric4 are further ones that a sweep's trials are compared by.
CREATE TABLE scores (
    sweep_no            bigint           NOT NULL,
    trial_index         bigint           NOT NULL,
    trial_no            bigint           NOT NULL,
    validation_loss     double precision,
    validation_accuracy double precision,
    test_accuracy       double precision,
    train_loss          double precision,
    metric1             double precision,
    metric2             double precision,
    metric3             double precision,
    metric4             double precision,
    PRIMARY KEY (sweep_no, trial_index)
);

-- The grid points that have results, with what their replicates come to. sample_no is one of them.
CREATE TABLE points (
    sweep_no            bigint           NOT NULL,
    point_key           bigint           NOT NULL,
    contest_key         bigint           NOT NULL,
    first_index         bigint           NOT NULL,
    sample_no           bigint           NOT NULL,
    replicates          bigint           NOT NULL,
    diverged            bigint           NOT NULL,
    score               double precision NOT NULL,
    losses              bigint           NOT NULL,
    loss                double precision NOT NULL,
    accuracies          bigint           NOT NULL,
    accuracy            double precision NOT NULL,
    accuracy_spread     double precision NOT NULL,
    parameter_count     bigint           NOT NULL,
    PRIMARY KEY (sweep_no, point_key)
);

-- The groups whose trials compete: the best trial, NULL if all diverged, and the best grid point.
CREATE TABLE contests (
    sweep_no            bigint           NOT NULL,
    contest_key         bigint           NOT NULL,
    best_no             bigint,
    best_index          bigint           NOT NULL,
    best_score          double precision NOT NULL,
    lead_key            bigint           NOT NULL,
    lead_replicates     bigint           NOT NULL,
    lead_index          bigint           NOT NULL,
    lead_score          double precision NOT NULL,
    PRIMARY KEY (sweep_no, contest_key)
);

-- Sweeps whose earlier trials are still to be entered into these columns and tables: those before next_index are. The
-- program does that, page by page: see store/fill.go.
CREATE TABLE unscored (
    sweep_no            bigint           PRIMARY KEY,
    next_index          bigint           NOT NULL
);
INSERT INTO unscored (sweep_no, next_index) SELECT sweep_no, 0 FROM sweeps;

-- A sweep that is deleted is hidden first; its own row stays.
ALTER TABLE sweeps ADD COLUMN deleted_at timestamptz;

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
    p.parameter_count, json_integer(o.summary, 'train_size') AS train_size, json_integer(o.summary, 'test_size') AS test_size,
    json_integer(o.summary, 'length') AS length, json_integer(o.summary, 'classes') AS classes, json_integer(o.summary, 'depth') AS depth,
    NULL::bigint AS trial_index, json_without(t.parameters, 'seed') AS grid_point
FROM contests AS k
JOIN sweeps AS s USING (sweep_no)
JOIN points AS p ON p.sweep_no = k.sweep_no AND p.point_key = k.lead_key
JOIN trials AS t ON t.trial_no = p.sample_no
JOIN outcomes AS o ON o.trial_no = p.sample_no
WHERE s.deleted_at IS NULL
UNION ALL
SELECT
    sweep_id, sweep_name, dataset, model, 'single', 1, 0, validation_loss,
    test_accuracy, NULL, parameter_count, json_integer(summary, 'train_size'), json_integer(summary, 'test_size'),
    json_integer(summary, 'length'), json_integer(summary, 'classes'), json_integer(summary, 'depth'),
    trial_index, json_without(parameters, 'seed')
FROM best_trials;

-- Table 4 and Table 2 of the paper: the data sets named …mnist… apart from all others.
CREATE VIEW ucr_table AS
SELECT * FROM accuracy_table WHERE dataset IS NOT NULL AND lower(dataset) NOT LIKE '%mnist%';

CREATE VIEW mnist_table AS
SELECT * FROM accuracy_table WHERE lower(dataset) LIKE '%mnist%';
