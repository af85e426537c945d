#!/bin/bash
# A thread's error ends the program whatever other threads are doing: with exit code 1 and its exit handlers, at once,
# and never by a signal. tests/cli/ending.c has the threads; each seed has another thread and another moment.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash XT_RUNS_DIR=$tmp/runs
cc -std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -Wno-unused-result ${asan:+$asan} -I"$root/include" \
    "$here/ending.c" -o "$tmp/ending" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -lm -pthread || exit 1
# ends SEED SECONDS [MODE]
ends() {
    local began=$SECONDS rc
    (cd "$tmp" && timeout 60 ./ending "$1" "${@:3}") >"$tmp/out" 2>"$tmp/err"
    rc=$?
    check "$*: exit code 1" [ $rc = 1 ]
    check "$*: the error is told" grep -q 'inner sizes 3 and 2 differ' "$tmp/err"
    check "$*: what ends the program is, once" [ "$(grep -c 'ends the program with exit code 1' "$tmp/err")" = 1 ]
    check "$*: exit handlers run" grep -q 'the exit handler ran' "$tmp/out"
    check "$*: at once" [ $((SECONDS - began)) -le "$2" ]
}
for seed in $(seq 0 19); do ends "$seed" 20; done
for seed in 2 5 6; do ends "$seed" 20 both; done
ends 1 30 stuck
finish
