-- The views. sqlite/0002_views.sql has the same ones, with the same columns.

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

-- Every trial, with its result if it has one. The columns from dataset on are taken out of the JSON.
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
    json_text(t.parameters, 'dataset') AS dataset,
    json_text(t.parameters, 'model') AS model,
    json_integer(t.parameters, 'seed') AS seed,
    json_number(t.parameters, 'lr') AS lr,
    json_number(t.parameters, 'decay') AS decay,
    json_integer(t.parameters, 'batch') AS batch,
    json_number(o.summary, 'validation_loss') AS validation_loss,
    json_number(o.summary, 'validation_accuracy') AS validation_accuracy,
    1 - json_number(o.summary, 'validation_accuracy') AS validation_error,
    json_number(o.summary, 'test_accuracy') AS test_accuracy,
    json_number(o.summary, 'train_loss') AS train_loss
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
LEFT JOIN outcomes AS o USING (trial_no);

-- A row a point. A trial that took over a result shows its source's curves.
CREATE VIEW curves AS
SELECT s.sweep_id, t.trial_index, c.metric, p.step, nullif(p.value, 'NaN')::double precision AS value
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN curve_arrays AS c ON c.trial_no = coalesce(t.source_no, t.trial_no)
CROSS JOIN LATERAL unnest(c.step_array, c.value_array) AS p (step, value);

-- Per sweep, data set and model: the completed trial that did not diverge with the smallest validation loss; of
-- equal ones the first.
CREATE VIEW best_trials AS
WITH ranked AS (
    SELECT r.*, row_number() OVER (
        PARTITION BY r.sweep_id, r.dataset, r.model ORDER BY r.validation_loss, r.trial_index) AS place
    FROM results AS r
    WHERE r.state = 'completed' AND NOT r.diverged AND r.validation_loss IS NOT NULL
)
SELECT
    sweep_id, sweep_name, dataset, model, trial_index, validation_loss, validation_accuracy, validation_error,
    test_accuracy, train_loss, best_epoch, parameter_count, seed, lr, decay, batch, seconds, kernel_level,
    weights_digest, parameters, summary
FROM ranked
WHERE place = 1;

-- Both selections per sweep, data set and model, by validation alone:
--   mean    the grid point (the parameters without the seed) with the smallest validation loss averaged over its
--           replicates: mean and sample standard deviation of their test accuracies;
--   single  the one trial with the smallest validation loss.
-- A diverged replicate counts as validation loss 20 and test accuracy 0, so that a grid point does not win by the
-- replicates that it lost; alone it is never selected as single.
-- Grid points with fewer replicates than the fullest of their data set and model are not finished, and left out.
CREATE VIEW accuracy_table AS
WITH counted AS (
    SELECT
        sweep_id, sweep_name, dataset, model, trial_index, diverged, parameter_count, summary,
        json_without(parameters, 'seed') AS grid_point,
        CASE WHEN diverged THEN 20.0 ELSE validation_loss END AS validation_loss,
        CASE WHEN diverged THEN 0.0 ELSE test_accuracy END AS test_accuracy
    FROM results
    WHERE state = 'completed' AND (diverged OR validation_loss IS NOT NULL)
), centred AS (
    SELECT *, avg(test_accuracy) OVER (PARTITION BY sweep_id, grid_point) AS mean_accuracy
    FROM counted
), grid_points AS (
    SELECT
        sweep_id, sweep_name, dataset, model, grid_point,
        count(*) AS replicates,
        sum(CASE WHEN diverged THEN 1 ELSE 0 END) AS diverged,
        avg(validation_loss) AS validation_loss,
        avg(test_accuracy) AS test_accuracy,
        CASE WHEN count(test_accuracy) > 1 THEN
            sqrt(sum((test_accuracy - mean_accuracy) * (test_accuracy - mean_accuracy)) / (count(test_accuracy) - 1))
        END AS test_accuracy_sd,
        max(parameter_count) AS parameter_count,
        min(trial_index) AS first_index,
        max(json_integer(summary, 'train_size')) AS train_size,
        max(json_integer(summary, 'test_size'))  AS test_size,
        max(json_integer(summary, 'length'))    AS length,
        max(json_integer(summary, 'classes'))    AS classes,
        max(json_integer(summary, 'depth'))      AS depth
    FROM centred
    GROUP BY sweep_id, sweep_name, dataset, model, grid_point
), ranked AS (
    SELECT *, row_number() OVER (
        PARTITION BY sweep_id, dataset, model ORDER BY replicates DESC, validation_loss, first_index) AS place
    FROM grid_points
)
SELECT
    sweep_id, sweep_name, dataset, model, 'mean' AS selection, replicates, diverged, validation_loss,
    test_accuracy, test_accuracy_sd, parameter_count, train_size, test_size, length, classes, depth,
    NULL::bigint AS trial_index, grid_point
FROM ranked
WHERE place = 1
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
