-- Metrics that have no column in scores: metric_names numbers those of a sweep, and metrics has a row a trial and metric.
-- A list by one of them reads its rows alone. See store/metric.go.
CREATE TABLE metric_names (
    sweep_no  INTEGER NOT NULL REFERENCES sweeps,
    metric    TEXT    NOT NULL,
    metric_no INTEGER NOT NULL,
    PRIMARY KEY (sweep_no, metric)
) WITHOUT ROWID;

CREATE TABLE metrics (
    sweep_no    INTEGER NOT NULL REFERENCES sweeps,
    metric_no   INTEGER NOT NULL,
    trial_index INTEGER NOT NULL,
    trial_no    INTEGER NOT NULL REFERENCES trials,
    value       REAL    NOT NULL,
    PRIMARY KEY (sweep_no, metric_no, trial_index)
) WITHOUT ROWID;

-- The earlier results of trainers that report metrics which they do not describe are entered again: see store/fill.go.
DELETE FROM unscored WHERE sweep_no IN (SELECT sweep_no FROM grids WHERE ordinal = 0 AND submission -> '$.description.open' = 'true');
INSERT INTO unscored (sweep_no, next_index) SELECT s.sweep_no, 0 FROM sweeps AS s JOIN grids AS g USING (sweep_no)
    WHERE s.deleted_at IS NULL AND g.ordinal = 0 AND g.submission -> '$.description.open' = 'true';
DELETE FROM scores WHERE sweep_no IN (SELECT sweep_no FROM unscored WHERE next_index = 0);
DELETE FROM points WHERE sweep_no IN (SELECT sweep_no FROM unscored WHERE next_index = 0);
DELETE FROM contests WHERE sweep_no IN (SELECT sweep_no FROM unscored WHERE next_index = 0);
