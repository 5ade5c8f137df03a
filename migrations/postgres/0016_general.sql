-- The tables know no metric and no parameter by its name any more, but the seed. The first parameters that a sweep varies are
-- in columns of its trials, as texts. Every metric of a sweep has a number in metric_names: those below 8 are columns of
-- scores, further ones are rows of metrics. The aggregates of a grid point are JSON by metric, [n, mean, m2, smallest, largest]
-- over the replicates that did not diverge; m2 is the sum of the squared deviations from the mean. The views results,
-- best_trials and point_means are general: the table t of "sweep sql --sweep" has a column for each parameter and metric.
DROP VIEW ucr_table;
DROP VIEW mnist_table;
DROP VIEW accuracy_table;
DROP VIEW best_trials;
DROP VIEW point_means;
DROP VIEW results;

DROP TABLE scores;
CREATE TABLE scores (
    sweep_no bigint NOT NULL,
    trial_index bigint NOT NULL,
    trial_no bigint NOT NULL,
    metric0 double precision,
    metric1 double precision,
    metric2 double precision,
    metric3 double precision,
    metric4 double precision,
    metric5 double precision,
    metric6 double precision,
    metric7 double precision,
    PRIMARY KEY (sweep_no, trial_index)
);

-- What a diverged trial counts as in the mean of its grid point; NULL if it does not count.
ALTER TABLE metric_names ADD COLUMN diverged double precision;

ALTER TABLE point_aggregates
    DROP COLUMN loss_n,
    DROP COLUMN loss_mean,
    DROP COLUMN accuracy_n,
    DROP COLUMN accuracy_mean,
    DROP COLUMN accuracy_m2;
ALTER TABLE trials
    DROP COLUMN dataset,
    DROP COLUMN model,
    DROP COLUMN lr,
    DROP COLUMN decay,
    DROP COLUMN batch,
    ADD COLUMN parameter0 text,
    ADD COLUMN parameter1 text,
    ADD COLUMN parameter2 text,
    ADD COLUMN parameter3 text,
    ADD COLUMN parameter4 text,
    ADD COLUMN parameter5 text;

ALTER TABLE point_aggregates ADD COLUMN metrics json NOT NULL DEFAULT '{}';

-- What was entered before is entered again: see store/fill.go.
DELETE FROM metrics;
DELETE FROM metric_names;
DELETE FROM point_aggregates;
DELETE FROM groups;
DELETE FROM unscored;
INSERT INTO unscored (sweep_no, next_index) SELECT sweep_no, 0 FROM sweeps WHERE deleted_at IS NULL;

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

-- Per sweep and group: the best of the completed trials that did not diverge, with the value of the metric of the sweep's
-- select, and how many others are exactly as good.
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
        count(*) AS n, avg(v.value::double precision) AS mean, stddev_samp(v.value::double precision) AS sd,
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
-- A diverged replicate counts as what its trainer says of the metric, and as the worst where trials compete by another one,
-- so that a grid point does not win by the replicates that it lost; alone it is never selected as single. Grid points with
-- fewer replicates than the fullest of their group are not finished, and left out. ties is how many others of the group are
-- exactly as good.
CREATE VIEW accuracy_table AS
SELECT
    sweep_id, sweep_name, json_text(parameters, 'dataset') AS dataset, json_text(parameters, 'model') AS model, 'mean' AS selection, replicates, diverged,
    CASE WHEN loss_lost = 0 THEN loss WHEN loss_n = 0 THEN loss_diverged
        ELSE loss + (loss_diverged - loss) * loss_lost / (loss_n + loss_lost) END AS validation_loss,
    CASE WHEN accuracy_lost = 0 THEN accuracy WHEN accuracy_n = 0 THEN accuracy_diverged
        ELSE accuracy + (accuracy_diverged - accuracy) * accuracy_lost / (accuracy_n + accuracy_lost) END AS test_accuracy,
    CASE WHEN accuracy_n + accuracy_lost > 1 THEN sqrt((coalesce(m2, 0) + CASE WHEN accuracy_n > 0 AND accuracy_lost > 0
        THEN (accuracy_diverged - accuracy) * (accuracy_diverged - accuracy) * accuracy_n * accuracy_lost
            / (accuracy_n + accuracy_lost) ELSE 0 END) / (accuracy_n + accuracy_lost - 1)) END AS test_accuracy_sd,
    parameter_count, json_integer(summary, 'train_size') AS train_size, json_integer(summary, 'test_size') AS test_size, json_integer(summary, 'length') AS length, json_integer(summary, 'classes') AS classes, json_integer(summary, 'depth') AS depth, NULL::bigint AS trial_index, json_without(parameters, 'seed') AS grid_point, ties
FROM (
    SELECT g.*,
        CASE WHEN loss_diverged IS NULL THEN 0 ELSE diverged END AS loss_lost,
        CASE WHEN accuracy_diverged IS NULL THEN 0 ELSE diverged END AS accuracy_lost
    FROM (
        SELECT
            s.sweep_id, s.name AS sweep_name, t.parameters, o.summary, p.replicates, p.diverged, p.parameter_count,
            k.best_point_ties AS ties,
            coalesce((p.metrics -> 'validation_loss' ->> 0)::double precision, 0) AS loss_n, (p.metrics -> 'validation_loss' ->> 1)::double precision AS loss,
            coalesce((p.metrics -> 'test_accuracy' ->> 0)::double precision, 0) AS accuracy_n, (p.metrics -> 'test_accuracy' ->> 1)::double precision AS accuracy, (p.metrics -> 'test_accuracy' ->> 2)::double precision AS m2,
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
    sweep_id, sweep_name, json_text(parameters, 'dataset'), json_text(parameters, 'model'), 'single', 1, 0, json_number(summary, 'validation_loss'), json_number(summary, 'test_accuracy'), NULL, parameter_count, json_integer(summary, 'train_size'), json_integer(summary, 'test_size'), json_integer(summary, 'length'), json_integer(summary, 'classes'), json_integer(summary, 'depth'),
    trial_index, json_without(parameters, 'seed'), ties
FROM best_trials;

-- Table 4 and Table 2 of the paper: the data sets of the UCR archive, by their names of 2018 or 2015, and MNIST. Those of
-- other tasks are in accuracy_table alone.
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
SELECT * FROM accuracy_table WHERE lower(replace(replace(replace(dataset, ' ', ''), '_', ''), '-', '')) IN ('mnist', 'permutedmnist');
