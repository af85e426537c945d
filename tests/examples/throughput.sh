#!/bin/bash
# Program 5, and the verdict table of periods and accumulation: refusals come before the first batch, with both numbers
# and the nearest valid ones.
. "$(dirname "$0")/lib.sh"
export XT_SUMMARY=off XT_PROGRESS=off
"$BUILD/throughput" --max_epochs 1 --limit_train_batches 80 >"$tmp/out" 2>&1
check "program 5 runs" [ $? = 0 ]
check "it says the effective batch" \
    grep -qE 'micro-batch [0-9]+ x accumulate 4 x ranks 1 = effective batch [0-9]+; a row every 10 steps = 40 batches' \
    "$tmp/out"
check "it says the peak and where it is from" grep -qE 'MFU against [0-9.]+ TFLOP/s a device \(measured' "$tmp/out"
# Two layers on 32 samples: each product forward, each again for its weights, one for the values between: 13.1 MFLOP,
# and the smaller ops on top.
newest() {
    awk -F, -v name="throughput/$1" '$8 == name {v = $9} END {print v}' "$tmp/runs/default/version_0/metrics.csv"
}
check "FLOPs are the program's own" \
    awk -v f="$(newest flops_per_sec)" -v b="$(newest batches_per_sec)" \
    'BEGIN {exit !(f / b > 13.0e6 && f / b < 14.5e6)}'
peak=$(sed -nE 's/.*MFU against ([0-9.]+) TFLOP.*/\1/p' "$tmp/out")
check "MFU is their share of the peak" \
    awk -v m="$(newest mfu)" -v f="$(newest flops_per_sec)" -v p="$peak" \
    'BEGIN {r = m * p * 1e12 / f; exit !(r > 0.99 && r < 1.01)}'
check "one device: its rates are all" [ "$(newest samples_per_sec)" = "$(newest device/samples_per_sec)" ]
XT_SUMMARY=on "$BUILD/throughput" --max_epochs 1 --limit_train_batches 80 --run_name again >"$tmp/out" 2>&1
check "measuring forces no read" grep -qE 'executions +[0-9]+ \(0 forced by reads\)' "$tmp/out"
# A device that does not tell what its programs compute: said once, and there is nothing to divide.
XT_DEVICE=$BUILD/fault_plugin.so FAULT_OF=$BUILD/pjrt_plugin_xtrain_cpu.so FAULT=Executable_GetCostAnalysis \
    "$BUILD/throughput" --max_epochs 2 --limit_train_batches 80 --run_name untold >"$tmp/out" 2>&1
check "without the device's count of FLOPs training goes on" [ $? = 0 ]
check "which is told exactly once" [ "$(grep -c "the device does not tell its programs' FLOPs" "$tmp/out")" = 1 ]
check "and there are no rates of them" \
    [ "$(grep -cE 'flops_per_sec|throughput/mfu' "$tmp/runs/untold/version_0/metrics.csv")" = 0 ]
# What a crash report carries.
XT_POSTMORTEM_DIR=$tmp/crash XT_STATUS_DIR=$tmp/status "$BUILD/throughput" --max_epochs 1000 --run_name killed \
    >"$tmp/out" 2>&1 &
for _ in $(seq 3000); do
    grep -q throughput/ "$tmp/runs/killed/version_0/metrics.csv" 2>/dev/null && break || sleep 0.05
done
kill -ABRT $! && wait $! 2>/dev/null
"$XTRAIN" postmortem "$tmp/crash" >"$tmp/out" 2>&1
check "a crash report has the versions" grep -qE '^  xtrain [0-9.]+ \| .* PJRT [0-9.]+, StableHLO' "$tmp/out"
check "and the effective batch" grep -qE '^  micro-batch 32 x accumulate 4 x ranks 1 = effective batch 128$' "$tmp/out"
# verdict ACCUMULATE PERIOD UNIT EXPECTED [TEXT]
verdict() {
    "$BUILD/throughput" --max_epochs 1 --limit_train_batches 12 --accumulate_grad_batches "$1" "--log_every_n_$3" "$2" \
        >"$tmp/out" 2>&1
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
