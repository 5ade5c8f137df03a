-- When a sweep that was paused because its trials fail was last retried or extended. Trials that were queued before may have
-- run what has been mended since: their errors do not pause the sweep again.
ALTER TABLE sweeps ADD COLUMN retried_at TEXT;
