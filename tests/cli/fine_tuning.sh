#!/bin/bash
# The guide to fine-tuning (doc/fine-tuning.md): its commands run as they stand, on a small model of random weights, and
# both languages have the same ones.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
doc=$here/../../doc
export XT_SUMMARY=off
cd "$tmp" || exit 1
"$XTRAIN" convert "$here/../parity/llama.safetensors" model.safetensors --keep 'llama3/w/*' --rename 'llama3/w/*=*' \
    >out 2>&1
check "weights" [ $? = 0 ]
mkdir model notes && mv model.safetensors model
python3 - "$here/../parity/llama.json" <<'FILES'
import json, sys
config = json.load(open(sys.argv[1]))["llama3"]
json.dump(config, open("model/config.json", "w"))
vocab = {chr(0x61 + i): i for i in range(config["vocab_size"])}
json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": {"type": "Fuse"}},
          open("model/tokenizer.json", "w"))
for i in range(10):
    open(f"notes/{i}.txt", "w").write("abcdefghijk" * 8)
with open("pairs.jsonl", "w") as pairs, open("chats.jsonl", "w") as chats:
    for i in range(12):
        pairs.write(json.dumps({"prompt": "ab" * (1 + i % 3), "completion": "cde"}) + "\n")
        chats.write(json.dumps({"messages": [{"role": "user", "content": "ab" * (1 + i % 3)},
                                             {"role": "assistant", "content": "cde"}]}) + "\n")
with open("questions.jsonl", "w") as questions:
    questions.write(json.dumps({"query": "abab", "choices": ["ab", "c"], "gold": 0}) + "\n")
open("notes.txt", "w").write("abcdefghijk" * 8)
FILES
commands() { awk '/^```console$/ { on = 1; next } /^```$/ { on = 0 } on && /^\$ /' "$1" | sed 's/^\$ //'; }
commands "$doc/fine-tuning.md" >commands
check "the guide has commands" [ "$(grep -c '^xtrain ' commands)" -ge 8 ]
check "and no others" [ "$(grep -vc '^xtrain ' commands)" = 0 ]
check "the Chinese one has the same" [ "$(cat commands)" = "$(commands "$doc/fine-tuning.zh-CN.md")" ]
while read -r _ arguments; do
    # shellcheck disable=SC2086
    "$XTRAIN" $arguments >out 2>&1
    check "xtrain $arguments" [ $? = 0 ]
done <commands
check "a whole model is there" [ -s tuned/model.safetensors -a -s tuned/config.json -a -s tuned/tokenizer.json ]
check "and an adapter" [ -s adapter/adapter_model.safetensors -a -s adapter/adapter_config.json ]
finish
