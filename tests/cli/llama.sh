#!/bin/bash
# xtrain generate with a model folder of Llama's family, as transformers writes it.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
mkdir folder
"$XTRAIN" convert "$here/../parity/llama.safetensors" folder/model.safetensors --keep 'mistral/w/*' \
    --rename 'mistral/w/*=*' --max-shard-size 3KB >out 2>&1
check "a folder of shards" [ $? = 0 -a -s folder/model.safetensors.index.json ]
python3 - "$here/../parity/llama.json" <<'FILES'
import json, sys
config = json.load(open(sys.argv[1]))["mistral"]
json.dump(config, open("folder/config.json", "w"))
vocab = {chr(0x4e00 + i): i for i in range(config["vocab_size"])}
model = {"type": "BPE", "vocab": vocab, "merges": []}
json.dump({"model": model, "decoder": {"type": "Fuse"}}, open("folder/tokenizer.json", "w"))
FILES
say() { "$XTRAIN" generate "$@" --prompt 一丁七丂 --tokens 12 --temperature 0 >out 2>err; }
say folder --ignore-eos
check "text from it" [ $? = 0 ]
check "the prompt and 12 tokens" [ "$(head -n 1 out | tr -d '\n' | wc -c)" = 48 ]
cp out first
say folder --ignore-eos --context 64
check "whatever is kept in sight" cmp first out
rm folder/model-00002-of-*
say folder
check "a missing shard is named" [ "$?$(grep -c 'model-00002-of-.*is not there' err)" = 11 ]
sed -i 's/"mistral"/"mamba"/' folder/config.json
say folder
check "a model that is not known" [ "$?$(grep -c 'folder/config.json: the model type "mamba" is not known' err)" = 11 ]
finish
