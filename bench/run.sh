#!/usr/bin/env bash
# run.sh BUILD [REGEX]: runs all benchmarks, or those whose name matches. A missed promise is a failure.
set -uo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
build=$1 wanted=${2:-.} status=0 ran=0
export DROM_PROGRAM=$build/bin/drom

for program in "$build"/bin/*_bench "$here"/*_bench.py; do
  [[ -x $program && $(basename "$program") =~ $wanted ]] || continue
  echo "== $(basename "$program")"
  "$program" || status=1
  ran=$((ran + 1))
done
((ran > 0)) || { echo "bench: nothing matches '$wanted'" >&2; status=1; }
exit $status
