#!/bin/bash
# Drawn loops without boundaries hold no more than the same loops with them, however long they run (loop_memory.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
loops=40
[ -n "${ASAN_BUILD:-}" ] && loops=12 && set -- "$@" -fsanitize=address,undefined
"$root/tests/cli/loop_memory.py" "$BUILD" "$root/include" "$tmp/memory" "${LOOPS_FIRST:-1}" \
    "${LOOPS:-$loops}" "${@:--O1}"
