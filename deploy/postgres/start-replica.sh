#!/bin/sh
# Copies the primary the first time, and follows it from then on.
set -eu

mkdir -p "$PGDATA"
chown -R postgres:postgres /var/lib/postgresql
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # A copy that was interrupted is of no use.
  find "$PGDATA" -mindepth 1 -delete
  setpriv --reuid=postgres --regid=postgres --init-groups \
    pg_basebackup --pgdata="$PGDATA" --dbname='host=primary user=replica' --wal-method=stream --checkpoint=fast --write-recovery-conf
fi
chmod 700 "$PGDATA"
exec setpriv --reuid=postgres --regid=postgres --init-groups postgres -c hot_standby_feedback=on
