-- Tables and columns get the words of the documentation. Rows and views are kept: the views read the tables by their new
-- names from now on.

-- The means over the replicates of each grid point; trial_no is one of them. An accuracy_m2 is the sum of the squared
-- deviations from the mean.
ALTER TABLE points RENAME TO point_aggregates;
ALTER INDEX points_pkey RENAME TO point_aggregates_pkey;
ALTER TABLE point_aggregates RENAME COLUMN contest_key TO group_key;
ALTER TABLE point_aggregates RENAME COLUMN sample_no TO trial_no;
ALTER TABLE point_aggregates RENAME COLUMN score TO score_mean;
ALTER TABLE point_aggregates RENAME COLUMN losses TO loss_n;
ALTER TABLE point_aggregates RENAME COLUMN loss TO loss_mean;
ALTER TABLE point_aggregates RENAME COLUMN accuracies TO accuracy_n;
ALTER TABLE point_aggregates RENAME COLUMN accuracy TO accuracy_mean;
ALTER TABLE point_aggregates RENAME COLUMN accuracy_spread TO accuracy_m2;

-- The best trial and the best grid point of each group, with how many others are exactly as good.
ALTER TABLE contests RENAME TO groups;
ALTER INDEX contests_pkey RENAME TO groups_pkey;
ALTER TABLE groups RENAME COLUMN contest_key TO group_key;
ALTER TABLE groups RENAME COLUMN best_no TO best_trial_no;
ALTER TABLE groups RENAME COLUMN best_index TO best_trial_index;
ALTER TABLE groups RENAME COLUMN best_score TO best_trial_score;
ALTER TABLE groups RENAME COLUMN best_ties TO best_trial_ties;
ALTER TABLE groups RENAME COLUMN lead_key TO best_point_key;
ALTER TABLE groups RENAME COLUMN lead_replicates TO best_point_replicates;
ALTER TABLE groups RENAME COLUMN lead_index TO best_point_index;
ALTER TABLE groups RENAME COLUMN lead_score TO best_point_score;
ALTER TABLE groups RENAME COLUMN lead_ties TO best_point_ties;

-- A row for each grid point and metric: the mean over the point's completed trials, their sample standard deviation,
-- and the smallest and largest value. Trials that diverged are excluded and counted separately. A trial that the sweep
-- has twice counts once.
CREATE VIEW point_means AS
SELECT
    m.sweep_id, m.sweep_name, f.dataset, f.model, m.metric, m.n, m.mean, m.sd, m.smallest, m.largest,
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
