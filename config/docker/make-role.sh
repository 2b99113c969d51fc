#!/bin/sh
# Run by the PostgreSQL image when it has made its database: gives it to a role of the daemons' own. The superuser then has no
# password, so nobody is it but who is in the container.
set -e
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname="$POSTGRES_DB" <<'END'
\set password `cat "$POSTGRES_PASSWORD_FILE"`
CREATE ROLE cryobridge LOGIN PASSWORD :'password';
ALTER DATABASE cryobridge OWNER TO cryobridge;
ALTER ROLE CURRENT_USER PASSWORD NULL;
END
