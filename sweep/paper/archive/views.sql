-- A group of the sweep's select, and what is selected of it. A diverged replicate counts as what its trainer says of the
-- metric, and as the worst where trials are compared by another one, so that a grid point does not become the best by
-- the replicates that it lost; alone it is never selected as single. Grid points with fewer replicates than the fullest
-- of their group are not finished, and left out.
--   dataset             the parameter dataset
--   model               the parameter model
--   selection           mean: the grid point that is best by the metric averaged over its replicates; or single: the
--                       best trial
--   replicates          how many trials the row stands for
--   diverged            how many of them diverged
--   validation_loss     the validation loss; for mean the mean of the replicates
--   test_accuracy       the test accuracy; for mean the mean of the replicates; NULL for a task without accuracies
--   test_accuracy_sd    the sample standard deviation of the replicates' test accuracies
--   parameter_count     how many weights are trained
--   train_size          how many sequences the training set has
--   test_size           how many sequences the test set has
--   length              how long the sequences are
--   classes             how many classes there are
--   depth               how many steps the network makes
--   trial_index         the number of the single trial in its sweep; NULL for mean
CREATE VIEW accuracy_table AS
SELECT
    sweep_id, sweep_name, {{.JSON "text" "parameters" "dataset"}} AS dataset, {{.JSON "text" "parameters" "model"}} AS model,
    'mean' AS selection, replicates, diverged,
    CASE WHEN loss_lost = 0 THEN loss WHEN loss_n = 0 THEN loss_diverged
        ELSE loss + (loss_diverged - loss) * loss_lost / (loss_n + loss_lost) END AS validation_loss,
    CASE WHEN accuracy_lost = 0 THEN accuracy WHEN accuracy_n = 0 THEN accuracy_diverged
        ELSE accuracy + (accuracy_diverged - accuracy) * accuracy_lost / (accuracy_n + accuracy_lost) END AS test_accuracy,
    CASE WHEN accuracy_n + accuracy_lost > 1 THEN sqrt((coalesce(m2, 0) + CASE WHEN accuracy_n > 0 AND accuracy_lost > 0
        THEN (accuracy_diverged - accuracy) * (accuracy_diverged - accuracy) * accuracy_n * accuracy_lost
            / (accuracy_n + accuracy_lost) ELSE 0 END) / (accuracy_n + accuracy_lost - 1)) END AS test_accuracy_sd,
    {{.JSON "integer" "summary" "parameter_count"}} AS parameter_count,
    {{.JSON "integer" "summary" "train_size"}} AS train_size,
    {{.JSON "integer" "summary" "test_size"}} AS test_size,
    {{.JSON "integer" "summary" "length"}} AS length,
    {{.JSON "integer" "summary" "classes"}} AS classes,
    {{.JSON "integer" "summary" "depth"}} AS depth,
    CAST(NULL AS bigint) AS trial_index, {{.JSON "without" "parameters" "seed"}} AS grid_point, ties
FROM (
    SELECT g.*,
        CASE WHEN loss_diverged IS NULL THEN 0 ELSE diverged END AS loss_lost,
        CASE WHEN accuracy_diverged IS NULL THEN 0 ELSE diverged END AS accuracy_lost
    FROM (
        SELECT
            s.sweep_id, s.name AS sweep_name, t.parameters, o.summary, p.replicates, p.diverged,
            k.best_point_ties AS ties,
            coalesce({{.Aggregate "validation_loss" 0}}, 0) AS loss_n,
            {{.Aggregate "validation_loss" 1}} AS loss,
            coalesce({{.Aggregate "test_accuracy" 0}}, 0) AS accuracy_n,
            {{.Aggregate "test_accuracy" 1}} AS accuracy,
            {{.Aggregate "test_accuracy" 2}} AS m2,
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
    sweep_id, sweep_name, {{.JSON "text" "parameters" "dataset"}}, {{.JSON "text" "parameters" "model"}}, 'single', 1, 0,
    {{.JSON "number" "summary" "validation_loss"}},
    {{.JSON "number" "summary" "test_accuracy"}},
    NULL,
    {{.JSON "integer" "summary" "parameter_count"}},
    {{.JSON "integer" "summary" "train_size"}},
    {{.JSON "integer" "summary" "test_size"}},
    {{.JSON "integer" "summary" "length"}},
    {{.JSON "integer" "summary" "classes"}},
    {{.JSON "integer" "summary" "depth"}},
    trial_index, {{.JSON "without" "parameters" "seed"}}, ties
FROM best_trials;

-- A row of accuracy_table whose data set is of the UCR archive, by its name of 2018 or 2015, which package archive
-- writes into the statement: Table 4 of the paper.
--   diverged            how many of its trials diverged
--   trial_index         the number of the single trial in its sweep; NULL for mean
CREATE VIEW ucr_table AS
SELECT * FROM accuracy_table
WHERE lower(replace(replace(replace(dataset, ' ', ''), '_', ''), '-', '')) IN (ARCHIVE_KEYS);

-- A row of accuracy_table whose data set is MNIST: Table 2 of the paper.
--   diverged            how many of its trials diverged
--   trial_index         the number of the single trial in its sweep; NULL for mean
CREATE VIEW mnist_table AS
SELECT * FROM accuracy_table
WHERE lower(replace(replace(replace(dataset, ' ', ''), '_', ''), '-', '')) IN ('mnist', 'permutedmnist');
