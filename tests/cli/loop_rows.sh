#!/bin/bash
# Drawn programs of loops without boundaries, one behind the other, have the rows of the same with them (loop_rows.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
[ -n "${ASAN_BUILD:-}" ] && set -- "$@" -fsanitize=address,undefined
"$root/tests/cli/loop_rows.py" "$BUILD" "$root/include" "$tmp/rows" "${LOOPS_FIRST:-1}" "${LOOPS:-30}" "${@:--O1}"
