#!/bin/bash
# A long run holds its memory: 100,000 small steps with validation and checkpoints.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck disable=SC2086
cc -O1 ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" "$root/tests/slow/steady.c" \
    -L"$BUILD" -lxtrain -lm -Wl,-rpath,"$BUILD" -o "$tmp/steady" || exit 1
XT_SUMMARY=off "$tmp/steady" 100000 >"$tmp/out" 2>&1
check "100,000 steps: resident set within 1 MiB of step 1,000's, no false alarm" [ $? = 0 ]
tail -n 1 "$tmp/out"
finish
