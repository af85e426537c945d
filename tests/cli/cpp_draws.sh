#!/bin/bash
# Drawn expressions in C++ give the bits, the errors and the lines of those in C (cpp_draws.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
for program in python3 g++; do
    command -v $program >/dev/null || { echo "no $program here"; exit 77; }
done
[ -n "${ASAN_BUILD:-}" ] && set -- "$@" -fsanitize=address,undefined
"$root/tests/cli/cpp_draws.py" "$BUILD" "$root/include" "$tmp/draws" "${DRAWS_FIRST:-1}" "${DRAWS:-1}" "$@"
