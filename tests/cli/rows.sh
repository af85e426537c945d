#!/bin/bash
# Rows of drawn loops, and of what is logged in a Trainer's hooks, have the step, epoch, batch, samples and value that a
# model of them has (rows.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
[ -n "${ASAN_BUILD:-}" ] && set -- "$@" -fsanitize=address,undefined
"$root/tests/cli/rows.py" "$BUILD" "$root/include" "$tmp/rows" "${ROWS_FIRST:-1}" "${ROWS:-40}" "${@:--O1}"
