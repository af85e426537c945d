#!/bin/bash
# SIGTERM at any file that a fit brings to the disk, the last checkpoint, the pictures and the logs with it: the fit
# gives 143, and what it has trained is there and goes on. fit_signals.c has the ways.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_PROGRESS=off XT_POSTMORTEM=off XT_RUNS_DIR=
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -g -O1 "$root/tests/cli/fit_signals.c" -I"$root/include" \
    -o "$tmp/fit_signals" -L"$BUILD" -lxtrain -lpthread -ldl -Wl,-rpath,"$BUILD" || exit 1
run() { # run FOLDER HOW...
    local folder=$tmp/$1
    shift
    rm -rf "$folder" && mkdir "$folder"
    (cd "$folder" && timeout 60 "$tmp/fit_signals" "$@") >"$tmp/out" 2>&1
}
field() { sed -nE "s/^fit .*[ ,]$1 ?([0-9]+).*|^fit .* ([0-9]+) $1.*/\1\2/p" "$tmp/out"; }
for how in plain pending; do
    run whole $how
    check "$how: the fit is well" grep -q '^fit 0, step 4,' "$tmp/out"
    n=$(field files)
    check "$how: it brings files to the disk" [ "${n:-0}" -gt 3 ]
    for ((i = 0; i < n; i++)); do
        run stopped $how $i
        check "$how, signal at file $i of $n: the fit gives 143" grep -q '^fit 143,' "$tmp/out"
        check "it says so" grep -qE '(stopped by|then came) SIGTERM at step [0-9]+; --resume .*last.ckpt' "$tmp/out"
        step=$(field step)
        check "the checkpoint is that of step $step" \
            [ "$(find "$tmp/stopped" -name last.ckpt -exec grep -c "\"global_step\":\"$step\"" {} +)" = 1 ]
        check "nothing is left by half" [ -z "$(find "$tmp/stopped" -name '*.tmp.*' -o -name '*.new')" ]
    done
done
for how in threads saving; do
    run other $how
    check "$how: the fit gives 143" grep -q '^fit 143, step 1,' "$tmp/out"
done
check "saving: that file is there as well" grep -q '^saved: fine' "$tmp/out"
finish
