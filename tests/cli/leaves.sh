#!/bin/bash
# Functions of the user's that do not return to the library (longjmp, exit), or end it from inside: an error with its
# line, or nothing lost; never a crash, never a wait.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=off XT_PROGRESS=off
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 -g -pthread "$(dirname "$0")/leaves.c" -I"$root/include" \
    -o "$tmp/leaves" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
run() {
    (cd "$tmp" && timeout 60 ./leaves "$@") >"$tmp/said" 2>"$tmp/out"
    code=$?
}
for where in net scan call task batch_end row epoch_end validation predict schedule sink; do
    run $where exit
    check "exit in $where: with its code" [ $code = 7 ]
    run $where finish
    check "xt_finish in $where: ends by itself" [ $code -le 1 ]
    check "xt_finish in $where: says so" grep -q "leaves.c:[0-9]*: xt_finish inside" "$tmp/out"
    run $where longjmp
    check "longjmp out of $where: ends by itself" [ $code -le 1 ]
    check "longjmp out of $where: got out" grep -q '^jumped$' "$tmp/said"
    case $where in
    task | batch_end | row | epoch_end | validation | schedule)
        check "longjmp out of $where: the same trainer goes on no more" \
            grep -q '^the same: fit 1, validate 1, another validates 0$' "$tmp/said"
        check "longjmp out of $where: and it is told why" \
            grep -q 'leaves.c:[0-9]*: xt_fit: an earlier fit of this trainer was left without returning' "$tmp/out"
        check "longjmp out of $where: trains on" grep -q '^again: steps 0, fit 0$' "$tmp/said"
        ;;
    scan | call)
        check "longjmp out of $where: says so" \
            grep -q "leaves.c:[0-9]*: the function of xt_$where was left" "$tmp/out"
        ;;
    *) check "longjmp out of $where: trains on" grep -q '^again: steps 0, fit 0$' "$tmp/said" ;;
    esac
done
finish
