-- Trials of W&B's hyperband have marks while they run: bands has the positions, reached the number of values so far, and best
-- the best of them. For the median bands is empty.
ALTER TABLE marks ADD COLUMN bands TEXT NOT NULL DEFAULT '';
ALTER TABLE marks ADD COLUMN reached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE marks ADD COLUMN best REAL NOT NULL DEFAULT 0;

-- The decisions that a trial is to stop, which workers are told until it has: its value at a band was worse than the threshold,
-- which was that of so many trials.
CREATE TABLE stops (
    trial_no INTEGER PRIMARY KEY REFERENCES trials,
    reason TEXT NOT NULL,
    band INTEGER NOT NULL,
    value REAL NOT NULL,
    threshold REAL NOT NULL,
    trials INTEGER NOT NULL,
    decided_at TEXT NOT NULL
);
