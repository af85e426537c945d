#!/bin/bash
# A whole fit in which one allocation fails, each in turn (every MEMORY_FAULTS_STRIDE-th, 97): it ends with an error
# that gives a reason, or ends well. It never crashes or hangs, and the checkpoint stays readable.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
export XT_SUMMARY=off XT_PROGRESS=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM=off XT_PLUGIN_DIR=$BUILD
cc -O1 -fPIC -shared "$root/tests/slow/memory_faults.c" -o "$tmp/faults.so" || exit 1
cd "$tmp" || exit 1
for i in $(seq 200); do echo "line $i of a text, $((i * i))"; done >text.txt
model="gpt2-tiny --data text.txt --layers 1 --width 16 --heads 2 --seq 8 --context 16 --sample 0"
# shellcheck disable=SC2086
"$XTRAIN" fit $model --steps 2 --ckpt before >out 2>&1
check "a fit" [ $? = 0 ]
cp -r before kept
fit() { # fit COMMAND...: a fit that goes on from the checkpoint
    rm -rf runs before && cp -r kept before
    # shellcheck disable=SC2086
    timeout -k 5 120 env "$@" LD_PRELOAD="$tmp/faults.so" "$XTRAIN" fit $model --steps 4 --ckpt before \
        --resume before --workers 1 >out 2>&1
}
fit FAULT_COUNT="$tmp/count"
rc=$?
n=$(cat count)
check "one without faults" [ $rc = 0 -a "${n:-0}" -gt 1000 ]
stride=${MEMORY_FAULTS_STRIDE:-97} crashed=0 silent=0 lost=0 runs=0
for ((at = ${MEMORY_FAULTS_FROM:-1}; at <= n; at += stride)); do
    : >told
    fit FAULT_AT=$at FAULT_TOLD="$tmp/told" ${MEMORY_FAULTS_STAYS:+FAULT_STAYS=$MEMORY_FAULTS_STAYS}
    rc=$?
    runs=$((runs + 1))
    if [ $rc -ge 124 ] || [ $rc = 99 ]; then
        crashed=$((crashed + 1))
        echo "allocation $at ($(cat told)): exit $rc: $(tail -n 2 out | tr '\n' ' ')"
    elif [ $rc != 0 ] && ! grep -qiE 'memory|allocat' out; then
        silent=$((silent + 1))
        echo "allocation $at ($(cat told)): exit $rc without the reason: $(tail -n 2 out | tr '\n' ' ')"
    fi
    "$XTRAIN" convert before "$tmp/read.safetensors" >read.out 2>&1 || {
        lost=$((lost + 1))
        echo "allocation $at ($(cat told)): the checkpoint cannot be read: $(cat read.out)"
    }
done
check "$runs runs, each with an allocation that failed: none crashed or hung" [ $crashed = 0 ]
check "each error has its reason" [ $silent = 0 ]
check "the checkpoint is always whole" [ $lost = 0 ]
finish
