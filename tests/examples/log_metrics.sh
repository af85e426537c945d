#!/bin/bash
# Logging never costs a compile: the same compilations and executions with 0, 1 and 100 metrics, with and without the
# progress bar, and none after the first epoch. And program 4 as it stands.
. "$(dirname "$0")/lib.sh"
export XT_SUMMARY=off
json() { tail -n 1 "$1" | grep -oE "\"$2\": [-0-9.e+]+" | head -n 1 | sed 's/.*: //'; }
fit() {
    local name=$1
    shift
    "$XTRAIN" fit mnist --epochs 2 --limit-batches 20 --log-every 5 --no-pictures --json "$@" >"$tmp/$name" 2>"$tmp/out"
    check "$name runs" [ $? = 0 ]
}
XT_PROGRESS=off fit none --metrics 0
XT_PROGRESS=off fit one --metrics 1
XT_PROGRESS=off fit hundred --metrics 100
XT_PROGRESS=on fit bar --metrics 100
for n in one hundred bar; do
    check "$n: the same compiles" [ "$(json "$tmp/$n" compiles)" = "$(json "$tmp/none" compiles)" ]
    check "$n: the same executions" [ "$(json "$tmp/$n" executions)" = "$(json "$tmp/none" executions)" ]
    check "$n: the same host reads" [ "$(json "$tmp/$n" host_reads)" = "$(json "$tmp/none" host_reads)" ]
    check "$n: the same loss" [ "$(json "$tmp/$n" loss_last)" = "$(json "$tmp/none" loss_last)" ]
done
check "a train and a validation program" [ "$(json "$tmp/none" compiles)" = 2 ]
check "no compile after the first epoch" [ "$(json "$tmp/hundred" compiles_after_first_epoch)" = 0 ]
check "the 100 metrics are in the file" [ "$(cat "$tmp"/runs/mnist/version_2/metrics.csv | grep -c 'extra/')" -ge 800 ]
"$BUILD/log_metrics" --max_epochs 1 --limit_train_batches 20 --limit_val_batches 2 --run_name four >"$tmp/out" 2>&1
check "program 4 runs" [ $? = 0 ]
check "it logs" grep -q 'train/acc' "$tmp/runs/four/version_0/metrics.csv"
check "it validates" grep -q 'val/acc' "$tmp/runs/four/version_0/metrics.csv"
check "it keeps checkpoints" [ -n "$(ls "$tmp"/runs/four/version_0/checkpoints/*.ckpt 2>/dev/null)" ]
finish
