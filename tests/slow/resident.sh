#!/bin/bash
# What the operating system says a rank holds, at its peak and with the checkpoint at the end: less with divided
# optimizer state, less again with divided parameters.
. "$(dirname "$0")/../examples/lib.sh"
export XT_PROGRESS=off XT_CACHE=off XT_PLUGIN_DIR=${XT_PLUGIN_DIR:-$BUILD}
peak() { # STRATEGY: MiB of rank 0
    "$XTRAIN" fit gpt2-mini --devices 2 --strategy "$1" --steps 4 --batch 2 --seq 64 --ckpt "$tmp/$1" \
        >"$tmp/out" 2>&1 </dev/null || return 1
    sed -n 's/.*process peak \([0-9]*\)\.[0-9]* MiB.*/\1/p' "$tmp/out"
}
for s in ddp zero1 fsdp; do
    declare "$s=$(peak $s)"
    check "$s says its peak" [ "${!s:-0}" -gt 0 ]
done
echo "ddp $ddp MiB, zero1 $zero1, fsdp $fsdp"
check "zero1 holds less than ddp" [ $((zero1 * 100)) -lt $((ddp * 93)) ]
check "fsdp holds less than zero1" [ $((fsdp * 100)) -lt $((zero1 * 98)) ]
finish
