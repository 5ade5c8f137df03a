#!/usr/bin/env bash
# A whole cluster on this machine without containers: a private Postgres, a NATS
# server, a coordinator and two workers, all on the loopback interface, gone
# with Ctrl-C. Its files are in DIR and are used again the next time.
#
#   deploy/local-cluster.sh [DIR]        (default: .cluster)
#
# SWEEP_DATA names the directory of the data sets, SLOTS the slots of a worker,
# PORT the first of five ports (default 4222): NATS, Postgres, and the health of
# the coordinator and the workers.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-.cluster}"
dir=$(cd "${1:-.cluster}" && pwd)
echo '*' >"$dir/.gitignore"
port=${PORT:-4222}
slots=${SLOTS:-$(( ($(nproc) + 1) / 2 ))}
die() { echo "local-cluster: $*" >&2; exit 1; }

# The server programs of Postgres: Debian keeps them out of PATH.
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1 || true)
if [ -z "$bin" ] || [ ! -x "$bin/initdb" ]; then
  command -v initdb >/dev/null || die 'no Postgres server here: run .ci/install, or install the package "postgresql"'
  bin=$(dirname "$(command -v initdb)")
fi
# Postgres refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then
  user=$(id -un postgres 2>/dev/null || echo nobody)
  as=(setpriv --reuid="$user" --regid="$(id -gn "$user")" --clear-groups)
fi

echo "building the program" >&2
(cd "$root" && go build -o "$dir/sweep" ./cmd/sweep)

# The database's files are its user's alone; a short socket path has no limits to meet.
database=$dir/postgres
sockets=$(mktemp -d /tmp/sweep-cluster.XXXXXX)
parts=()
stop() {
  trap - EXIT INT TERM
  echo "stopping" >&2
  # Workers first, so that what they report last is still recorded.
  for (( i = ${#parts[@]} - 1; i >= 0; i-- )); do
    kill "${parts[i]}" 2>/dev/null || true
    wait "${parts[i]}" 2>/dev/null || true
  done
  rm -rf "$sockets"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ ! -e "$database/PG_VERSION" ]; then
  echo "making the database" >&2
  mkdir -p "$database"
  if [ ${#as[@]} -gt 0 ]; then chown "$user" "$database"; fi
  chmod 700 "$database"
  "${as[@]}" "$bin/initdb" -D "$database" -U sweep -A trust -E UTF8 --locale=C >"$dir/initdb.log" 2>&1 || die "initdb failed: see $dir/initdb.log"
fi
if [ ${#as[@]} -gt 0 ]; then
  chown -R "$user" "$database" "$sockets"
  # Its user must be able to reach the files: every folder above them.
  "${as[@]}" test -x "$database" || die "user $user cannot reach $database: name a directory such as /var/tmp/cluster"
fi
setsid "${as[@]}" "$bin/postgres" -D "$database" -k "$sockets" -c listen_addresses=127.0.0.1 -p $((port + 1)) >"$dir/postgres.log" 2>&1 &
parts+=($!)
until "$bin/pg_isready" -q -h 127.0.0.1 -p $((port + 1)); do
  kill -0 "${parts[0]}" 2>/dev/null || die "Postgres ended: see $dir/postgres.log"
  sleep 0.1
done
"$bin/psql" -h 127.0.0.1 -p $((port + 1)) -U sweep -d postgres -Atq -c "SELECT 1 FROM pg_database WHERE datname = 'sweep'" | grep -q 1 ||
  "$bin/createdb" -h 127.0.0.1 -p $((port + 1)) -U sweep sweep

export SWEEP_NATS=nats://127.0.0.1:$port
start() { # NAME COMMAND…
  local name=$1
  shift
  # Ctrl-C is for this script alone, which ends the parts in order.
  SWEEP_HOME=$dir/$name setsid "$dir/sweep" "$@" >>"$dir/$name.log" 2>&1 &
  parts+=($!)
}
start nats nats --listen "127.0.0.1:$port" --dir "$dir/jetstream"
SWEEP_STORE="postgres://sweep@127.0.0.1:$((port + 1))/sweep" start coordinator coordinator --listen "127.0.0.1:$((port + 2))"
data=${SWEEP_DATA:-$dir/data}
for i in 1 2; do
  start "worker-$i" worker --name "worker-$i" --slots "$slots" --data "$data" --listen "127.0.0.1:$((port + 2 + i))"
done
for i in 0 1 2; do
  until curl -sf -o /dev/null "http://127.0.0.1:$((port + 2 + i))/readyz"; do
    kill -0 "${parts[@]}" 2>/dev/null || die "a part ended: see $dir/*.log"
    sleep 0.1
  done
done

cat >&2 <<EOF
The cluster is up; its logs are $dir/*.log. In another terminal:

  export SWEEP_NATS=$SWEEP_NATS SWEEP_DATA=$data PATH=$dir:\$PATH
  sweep workers
  sweep submit examples/cbf.yaml --watch
  sweep table ucr

Postgres: postgres://sweep@127.0.0.1:$((port + 1))/sweep
Metrics:  http://127.0.0.1:$((port + 2))/metrics

Ctrl-C stops it.
EOF
# Until a part ends by itself, or somebody stops the script.
wait -n "${parts[@]}" || true
die "a part ended: see $dir/*.log"
