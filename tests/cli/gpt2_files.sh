#!/bin/bash
# A GPT-2's folder both ways: what `xtrain fit --ckpt` writes is one of Hugging Face's library, with its logits, and
# validate, test and predict read such a folder as `xtrain generate` does.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
for i in $(seq 300); do echo "line $i of a text, $((i * i))"; done >"$tmp/text.txt"
cd "$tmp" || exit 1
run() { "$XTRAIN" "$@" >"$tmp/out" 2>&1; }
sizes=(--layers 2 --width 16 --heads 2 --seq 8 --context 16)
run fit gpt2-tiny --data text.txt "${sizes[@]}" --batch 8 --steps 40 --lr 0.03 --sample 0 --ckpt ours
check "a small model is trained" [ $? = 0 ]
check "its folder has Hugging Face's files" [ -s ours/model.safetensors -a -s ours/config.json ]
run predict gpt2-tiny --data text.txt --ckpt ours --output ours.npy
check "predict, of the checkpoint" [ $? = 0 ]
${TORCH_PYTHON:-python3} "$here/gpt2_files.py" check ours ours.npy text.txt >"$tmp/out" 2>&1
check "the logits of Hugging Face's model with our file are ours" [ $? = 0 ]
rows() {
    head -c 200 "$1" | grep -aoE "'shape': \\([0-9]+"
}
run predict gpt2-tiny --data text.txt --ckpt ours --batch 1 --output single.npy
for batch in 7 13; do
    run predict gpt2-tiny --data text.txt --ckpt ours --batch $batch --output some.npy
    check "each window is predicted, by $batch" [ -n "$(rows some.npy)" -a "$(rows some.npy)" = "$(rows single.npy)" ]
    check "and nothing is said of a loader" [ "$(grep -c 'fill no batch' "$tmp/out")" = 0 ]
    for pass in validate test; do
        run $pass gpt2-tiny --data text.txt --ckpt ours --batch $batch
        check "$pass takes them too" [ $? = 0 -a "$(grep -c 'fill no batch' "$tmp/out")" = 0 ]
    done
done
mkdir theirs prefixed
cp ours/config.json ours/model.safetensors theirs
cp ours/config.json prefixed
python3 "$here/gpt2_files.py" prefixed ours prefixed/model.safetensors
for folder in theirs prefixed; do
    run predict gpt2-tiny --data text.txt --ckpt $folder --output $folder.npy
    check "predict reads Hugging Face's folder: $folder" [ $? = 0 ]
    check "with the same outputs: $folder" cmp ours.npy $folder.npy
    run generate gpt2-tiny --ckpt $folder --prompt line --tokens 20 --temperature 0
    check "generate too: $folder" [ $? = 0 ]
done
run predict gpt2 --init theirs --data text.txt --seq 8 --output said.npy
run predict theirs --data text.txt --seq 8 --output named.npy
check "predict FOLDER, as generate FOLDER" cmp said.npy named.npy
run predict theirs --data text.txt --output longest.npy
check "its windows are no longer than the model sees" [ $? = 0 ]
run validate gpt2-tiny --data text.txt --ckpt ours/last.ckpt
mine=$(grep -o 'val/loss.*' "$tmp/out")
run validate gpt2-tiny --data text.txt --ckpt theirs/model.safetensors
check "validate, of the file itself: the same loss" [ -n "$mine" -a "$(grep -o 'val/loss.*' "$tmp/out")" = "$mine" ]
# Without a tokenizer bytes are tokens, of a model of bytes in silence; one that is there and cannot be had is no such
# folder.
run generate theirs --prompt line --tokens 3
check "a model of bytes needs no tokenizer" [ "$?$(grep -c 'has no tokenizer' out)" = 00 ]
mkdir wide
python3 "$here/gpt2_files.py" widened ours wide
for command in "generate wide --prompt line --tokens 3" "fit gpt2 --init wide --data text.txt --seq 8 --steps 1" \
    "validate gpt2-tiny --data text.txt --ckpt wide"; do
    # shellcheck disable=SC2086
    run $command
    check "other tokens than bytes are expected: $command" \
        [ "$?$(grep -c '^[./]*wide has no tokenizer .*each byte is taken as a token.*knows 300' out)" = 01 ]
    for name in tokenizer.json vocab.json; do
        rm -rf cut
        cp -r wide cut
        ln -s ../blobs/gone cut/$name
        # shellcheck disable=SC2086
        run ${command//wide/cut}
        check "a link to nowhere: $name, ${command//wide/cut}" \
            [ "$?$(grep -c "cut/$name is a symbolic link to ../blobs/gone, which cannot be followed" out)" = 11 ]
    done
done
echo "not a file of tensors" >theirs/model.safetensors
run predict gpt2-tiny --data text.txt --ckpt theirs
check "a file that is none is an error with its path" [ "$?$(grep -c 'theirs/model.safetensors' "$tmp/out")" = 11 ]
finish
