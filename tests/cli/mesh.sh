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
layouts() { # layouts LOSS OPTION...: each line of the input is a layout, which gives the loss of one device
    local want=$1 devices mesh batch more
    shift
    while read -r devices mesh batch more; do
        # shellcheck disable=SC2086
        fit --devices "$devices" --mesh "$mesh" --batch "$batch" "$@" $more
        check "$mesh $* $more: trains" [ $? = 0 ]
        check "$mesh $* $more: the loss of one device, $want" same "$want" "$(loss)"
    done
}
layouts "$one" <<END
2 data=2 4
2 tensor=2 8
4 data=2,tensor=2 4 --fsdp
4 data=2,fsdp=2 2
2 stage=2 8
4 stage=4 8 --microbatches 8 --checkpoint
4 data=2,stage=2 4 --fsdp
4 stage=2,tensor=2 8 --microbatches 2
4 stage=2,context=2 8
2 stage=2 8 --pipeline 1f1b --microbatches 8
4 data=2,stage=2 4 --pipeline 1f1b --fsdp
4 stage=2,tensor=2 8 --pipeline 1f1b --checkpoint
END
fit --batch 8 --experts 4 --experts-per-token 2
check "one device with experts" [ $? = 0 ]
experts=$(loss)
check "experts change the loss, $one" [ "$one" != "$experts" ]
layouts "$experts" --experts 4 --experts-per-token 2 <<END
2 expert=2 4
4 expert=4 2
4 data=2,expert=2 2 --fsdp
4 expert=2,tensor=2 4
END
fit --batch 8 --experts 3
layouts "$(loss)" --experts 3 <<END
2 expert=2 4
END
fit --devices 4 --mesh data=2,tensor=2 --batch 4 --fsdp --ckpt "$tmp/ckpt" --seed 3
check "saves from a mesh" [ -e "$tmp/ckpt/last.ckpt" ]
fit --batch 8 --resume "$tmp/ckpt/last.ckpt" --epochs 2
check "goes on from there on one device" [ $? = 0 ]
fit --devices 2 --mesh data=3
check "another size than the run is refused" grep -q 'the mesh data=3 needs 3 devices, the run has 2' "$tmp/out"
seq -f 'line %g' 400 >"$tmp/text"
fit --devices 2 --mesh expert=2 --batch 4 --experts 4 --data "$tmp/text" --ckpt "$tmp/experts" --output "$tmp/folder"
check "a folder says how many experts" grep -q '"n_expert": 4' "$tmp/folder/config.json"
"$XTRAIN" generate "$tmp/folder" --prompt 'line 1' --tokens 4 >"$tmp/o" 2>"$tmp/out"
check "generates from it" [ $? = 0 ]
fit --devices 4 --mesh expert=4 --batch 2 --experts 2
check "fewer experts than devices are refused" grep -q '2 experts for the 4 devices along "expert"' "$tmp/out"
fit --devices 3 --mesh stage=3 --batch 8
check "stages that do not divide the layers are refused" grep -q '4 layers over the 3 stages' "$tmp/out"
fit --devices 2 --mesh stage=2 --batch 8 --pipeline other
check "another schedule is refused" grep -q 'pipeline = other; gpipe or 1f1b' "$tmp/out"
fit --devices 2 --mesh stage=2 --batch 6
check "micro-batches that do not divide the batch are refused" grep -q 'a batch of 6 in 4 micro-batches' "$tmp/out"
fit --devices 2 --mesh stage=2 --batch 8 --ckpt "$tmp/stages"
check "a folder of stages is refused" grep -q 'blocks are stacked in stages' "$tmp/out"
# a checkpoint of stages, whole and in shards, goes on in other layouts
for sharded in off on; do
    at="--callbacks model_checkpoint --callbacks.model_checkpoint.sharded $sharded --callbacks.model_checkpoint.dirpath"
    # shellcheck disable=SC2086
    fit --devices 2 --mesh stage=2 --batch 8 $at "$tmp/in$sharded"
    check "$sharded: stages write a checkpoint" [ -e "$tmp/in$sharded/last.ckpt" ]
    on() { fit --epochs 2 --resume "$tmp/in$sharded/last.ckpt" "$@" && loss; }
    went=$(on --devices 2 --mesh stage=2 --batch 8)
    check "$sharded: and go on, to a lower loss" awk -v a="$went" -v b="$one" 'BEGIN {exit !(a > 0 && a < b)}'
    layouts_on() {
        while read -r more; do
            # shellcheck disable=SC2086
            check "$sharded: $more: goes on to the same loss, $went" same "$went" "$(on $more)"
        done
    }
    layouts_on <<END
--devices 4 --mesh stage=4 --batch 8 --pipeline 1f1b
--devices 4 --mesh data=2,stage=2 --batch 4 --fsdp
--devices 2 --mesh data=2 --batch 4 --pipeline 1f1b
--batch 8 --pipeline gpipe
END
done
"$XTRAIN" convert "$tmp/inon/last.ckpt" "$tmp/single.safetensors" --unstack h --leave-out '*:*' >"$tmp/o" 2>"$tmp/out"
check "single blocks of the shards of stages" [ $? = 0 ]
"$XTRAIN" convert "$tmp/inoff/last.ckpt" "$tmp/other.safetensors" --unstack h --leave-out '*:*' >"$tmp/o" 2>"$tmp/out"
check "and of the whole" [ $? = 0 ]
start() { fit --batch 8 --load "$1" && sed -nE 's/.*"loss_first": ([0-9.e+-]+).*/\1/p' "$tmp/o" | tail -n 1; }
first=$(start "$tmp/single.safetensors")
check "one device begins with them" awk -v a="$first" -v b="$one" 'BEGIN {exit !(a > 0 && a < b * 1.1)}'
check "which are the same in both" same "$first" "$(start "$tmp/other.safetensors")"
fit --devices 2 --mesh stage=2 --batch 8 --experts 4
check "experts in stages are refused" grep -q 'blocks of an xt_pipeline left out' "$tmp/out"
fit --batch 8 --experts 2 --experts-per-token 3
check "more choices than experts are refused" grep -q 'sent to an expert once at most' "$tmp/out"
fit --mesh nonsense
check "no mesh at all is refused" grep -q 'mesh nonsense: names and sizes are expected' "$tmp/out"
finish
