#!/bin/bash
# Every public function, with each of its pointers wrong in turn (tests/every_function.py): an error, never a signal,
# and never a hang. A status names the line of the call (from debug information, where the function takes none). The
# list is read from the headers, so that no function is forgotten.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$tmp" || exit 1
"$root/tools/entries.py" table "$root/include/xtrain" "$root/src/api/exceptions.txt" "$root/src/base/handle.def" \
    "$root/src/api/unread.txt" \
    >table && python3 "$root/tests/every_function.py" <table >every.c
check "a call of each can be written" [ -s every.c ]
check "it compiles" "${CC:-cc}" -std=gnu11 -g -w ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" every.c \
    -o every -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
XT_POSTMORTEM_DIR=$tmp/crash XT_BLACKBOX=off ./every >out 2>err
check "no call ends in a signal, hangs or says nothing" [ "$(grep -c . out)" = 1 ]
grep -v calls out
check "there are many" [ "$(awk '{ print $1 }' <(tail -n 1 out))" -gt 1000 ]
finish
