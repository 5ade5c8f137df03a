-- Trials that leave their checkpoint: what they have in common with those that can continue from it, and how far they
-- train. The checkpoint is among the artifacts of a trial that has completed.
CREATE TABLE lineages (
    trial_no bigint PRIMARY KEY,
    lineage text NOT NULL,
    budget bigint NOT NULL
);
CREATE INDEX lineages_by_budget ON lineages (lineage, budget);
