-- The trials whose curves were removed (sweep prune --curves): no other sweep reuses their results.
CREATE TABLE pruned_curves (
    trial_no bigint PRIMARY KEY
);
