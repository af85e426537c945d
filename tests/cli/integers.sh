#!/bin/bash
# --weights int8|int4, and folders that xtrain convert --weights wrote: a model whose linear layers are integers says
# what the model of f32 says whose weights are the numbers that those integers stand for, and adapters over it learn as
# they do there.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
run() { "$XTRAIN" "$@" >"$tmp/out" 2>&1; }
"$here/small_folders.py" "$(dirname "$here")/parity/t5.json"
loss() { grep -o 'val/loss=* *[0-9.]*' out | tail -n 1 | grep -o '[0-9.]*$'; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d < 2e-5 && d > -2e-5) }'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a < b) }'; }
while read -r kind command counted steps data; do
    judge="--data $data --batch 4"
    # SGD: Adam's first steps make a number of either sign of what is rounding.
    train="$judge --steps $steps --optimizer sgd --optimizer.lr 0.1 --lora r=4 --lora-targets all-linear"
    for w in int8 int4; do
        run convert $kind $kind-$w-kept --weights $w
        check "$kind, $w: a folder of integers is written" [ $? = 0 ]
        check "$kind, $w: which config.json says" grep -q '"bits":.*'${w#int} $kind-$w-kept/config.json
        check "$kind, $w: it is narrower" \
            [ $(($(stat -c %s $kind-$w-kept/model.safetensors) * 2)) -lt "$(stat -c %s $kind/model.safetensors)" ]
        for prompt in 丁 丂七丄丅丆万丈三上下丌不与丐丑丒专且丕世丗丘丙业丛东丝丞; do
            say="--prompt $prompt --temperature 0 --ignore-eos --tokens 30"
            # shellcheck disable=SC2086
            run generate ./$kind-$w $say && cp out text
            # shellcheck disable=SC2086
            "$XTRAIN" generate ./$kind --weights $w $say >out 2>/dev/null
            check "$kind, $w: the text behind ${#prompt} tokens is that of f32" \
                [ "$(head -n 1 out)" = "$(head -n 1 text)" ]
            # shellcheck disable=SC2086
            "$XTRAIN" generate ./$kind-$w-kept $say >out 2>/dev/null
            check "$kind, $w: that of the folder of integers too" [ "$(head -n 1 out)" = "$(head -n 1 text)" ]
        done
        # shellcheck disable=SC2086
        run fit $command --init $kind --weights $w $train --output $kind-$w-adapter
        check "$kind, $w: adapters are trained" [ $? = 0 ]
        check "$kind, $w: all weights are counted" grep -q "$counted of adapters" out
        # shellcheck disable=SC2086
        run fit $command --init $kind-$w $train --output $kind-$w-reference
        check "$kind, $w: so are those of the reference" [ $? = 0 ]
        # shellcheck disable=SC2086
        run validate $command --init $kind-$w --adapter $kind-$w-reference $judge
        reference=$(loss)
        # shellcheck disable=SC2086
        run validate $command --init $kind --weights $w --adapter $kind-$w-adapter $judge
        check "$kind, $w: the loss is that over f32: $(loss), $reference" near "$(loss)" "$reference"
        wanted=$(loss)
        # shellcheck disable=SC2086
        run validate $command --init $kind-$w-kept --adapter $kind-$w-adapter $judge
        check "$kind, $w: and just that over the folder of integers: $(loss)" [ "$(loss)" = "$wanted" ]
        # shellcheck disable=SC2086
        run fit $command --init $kind-$w-kept $train --output $kind-$w-kept-adapter
        check "$kind, $w: where the same adapters are learnt" \
            cmp $kind-$w-adapter/adapter_model.safetensors $kind-$w-kept-adapter/adapter_model.safetensors
        # shellcheck disable=SC2086
        run validate $command --init $kind-$w --adapter $kind-$w-adapter $judge
        check "$kind, $w: the adapter fits the f32 model: $(loss)" near "$(loss)" "$reference"
        # shellcheck disable=SC2086
        run validate $command --ckpt $kind-$w $judge
        check "$kind, $w: which has learnt: before $(loss)" less "$reference" "$(loss)"
        # shellcheck disable=SC2086
        run validate $command --init $kind --weights $w --adapter none $judge
        check "$kind, $w: an adapter that is not there" [ $? = 1 ]
    done
done <<KINDS
llama llama 74304.parameters,.7424 30 notes.txt --seq 16
tied llama 71744.parameters,.7424 30 notes.txt --seq 16
gpt2 gpt2 114944.parameters,.8192 30 notes.txt --seq 16
t5 t5 168256.parameters,.17408 30 pairs.jsonl
KINDS
run convert llama pieces --weights int8 --max-shard-size 20KB
check "integers in shards" [ "$?$(test -s pieces/model.safetensors.index.json && echo 1)" = 01 ]
say="--prompt 丁 --temperature 0 --ignore-eos --tokens 30"
# shellcheck disable=SC2086
for dir in pieces llama-int8-kept; do "$XTRAIN" generate ./$dir $say 2>/dev/null | head -n 1 >text-$dir; done
check "which are read as well" cmp text-pieces text-llama-int8-kept
failed() { # text arguments...: not of their form
    local said=$1
    shift
    run "$@"
    check "$* fails" [ "$?$(grep -c -- "$said" out)" = 11 ]
}
run validate gpt2 --init gpt2-int8-kept --data notes.txt --batch 4 --seq 16
check "integers are judged without adapters" [ $? = 0 ]
kept=$(loss)
run validate gpt2 --init gpt2 --weights int8 --data notes.txt --batch 4 --seq 16
check "and so are those that are made at the start: $(loss), $kept" [ "$?$(loss)" = "0$kept" ]
sizes="$(python3 -c 'import json
c = json.load(open("gpt2/config.json"))
print(*(f"--{n} {c[k]}" for n, k in
        dict(layers="n_layer", width="n_embd", heads="n_head", context="n_positions").items()))')"
run fit gpt2 --init gpt2 --data notes.txt --batch 4 --seq 16 --steps 2 --lora r=2 --sample 0 --ckpt adapted
check "a checkpoint with adapters" [ $? = 0 ]
# shellcheck disable=SC2086
for reader in "generate gpt2 --ckpt adapted --prompt a $sizes" \
    "fit gpt2 --load adapted/last.ckpt --data notes.txt --steps 1 --batch 4 --seq 16 --tokenizer gpt2 $sizes"; do
    failed 'holds adapters of LoRA (h.0.*), which this would leave out' $reader
done
run validate gpt2 --init gpt2 --adapter gpt2-int8-adapter --data notes.txt --batch 4 --seq 16
beside=$(loss)
run convert gpt2 gpt2-merged --merge gpt2-int8-adapter
check "an adapter joins a model whose names have no transformer. in front" [ $? = 0 ]
run validate gpt2 --init gpt2-merged --data notes.txt --batch 4 --seq 16
check "which says what both do: $(loss), $beside" near "$(loss)" "$beside"
failed 'is integers, to which nothing is added' convert gpt2-int8-kept nothing --merge gpt2-int8-adapter
check "a folder for what was not written is not left" [ ! -e nothing ]
mkdir here
failed 'is integers, to which nothing is added' convert gpt2-int8-kept here --merge gpt2-int8-adapter
check "one that was there is" [ -d here ]
failed 'is kept as integers with a factor for each group' convert llama-int8-kept turned --transpose '*q_proj.weight'
failed 'integers of 8 bits already' convert llama-int8-kept twice --weights int4
failed 'has weights of int8; --weights int4' generate ./llama-int8-kept --prompt 丁 --weights int4
sed 's/"quant_method":.*,/"quant_method": "gptq",/' llama-int8-kept/config.json >pieces/config.json
failed 'quantised by "gptq" are not read' generate ./pieces --prompt 丁
refused() { # text arguments...
    local said=$1
    shift
    run "$@"
    check "$* is refused" [ "$?$(grep -c -- "$said" out)" = 21 ]
}
refused 'weights is int8 or int4' fit llama --init llama --weights bf16 --lora r=2 --data notes.txt
refused 'weights is for --lora' fit llama --init llama --weights int8 --data notes.txt
refused 'weights of int8, which are not trained' fit llama --init llama-int8-kept --data notes.txt
refused 'weights of int8, --weights asks' fit llama --init llama-int8-kept --weights int4 --lora r=2 --data notes.txt
refused 'weights is int8 or int4' convert llama narrow --weights bf16
refused 'with --max-shard-size alone' convert llama narrow --weights int8 --dtype bf16
refused 'for two folders' convert llama narrow.safetensors --weights int8
finish
