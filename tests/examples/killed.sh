#!/bin/bash
# A run that is killed with -9 at random moments and resumed from its newest checkpoint ends with the bits of the
# undisturbed run, and what it logged is what the undisturbed run logged: rows of steps, of epochs (whose sums were half
# done when it died) and of validations. KILLED_MODE and KILLED_RANKS are killed.c's (tests/slow/killed.sh has the other
# variants), KILLED_KILLS is how often. With ranks, one of them is killed.
. "$(dirname "$0")/lib.sh"
export XT_SUMMARY=off XT_CACHE=on XT_CACHE_DIR=$tmp/cache
kills_wanted=${KILLED_KILLS:-3}
[ -n "${KILLED_RANKS:-}" ] && export CPU_NUM_DEVICES=$KILLED_RANKS XT_TIMEOUT=100
root=$(cd "$(dirname "$0")/../.." && pwd)
asan=
nm "$BUILD/libxtrain.so" | grep -q __asan_init && asan=-fsanitize=address,undefined
"${CC:-cc}" -std=c11 -D_GNU_SOURCE $asan -I"$root/include" "$root/tests/examples/killed.c" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -o "$tmp/killed" >"$tmp/out" 2>&1
check "the program builds" [ $? = 0 ]
# What was logged, one line a value, the last one written for each step and name: `step,epoch,stage,level,name,value`.
rows() {
    cat "$@" | awk -F, '!/^step,/ {row[$1 "," $2 "," $6 "," $7 "," $8] = $9} END {for (k in row) print k "," row[k]}' |
        sort
}
KILLED_DIR=$tmp/whole "$tmp/killed" --run_name whole >"$tmp/out" 2>&1
check "the undisturbed run ends" [ $? = 0 ]
want=$(grep -o 'weights [0-9a-f]*' "$tmp/out")

# So many times: lets the run leave a checkpoint of its own, then kills it a random moment later. After that it may come
# to its end.
disturbed() {
    local tries=0 before pid victim resume code
    rm -rf "$tmp/cut" "$tmp/runs/cut"
    kills=0 ended=
    while [ -z "$ended" ] && [ $tries -lt $((20 * kills_wanted)) ]; do
        resume=()
        before=none
        [ -f "$tmp/cut/last.ckpt" ] && resume=(--resume "$tmp/cut/last.ckpt") &&
            before=$(stat -c %i "$tmp/cut/last.ckpt")
        KILLED_DIR=$tmp/cut "$tmp/killed" --run_name cut "${resume[@]}" >"$tmp/out" 2>&1 &
        pid=$!
        if [ $kills -lt "$kills_wanted" ]; then
            while kill -0 $pid 2>/dev/null &&
                [ "$(stat -c %i "$tmp/cut/last.ckpt" 2>/dev/null || echo none)" = "$before" ]; do
                sleep 0.002
            done
            sleep "$(awk -v r=$RANDOM 'BEGIN {printf "%.3f", 0.02 * r / 32768}')"
            victim=$pid
            [ -n "${KILLED_RANKS:-}" ] && victim=$(pgrep -P $pid killed | shuf -n 1)
            kill -9 ${victim:-$pid} 2>/dev/null
        fi
        wait $pid 2>/dev/null
        code=$?
        tries=$((tries + 1))
        if [ $code = 137 ]; then kills=$((kills + 1)); else ended=$code; fi
    done
}
enough=$((kills_wanted > 2 ? 2 : kills_wanted))
for _ in 1 2 3 4 5; do # on a loaded machine a run may reach its end before this script is there to kill it
    disturbed
    [ "$ended" = 0 ] && [ $kills -lt $enough ] || break
done
check "it was killed at least twice" [ $kills -ge $enough ]
check "it ended" [ "$ended" = 0 ]
check "its weights are the undisturbed run's" [ -n "$want" -a "$(grep -o 'weights [0-9a-f]*' "$tmp/out")" = "$want" ]
rows "$tmp"/runs/whole/version_*/metrics.csv >"$tmp/want"
rows $(ls -d "$tmp"/runs/cut/version_* | sort -t_ -k2 -n | sed 's,$,/metrics.csv,') >"$tmp/got"
check "there are rows" [ "$(wc -l <"$tmp/want")" -gt 100 ]
# Rows before a checkpoint are on disk when it is; those behind it are made again.
check "no row differs" [ -z "$(comm -13 "$tmp/want" "$tmp/got")" ]
check "no row is lost" [ -z "$(comm -23 "$tmp/want" "$tmp/got")" ]
finish
