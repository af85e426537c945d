#!/bin/bash
# Drawn loops without boundaries have the weights and the rows of the same loops with them (loops.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
[ -n "${ASAN_BUILD:-}" ] && set -- "$@" -fsanitize=address,undefined
"$root/tests/cli/loops.py" "$BUILD" "$root/include" "$tmp/loops" "${LOOPS_FIRST:-1}" "${LOOPS:-20}" "${@:--O2}"
