#!/bin/bash
# Drawn trainings by the Trainer have the weights and the rows of loops of one's own, and of runs that were resumed
# (trainers.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
[ -n "${ASAN_BUILD:-}" ] && set -- "$@" -fsanitize=address,undefined
"$root/tests/cli/trainers.py" "$BUILD" "$root/include" "$tmp/trainers" "${TRAINERS_FIRST:-1}" "${TRAINERS:-8}" "$@"
