-- What sweeps may use: trials that run to an end, and milliseconds of their executions; 0 is no bound. Spent is what they
-- have used. Sweeps share a budget that has a name.
CREATE TABLE budgets (
    budget_no INTEGER PRIMARY KEY,
    name TEXT UNIQUE,
    trials INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL,
    spent_trials INTEGER NOT NULL DEFAULT 0,
    spent_milliseconds INTEGER NOT NULL DEFAULT 0
);

ALTER TABLE sweeps ADD COLUMN budget_no INTEGER REFERENCES budgets;
CREATE INDEX sweeps_by_budget ON sweeps (budget_no) WHERE budget_no IS NOT NULL;

-- Who submitted a sweep, and why.
ALTER TABLE sweeps ADD COLUMN asked_by TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
