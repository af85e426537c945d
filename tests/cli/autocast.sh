#!/bin/bash
# Drawn networks under autocast train as those whose casts are written by hand do, bit for bit (autocast.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
[ -n "${ASAN_BUILD:-}" ] && set -- "$@" -fsanitize=address,undefined
"$root/tests/cli/autocast.py" "$BUILD" "$root/include" "$tmp/autocast" "${AUTOCAST_FIRST:-1}" "${AUTOCAST:-4}" "$@"
