#!/bin/bash
# A rank that leaves, ends or goes wrong while others train: they end at once, with exit code 1 and a message that names
# it and how it ended. Nothing hangs, nobody goes on alone. Ranks that exchange nothing may end when they like.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
asan=${ASAN_BUILD:+-fsanitize=address,undefined}
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp/crash
# A rank that ends by exit() within its function leaves what its launcher had allocated around the call.
[ -z "$asan" ] || export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror ${asan:+$asan} -I"$root/include" "$here/lost.c" -o "$tmp/lost" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
wrong=$(grep -n 'the wrong shape' "$here/lost.c" | cut -d: -f1) end=$(grep -n 'the end of a step' "$here/lost.c" |
    cut -d: -f1)
run() { (cd "$tmp" && XT_TIMEOUT=50 CPU_NUM_DEVICES=$2 timeout 40 ./lost "$1") >"$tmp/out" 2>&1; }
# lost MODE RANKS CODE PATTERN
lost() {
    run "$1" "$2"
    check "$1 of $2 ranks: exit code $3" [ $? = "$3" ]
    check "$1 of $2 ranks: how it ended" grep -qE "$4" "$tmp/out"
    check "$1 of $2 ranks: nobody goes on" [ "$(grep -c 'alive at step' "$tmp/out")" = 0 ]
}
for n in 2 4; do
    met="^\[ranks? [0-9,-]+\] .*lost.c:$end: rank 1 \(pid [0-9]+\)"
    lost early $n 1 \
        "$met has returned 0 from its function after 5 steps; rank [0-9] is at step [0-9]+: the program of step"
    lost exit $n 1 "$met has ended, without xt_finish\(\), after 5 steps; rank [0-9] is at step"
    lost _exit $n 1 "$met ended with exit code 0, without xt_finish\(\); rank [0-9] is at step"
    lost short $n 1 "$met has finished after 7 steps; rank [0-9] is at step ([789]|10)"
    lost code $n 7 "rank 1 \(pid [0-9]+\) ended with exit code 7; ending the other"
    lost signal $n 140 "rank 1 \(pid [0-9]+\) was ended by signal 12 "
    lost crash $n 134 "rank 1 \(pid [0-9]+\) was ended by signal 6 "
    lost error $n 1 "^\[rank 1\] .*lost.c:$wrong: xt_matmul"
    check "error of $n ranks: it is told once, and ends its rank" \
        [ "$(grep -cE "^\[rank 1\] .*(lost.c:$wrong: xt_matmul|lost.c:$end: xt_mark_step ends the program)" \
        "$tmp/out")" = 2 ]
    lost item $n 1 "rank 1 \(pid [0-9]+\) ended with exit code 0, without xt_finish"
    run alone $n
    check "$n ranks without exchange end when they like" [ $? = 0 ]
    run fine $n
    check "$n ranks" [ $? = 0 ]
done
finish
