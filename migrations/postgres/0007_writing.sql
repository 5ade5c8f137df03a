-- What each trial costs on its way.

-- Results to take over are found by the beginning of their fingerprint, which tells them apart as well, in an index of
-- half the size.
DROP INDEX trials_reuse;
CREATE INDEX trials_reuse ON trials (substr(fingerprint, 1, 16), trial_no) WHERE state = 'completed' AND source_no IS NULL;

-- A trial is written with its sweep locked: looking for the sweep again cost a third of adding a trial.
ALTER TABLE trials DROP CONSTRAINT trials_sweep_no_fkey, DROP CONSTRAINT trials_source_no_fkey;

-- A trial's row is written at least three times (pending, queued, ended): with room for that on its page, an update
-- neither looks for another page nor logs the whole row.
ALTER TABLE trials SET (fillfactor = 40);
