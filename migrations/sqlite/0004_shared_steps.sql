-- The curves of a trial are mostly measured at the same steps: from now on a curve with values and an empty
-- step_array has the steps of its trial's curve with ordinal 0.
DROP VIEW curves;

-- A row a point. A trial that took over a result shows its source's curves.
CREATE VIEW curves AS
SELECT s.sweep_id, t.trial_index, c.metric, p.step, p.value
FROM trials AS t
JOIN sweeps AS s USING (sweep_no)
JOIN curve_arrays AS c ON c.trial_no = coalesce(t.source_no, t.trial_no)
JOIN curve_arrays AS f ON f.trial_no = c.trial_no
    AND f.ordinal = CASE WHEN length(c.step_array) = 0 AND length(c.value_array) > 0 THEN 0 ELSE c.ordinal END
JOIN curve_points(f.step_array, c.value_array) AS p;
