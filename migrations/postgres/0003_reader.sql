-- The role that the queries of users run as, if this database's owner may make roles: it reads and nothing else.
-- Without it they run as the owner, in a transaction that is read-only all the same.
-- The role belongs to the whole server: another database may have made it.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'sweep_reader') THEN
        CREATE ROLE sweep_reader NOLOGIN;
    END IF;
EXCEPTION
    WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
END
$$;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'sweep_reader') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO sweep_reader', current_schema());
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO sweep_reader', current_schema());
        EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT ON TABLES TO sweep_reader', current_schema());
        GRANT sweep_reader TO CURRENT_USER;
    END IF;
EXCEPTION
    WHEN insufficient_privilege OR duplicate_object OR unique_violation OR internal_error THEN NULL;
END
$$;
