#!/bin/bash
# A function that is made of others refuses what those refuse in its own name, the one that the program has written
# (called.py, from the headers).
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
python3 "$root/tests/cli/called.py" "$root/include/xtrain" >"$tmp/called.c" 2>"$tmp/out"
check "a call of each macro is found" [ ! -s "$tmp/out" ]
check "there are many" [ "$(grep -c '^    try(' "$tmp/called.c")" -gt 600 ]
check "the calls compile" "${CC:-cc}" -std=gnu11 -w ${ASAN_BUILD:+-fsanitize=address,undefined} -I"$root/include" \
    "$tmp/called.c" -o "$tmp/called" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
(cd "$tmp" && XT_SUMMARY=off XT_CACHE=off ./called >out 2>err)
check "each error has the name that was called" [ $? = 0 ]
check "there are errors of most" [ "$(sed -n 's/ functions with errors$//p' "$tmp/err")" -gt 350 ]
finish
