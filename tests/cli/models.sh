#!/bin/bash
# xtrain fit and generate with the text and picture models: data of all kinds, resuming, generating, and what is
# refused.
set -u
. "$(dirname "$0")/expect.sh"
export XT_RUNS_DIR=$tmp/runs XT_PROGRESS=off
same() {
    if cmp -s "$2" "$3"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $1: $2 and $3 differ"; fi
}

# --- text: train, stop after an epoch, go on, and the bits are those of the run that never stopped
for i in $(seq 240); do
    echo "line $i says that the quick brown fox jumps over $((i * 7)) lazy dogs"
done >"$tmp/text.txt"
tiny=(--layers 2 --width 32 --heads 2 --context 32 --seq 32 --dropout 0.1 --batch 8 --sample 20)
# A cosine would follow the number of epochs.
fit=("$xtrain" fit gpt2-tiny --data "$tmp/text.txt" "${tiny[@]}" --schedule constant --warmup 5)
expect train 0 'sample: ' "${fit[@]}" --epochs 2 --ckpt "$tmp/whole"
# Sizes and windows: of config.json there, as generate.
expect beside 0 'val/loss +[0-9.]+' "$xtrain" validate gpt2-tiny --data "$tmp/text.txt" --ckpt "$tmp/whole"
# What is asked for comes first.
expect asked 1 'tensor<' "$xtrain" validate gpt2-tiny --data "$tmp/text.txt" --ckpt "$tmp/whole" --width 64
expect bytes 0 '[0-9]+ bytes, each a token of 256; the last' "$xtrain" \
    test gpt2-tiny --data "$tmp/text.txt" --ckpt "$tmp/whole"
expect half 0 '"epochs": 1, "steps": [0-9]+.*"val_loss": [0-9.]+' "${fit[@]}" --epochs 1 --ckpt "$tmp/half" --json
expect resume 0 '"val_loss": [0-9.]+' "${fit[@]}" --epochs 2 --ckpt "$tmp/half" --resume "$tmp/half/last.ckpt" --json
expect command-line-wins 0 '"epochs": 1, ' env XT_TRAINER_MAX_EPOCHS=3 "${fit[@]}" --epochs 1 --ckpt "$tmp/third" --json
expect text 0 '240 tokens|40 tokens' "$xtrain" generate gpt2-tiny --ckpt "$tmp/half" --prompt 'line 7 ' --tokens 40 \
    --seed 5
"$xtrain" generate gpt2-tiny --ckpt "$tmp/half" --prompt 'line 7 ' --tokens 60 --seed 5 >"$tmp/a" 2>/dev/null
"$xtrain" generate gpt2-tiny --ckpt "$tmp/whole/last.ckpt" --prompt 'line 7 ' --tokens 60 --seed 5 >"$tmp/b" 2>/dev/null
same resumed-as-whole "$tmp/a" "$tmp/b"
expect json 0 '"text": ".*", "tokens": 20, "prompt_tokens": 7, "tokens_per_s": .*"compiles": 2,' "$xtrain" generate \
    gpt2-tiny --ckpt "$tmp/half" --prompt 'line 7 ' --tokens 20 --top-k 5 --json
expect finetune 0 '"steps": 3' "$xtrain" fit gpt2-tiny --data "$tmp/text.txt" "${tiny[@]}" \
    --load "$tmp/half/last.ckpt" --steps 3 --lr 1e-4 --json
# Tiles drop the attention weights that are dropped without them.
val_loss() {
    "${fit[@]}" --steps 8 --json "$@" 2>/dev/null | tail -n 1 | grep -oE '"val_loss": [0-9.]+' | cut -d' ' -f2
}
whole=$(val_loss) tiled=$(val_loss --attention-tile 8)
if awk -v a="$whole" -v b="$tiled" 'BEGIN {exit !(a > 0 && a - b < 1e-5 * a && b - a < 1e-5 * a)}'; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAIL tiles-with-dropout: $tiled, without tiles $whole"
fi

# --- text: a tokenizer's files
mkdir "$tmp/bpe"
{
    printf '{'
    for b in $(seq 0 255); do
        if {
            [ $b -ge 33 ] && [ $b -le 126 ]
        } || {
            [ $b -ge 161 ] && [ $b -le 172 ]
        } || [ $b -ge 174 ]; then
            c=$b
        else
            c=$((256 + ${next:=0}))
            next=$((next + 1))
        fi
        printf '"\\u%04x": %d, ' $c $b
    done
    printf '"th": 256, "\\u0120th": 257, "\\u0120the": 258}'
} >"$tmp/bpe/vocab.json"
printf '#version: 0.2\nt h\n\xc4\xa0 th\n\xc4\xa0th e\n' >"$tmp/bpe/merges.txt"
expect tokens 0 'bytes are [0-9]+ tokens of 259' "$xtrain" fit gpt2-tiny --data "$tmp/text.txt" --tokenizer "$tmp/bpe" \
    "${tiny[@]}" --steps 5 --ckpt "$tmp/words"
expect words 0 '12 tokens' "$xtrain" generate gpt2-tiny --ckpt "$tmp/words" --prompt 'over the' --tokens 12 \
    --temperature 0

# --- pictures
expect generated 0 '"loss_first": [0-9.]+' "$xtrain" fit resnet18 --side 32 --batch 4 --limit-batches 3 --epochs 1 \
    --json
mkdir "$tmp/cifar"
record() { printf "\\x0$1"; head -c 3072 /dev/zero | tr '\0' "$2"; }
for k in 1 2 3 4 5; do { record 3 a; record 7 Z; } >"$tmp/cifar/data_batch_$k.bin"; done
for k in 1 2; do record 3 a; record 7 Z; done >"$tmp/cifar/test_batch.bin"
expect cifar 0 '"model": "resnet18".*"val_loss": [0-9.]+' "$xtrain" fit resnet18 --data "$tmp/cifar" --batch 2 \
    --small-stem --limit-batches 2 --epochs 1 --augment crop,flip --json
red=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC
mkdir -p "$tmp/folder/cats" "$tmp/folder/dogs"
for k in 1 2 3 4 5; do for c in cats dogs; do base64 -d <<<$red >"$tmp/folder/$c/$k.png"; done; done
expect folder 0 '"model": "resnet18".*"val_loss": [0-9.]+' "$xtrain" fit resnet18 --data "$tmp/folder" --side 32 \
    --batch 3 --epochs 1 --json

# --- what is refused
expect help 0 'xtrain generate gpt2-mini --ckpt out' "$xtrain" fit --help
expect small-text 1 'has 5 tokens; batches of 8 windows of 32 tokens' "$xtrain" fit gpt2-tiny --data <(echo four) \
    "${tiny[@]}"
expect no-text 1 'cannot open .*none: No such file' "$xtrain" fit gpt2-tiny --data "$tmp/none"
expect no-words 1 'cannot open .*vocab.json' "$xtrain" fit gpt2-tiny --data "$tmp/text.txt" --tokenizer "$tmp"
expect heads 2 'the heads must divide the width' "$xtrain" fit gpt2-tiny --heads 3
expect other 2 'mnist has no option layers' "$xtrain" fit mnist --layers 3
expect augment 1 'crop, flip, crop,flip or none' "$xtrain" fit resnet18 --augment turn
expect no-ckpt 1 'no checkpoint and no folder with one' "$xtrain" generate gpt2-tiny --ckpt "$tmp/none" --prompt x
expect which 2 'mnist makes no text; gpt2, ' "$xtrain" generate mnist --ckpt "$tmp/half"
expect sizes 1 'module|missing|file' "$xtrain" generate gpt2-tiny --ckpt "$tmp/cifar/test_batch.bin" --prompt x
expect damaged 1 'config.json' \
    bash -c "echo '{}' > $tmp/whole/config.json; $xtrain generate gpt2-tiny --ckpt $tmp/whole --prompt x"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
