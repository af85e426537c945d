#!/bin/bash
# Tokenizers of Hugging Face's at the command line: tokens of a text, a fit on a file of them, text from its model.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
run() { "$XTRAIN" "$@" >"$tmp/out" 2>&1; }
for i in $(seq 400); do echo "line $i of a text with ça and 的, $((i * i))"; done >text.txt
mkdir hf
python3 - "$here/../parity/tokenizers.json" <<'TEXT'
import json, sys
kinds = json.load(open(sys.argv[1], encoding="utf-8"))["kinds"]
json.dump(next(k["tokenizer"] for k in kinds if k["name"] == "llama3"), open("hf/tokenizer.json", "w"))
TEXT
run tokenize text.txt --tokenizer hf --output text.bin
check "a text becomes a file of tokens" [ $? = 0 ]
mkfifo fifo
run tokenize text.txt --tokenizer hf --output fifo
check "a FIFO is no file of tokens, and nothing is left beside it" [ "$?$(ls -d fifo*)" = 1fifo ]
cp text.bin was.bin && cp text.bin.json was.bin.json
(ulimit -f 1 && exec "$XTRAIN" tokenize text.txt --output text.bin) >out 2>&1
check "what stands beside the old tokens is theirs still" \
    [ "$?$(cmp text.bin was.bin && cmp text.bin.json was.bin.json)" = 1 ]
run tokenize text.txt --tokenizer hf --output text.bin
count=$(sed -nE 's/.* bytes are ([0-9]+) tokens of .*/\1/p' out)
check "of 16 bits each" [ "$(stat -c %s text.bin)" = $((2 * count)) ]
run tokenize text.txt --tokenizer hf --lines --specials
check "a line of numbers for each of the text" [ "$?$(wc -l <out)" = 0400 ]
sizes=(--layers 1 --width 16 --heads 2 --seq 8 --context 16 --batch 8 --steps 20)
run fit gpt2-tiny --data text.txt --tokenizer hf "${sizes[@]}" --sample 12 --ckpt fromtext
check "a fit with that tokenizer" [ $? = 0 ]
check "a sample of its text" grep -q '^sample: ' out
run fit gpt2-tiny --data text.bin --tokenizer hf "${sizes[@]}" --sample 0 --ckpt fromfile
check "a fit on the file of tokens" [ $? = 0 ]
check "the same weights: the tokens are the same" cmp fromtext/model.safetensors fromfile/model.safetensors
check "the tokenizer goes along" [ -s fromfile/tokenizer.json ]
run generate gpt2-tiny --ckpt fromfile --prompt 'line' --tokens 30 --temperature 0
check "and is used for text" [ $? = 0 ]
check "which is UTF-8" iconv -f utf-8 -t utf-8 out -o /dev/null
run fit gpt2-tiny --data text.bin "${sizes[@]}" --sample 5 --ckpt bare
check "without a tokenizer there are no samples, but a fit" [ "$?$(grep -c '^sample' out)" = 00 ]
head -c 1000 text.bin >cut.bin && cp text.bin.json cut.bin.json
run fit gpt2-tiny --data cut.bin --tokenizer hf "${sizes[@]}" --sample 0
check "a file that what stands beside it was not written for" \
    [ "$?$(grep -c "cut.bin holds 500 tokens of 2 bytes, cut.bin.json says $count: " out)" = 11 ]
head -c "$(stat -c %s text.bin)" /dev/zero | tr '\0' '\377' >text.bin.new && mv text.bin.new text.bin
run fit gpt2-tiny --data text.bin --tokenizer hf "${sizes[@]}" --sample 0
check "a token that the vocabulary has not" [ "$?$(grep -c 'token [0-9]* is 65535; ' out)" = 11 ]
echo '{"model": {}}' >hf/tokenizer.json
run tokenize text.txt --tokenizer hf --lines
check "a damaged tokenizer is an error with its path" [ "$?$(grep -c 'hf/tokenizer.json: ' out)" = 11 ]
finish
