#!/bin/bash
# Results do not depend on the number of threads: drawn convolutions, and the checkpoints of two training steps, but for
# their headers, with 1, 3 and 8 of them.
. "$(dirname "$0")/../examples/lib.sh"
export XT_PROGRESS=off XT_CACHE=off XT_PLUGIN_DIR=${XT_PLUGIN_DIR:-$BUILD}
# FILE: what stands behind the header of a checkpoint, but for the checksum at its end, which is of the header, too.
tensors() {
    tail -c +$(($(od -An -t u8 -N 8 "$1") + 9)) "$1" | head -c -32
}
same_bits() { # NAME, ARGUMENTS of fit
    local name=$1 n
    shift
    for n in 1 3 8; do
        XT_THREADS=$n "$XTRAIN" fit "$@" --epochs 1 --limit-batches 2 --limit-val 1 --seed 1 --ckpt "$tmp/$name$n" \
            >"$tmp/out" 2>&1 </dev/null
        check "$name trains on $n threads" [ -s "$tmp/$name$n/last.ckpt" ]
        check "$name: the bits of one thread on $n" cmp <(tensors "$tmp/${name}1/last.ckpt") \
            <(tensors "$tmp/$name$n/last.ckpt")
    done
}
cd "$tmp" || exit 1
same_bits mnist mnist
same_bits gpt2 gpt2-tiny
same_bits gpt2-bf16 gpt2-tiny --precision bf16
same_bits resnet18 resnet18 --batch 8 --side 32 --small-stem
same_bits resnet18-bf16 resnet18 --batch 8 --side 32 --small-stem --precision bf16
check "drawn convolutions" "$BUILD/test_cpu_conv_threads" all
finish
