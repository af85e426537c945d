#!/bin/bash
# xtrain fit --mesh: the losses of one device on 2 and 4; a checkpoint of a mesh goes on without one; mistakes.
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off
cd "$tmp" || exit 1
fit() { "$XTRAIN" fit gpt2-tiny --limit-batches 4 --epochs 1 --seq 16 --json "$@" >"$tmp/o" 2>"$tmp/out"; }
loss() { sed -nE 's/.*"loss_last": ([0-9.e+-]+).*/\1/p' "$tmp/o" | tail -n 1; }
same() { awk -v a="$1" -v b="$2" 'BEGIN {d = a - b; if (d < 0) d = -d; exit !(a > 0 && d <= 1e-5 * a)}'; }
fit --batch 8
check "one device" [ $? = 0 ]
one=$(loss)
while read -r devices mesh batch more; do
    # shellcheck disable=SC2086
    fit --devices "$devices" --mesh "$mesh" --batch "$batch" $more
    check "$mesh $more: trains" [ $? = 0 ]
    check "$mesh $more: the loss of one device, $one" same "$one" "$(loss)"
done <<END
2 data=2 4
2 tensor=2 8
4 data=2,tensor=2 4 --fsdp
4 data=2,fsdp=2 2
END
fit --devices 4 --mesh data=2,tensor=2 --batch 4 --fsdp --ckpt "$tmp/ckpt" --seed 3
check "saves from a mesh" [ -e "$tmp/ckpt/last.ckpt" ]
fit --batch 8 --resume "$tmp/ckpt/last.ckpt" --epochs 2
check "goes on from there on one device" [ $? = 0 ]
fit --devices 2 --mesh data=3
check "another size than the run is refused" grep -q 'the mesh data=3 needs 3 devices, the run has 2' "$tmp/out"
fit --mesh nonsense
check "no mesh at all is refused" grep -q 'mesh nonsense: names and sizes are expected' "$tmp/out"
finish
