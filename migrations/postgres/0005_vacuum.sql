-- A trial leaves the index of pending trials when it is queued, but its entry stays until the table is vacuumed, and
-- whoever looks for pending trials walks over it. So vacuum trials after so many changes, not after a share of the
-- table. With autovacuum_naptime at 10s instead of a minute the cost stays the same to the last trial of a large sweep.
ALTER TABLE trials SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
