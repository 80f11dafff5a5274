#!/bin/sh
# Run once by PostgreSQL's image, as its superuser, when the database is made: the server's own role owns its database
# and nothing else, so that a hole in the server is none in the machine.
set -eu
psql --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv password TENGEN_DATABASE_PASSWORD
CREATE ROLE tengen LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
CREATE DATABASE tengen OWNER tengen;
REVOKE CONNECT, TEMPORARY ON DATABASE tengen FROM PUBLIC;
REVOKE CONNECT ON DATABASE postgres FROM PUBLIC;
SQL
