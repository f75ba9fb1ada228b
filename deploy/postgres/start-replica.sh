#!/bin/sh
# Copies the primary the first time, then follows it.
set -eu

mkdir -p "$PGDATA"
chown -R postgres:postgres /var/lib/postgresql
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # What an interrupted copy left cannot be used.
  find "$PGDATA" -mindepth 1 -delete
  setpriv --reuid=postgres --regid=postgres --init-groups \
    pg_basebackup --pgdata="$PGDATA" --dbname='host=primary user=replica' --wal-method=stream --checkpoint=fast --write-recovery-conf
fi
chmod 700 "$PGDATA"
exec setpriv --reuid=postgres --regid=postgres --init-groups postgres -c hot_standby_feedback=on
