#!/bin/bash
# Killed (-9) and stopped (SIGSTOP) at any instant of writing a checkpoint: at each call that changes a file of its
# folder, in the middle of each write, and at random times. Whatever was there, every file of the name *.ckpt can be
# gone on from, the run that goes on has the bits of the undisturbed one, and nothing unfinished stays behind it.
# KILL_INSTANTS: how many of each variant (default 200, spread over all calls; there are some 130 of them).
set -u
. "$(dirname "$0")/../examples/lib.sh"
[ -n "${ASAN_BUILD:-}" ] && { echo "the sanitizer wants to be preloaded first"; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=on XT_CACHE_DIR=$tmp/cache XT_POSTMORTEM=off XT_PROGRESS=off XT_TIMEOUT=100
count=${KILL_INSTANTS:-200}
"${CC:-cc}" -O1 -shared -fPIC "$root/tests/cli/disk_faults.c" -o "$tmp/faults.so" -ldl || exit 1
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -I"$root/include" "$root/tests/examples/killed.c" -L"$BUILD" -lxtrain \
    -Wl,-rpath,"$BUILD" -o "$tmp/killed" || exit 1
cut=$tmp/cut/ckpt
weights() { grep -ao 'weights [0-9a-f]*' "$1"; }
# run FOLDER OPTIONS...: two epochs, so that there is something to do behind every file; what it says in $tmp/said
run() {
    local folder=$1
    shift
    KILLED_DIR=$folder XT_RUNS_DIR=$tmp/runs timeout 100 "$tmp/killed" --max_epochs 2 --run_name x "$@" \
        >"$tmp/said" 2>&1
}
# at N SIGNAL: a run of one epoch that gets it at call N, in the background; its pid
at() {
    rm -rf "$tmp/cut"
    mkdir "$tmp/cut"
    : >"$tmp/trace"
    KILLED_DIR=$cut XT_RUNS_DIR=$tmp/runs FAULT_FOLDER=$cut FAULT_AT=$1 FAULT_SIGNAL=$2 FAULT_TRACE=$tmp/trace \
        LD_PRELOAD=$tmp/faults.so timeout 100 "$tmp/killed" --max_epochs 1 --run_name x >"$tmp/out" 2>&1 &
    pid=$!
}
# What lies in $cut is good: WHAT says when.
all_good() {
    local what=$1 files
    files=$(find "$cut" -name '*.ckpt' 2>/dev/null)
    for f in $files; do
        rm -rf "$tmp/other"
        run "$tmp/other" --resume "$f"
        check "$what: ${f##*/} is whole" [ $? = 0 ]
        check "$what: the bits behind ${f##*/}" [ "$(weights "$tmp/said")" = "$want" ]
    done
    [ -n "$files" ] || { # before the first was complete
        check "$what: no checkpoint that was complete is gone" [ "$(grep -c ' rename' "$tmp/trace")" -le 1 ]
        return
    }
    run "$cut" --resume "$cut"
    check "$what: the folder can be gone on from" [ $? = 0 ]
    check "$what: the bits behind the folder" [ "$(weights "$tmp/said")" = "$want" ]
    check "$what: nothing unfinished stays" [ -z "$(find "$cut" ! -name '*.ckpt' -type f)" ]
}
variant() { # variant NAME VARIABLES...
    local name=$1 n total stride when
    shift
    [ $# = 0 ] || export "${@?}"
    run "$tmp/whole"
    check "$name: the undisturbed run ends" [ $? = 0 ]
    want=$(weights "$tmp/said")
    at 0 0
    wait $pid
    total=$(awk '{if ($2 > n) n = $2} END {print n + 0}' "$tmp/trace")
    check "$name: there are instants" [ "$total" -gt 50 ]
    stride=$(((total + count - 1) / count))
    for ((n = 1; n <= total; n += stride)); do
        at $n 9
        wait $pid 2>/dev/null
        check "$name, call $n: it was killed" [ $? != 0 ]
        all_good "$name, killed at call $n of $total ($(awk -v n=$n '$2 == n {print $3; exit}' "$tmp/trace"))"
    done
    for ((n = 1; n <= count / 4; n++)); do
        when=$(awk -v r=$RANDOM 'BEGIN {printf "%.4f", 0.3 * r / 32768}')
        at 0 0
        sleep "$when"
        pkill -9 -P $pid # the program: timeout's only child
        wait $pid 2>/dev/null
        all_good "$name, killed after $when s"
    done
    rm -rf "$tmp/whole"
    [ $# = 0 ] || unset "${@%%=*}"
}
stopped() {
    local n total p state one
    run "$tmp/whole"
    want=$(weights "$tmp/said")
    at 0 0
    wait $pid
    one=$(weights "$tmp/out")
    total=$(awk '{if ($2 > n) n = $2} END {print n + 0}' "$tmp/trace")
    for ((n = 1; n <= total; n += 1 + total * 4 / count)); do
        at $n 19
        state=
        for _ in $(seq 2000); do
            p=$(pgrep -P $pid | head -n 1)
            state=$(sed 's/.*) //;s/ .*//' "/proc/${p:-x}/stat" 2>/dev/null)
            [ "$state" = T ] && break
            sleep 0.005
        done
        check "call $n: it stopped" [ "$state" = T ]
        cp -r "$tmp/cut" "$tmp/then"
        cp "$tmp/trace" "$tmp/then.trace"
        kill -CONT "$p"
        wait $pid
        check "stopped at call $n: it ends" [ $? = 0 ]
        check "stopped at call $n: its bits" [ "$(weights "$tmp/out")" = "$one" ]
        check "stopped at call $n: nothing unfinished stays" [ -z "$(find "$cut" ! -name '*.ckpt' -type f)" ]
        rm -rf "$tmp/cut" && mv "$tmp/then" "$tmp/cut"
        mv "$tmp/then.trace" "$tmp/trace"
        all_good "as it was when stopped at call $n"
    done
}
variant background
variant foreground KILLED_WAITS=1
variant ranks KILLED_RANKS=2 CPU_NUM_DEVICES=2
stopped
finish
