#!/bin/bash
# The report of each program of drawn loops and fits names what has changed, by what is known to have (causes_drawn.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_DEBUG=compile
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -I"$root/include" "$root/tests/cli/causes_drawn.c" -o "$tmp/drawn" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
"$root/tests/cli/causes_drawn.py" "$tmp/drawn" "$root/tests/cli/causes_drawn.c" "${CAUSES_FIRST:-1}" "${CAUSES:-60}"
