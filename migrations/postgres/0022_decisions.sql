-- Trials of W&B's hyperband have marks while they run: bands has the positions, reached the number of values so far, and best
-- the best of them. For the median bands is empty.
ALTER TABLE marks ADD COLUMN bands text NOT NULL DEFAULT '';
ALTER TABLE marks ADD COLUMN reached bigint NOT NULL DEFAULT 0;
ALTER TABLE marks ADD COLUMN best double precision NOT NULL DEFAULT 0;

-- The decisions that a trial is to stop, which workers are told until it has: its value at a band was worse than the threshold,
-- which was that of so many trials.
CREATE TABLE stops (
    trial_no bigint PRIMARY KEY,
    reason text NOT NULL,
    band bigint NOT NULL,
    value double precision NOT NULL,
    threshold double precision NOT NULL,
    trials bigint NOT NULL,
    decided_at timestamptz NOT NULL
);
