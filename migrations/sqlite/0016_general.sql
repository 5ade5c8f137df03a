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
    sweep_no INTEGER NOT NULL REFERENCES sweeps,
    trial_index INTEGER NOT NULL,
    trial_no INTEGER NOT NULL REFERENCES trials,
    metric0 REAL,
    metric1 REAL,
    metric2 REAL,
    metric3 REAL,
    metric4 REAL,
    metric5 REAL,
    metric6 REAL,
    metric7 REAL,
    PRIMARY KEY (sweep_no, trial_index)
) WITHOUT ROWID;

-- What a diverged trial counts as in the mean of its grid point; NULL if it does not count.
ALTER TABLE metric_names ADD COLUMN diverged REAL;

ALTER TABLE point_aggregates DROP COLUMN loss_n;
ALTER TABLE point_aggregates DROP COLUMN loss_mean;
ALTER TABLE point_aggregates DROP COLUMN accuracy_n;
ALTER TABLE point_aggregates DROP COLUMN accuracy_mean;
ALTER TABLE point_aggregates DROP COLUMN accuracy_m2;
ALTER TABLE trials DROP COLUMN dataset;
ALTER TABLE trials DROP COLUMN model;
ALTER TABLE trials DROP COLUMN lr;
ALTER TABLE trials DROP COLUMN decay;
ALTER TABLE trials DROP COLUMN batch;
ALTER TABLE trials ADD COLUMN parameter0 TEXT;
ALTER TABLE trials ADD COLUMN parameter1 TEXT;
ALTER TABLE trials ADD COLUMN parameter2 TEXT;
ALTER TABLE trials ADD COLUMN parameter3 TEXT;
ALTER TABLE trials ADD COLUMN parameter4 TEXT;
ALTER TABLE trials ADD COLUMN parameter5 TEXT;

ALTER TABLE point_aggregates ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}';

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
-- has twice counts once. The deviation is computed from the differences to the value of one of the trials, which keeps
-- its digits where it is small beside the mean.
CREATE VIEW point_means AS
SELECT
    m.sweep_id, m.sweep_name, m.metric, m.n, m.mean,
    CASE WHEN m.n > 1 THEN sqrt(max(m.squares - m.differences * m.differences / m.n, 0) / (m.n - 1)) END AS sd,
    m.smallest, m.largest, m.diverged, json_remove(f.parameters, '$.seed') AS grid_point
FROM (
    SELECT
        s.sweep_id, s.name AS sweep_name, v.key AS metric, min(t.trial_no) AS trial_no, count(*) AS n,
        avg(v.value) AS mean, CAST(min(v.value) AS REAL) AS smallest, CAST(max(v.value) AS REAL) AS largest,
        total(v.value - coalesce(r.summary ->> v.key, 0)) AS differences,
        total((v.value - coalesce(r.summary ->> v.key, 0.0)) * (v.value - coalesce(r.summary ->> v.key, 0.0))) AS squares,
        coalesce(a.diverged, 0) AS diverged
    FROM sweeps AS s
    JOIN trials AS t USING (sweep_no)
    JOIN outcomes AS o USING (trial_no)
    JOIN json_each(o.summary) AS v
    LEFT JOIN point_aggregates AS a ON a.sweep_no = t.sweep_no AND a.point_key = t.point_key
    LEFT JOIN outcomes AS r ON r.trial_no = a.trial_no
    WHERE s.deleted_at IS NULL AND t.state = 'completed' AND NOT t.diverged
        AND NOT EXISTS (SELECT 1 FROM trials AS e WHERE e.trial_no = t.source_no AND e.sweep_no = t.sweep_no)
        AND NOT EXISTS (SELECT 1 FROM trials AS e
            WHERE e.source_no = t.source_no AND e.sweep_no = t.sweep_no AND e.trial_no < t.trial_no)
    GROUP BY t.sweep_no, s.sweep_id, s.name, t.point_key, v.key
) AS m
JOIN trials AS f USING (trial_no);

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
    sweep_id, sweep_name, CASE json_type(parameters, '$.dataset') WHEN 'text' THEN parameters ->> '$.dataset' END AS dataset, CASE json_type(parameters, '$.model') WHEN 'text' THEN parameters ->> '$.model' END AS model, 'mean' AS selection, replicates, diverged,
    CASE WHEN loss_lost = 0 THEN loss WHEN loss_n = 0 THEN loss_diverged
        ELSE loss + (loss_diverged - loss) * loss_lost / (loss_n + loss_lost) END AS validation_loss,
    CASE WHEN accuracy_lost = 0 THEN accuracy WHEN accuracy_n = 0 THEN accuracy_diverged
        ELSE accuracy + (accuracy_diverged - accuracy) * accuracy_lost / (accuracy_n + accuracy_lost) END AS test_accuracy,
    CASE WHEN accuracy_n + accuracy_lost > 1 THEN sqrt((coalesce(m2, 0) + CASE WHEN accuracy_n > 0 AND accuracy_lost > 0
        THEN (accuracy_diverged - accuracy) * (accuracy_diverged - accuracy) * accuracy_n * accuracy_lost
            / (accuracy_n + accuracy_lost) ELSE 0 END) / (accuracy_n + accuracy_lost - 1)) END AS test_accuracy_sd,
    parameter_count, summary ->> '$.train_size' AS train_size, summary ->> '$.test_size' AS test_size, summary ->> '$.length' AS length, summary ->> '$.classes' AS classes, summary ->> '$.depth' AS depth, NULL AS trial_index, json_remove(parameters, '$.seed') AS grid_point, ties
FROM (
    SELECT g.*,
        CASE WHEN loss_diverged IS NULL THEN 0 ELSE diverged END AS loss_lost,
        CASE WHEN accuracy_diverged IS NULL THEN 0 ELSE diverged END AS accuracy_lost
    FROM (
        SELECT
            s.sweep_id, s.name AS sweep_name, t.parameters, o.summary, p.replicates, p.diverged, p.parameter_count,
            k.best_point_ties AS ties,
            coalesce(CAST(p.metrics ->> '$.validation_loss[0]' AS REAL), 0) AS loss_n, CAST(p.metrics ->> '$.validation_loss[1]' AS REAL) AS loss,
            coalesce(CAST(p.metrics ->> '$.test_accuracy[0]' AS REAL), 0) AS accuracy_n, CAST(p.metrics ->> '$.test_accuracy[1]' AS REAL) AS accuracy, CAST(p.metrics ->> '$.test_accuracy[2]' AS REAL) AS m2,
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
    sweep_id, sweep_name, CASE json_type(parameters, '$.dataset') WHEN 'text' THEN parameters ->> '$.dataset' END, CASE json_type(parameters, '$.model') WHEN 'text' THEN parameters ->> '$.model' END, 'single', 1, 0, CAST(summary ->> '$.validation_loss' AS REAL), CAST(summary ->> '$.test_accuracy' AS REAL), NULL, parameter_count, summary ->> '$.train_size', summary ->> '$.test_size', summary ->> '$.length', summary ->> '$.classes', summary ->> '$.depth',
    trial_index, json_remove(parameters, '$.seed'), ties
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
