#!/bin/sh
# Makes what docker-compose.yml needs beside it and what is missing there: secrets/, site/ with a configuration for the simulated
# service, and lims/. What is there stays as it is.
set -eu
cd "$(dirname "$0")/../.."

umask 022
[ -d secrets ] || mkdir -m 700 secrets
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
secret() { [ -s "secrets/$1" ] || printf '%s' "$2" >"secrets/$1"; }
for name in db-password queue-password console-token; do secret $name "$(random)"; done
secret database-url "postgres://cryobridge:$(cat secrets/db-password)@postgres/cryobridge"
secret service-secret simulator-secret

mkdir -p site
[ -e site/cryobridge.yaml ] || cp config/docker/cryobridge.yaml site/cryobridge.yaml

# The containers write as user 1000.
[ -d lims ] || mkdir -m 750 lims
if [ "$(ls -nd lims | awk '{ print $3 }')" != 1000 ] && ! chown 1000:1000 lims 2>/dev/null; then
  echo "The folder lims has to belong to the containers' user. Run: sudo chown 1000:1000 lims" >&2
  exit 1
fi
