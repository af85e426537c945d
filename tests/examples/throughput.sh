#!/bin/bash
# Program 5, and the verdict table of periods and accumulation: refusals come before the first batch, with both numbers and the nearest valid ones.
. "$(dirname "$0")/lib.sh"
export XT_SUMMARY=off XT_PROGRESS=off
"$BUILD/throughput" --max_epochs 1 --limit_train_batches 80 >"$tmp/out" 2>&1
check "program 5 runs" [ $? = 0 ]
check "it says the effective batch" grep -qE 'micro-batch [0-9]+ x accumulate 4 x ranks 1 = effective batch [0-9]+; a row every 10 steps = 40 batches' "$tmp/out"
# verdict ACCUMULATE PERIOD UNIT EXPECTED [TEXT]
verdict() {
    "$BUILD/throughput" --max_epochs 1 --limit_train_batches 12 --accumulate_grad_batches "$1" "--log_every_n_$3" "$2" >"$tmp/out" 2>&1
    local code=$?
    check "accumulate $1, every $2 $3: $4" [ $code = "$4" ]
    [ -z "${5:-}" ] || check "accumulate $1, every $2 $3 says '$5'" grep -q "$5" "$tmp/out"
}
verdict 1 50 steps 0
verdict 2 10 steps 0
verdict 10 5 steps 0
verdict 2 3 steps 0
verdict 1 50 batches 0
verdict 2 10 batches 0
verdict 10 5 batches 1 'nearest valid: 10'
verdict 2 3 batches 1 'nearest valid: 2 or 4'
finish
