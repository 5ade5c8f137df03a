#!/usr/bin/env bash
# Makes the database of a cluster and the login of its coordinators, which owns
# it and is no administrator. Run it as one, as psql finds the server (PGHOST, …):
#
#   SWEEP_PASSWORD=… deploy/postgres/roles.sh [DATABASE] [LOGIN]      (default: sweep sweep)
#
# From Postgres 16 on CREATEROLE lets a role manage those that it made and no
# others: the coordinator then makes the login of users' queries by itself. On an
# older server it would be almost an administrator's right, and is not given: run
# "sweep migrate --store … | psql" as an administrator once. It may be run again.
set -euo pipefail
psql -X -q -v ON_ERROR_STOP=1 -v database="${1:-sweep}" -v login="${2:-sweep}" -v password="${SWEEP_PASSWORD:?set the password of the coordinators}" \
  -d "${PGDATABASE:-postgres}" <<'SQL'
SELECT current_setting('server_version_num')::integer >= 160000 AS contained \gset
SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'login') AS new \gset
\if :new
  CREATE ROLE :"login";
\endif
-- The server keeps what proves the password, not the password; nor should its log.
SELECT current_setting('is_superuser')::boolean AS super \gset
\if :super
  SET log_statement = none;
\endif
ALTER ROLE :"login" LOGIN PASSWORD :'password';
\if :contained
  ALTER ROLE :"login" CREATEROLE;
\endif
SELECT NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database') AS new \gset
\if :new
  CREATE DATABASE :"database" OWNER :"login";
\endif
-- Nobody else's logins have any business in it.
REVOKE CONNECT, TEMPORARY ON DATABASE :"database" FROM PUBLIC;
\connect :"database"
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT ALL ON SCHEMA public TO :"login";
SQL
