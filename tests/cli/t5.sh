#!/bin/bash
# A folder of T5's: texts that it says, pairs of texts that it learns, whole and by adapters, folders that are written
# back, and what does not fit.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
run() { "$XTRAIN" "$@" >"$tmp/out" 2>"$tmp/err"; }
for kind in tied gated; do
    mkdir $kind
    run convert "$here/../parity/t5.safetensors" $kind/model.safetensors --keep "$kind/w/*" --rename "$kind/w/*=*"
    check "$kind: a folder" [ $? = 0 ]
done
python3 - "$here/../parity/t5.json" <<'FILES'
import json, random, sys
configs = json.load(open(sys.argv[1]))
random.seed(3)
letters = {chr(0x61 + i): i + 2 for i in range(20)}
vocab = {"<pad>": 0, "</s>": 1, **letters, "<unk>": 22}
for kind in "tied", "gated":
    json.dump(configs[kind], open(kind + "/config.json", "w"))
    json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "<unk>"},
               "added_tokens": [{"id": 1, "content": "</s>", "special": True, "single_word": False, "lstrip": False,
                                 "rstrip": False, "normalized": False}],
               "post_processor": {"type": "TemplateProcessing",
                                  "single": [{"Sequence": {"id": "A", "type_id": 0}},
                                             {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                                  "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                                           {"Sequence": {"id": "B", "type_id": 0}}],
                                  "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}},
               "decoder": {"type": "Fuse"}}, open(kind + "/tokenizer.json", "w"))
with open("pairs.jsonl", "w") as out, open("others.jsonl", "w") as others:
    for i in range(60):
        text = "".join(random.choice("abcd") for _ in range(1 + i % 3))
        out.write(json.dumps({"input": text, "target": text[::-1]}) + "\n")
        others.write(json.dumps({"prompt": text, "completion": text[::-1]}) + "\n")
FILES
loss() { grep -oh 'val/loss=* *[0-9.]*' out err | tail -n 1 | grep -o '[0-9.]*$'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a < b) }'; }
say() { run generate "$@" --temperature 0 --tokens 12 --ignore-eos; }

for kind in tied gated; do
    say $kind --prompt abc
    check "$kind: a text" [ $? = 0 ]
    check "$kind: the prompt is no part of it" [ "$(head -n 1 out | grep -c '^abc')" = 0 ]
    cp out alone
    run validate t5 --ckpt $kind --data pairs.jsonl --batch 6
    first=$(loss)
    run fit t5 --init $kind --data pairs.jsonl --batch 6 --steps 400 --lr 0.01 --output $kind-tuned
    check "$kind: trained" [ $? = 0 ]
    check "$kind: what it learns from is said" grep -q '60 pairs of at most 4 and 4 tokens, the last 6' out
    run validate t5 --ckpt $kind-tuned --data others.jsonl --batch 6
    check "$kind: better, $(loss) after $first" less "$(loss)" "$first"
    check "$kind: its other files" cmp $kind/tokenizer.json $kind-tuned/tokenizer.json
done
run generate tied-tuned --prompt ab --prompt dc --prompt c --batch 2 --temperature 0 --tokens 8 --json
check "several texts end where they end" [ "$(grep -o '"text": "[a-z]*"' out | tr '\n' ' ')" = \
    '"text": "ba" "text": "cd" "text": "c" ' ]
run fit t5 --init tied --data pairs.jsonl --batch 6 --steps 60 --lr 0.01 --lora r=4 --checkpoint --output adapter
check "an adapter" [ $? = 0 ]
check "is one of a sequence to sequence model" grep -q '"SEQ_2_SEQ_LM"' adapter/adapter_config.json
run validate t5 --init tied --adapter adapter --data pairs.jsonl --batch 6
with=$(loss)
run convert tied merged --merge adapter
check "merged" [ $? = 0 ]
run validate t5 --ckpt merged --data pairs.jsonl --batch 6
check "merged, the loss is the same: $(loss), $with" [ "$(loss)" = "$with" ]
run fit t5 --init gated --data pairs.jsonl --batch 6 --steps 2 --lora r=2 --lora-targets all-linear --output all
check "adapters everywhere" [ $? = 0 ]

refused() { # code text arguments...
    local code=$1 said=$2
    shift 2
    run "$@"
    check "$* is refused" [ "$?$(cat out err | grep -c -- "$said")" = "${code}1" ]
}
echo plain >plain.txt
refused 1 'plain.txt: .*pairs' fit t5 --init tied --data plain.txt
refused 1 'packing is not for pairs' fit t5 --init tied --data pairs.jsonl --packing pad
refused 1 'has an encoder' evaluate tied --perplexity plain.txt
refused 1 'is of the model type t5' fit llama --init tied --data plain.txt
refused 1 "no linear layer's name fits the target 'q_proj'" fit t5 --init tied --data pairs.jsonl --batch 6 --lora r=2 \
    --lora-targets q_proj
echo '{"input": "a"}' >>pairs.jsonl
refused 1 'pairs.jsonl:61: .*"target"' fit t5 --init tied --data pairs.jsonl
finish
