#!/bin/bash
# C++ exceptions that leave the functions which a program gives to the library: the program that catches them trains on;
# on the library's own threads nobody can catch, and the last line names the function; xtrain.hpp makes errors of them.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=off XT_PROGRESS=off
command -v g++ >/dev/null || { echo "g++ is not installed"; exit 77; }
g++ -std=c++17 -Wall -Wextra -Werror ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 -g -pthread \
    "$(dirname "$0")/exceptions.cpp" -I"$root/include" -o "$tmp/exceptions" -L"$BUILD" -lxtrain \
    -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1
check "it compiles without a warning" [ $? = 0 ]
run() {
    (cd "$tmp" && ulimit -c 0 && timeout 60 ./exceptions "$1") >"$tmp/said" 2>"$tmp/out"
    code=$?
    cat "$tmp/said" >>"$tmp/out"
}
run nowhere
check "without an exception all is well" grep -q '^steps 0, stream 8, fit 0$' "$tmp/said"
for where in net scan call task batch_end row; do
    run $where
    check "out of $where: ends well" [ $code = 0 ]
    check "out of $where: the program catches it" grep -q "^caught: thrown in $where$" "$tmp/said"
    check "out of $where: trains on" grep -q '^again: steps 0, stream 8, fit 0$' "$tmp/said"
    case $where in
    scan | call)
        check "out of $where: says what is lost" grep -q "^told: .*the function of xt_$where was left" "$tmp/said"
        ;;
    esac
done
# A sanitizer has the signal, and says the same in its own words.
while read -r where name; do
    run "$where"
    check "out of $where: ends by SIGABRT" [ $code != 0 -a $code != 124 ]
    check "out of $where: C++ says what it was" grep -q "thrown in $where" "$tmp/out"
    [ -n "${ASAN_BUILD:-}" ] || check "out of $where: the last line names the function" \
        grep -q "SIGABRT in $name, on a thread of the library, which no exception may leave; step" "$tmp/out"
done <<'ROWS'
get a dataset's get
order a sampler's order
next a stream's next
logger a logger's row
ready the function of xt_when_ready
ROWS
run status
check "errors of xtrain.hpp, and handles that were moved from" [ $code = 0 ]
finish
