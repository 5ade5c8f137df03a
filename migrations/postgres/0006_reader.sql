-- What users ask in SQL runs by a login of its own, in sessions of its own: a session that becomes a weaker role can
-- become the stronger one again. The role of 0003, which the store's sessions became, loses its rights here; it
-- belongs to the whole server, so it stays.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'sweep_reader') THEN
        EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I REVOKE SELECT ON TABLES FROM sweep_reader', current_schema());
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM sweep_reader', current_schema());
        EXECUTE format('REVOKE ALL ON SCHEMA %I FROM sweep_reader', current_schema());
    END IF;
EXCEPTION
    WHEN insufficient_privilege OR undefined_object OR internal_error THEN NULL;
END
$$;

-- The login's name and password, in one row, which the store makes: see store/postgres/reader.go. Whoever may read it
-- can be that login, which reads results and nothing else; the login itself may not.
CREATE TABLE reader_login (
    only_row boolean PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    role     text    NOT NULL,
    password text    NOT NULL
);
