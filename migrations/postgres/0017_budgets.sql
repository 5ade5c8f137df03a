-- What sweeps may use: trials that run to an end, and milliseconds of their executions; 0 is no bound. Spent is what they
-- have used. Sweeps share a budget that has a name.
CREATE TABLE budgets (
    budget_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text UNIQUE,
    trials bigint NOT NULL,
    milliseconds bigint NOT NULL,
    spent_trials bigint NOT NULL DEFAULT 0,
    spent_milliseconds bigint NOT NULL DEFAULT 0
);

ALTER TABLE sweeps ADD COLUMN budget_no bigint REFERENCES budgets;
CREATE INDEX sweeps_by_budget ON sweeps (budget_no) WHERE budget_no IS NOT NULL;

-- Who submitted a sweep, and why.
ALTER TABLE sweeps ADD COLUMN asked_by text NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN purpose text NOT NULL DEFAULT '';
