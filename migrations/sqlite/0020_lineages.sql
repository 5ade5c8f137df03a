-- Trials that leave their checkpoint: what they have in common with those that can continue from it, and how far they
-- train. The checkpoint is among the artifacts of a trial that has completed.
CREATE TABLE lineages (
    trial_no INTEGER PRIMARY KEY REFERENCES trials,
    lineage TEXT NOT NULL,
    budget INTEGER NOT NULL
);
CREATE INDEX lineages_by_budget ON lineages (lineage, budget);
