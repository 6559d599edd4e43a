#!/usr/bin/env bash
# with_servers.sh COMMAND [ARGS]: runs a command while the real servers of tests/support/servers run,
# each in a private folder on a private port, and stops them whatever happens.
#
# Each servers/NAME.sh defines
#   server_packages        prints the Debian packages that it needs
#   server_start DIR       starts it below DIR, waits until it answers, exports DROM_TEST_NAME;
#                          long-lived programs are started by `as_child USER PROGRAM ARGS... &`
#   server_stop DIR        stops it; must be harmless when it was never started
# DROM_SERVERS="a b" starts only those; DROM_SERVERS="" none.
set -uo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
folder=$(mktemp -d "${TMPDIR:-/tmp}/drom-servers.XXXXXX")
chmod 755 "$folder"  # a server runs as its own user and must get through
started=()

# as_child USER PROGRAM ARGS...: becomes the program, as USER when we are root, and dies with us even
# when we are killed. SIGINT is a fast stop for all servers that we run.
as_child() {
  local user=$1 switch=()
  shift
  trap - INT QUIT  # bash ignores them in background jobs
  [[ $EUID -ne 0 ]] || switch=(--reuid "$user" --regid "$user" --init-groups)
  exec setpriv --pdeathsig INT "${switch[@]}" -- "$@"
}

# run_as USER PROGRAM ARGS...: the same for a program that ends by itself.
run_as() {
  (as_child "$@")
}

# keep_running DIR USER PROGRAM ARGS...: as_child, and again whenever it dies, so that tests may kill it;
# until DIR/stopped is there, or with_servers.sh is gone. Its process id is in DIR/pid.
keep_running() {
  local dir=$1 guard
  shift
  tail --pid=$$ -f /dev/null &
  guard=$!
  while [[ ! -e $dir/stopped ]] && kill -0 $$ 2>/dev/null; do
    (as_child "$@") &
    echo $! >"$dir/pid"
    wait -n
    kill -0 $$ 2>/dev/null || kill -KILL "$(cat "$dir/pid")"
  done
  kill "$guard" 2>/dev/null
}

# free_port: a TCP port of 127.0.0.1 that nobody listens on at this moment, below those that the
# system gives to outgoing connections: a server that is restarted finds it free again.
free_port() {
  python3 -c 'import random, socket
while True:
    port = random.randrange(20000, 32000)
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break'
}

# wait_until SECONDS COMMAND...: true as soon as the command is.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}

# shellcheck source=/dev/null
call() {
  unset -f server_packages server_start server_stop
  . "$here/servers/$1.sh"
  "$2" "$folder/$1"
}

stop_all() {
  local name
  trap '' INT TERM HUP
  for name in "${started[@]}"; do
    call "$name" server_stop
  done
  started=()
  rm -rf "$folder"
}
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

names=${DROM_SERVERS-$(cd "$here/servers" && ls -- *.sh 2>/dev/null | sed 's/\.sh$//')}
DROM_SERVERS_FAILED=
for name in $names; do
  mkdir -p "$folder/$name"
  started+=("$name")
  if ! call "$name" server_start; then
    echo "with_servers: $name did not start" >&2
    tail -n 20 "$folder/$name/log" >&2 2>/dev/null
    DROM_SERVERS_FAILED+="$name "
  fi
done
export DROM_SERVERS_FAILED

# In the background, so that a signal reaches our traps while the command runs.
(trap - INT QUIT && exec setpriv --pdeathsig TERM -- "$@") &
child=$!
trap 'kill -INT $child 2>/dev/null; wait $child; exit 130' INT
trap 'kill -TERM $child 2>/dev/null; wait $child; exit 143' TERM HUP
wait $child
