#!/bin/bash
# The peak that MFU is against is a property of the processor: measured beside eight processes that compute on every
# core it is what it is without them, and no row has an MFU above 1.
set -u
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off
cd "$tmp" || exit 1
fit() { # fit NAME
    "$BUILD/throughput" --max_epochs 1 --limit_train_batches 80 --run_name "$1" >"$1.out" 2>&1
    sed -nE 's/.*MFU against ([0-9.e+-]+) TFLOP.*/\1/p' "$1.out" | head -n 1
}
alone=$(fit alone)
busy=()
for _ in $(seq $((4 * $(nproc)))); do
    (while :; do :; done) &
    busy+=($!)
done
beside=$(fit beside)
kill "${busy[@]}"
wait "${busy[@]}" 2>/dev/null
echo "alone $alone, beside $((4 * $(nproc))) processes $beside TFLOP/s" >out
check "the peak is told" [ -n "$alone" -a -n "$beside" ]
check "it is of the processor, not of its load" awk -v a="$alone" -v b="$beside" 'BEGIN { exit !(b > 0.5 * a) }'
check "no MFU is above 1" awk -F, '$8 == "throughput/mfu" { n++; bad += $9 > 1 } END { exit bad || !n }' \
    runs/alone/version_0/metrics.csv runs/beside/version_0/metrics.csv
finish
