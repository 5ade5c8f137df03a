-- Whether nothing else ran in the worker beside an execution: if such a worker vanishes, its trial is to blame.
ALTER TABLE executions ADD COLUMN alone INTEGER NOT NULL DEFAULT FALSE;
