# RabbitMQ for tests: a fresh node with a name, ports, an epmd and a data folder of its own; AMQP,
# AMQP over TLS and management listen on 127.0.0.1 only. Exports DROM_TEST_RABBITMQ (an amqp url),
# _TLS (an amqps url), _CA, _CLIENT_CERT and _CLIENT_KEY (PEM files), _MANAGEMENT (an http url),
# _CTL (rabbitmqctl for this node) and _PID (a file with its process id). The contract is in
# with_servers.sh.

server_packages() {
  echo rabbitmq-server openssl curl
}

# A certificate of the authority in $1: rabbitmq_certificate DIR NAME SUBJECT-ALT-NAME
rabbitmq_certificate() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" \
    -keyout "$1/$2.key" -out "$1/$2.csr" 2>>"$1/log" &&
    openssl x509 -req -in "$1/$2.csr" -CA "$1/ca.pem" -CAkey "$1/ca.key" -CAcreateserial -days 2 \
      -extfile <(echo "subjectAltName=$3") -out "$1/$2.pem" 2>>"$1/log"
}

server_start() {
  local dir=$1 bin port management tls epmd dist
  bin=$(dpkg -L rabbitmq-server 2>/dev/null | grep -m1 'lib/rabbitmq/bin/rabbitmqctl$') ||
    { echo "rabbitmq: rabbitmq-server is not installed" >&2; return 1; }
  bin=$(dirname "$bin")
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj "/CN=drom test authority" -keyout "$dir/ca.key" -out "$dir/ca.pem" 2>"$dir/log" || return 1
  rabbitmq_certificate "$dir" server DNS:localhost || return 1
  rabbitmq_certificate "$dir" client DNS:client || return 1
  port=$(free_port) && management=$(free_port) && tls=$(free_port) && epmd=$(free_port) &&
    dist=$(free_port) || return 1
  cat >"$dir/rabbitmq.conf" <<CONF
listeners.tcp.1 = 127.0.0.1:$port
listeners.ssl.1 = 127.0.0.1:$tls
ssl_options.cacertfile = $dir/ca.pem
ssl_options.certfile = $dir/server.pem
ssl_options.keyfile = $dir/server.key
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = false
max_message_size = 16777216
management.tcp.ip = 127.0.0.1
management.tcp.port = $management
CONF
  echo '[rabbitmq_management].' >"$dir/enabled_plugins"
  if [[ $EUID -eq 0 ]]; then chown -R rabbitmq: "$dir"; fi
  local settings=(
    HOME="$dir" ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT="$epmd"
    RABBITMQ_NODENAME="drom$port@localhost" RABBITMQ_DIST_PORT="$dist"
    RABBITMQ_CONFIG_FILE="$dir/rabbitmq" RABBITMQ_ENABLED_PLUGINS_FILE="$dir/enabled_plugins"
    RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_MNESIA_BASE="$dir/mnesia"
    RABBITMQ_LOG_BASE="$dir/logs" RABBITMQ_PID_FILE="$dir/server.pid"
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
  )
  # An epmd of ours: one that the node starts would outlive us.
  (cd "$dir" && as_child rabbitmq env "${settings[@]}" epmd >>"$dir/log" 2>&1 </dev/null) &
  echo $! >"$dir/epmd.pid"
  wait_until 10 env "${settings[@]}" epmd -names || return 1
  # TERM is its orderly end; it takes no INT.
  (cd "$dir" && keep_running "$dir" rabbitmq setpriv --pdeathsig TERM -- env "${settings[@]}" \
    "$bin/rabbitmq-server" >>"$dir/log" 2>&1 </dev/null) &
  # For tests that raise an alarm: rabbitmqctl with the settings of this node.
  {
    echo '#!/usr/bin/env bash'
    [[ $EUID -ne 0 ]] || echo 'switch=(setpriv --reuid rabbitmq --regid rabbitmq --init-groups)'
    printf 'cd %q && exec "${switch[@]}" env' "$dir"
    printf ' %q' "${settings[@]}" "$bin/rabbitmqctl"
    echo ' "$@"'
  } >"$dir/ctl"
  chmod 755 "$dir/ctl"
  wait_until 60 curl -fsu guest:guest -o /dev/null "http://127.0.0.1:$management/api/overview" ||
    return 1
  export DROM_TEST_RABBITMQ="amqp://guest:guest@127.0.0.1:$port/"
  export DROM_TEST_RABBITMQ_TLS="amqps://guest:guest@localhost:$tls/"
  export DROM_TEST_RABBITMQ_CA="$dir/ca.pem"
  export DROM_TEST_RABBITMQ_CLIENT_CERT="$dir/client.pem"
  export DROM_TEST_RABBITMQ_CLIENT_KEY="$dir/client.key"
  export DROM_TEST_RABBITMQ_MANAGEMENT="http://guest:guest@127.0.0.1:$management"
  export DROM_TEST_RABBITMQ_CTL="$dir/ctl"
  export DROM_TEST_RABBITMQ_PID="$dir/server.pid"
}

server_stop() {
  local pid
  touch "$1/stopped"
  pid=$(cat "$1/server.pid" 2>/dev/null || cat "$1/pid" 2>/dev/null)
  if [[ -n $pid ]] && kill -TERM "$pid" 2>/dev/null; then
    if ! wait_until 20 eval "! kill -0 $pid"; then kill -KILL "$pid"; fi
  fi
  pid=$(cat "$1/epmd.pid" 2>/dev/null) || return 0
  kill -TERM "$pid" 2>/dev/null
  return 0
}
