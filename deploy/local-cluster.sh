#!/usr/bin/env bash
# A whole cluster on this machine without containers: a private Postgres, a NATS
# server, two coordinators, of which one is active, and two workers, all on the
# loopback interface, gone with Ctrl-C. A part that ends is started again; its
# process is in DIR/NAME.pid. The files are used again the next time.
#
#   deploy/local-cluster.sh [DIR]        (default: .cluster)
#
# SWEEP_DATA names the directory of the data sets, SLOTS the slots of a worker,
# PORT the first of six ports (default 4222): NATS, Postgres, and the health of
# the coordinators and the workers. SWEEP names the program; by default it is built.
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

rm -f "$dir/sweep" # go build would write into what a link names
if [ -n "${SWEEP:-}" ]; then
  ln -s "$(realpath "$SWEEP")" "$dir/sweep"
else
  echo "building the program" >&2
  (cd "$root" && go build -o "$dir/sweep" ./cmd/sweep)
fi

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

start() { # NAME COMMAND…
  keep "$@" &
  parts+=($!)
}
# keep runs a part and starts it again when it ends, unless it does not last. It waits
# longer each time: Postgres does not start before the last process of a killed one ended.
keep() { # NAME COMMAND…
  local name=$1 child='' short=0 since
  shift
  trap 'kill "$child" 2>/dev/null; wait "$child"; exit' TERM
  while [ "$short" -lt 6 ]; do
    since=$SECONDS
    # Ctrl-C is for this script alone, which ends the parts in order.
    setsid "$@" >>"$dir/$name.log" 2>&1 &
    child=$!
    echo "$child" >"$dir/$name.pid.new" && mv "$dir/$name.pid.new" "$dir/$name.pid" # whole whenever it is read
    wait "$child" || true
    if [ $((SECONDS - since)) -lt 3 ]; then short=$((short + 1)); else short=0; fi
    sleep "$short.5"
  done
}
# alive ends the script if a part does not last.
alive() {
  for part in "${parts[@]}"; do
    kill -0 "$part" 2>/dev/null || die "a part ends again and again: see $dir/*.log"
  done
}

if [ ! -e "$database/PG_VERSION" ]; then
  echo "making the database" >&2
  mkdir -p "$database"
  if [ ${#as[@]} -gt 0 ]; then chown "$user" "$database"; fi
  chmod 700 "$database"
  # Its administrator comes by the socket, which only this user reaches; the network takes passwords.
  "${as[@]}" "$bin/initdb" -D "$database" -U postgres --auth-local=trust --auth-host=scram-sha-256 -E UTF8 --locale=C >"$dir/initdb.log" 2>&1 ||
    die "initdb failed: see $dir/initdb.log"
  (umask 077 && echo "127.0.0.1:*:*:sweep:$(head -c 18 /dev/urandom | base64 | tr '+/' 'ab')" >"$dir/pgpass")
fi
if [ ${#as[@]} -gt 0 ]; then
  chown -R "$user" "$database" "$sockets"
  # Its user must be able to reach the files: every folder above them.
  "${as[@]}" test -x "$database" || die "user $user cannot reach $database: name a directory such as /var/tmp/cluster"
fi
start postgres "${as[@]}" "$bin/postgres" -D "$database" -k "$sockets" -c listen_addresses=127.0.0.1 -p $((port + 1))
until "$bin/pg_isready" -q -h 127.0.0.1 -p $((port + 1)); do
  alive
  sleep 0.1
done
admin=(env PGHOST="$sockets" PGPORT=$((port + 1)) PGUSER=postgres PATH="$bin:$PATH")
SWEEP_PASSWORD=$(cut -d: -f5 "$dir/pgpass") "${admin[@]}" "$root/deploy/postgres/roles.sh" 2>"$dir/roles.log" || die "the login of the coordinator: see $dir/roles.log"
store=postgres://sweep@127.0.0.1:$((port + 1))/sweep
export PGPASSFILE=$dir/pgpass
"$dir/sweep" migrate --store "$store" 2>"$dir/migrate.log" | "${admin[@]}" psql -X -q -v ON_ERROR_STOP=1 -d sweep 2>>"$dir/migrate.log" ||
  die "the schema of the database: see $dir/migrate.log"

export SWEEP_NATS=nats://127.0.0.1:$port
daemon() { # NAME COMMAND…
  local name=$1
  shift
  start "$name" env SWEEP_HOME="$dir/$name" "$dir/sweep" "$@"
}
daemon nats nats --listen "127.0.0.1:$port" --dir "$dir/jetstream"
data=${SWEEP_DATA:-$dir/data}
for i in 1 2; do
  SWEEP_STORE=$store daemon "coordinator-$i" coordinator --listen "127.0.0.1:$((port + 1 + i))"
done
for i in 1 2; do
  daemon "worker-$i" worker --name "worker-$i" --slots "$slots" --data "$data" --listen "127.0.0.1:$((port + 3 + i))"
done
for i in 2 3 4 5; do
  until curl -sf -o /dev/null "http://127.0.0.1:$((port + i))/readyz"; do
    alive
    sleep 0.1
  done
done

cat >&2 <<EOF
The cluster is up; its logs are $dir/*.log. In another terminal:

  export SWEEP_NATS=$SWEEP_NATS SWEEP_DATA=$data PATH=$dir:\$PATH
  sweep workers
  sweep submit examples/cbf.yaml --watch
  sweep table ucr

Postgres: $store, with PGPASSFILE=$dir/pgpass
Metrics:  http://127.0.0.1:$((port + 2))/metrics and $((port + 3)) of the coordinators

Ctrl-C stops it.
EOF
# Until a part does not last, or somebody stops the script.
wait -n "${parts[@]}" || true
alive
