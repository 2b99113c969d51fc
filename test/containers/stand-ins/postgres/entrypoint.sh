#!/bin/sh
# Makes the database on the first start, with a server that listens on its socket alone, then becomes the server.
set -eu
if [ "$(id -u)" = 0 ]; then
  chown -R postgres:postgres "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
fi
: "${POSTGRES_USER:=postgres}" "${POSTGRES_DB:=$POSTGRES_USER}"
export POSTGRES_USER POSTGRES_DB
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  password=${POSTGRES_PASSWORD:-$(cat "$POSTGRES_PASSWORD_FILE")}
  printf '%s\n' "$password" >/tmp/password
  # shellcheck disable=SC2086 # several words
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password ${POSTGRES_INITDB_ARGS:-}
  rm /tmp/password
  # As it stores passwords: 13 by md5, unless initdb was told otherwise.
  echo "host all all all $(postgres -D "$PGDATA" -C password_encryption)" >>"$PGDATA/pg_hba.conf"
  pg_ctl --wait --options="-c listen_addresses='' -c unix_socket_directories=/run/postgresql" start
  [ "$POSTGRES_DB" = postgres ] || psql --host=/run/postgresql --username="$POSTGRES_USER" --dbname=postgres --command="CREATE DATABASE \"$POSTGRES_DB\""
  export PGHOST=/run/postgresql
  for script in /docker-entrypoint-initdb.d/*.sh; do [ ! -e "$script" ] || sh "$script"; done
  unset PGHOST
  pg_ctl --wait --mode=fast stop
fi
exec "$@" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql
