#!/bin/bash
# A process that was forked from one that trains, and functions of the user's that end the thread that called them: said
# at once, never waited for.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=off XT_PROGRESS=off
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 -pthread "$(dirname "$0")/forked.c" -I"$root/include" \
    -o "$tmp/forked" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
for what in steps reads fits loads nothing; do
    (cd "$tmp" && timeout 60 ./forked $what) >"$tmp/said" 2>"$tmp/out"
    check "$what in a forked process: ends by itself" [ $? = 0 ]
    check "$what: the parent goes on" grep -q '^parent 0$' "$tmp/said"
    if [ $what = nothing ]; then
        check "$what: is no error" grep -q '^child 0$' "$tmp/said"
        check "$what: and says nothing" [ -z "$(grep "that was forked" "$tmp/out")" ]
    else
        check "$what: is an error" grep -q '^child 1$' "$tmp/said"
        said=$(grep -c 'that was forked (from [0-9]*) after the device was opened' "$tmp/out")
        check "$what: says so, once" [ "$said" = 1 ]
    fi
done
(cd "$tmp" && timeout 60 ./forked next) >"$tmp/said" 2>"$tmp/out"
check "xt_next inside a dataset's get: ends by itself" [ $? -lt 124 ]
check "says so" grep -q "xt_next inside a dataset's get" "$tmp/out"
(cd "$tmp" && timeout 60 ./forked exits) >"$tmp/said" 2>"$tmp/out"
check "pthread_exit inside one: ends by itself" [ $? = 1 ]
check "says so" grep -q "a function that reads samples has left by pthread_exit" "$tmp/out"
finish
