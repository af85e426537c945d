#!/bin/bash
# Folders of models, adapters and their tokenizers that somebody damaged on purpose: some of those that
# slow/hostile_folders.sh tries, and what was found by it.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
damaged() { "$root/tests/cli/hostile_folders.py" "$XTRAIN" "$root/tests/parity" "$tmp/work" "$@" >"$tmp/out" 2>&1; }
damaged 0 40
check "forty damaged folders" [ $? = 0 ]
cd "$tmp/work" || exit 1
export XT_SUMMARY=off
changed() { # changed FOLDER NAME VALUE: its config.json says so
    rm -rf "$1"
    cp -r "whole/$1" "$1"
    python3 - "$@" <<'CHANGE'
import json, sys
path = sys.argv[1] + "/config.json"
config = json.load(open(path))
config[sys.argv[2]] = int(sys.argv[3])
json.dump(config, open(path, "w"))
CHANGE
}
said() { # said PATTERN COMMAND...
    local pattern=$1
    shift
    timeout 60 "$XTRAIN" "$@" >"$tmp/out" 2>&1
    code=$?
    check "$pattern" eval '[ $code = 1 ] && grep -q -- "$pattern" "$tmp/out"'
}
for kind in "llama chats.jsonl" "bert texts.jsonl"; do
    changed ${kind% *} num_hidden_layers 1000003
    said "${kind% *}/config.json: \"num_hidden_layers\" is 1000003; a whole number from 1 to 1000" \
        fit ${kind% *} --init ${kind% *} --data ${kind#* } --steps 1 --no-pictures
done
changed bert max_position_embeddings 16000048
said 'bert/config.json: "max_position_embeddings" is 16000048; a whole number from 1 to 1048576' \
    fit bert --init bert --data texts.jsonl --steps 1 --no-pictures
changed llama intermediate_size 14
said 'gate_proj.weight is .* in llama/model.safetensors.index.json, but this call needs' generate llama --prompt a
# Two names of one matrix; a file of the tokenizer's that is no JSON.
rm -rf adapter llama
cp -r whole/adapter whole/llama .
python3 - <<'TWICE'
import json, struct
data = open("adapter/adapter_model.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head, rest = json.loads(data[8:8 + n]), data[8 + n:]
name = next(k for k in head if k.endswith("lora_A.weight"))
begin, end = head[name]["data_offsets"]
head[name.replace("base_model.model.", "")] = dict(head[name], data_offsets=[len(rest), len(rest) + end - begin])
head = json.dumps({k: v for k, v in head.items() if not k.startswith("__")}).encode()
open("adapter/adapter_model.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + rest + rest[begin:end])
TWICE
said 'adapter_model.safetensors: .*lora_A.weight and .*lora_A.weight are the same matrix' \
    convert llama out --merge adapter
echo '[' >llama/tokenizer_config.json
said 'llama/tokenizer_config.json is no JSON object' \
    fit llama --init llama --data chats.jsonl --seq 4 --steps 1 --no-pictures
finish
