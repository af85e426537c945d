#!/bin/bash
# Options of the Trainer and of callbacks, drawn together with a strategy and checkpoints, on two ranks: no combination
# has ranks that wait for each other (ranks_options.py).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
export XT_CACHE=on XT_CACHE_DIR=$tmp/cache PYTHONDONTWRITEBYTECODE=1
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -std=c11 -Wall -Wextra -Werror -I"$root/include" \
    "$root/tests/cli/ranks_options.c" -o "$tmp/program" -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" || exit 1
"$root/tests/cli/ranks_options.py" "$XTRAIN" "$tmp/program" "$root/include/xtrain" "$tmp/work" \
    "${RANKS_OPTIONS_FIRST:-1}" "${RANKS_OPTIONS:-8}"
