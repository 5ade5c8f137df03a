-- Executions whose workers vanished while they ran. grids.losses is how many of them end a trial, trials.losses how many a
-- trial has. Of an execution that is lost, charged says that it is one of them. executions.replaced says that another
-- started in its place while it ran: whether its worker vanished is to be found out.
ALTER TABLE grids  ADD COLUMN losses integer NOT NULL DEFAULT 3;
ALTER TABLE trials ADD COLUMN losses integer NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN replaced boolean NOT NULL DEFAULT FALSE;

CREATE INDEX executions_replaced ON executions (trial_no) WHERE replaced AND NOT charged AND NOT forgotten;
CREATE INDEX trials_losses ON trials (sweep_no, trial_index) WHERE losses > 0;

CREATE VIEW losses AS
SELECT s.sweep_id, t.trial_index, t.state, t.losses,
    (SELECT g.losses FROM grids AS g WHERE g.sweep_no = t.sweep_no AND g.first_index <= t.trial_index ORDER BY g.ordinal DESC LIMIT 1) AS limit_losses,
    e.execution, e.worker, e.started_at, e.ended_at AS lost_at
FROM trials AS t JOIN sweeps AS s USING (sweep_no) JOIN executions AS e USING (trial_no)
WHERE t.losses > 0 AND e.outcome = 'lost' AND e.charged AND NOT e.forgotten;
