#!/bin/sh
# The PostgreSQL image runs this once, when it creates the primary: allows a replica to follow it.
set -eu

psql --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --set=password="$REPLICATION_PASSWORD" --set=ON_ERROR_STOP=1 <<'SQL'
create role replica replication login password :'password';
SQL
echo 'host replication replica all scram-sha-256' >>"$PGDATA/pg_hba.conf"
