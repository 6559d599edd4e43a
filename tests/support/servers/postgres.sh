# PostgreSQL 15 for tests: a fresh cluster with fsync on, reachable by a unix socket and 127.0.0.1.
# Exports DROM_TEST_POSTGRES (a libpq conninfo). The contract is in with_servers.sh.

server_packages() {
  echo postgresql-15
}

server_start() {
  local dir=$1 bin=/usr/lib/postgresql/15/bin port
  [[ -x $bin/postgres ]] || { echo "postgres: postgresql-15 is not installed" >&2; return 1; }
  # The server refuses to run as root.
  if [[ $EUID -eq 0 ]]; then chown postgres: "$dir"; fi
  run_as postgres "$bin/initdb" -D "$dir/data" -A trust -U postgres -E UTF8 --locale=C.UTF-8 --no-sync \
    >"$dir/log" 2>&1 || return 1
  port=$(free_port) || return 1
  cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$dir'
fsync = on
wal_level = logical
max_connections = 200
log_timezone = UTC
timezone = UTC
CONF
  (as_child postgres "$bin/postgres" -D "$dir/data" >>"$dir/log" 2>&1) &
  echo $! >"$dir/pid"
  wait_until 30 "$bin/pg_isready" -q -h 127.0.0.1 -p "$port" -U postgres || return 1
  export DROM_TEST_POSTGRES="host=127.0.0.1 port=$port user=postgres dbname=postgres"
  export DROM_TEST_POSTGRES_SOCKET="host=$dir port=$port user=postgres dbname=postgres"
}

server_stop() {
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) || return 0
  # INT is a fast shutdown: it does not wait for clients. QUIT is the last resort.
  kill -INT "$pid" 2>/dev/null || return 0
  if ! wait_until 10 eval "! kill -0 $pid"; then kill -QUIT "$pid"; fi
  wait "$pid" 2>/dev/null
}
