# MariaDB 10.11 for tests: a fresh data folder with fsync on, reachable by a unix socket and
# 127.0.0.1, with TLS by a certificate of its own for "localhost". Exports DROM_TEST_MARIADB (a url,
# user root without password), DROM_TEST_MARIADB_SOCKET (a path) and DROM_TEST_MARIADB_CA (a file).
# The contract is in with_servers.sh.

server_packages() {
  echo mariadb-server openssl
}

server_start() {
  local dir=$1 port
  [[ -x /usr/sbin/mariadbd ]] || { echo "mariadb: mariadb-server is not installed" >&2; return 1; }
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$dir/key.pem" -out "$dir/cert.pem" 2>"$dir/log" || return 1
  # The server refuses to run as root.
  if [[ $EUID -eq 0 ]]; then chown -R mysql: "$dir"; fi
  run_as mysql mariadb-install-db --no-defaults --datadir="$dir/data" \
    --auth-root-authentication-method=normal --skip-test-db >>"$dir/log" 2>&1 || return 1
  port=$(free_port) || return 1
  (as_child mysql setpriv --pdeathsig TERM -- /usr/sbin/mariadbd --no-defaults --datadir="$dir/data" --bind-address=127.0.0.1 \
    --port="$port" --socket="$dir/socket" --pid-file="$dir/server.pid" --max-connections=200 \
    --skip-name-resolve --max-allowed-packet=64M --innodb-flush-log-at-trx-commit=1 --log-bin="$dir/data/binlog" \
    --binlog-format=ROW --server-id=1 --ssl-cert="$dir/cert.pem" --ssl-key="$dir/key.pem" \
    >>"$dir/log" 2>&1) &
  echo $! >"$dir/pid"  # TERM is its orderly end; it takes no INT
  wait_until 30 mariadb-admin --no-defaults -S "$dir/socket" -uroot ping || return 1
  export DROM_TEST_MARIADB="mysql://root@127.0.0.1:$port/"
  export DROM_TEST_MARIADB_SOCKET="$dir/socket"
  export DROM_TEST_MARIADB_CA="$dir/cert.pem"
}

server_stop() {
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) || return 0
  kill -TERM "$pid" 2>/dev/null || return 0
  if ! wait_until 15 eval "! kill -0 $pid"; then kill -KILL "$pid"; fi
  wait "$pid" 2>/dev/null
}
