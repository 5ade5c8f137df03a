-- A sweep with canary queues the first trial of a class alone; it is paused after so many equal errors in a row, 0 is no
-- bound. The newest file of a sweep says both. Sweeps of earlier programs have neither.
ALTER TABLE sweeps ADD COLUMN canary BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE sweeps ADD COLUMN most_errors INTEGER NOT NULL DEFAULT 0;

-- Whether a trial of the class has completed, and how many of those that ended last failed with errors of one cause: their
-- text without numbers and paths. error is the last one, of trial error_index.
ALTER TABLE classes ADD COLUMN tried BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE classes ADD COLUMN errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE classes ADD COLUMN cause TEXT NOT NULL DEFAULT '';
ALTER TABLE classes ADD COLUMN error TEXT NOT NULL DEFAULT '';
ALTER TABLE classes ADD COLUMN error_index INTEGER NOT NULL DEFAULT 0;
