#!/bin/bash
# Elastic restart: two ranks of which now one, now the other is killed with -9 at random moments; xtrain launch
# --max-restarts starts them again from the last checkpoint, and the final weights are the undisturbed run's.
. "$(dirname "$0")/lib.sh"
export XT_SUMMARY=off XT_CACHE=on XT_CACHE_DIR=$tmp/cache
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck disable=SC2086
"${CC:-cc}" -std=c11 -D_GNU_SOURCE ${ASAN_BUILD:+-fsanitize=address,undefined} \
    -I"$root/include" "$root/tests/examples/killed.c" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -o "$tmp/killed" \
    >"$tmp/out" 2>&1
check "the program builds" [ $? = 0 ]
KILLED_DIR=$tmp/whole "$XTRAIN" launch -n 2 -- "$tmp/killed" --run_name whole >"$tmp/out" 2>&1
check "the undisturbed run ends" [ $? = 0 ]
want=$(grep -o 'rank [01]. weights .*' "$tmp/out" | sort) # running statistics of batch norm are each rank's own
check "both ranks tell their weights" [ "$(wc -l <<<"$want")" = 2 ]

# Ten steps before the end nothing has been forgotten yet of where a rank went on: its statistics must be its own.
KILLED_DIR=$tmp/late "$XTRAIN" launch -n 2 -- "$tmp/killed" --run_name late --max_steps 140 >"$tmp/out" 2>&1
check "a run of 140 of 150 steps ends" [ $? = 0 ]
cp "$tmp/late/epoch=23-step=140.ckpt" "$tmp/at_140.ckpt" # the runs that go on from it keep two files of their own
KILLED_DIR=$tmp/late "$XTRAIN" launch -n 2 -- "$tmp/killed" --run_name late --resume "$tmp/late/last.ckpt" \
    >"$tmp/out" 2>&1
check "and is resumed" grep -q 'resuming from .*step 140' "$tmp/out"
check "every rank from its own statistics" [ "$(grep -o 'rank [01]. weights .*' "$tmp/out" | sort)" = "$want" ]
check "which nobody tells of as a mistake" [ "$(grep -c 'began with other values' "$tmp/out")" = 0 ]
for n in 1 3; do
    KILLED_DIR=$tmp/other "$XTRAIN" launch -n $n -- "$tmp/killed" --run_name other --max_steps 142 \
        --resume "$tmp/at_140.ckpt" >"$tmp/out" 2>&1
    check "ranks: $n go on from a checkpoint of 2" [ "$?$(grep -c 'weights ' "$tmp/out")" = 0$n ]
done
KILLED_DIR=$tmp/other "$XTRAIN" launch -n 2 -- "$tmp/killed" --run_name other --resume "$tmp/whole/last.ckpt" \
    >"$tmp/out" 2>&1
check "whose run was killed behind its last step" \
    [ "$?$(grep -o 'rank [01]. weights .*' "$tmp/out" | sort)" = "0$want" ]

# A path that is another file for each rank, as where a run that still goes on replaces it between two looks: all take
# the furthest.
KILLED_DIR=$tmp/early "$XTRAIN" launch -n 2 -- "$tmp/killed" --run_name early --max_steps 130 >"$tmp/out" 2>&1
mkdir "$tmp/here0" "$tmp/here1"
for k in 0 1; do
    cp "$tmp/at_140.ckpt" "$tmp/here$k/from.ckpt"
    cp "$tmp/early/last.ckpt" "$tmp/here$((1 - k))/from.ckpt"
    # shellcheck disable=SC2016
    KILLED_DIR=$tmp/other "$XTRAIN" launch -n 2 -- \
        sh -c 'cd "$0/here$XT_RANK" && exec "$0/killed" --runs_dir "$0/runs" --resume from.ckpt' "$tmp" >"$tmp/out" 2>&1
    check "two states of a file, rank $k's further" \
        [ "$?$(grep -o 'rank [01]. weights .*' "$tmp/out" | sort)" = "0$want" ]
    check "and that is told" grep -qE "1 of 2 ranks do not have from.ckpt \(rank $((1 - k)) on host .* has another of" \
        "$tmp/out"
done

mark() { stat -c %i "$tmp/cut/last.ckpt" 2>/dev/null || echo none; }
ranks() {
    for p in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        [ "$(readlink "/proc/$p/exe")" = "$tmp/killed" ] && echo "$p"
    done
}
# Lets the group leave a checkpoint of its own, then kills one of it a random moment later; three times, if it does not
# come to its end before.
disturbed() {
    local k=0 before victim
    rm -rf "$tmp/cut" "$tmp/runs/cut"
    KILLED_DIR=$tmp/cut "$XTRAIN" launch -n 2 --max-restarts 20 -- "$tmp/killed" --run_name cut >"$tmp/out" 2>&1 &
    launcher=$!
    while [ $k -lt 3 ] && kill -0 $launcher 2>/dev/null; do
        before=$(mark)
        while kill -0 $launcher 2>/dev/null && [ "$(mark)" = "$before" ]; do sleep 0.002; done
        sleep "$(awk -v r=$RANDOM 'BEGIN {printf "%.3f", 0.02 * r / 32768}')"
        victim=$(ranks $launcher | sed -n "$((k % 2 + 1))p")
        [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null && k=$((k + 1))
    done
    wait $launcher
}
restarts() { grep -cE 'xtrain launch: restart [0-9]+ of 20, from /.*/cut/last\.ckpt' "$tmp/out"; }
for _ in 1 2 3 4 5; do # on a loaded machine a run may reach its end before this script is there to kill it
    disturbed
    code=$?
    [ $code = 0 ] && [ "$(restarts)" -lt 2 ] || break
done
check "the run ends well" [ $code = 0 ]
check "it was started again at least twice" [ "$(restarts)" -ge 2 ]
check "its weights are the undisturbed run's" [ "$(grep -o 'rank [01]. weights .*' "$tmp/out" | sort)" = "$want" ]

cat >"$tmp/dies.sh" <<'S'
echo "attempt $XT_RESTARTS"
[ "$XT_RANK" = 1 ] && exit 5
exec sleep 20
S
"$XTRAIN" launch -n 2 --max-restarts 2 -- sh "$tmp/dies.sh" >"$tmp/out" 2>&1
check "a rank that always dies: its code" [ $? = 5 ]
check "after the restarts allowed" [ "$(grep -c '^\[rank 1\] attempt' "$tmp/out")" = 3 ]
check "from the beginning" grep -q 'restart 2 of 2, from the beginning: no checkpoint was complete' "$tmp/out"
"$XTRAIN" launch -n 2 --max-restarts 2 -- sh -c 'echo ready; sleep 20' >"$tmp/out" 2>&1 &
launcher=$!
while [ "$(grep -c ready "$tmp/out")" != 2 ]; do sleep 0.02; done
kill -TERM $launcher
wait $launcher
check "a signal is no reason to start again" [ "$?$(grep -c restart "$tmp/out")" = 1430 ]
finish
