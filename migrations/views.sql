-- Views for users' queries, in the words of Postgres: docs/reference/views.md. A leader makes them, again when they
-- change. Package migrate writes them for SQLite.

-- Every trial, with its result if it has one. What is not known of a result is stored as 0, and is NULL.
CREATE VIEW results AS
SELECT
    s.sweep_id,
    s.name AS sweep_name,
    t.trial_index,
    t.state,
    t.diverged,
    t.parameters,
    o.summary,
    o.kernel_level,
    nullif(o.seconds, 0) AS seconds,
    o.weights_digest,
    o.digest,
    t.executions,
    t.charged,
    t.worker,
    (SELECT r.sweep_id FROM trials AS f JOIN sweeps AS r USING (sweep_no) WHERE f.trial_no = t.source_no) AS reused_from_sweep,
    (SELECT f.trial_index FROM trials AS f WHERE f.trial_no = t.source_no) AS reused_from_index,
    o.error,
    {{.Time "t.queued_at"}} AS queued_at,
    {{.Time "t.started_at"}} AS started_at,
    {{.Time "t.finished_at"}} AS finished_at,
    t.fingerprint,
    t.seed
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
LEFT JOIN outcomes AS o USING (trial_no)
WHERE s.deleted_at IS NULL;

-- The last values of the metrics of trials. One that is not finite has no row.
CREATE VIEW metrics AS
SELECT s.sweep_id, s.name AS sweep_name, t.trial_index, v.key AS metric, CAST(v.value AS double precision) AS value
FROM sweeps AS s
JOIN trials AS t USING (sweep_no)
JOIN outcomes AS o USING (trial_no)
{{if .SQLite}}JOIN json_each(o.summary){{else}}CROSS JOIN LATERAL json_each_text(o.summary){{end}} AS v
WHERE s.deleted_at IS NULL;

-- A row a point. A trial that reuses a result shows its source's curves.
CREATE VIEW curves AS
SELECT s.sweep_id, t.trial_index, c.metric, p.step,
    {{if .SQLite}}p.value{{else}}nullif(p.value, 'NaN')::double precision AS value{{end}}
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN curve_arrays AS c ON c.trial_no = coalesce(t.source_no, t.trial_no)
JOIN curve_arrays AS f ON f.trial_no = c.trial_no
    AND f.ordinal = CASE WHEN {{.Length}}(c.step_array) = 0 AND {{.Length}}(c.value_array) > 0 THEN 0 ELSE c.ordinal END
{{if .SQLite}}JOIN curve_points(f.step_array, c.value_array) AS p{{else -}}
CROSS JOIN LATERAL unnest(f.step_array, c.value_array) AS p (step, value){{end}};

-- The sweeps (trial_index is NULL) and trials that have a name, a group, notes or tags.
CREATE VIEW notes AS
SELECT s.sweep_id, s.name AS sweep_name, CAST(NULL AS bigint) AS trial_index, CAST(NULL AS text) AS run_name,
    CAST(NULL AS text) AS run_group, s.notes, s.tags, nullif(s.edited_by, '') AS edited_by,
    {{.Time "s.edited_at"}} AS edited_at
FROM sweeps AS s
WHERE s.deleted_at IS NULL AND (s.notes <> '' OR s.tags <> '' OR s.edited_at IS NOT NULL)
UNION ALL
SELECT s.sweep_id, s.name, t.trial_index, nullif(o.run_name, ''), nullif(o.run_group, ''), coalesce(n.notes, o.notes, ''),
    coalesce(n.tags, o.tags, ''), n.edited_by, {{.Time "n.edited_at"}}
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
LEFT JOIN outcomes AS o USING (trial_no)
LEFT JOIN trial_notes AS n ON n.sweep_no = t.sweep_no AND n.trial_index = t.trial_index
WHERE s.deleted_at IS NULL
    AND (n.sweep_no IS NOT NULL OR o.run_name <> '' OR o.run_group <> '' OR o.notes <> '' OR o.tags <> '');

CREATE VIEW refusals AS
SELECT s.sweep_id, t.trial_index, r.worker, r.reason, r.refusals, {{.Time "r.refused_at"}} AS refused_at
FROM trial_refusals AS r
JOIN trials AS t USING (trial_no)
JOIN sweeps AS s USING (sweep_no);

-- All executions. One that left nothing but the result of a completed trial is told by the trial's row alone; whether
-- anything else ran in its worker is unknown then, so alone is NULL. SQLite takes
-- the types of columns from the last SELECT.
CREATE VIEW executions AS
SELECT t.trial_no, t.execution, t.worker, {{.Time "t.started_at"}} AS started_at,
    {{.Time "t.finished_at"}} AS ended_at, CAST('result' AS text) AS outcome,
    FALSE AS charged, FALSE AS forgotten, FALSE AS replaced, CAST(NULL AS boolean) AS alone,
    CAST(0 AS bigint) AS checkpoint, CAST('' AS text) AS reason, CAST('' AS text) AS note, CAST('' AS text) AS stderr,
    CAST(0 AS bigint) AS log_start
FROM trials AS t
WHERE t.state = 'completed' AND t.execution <> '' AND NOT EXISTS (
    SELECT 1 FROM stored_executions AS e WHERE e.trial_no = t.trial_no AND e.execution = t.execution)
UNION ALL
SELECT e.trial_no, e.execution, e.worker, {{.Time "e.started_at"}}, {{.Time "e.ended_at"}}, e.outcome, e.charged, e.forgotten, e.replaced,
    e.alone, e.checkpoint, e.reason, e.note, e.stderr, e.log_start
FROM stored_executions AS e;

-- What was known of trials by which a policy stops trials, in its order: a row a position.
CREATE VIEW observations AS
SELECT o.observation_no, s.sweep_id, t.trial_index, o.metric, p.{{if .SQLite}}step AS {{end}}position,
    p.value{{if .Postgres}}::double precision AS value{{end}}, o.best
FROM stored_observations AS o
JOIN trials AS t USING (trial_no)
JOIN sweeps AS s USING (sweep_no)
{{if .SQLite}}JOIN curve_points(o.position_array, o.value_array) AS p{{else -}}
CROSS JOIN LATERAL unnest(o.position_array, o.value_array) AS p (position, value){{end}}
WHERE s.deleted_at IS NULL;

-- What policies have decided about trials: that one stops, or, without a value, by what those of a generation do.
CREATE VIEW decisions AS
SELECT s.sweep_id, t.trial_index, d.rule, d.metric, d.position, d.value, d.threshold, d.trials,
    nullif(d.observation_no, 0) AS observation_no, nullif(d.reason, '') AS reason,
    {{.Time "d.decided_at"}} AS decided_at
FROM stored_decisions AS d
JOIN trials AS t USING (trial_no)
JOIN sweeps AS s USING (sweep_no)
WHERE s.deleted_at IS NULL;

-- Executions whose workers vanished while they ran.
CREATE VIEW losses AS
SELECT s.sweep_id, t.trial_index, t.state, t.losses,
    (SELECT g.losses FROM grids AS g WHERE g.sweep_no = t.sweep_no AND g.first_index <= t.trial_index
        ORDER BY g.ordinal DESC LIMIT 1) AS limit_losses,
    e.execution, e.worker, {{.Time "e.started_at"}} AS started_at, {{.Time "e.ended_at"}} AS lost_at
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
    nullif(o.seconds, 0) AS seconds, o.kernel_level, o.weights_digest, t.parameters, o.summary
FROM groups AS k
JOIN sweeps AS s USING (sweep_no)
JOIN trials AS t ON t.trial_no = k.best_trial_no
JOIN outcomes AS o ON o.trial_no = k.best_trial_no
WHERE s.deleted_at IS NULL;

-- A row for each grid point and metric: the mean over the point's completed trials, their sample standard deviation,
-- and the smallest and largest value. Trials that diverged are excluded and counted separately. A trial that the sweep
-- has twice counts once. SQLite's deviation is computed from the differences to the value of one of the trials, which
-- keeps its digits where it is small beside the mean.
CREATE VIEW point_means AS
SELECT
    m.sweep_id, m.sweep_name, m.metric, m.n, m.mean,
    {{- if .SQLite}}
    CASE WHEN m.n > 1 THEN sqrt(max(m.squares - m.differences * m.differences / m.n, 0) / (m.n - 1)) END AS sd,
    {{- else}}
    m.sd,
    {{- end}}
    m.smallest, m.largest, coalesce(a.diverged, 0) AS diverged, {{.JSON "without" "f.parameters" "seed"}} AS grid_point
FROM (
    SELECT
        t.sweep_no, s.sweep_id, s.name AS sweep_name, t.point_key, v.key AS metric, min(t.trial_no) AS trial_no,
        count(v.value) AS n, avg({{.Value}}) AS mean, CAST(min({{.Value}}) AS double precision) AS smallest,
        CAST(max({{.Value}}) AS double precision) AS largest,
        {{- if .SQLite}}
        total(v.value - coalesce(r.summary ->> v.key, 0)) AS differences,
        total((v.value - coalesce(r.summary ->> v.key, 0.0)) * (v.value - coalesce(r.summary ->> v.key, 0.0))) AS squares
        {{- else}}
        stddev_samp({{.Value}}) AS sd
        {{- end}}
    FROM sweeps AS s
    JOIN trials AS t USING (sweep_no)
    JOIN outcomes AS o USING (trial_no)
    {{- if .SQLite}}
    JOIN json_each(o.summary) AS v
    LEFT JOIN point_aggregates AS a ON a.sweep_no = t.sweep_no AND a.point_key = t.point_key
    LEFT JOIN outcomes AS r ON r.trial_no = a.trial_no
    {{- else}}
    CROSS JOIN LATERAL json_each_text(o.summary) AS v
    {{- end}}
    WHERE s.deleted_at IS NULL AND t.state = 'completed' AND NOT t.diverged
        AND NOT EXISTS (SELECT 1 FROM trials AS e WHERE e.trial_no = t.source_no AND e.sweep_no = t.sweep_no)
        AND NOT EXISTS (SELECT 1 FROM trials AS e
            WHERE e.source_no = t.source_no AND e.sweep_no = t.sweep_no AND e.trial_no < t.trial_no)
    GROUP BY t.sweep_no, s.sweep_id, s.name, t.point_key, v.key
) AS m
JOIN trials AS f USING (trial_no)
LEFT JOIN point_aggregates AS a ON a.sweep_no = m.sweep_no AND a.point_key = m.point_key;
