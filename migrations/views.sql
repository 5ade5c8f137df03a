-- Views for users' queries, in the words of Postgres. A leader makes them, again when they change. Package migrate
-- writes them for SQLite.
--
-- The comment before a view says what a row of it is, and what its columns are: those of which it says nothing are what
-- the first view with such a column says. Postgres has it by COMMENT ON, docs/reference/views.md from there.

-- A trial, with its result if it has one. What is not known of it is NULL.
--   sweep_id            the sweep's id
--   sweep_name          the sweep's name; several sweeps may have one
--   trial_index         the trial's number in its sweep, from 0 on
--   state               pending, queued, running, completed, failed, cancelled, stopped or skipped
--   diverged            whether its training diverged; such a trial is completed
--   parameters          the values of its parameters, as JSON
--   summary             the last value of each metric, as JSON; null if it is not finite
--   kernel_level        the level of the loops that computed the result, on which its bits depend
--   seconds             how long it trained, by its trainer
--   weights_digest      SHA-256 of the trained weights
--   digest              SHA-256 of what a repeat must have again: state, metrics, weights and curves
--   executions          how many executions have started
--   charged             how many executions ended by the trial's own fault
--   worker              the worker of the execution that started last
--   reused_from_sweep   the sweep of the trial whose result it reuses
--   reused_from_index   the number, in that sweep, of the trial whose result it reuses
--   error               why it failed, was stopped or skipped, or what is unusual about its result
--   queued_at           when it was queued last, in UTC
--   started_at          when the execution that started last did, by its worker's clock, in UTC
--   finished_at         when it ended, in UTC
--   fingerprint         SHA-256 of trainer, result version, data or program, and parameters: equal fingerprint, equal
--                       result
--   seed                its seed, if it has one
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

-- A metric of a trial and its last value.
--   metric              the metric's name
--   value               its last value; NULL if it is not finite
CREATE VIEW metrics AS
SELECT s.sweep_id, s.name AS sweep_name, t.trial_index, v.key AS metric, CAST(v.value AS double precision) AS value
FROM sweeps AS s
JOIN trials AS t USING (sweep_no)
JOIN outcomes AS o USING (trial_no)
{{if .SQLite}}JOIN json_each(o.summary){{else}}CROSS JOIN LATERAL json_each_text(o.summary){{end}} AS v
WHERE s.deleted_at IS NULL;

-- A sample of a curve of a trial. A trial that reuses a result shows its source's curves.
--   step                the step at which the metric was measured
--   value               the metric's value there, in single precision; NULL if it is not finite
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

-- A sweep or trial that has notes, tags, or a name or group from its program.
--   trial_index         the trial's number in its sweep; NULL for the sweep itself
--   run_name            what the trial's program calls its run
--   run_group           the group to which the program says that the run belongs
--   notes               what a person wrote of it, else its program or sweep file
--   tags                its tags in order, with commas between them
--   edited_by           who changed the notes or tags last; NULL if nobody did
--   edited_at           when they were changed, in UTC
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

-- A trial and a worker that refused to run it.
--   worker              the worker
--   reason              what the worker lacks
--   refusals            how often it refused
--   refused_at          when it refused last, in UTC
CREATE VIEW refusals AS
SELECT s.sweep_id, t.trial_index, r.worker, r.reason, r.refusals, {{.Time "r.refused_at"}} AS refused_at
FROM trial_refusals AS r
JOIN trials AS t USING (trial_no)
JOIN sweeps AS s USING (sweep_no);

-- An execution of a trial. One that left nothing but the result of a completed trial has no row of its own in the
-- database: the view makes it from the trial's.
--   trial_no            the trial's number in the table trials
--   execution           the execution's id
--   worker              its worker
--   started_at          when it started, by the worker's clock, in UTC
--   ended_at            when it ended, in UTC; NULL while it runs
--   outcome             running, result, released (it ended without a result), or lost (it never reported its end)
--   charged             whether it counts against the trial: it ended by the trial's fault, or its worker vanished
--   forgotten           whether a retry of the trial has taken that back
--   replaced            whether another execution started while it ran
--   alone               whether nothing else ran in its worker; NULL where that is not known
--   checkpoint          the step of its last checkpoint
--   reason              why it ended without a result
--   note                what is remarkable about it
--   stderr              the end of its log
--   log_start           how many bytes of the log came before
CREATE VIEW executions AS
-- SQLite takes the types of columns from the last SELECT.
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

-- A position at which a trial is compared with others, to stop it early. The rows of an observation replace those of
-- the trial's earlier ones.
--   observation_no      the observation, in the order in which they became known
--   position            how many values of the metric there were
--   value               the value there
--   best                the best value so far; NULL if that is not compared
CREATE VIEW observations AS
SELECT o.observation_no, s.sweep_id, t.trial_index, o.metric, p.{{if .SQLite}}step AS {{end}}position,
    p.value{{if .Postgres}}::double precision AS value{{end}}, o.best
FROM stored_observations AS o
JOIN trials AS t USING (trial_no)
JOIN sweeps AS s USING (sweep_no)
{{if .SQLite}}JOIN curve_points(o.position_array, o.value_array) AS p{{else -}}
CROSS JOIN LATERAL unnest(o.position_array, o.value_array) AS p (position, value){{end}}
WHERE s.deleted_at IS NULL;

-- A decision of a policy that a trial stops. Without a value, it is the threshold of all trials of the generation that
-- begins with this trial.
--   rule                the rule by which it was decided
--   position            how many values of the metric there were
--   value               the trial's value there, which is worse than the threshold
--   threshold           the value that a trial needs to continue
--   trials              how many trials the threshold is computed from
--   observation_no      the last observation that was known; NULL for a generation
--   reason              what the trial's result says
--   decided_at          when it was decided, in UTC
CREATE VIEW decisions AS
SELECT s.sweep_id, t.trial_index, d.rule, d.metric, d.position, d.value, d.threshold, d.trials,
    nullif(d.observation_no, 0) AS observation_no, nullif(d.reason, '') AS reason,
    {{.Time "d.decided_at"}} AS decided_at
FROM stored_decisions AS d
JOIN trials AS t USING (trial_no)
JOIN sweeps AS s USING (sweep_no)
WHERE s.deleted_at IS NULL;

-- An execution whose worker vanished while it ran.
--   losses              how many such executions the trial has
--   limit_losses        how many of them end the trial
--   execution           the execution's id
--   worker              the worker that vanished
--   started_at          when the execution started, by the worker's clock, in UTC
--   lost_at             when the worker was found to be gone, in UTC
CREATE VIEW losses AS
SELECT s.sweep_id, t.trial_index, t.state, t.losses,
    (SELECT g.losses FROM grids AS g WHERE g.sweep_no = t.sweep_no AND g.first_index <= t.trial_index
        ORDER BY g.ordinal DESC LIMIT 1) AS limit_losses,
    e.execution, e.worker, {{.Time "e.started_at"}} AS started_at, {{.Time "e.ended_at"}} AS lost_at
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN stored_executions AS e USING (trial_no)
WHERE t.losses > 0 AND e.outcome = 'lost' AND e.charged AND NOT e.forgotten;

-- An artifact of a trial.
--   name                the artifact's name
--   media_type          its media type
--   size                its bytes
--   digest              SHA-256 of its content
--   store               the artifact store that has it
--   problem             why the content is not there; empty if it is
CREATE VIEW artifacts AS
SELECT s.sweep_id, t.trial_index, a.name, a.media_type, a.size, a.digest, a.store, a.problem
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN trial_artifacts AS a ON a.trial_no = coalesce(t.source_no, t.trial_no);

-- What the program of a trial has read. A trial that reuses a result shows its source's.
--   kind                file; rewritten, a file that the trial wrote after it had read it; or variable
--   name                the file's path from the directory in which the program ran, or the variable
--   digest              SHA-256 of what it had then; absent; changed, of a file that changed while the trial ran; or
--                       size and time of a large file
CREATE VIEW inputs AS
SELECT s.sweep_id, t.trial_index, i.kind, i.name, i.digest
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN trial_inputs AS n ON n.trial_no = coalesce(t.source_no, t.trial_no)
JOIN stored_inputs AS i ON i.list_no = n.list_no
WHERE s.deleted_at IS NULL;

-- A group of the sweep's select, and its best trial: of those that are completed and did not diverge.
--   score               its value of the metric of select
--   ties                how many others of the group are exactly as good
CREATE VIEW best_trials AS
SELECT
    s.sweep_id, s.name AS sweep_name, t.trial_index, k.best_trial_score AS score, k.best_trial_ties AS ties, t.seed,
    nullif(o.seconds, 0) AS seconds, o.kernel_level, o.weights_digest, t.parameters, o.summary
FROM groups AS k
JOIN sweeps AS s USING (sweep_no)
JOIN trials AS t ON t.trial_no = k.best_trial_no
JOIN outcomes AS o ON o.trial_no = k.best_trial_no
WHERE s.deleted_at IS NULL;

-- A grid point and a metric, over the point's completed trials. Trials that diverged are excluded and counted
-- separately. A trial that the sweep has twice counts once.
--   n                   how many trials have the metric
--   mean                the mean of its last values
--   sd                  their sample standard deviation; NULL for one trial
--   smallest            the smallest of them
--   largest             the largest of them
--   diverged            how many trials of the point diverged
--   grid_point          the parameters without the seed, as JSON
CREATE VIEW point_means AS
-- SQLite's deviation is computed from the differences to the value of one of the trials, which keeps its digits where it
-- is small beside the mean.
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
