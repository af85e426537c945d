#!/bin/bash
# xtrain fit --init: a model's folder of Hugging Face's trained further, whole and by LoRA, written back, and judged;
# texts, prompts and conversations; and what is told of folders and options that do not fit.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
run() { "$XTRAIN" "$@" >"$tmp/out" 2>&1; }
mkdir folder
run convert "$here/../parity/llama.safetensors" folder/model.safetensors --keep 'qwen2/w/*' --rename 'qwen2/w/*=*' \
    --max-shard-size 3KB
check "a folder of shards" [ $? = 0 -a -s folder/model.safetensors.index.json ]
python3 - "$here/../parity/llama.json" <<'FILES'
import json, random, sys
config = json.load(open(sys.argv[1]))["qwen2"]
config["torch_dtype"] = "bfloat16"
json.dump(config, open("folder/config.json", "w"))
vocab = {chr(0x61 + i): i for i in range(config["vocab_size"])}
json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": {"type": "Fuse"}},
          open("folder/tokenizer.json", "w"))
random.seed(1)
with open("text.txt", "w") as out:
    for i in range(1500):
        out.write("abcdefg" if random.random() < 0.7 else random.choice("hijklmnopqrs"))
FILES
fit() { run fit llama --init folder --data text.txt --seq 12 --batch 4 --steps 30 --no-pictures "$@"; }
loss() { grep -o 'val/loss=* *[0-9.]*' "$tmp/out" | tail -n 1 | grep -o '[0-9.]*$'; }
judge() { run validate llama --data text.txt --seq 12 --batch 4 "$@"; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a < b) }'; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && d < 2e-3 && d > -2e-3) }'; }

judge --init folder
check "validate, of a folder" [ $? = 0 ]
first=$(loss)
# A folder that is named as a kind of model is one, as for xtrain generate; with --init the name is the kind.
cp -r folder llama
judge
check "validate, of a folder named llama" [ $? = 0 -a "$(loss)" = "$first" ]
run predict llama --data text.txt --seq 12 --batch 4 --output named.npy
check "predict, of a folder named llama" [ $? = 0 -a -s named.npy ]
rm -r llama
judge
check "without such a folder the name is a kind" grep -q '^xtrain validate: llama needs --init FOLDER' "$tmp/out"
# What a folder lacks is said in the name of the command.
mkdir broken
cp folder/config.json broken
for stage in validate predict fit; do
    run $stage ./broken --data text.txt --seq 12
    check "xtrain $stage of a folder without weights: exit code" [ $? != 0 ]
    check "xtrain $stage says so itself" grep -q "^xtrain $stage: .*broken" "$tmp/out"
    check "and nobody else" [ "$(grep '^xtrain ' "$tmp/out" | grep -vc "^xtrain $stage: ")" = 0 ]
done
run predict ./folder --data text.txt --seq 12 --metrics 1 --data ./no.txt
check "its data are predict's too" grep -q "^xtrain predict: .*no.txt" "$tmp/out"
# Whole: the folder that is written has all the files of the one that it came from, and is one itself.
fit --lr 0.01 --output whole
check "a whole model is trained" [ $? = 0 ]
check "how much is said" grep -q 'folder: [0-9]* parameters, all are trained' "$tmp/out"
check "weights, config.json" [ -s whole/model.safetensors -a -s whole/config.json ]
check "and its tokenizer" cmp folder/tokenizer.json whole/tokenizer.json
check "and no more shards" [ -z "$(ls whole | grep -e -of-)" ]
check "config.json says the dtype of the weights" grep -q '"torch_dtype":.*"float32"' whole/config.json
judge --ckpt whole
check "which are judged" [ $? = 0 ]
whole=$(loss)
check "and better: $whole after $first" less "$whole" "$first"
run generate whole --prompt abc --tokens 5 --temperature 0
check "and make text" [ $? = 0 ]
# bf16 weights, activations computed again.
fit --lr 0.01 --output narrow --precision bf16-true --checkpoint
check "weights of bf16" [ $? = 0 ]
check "config.json stays" cmp folder/config.json narrow/config.json
judge --ckpt narrow --precision bf16-true
check "and better: $(loss)" less "$(loss)" "$first"
# By LoRA: the adapter alone is written; beside the model, or merged into it, it does the same.
fit --lora r=2,alpha=8,dropout=0.05 --lora-targets all-linear --lr 0.02 --output adapter
check "an adapter is trained" [ $? = 0 ]
check "how much of the model it is" grep -q 'of adapters (.*%) are trained' "$tmp/out"
check "and it alone is written" [ "$(ls adapter | tr '\n' ' ')" = \
    "adapter_config.json adapter_model.safetensors tokenizer.json " ]
judge --init folder --adapter adapter
check "it is judged" [ $? = 0 ]
adapted=$(loss)
check "and better: $adapted" less "$adapted" "$first"
run convert folder merged --merge adapter --max-shard-size 3KB
check "it is merged" [ $? = 0 -a -s merged/model.safetensors.index.json -a -s merged/tokenizer.json ]
judge --ckpt merged
check "which does the same: $(loss)" near "$(loss)" "$adapted"
fit --adapter adapter --lr 0.01 --output further
check "training goes on with it" [ $? = 0 ]
judge --init folder --adapter further
check "further: $(loss)" less "$(loss)" "$adapted"
fit --lora r=2 --ckpt ckpts
check "checkpoints and the adapter in one folder" [ $? = 0 -a -s ckpts/last.ckpt -a -s ckpts/adapter_config.json ]
fit --lora r=2 --ckpt ckpts --resume last --steps 32
check "a fit that goes on" [ $? = 0 ]

# What config.json beside the logs says is the same run again.
fit --lora r=2 --output once
runs=("$XT_RUNS_DIR"/llama/*/config.json)
newest=$(printf '%s\n' "${runs[@]}" | sort -V | tail -n 1)
run fit --config "$newest" --no-pictures --output again
check "config.json is the run again" [ $? = 0 ]
check "to the bit" cmp once/adapter_model.safetensors again/adapter_model.safetensors

# Records: texts, prompts with their completions, conversations; one a sample, several, or windows of all.
python3 - <<'RECORDS'
import json, os
os.mkdir("docs")
for i in range(12):
    open(f"docs/{i:02}.txt", "w").write("abcdefg" * (3 + i % 4) + "hijk"[i % 4])
with open("pairs.jsonl", "w") as out:
    for i in range(40):
        out.write(json.dumps({"prompt": "abc"[i % 3] * (1 + i % 5), "completion": "defg"[: 1 + i % 4]}) + "\n\n")
with open("chats.jsonl", "w") as out:
    for i in range(40):
        out.write(json.dumps({"messages": [{"role": "user", "content": "ab" * (1 + i % 3)},
                                           {"role": "assistant", "content": "cde"[: 1 + i % 3]}]}) + "\n")
RECORDS
records() { run fit llama --init folder --seq 16 --batch 4 --lr 0.01 --steps 40 --no-pictures "$@"; }
records --data docs --output texts
check "a folder of texts, in windows" [ $? = 0 ]
check "which are counted" grep -q \
    'docs: 12 records of .* tokens of one text; the last [0-9]* are for validation' "$tmp/out"
for form in pad pack; do
    records --data pairs.jsonl --packing $form --output pairs-$form
    check "prompts with completions: $form" [ $? = 0 ]
    run validate llama --data pairs.jsonl --seq 16 --batch 4 --packing $form --ckpt pairs-$form
    check "judged: $(loss)" less "$(loss)" 1.9
done
records --data chats.jsonl --chat-template llama2
check "conversations" [ $? = 0 ]
check "of which a tenth is held out" grep -q 'the last 4 records are for validation' "$tmp/out"
check "whose answers are learnt alone" grep -q 'are [0-9]* tokens, [0-9]* of them to be learnt' "$tmp/out"

# A record without a token to learn within the windows is left out, wherever it stands: a mean over nothing is NaN.
python3 - <<'UNLEARNT'
import json
with open("mixed.jsonl", "w") as some, open("none.jsonl", "w") as none:
    for i in range(40):
        prompt = "ab" * (20 if i % 10 == 9 else 2)
        some.write(json.dumps({"prompt": prompt, "completion": "de"}) + "\n")
        none.write(json.dumps({"prompt": prompt * 10, "completion": "de"}) + "\n")
UNLEARNT
records --data mixed.jsonl --steps 9
check "prompts as long as the windows" [ $? = 0 ]
check "are left out" grep -q '^4 more records are left out: .* within --seq 16' "$tmp/out"
check "not counted" grep -q ': 36 records of .*, 72 of them to be learnt; the last 3 records' "$tmp/out"
check "and no loss is NaN" [ "$(grep -ci nan "$tmp/out")$(loss | wc -l)" = 01 ]

# What does not fit is told, before anything is made.
refused() { # STATUS SAID ARGUMENTS
    local status=$1 said=$2
    shift 2
    run "$@"
    check "$said" [ "$?$(grep -c -e "$said" "$tmp/out")" = "${status}1" ]
}
refused 2 'llama needs --init FOLDER' fit llama --data text.txt
refused 2 'not for mnist' fit mnist --init folder
refused 2 "'r=0' is not understood" fit llama --init folder --lora r=0
refused 2 "'rank=3' is not understood" fit llama --init folder --lora alpha=3,rank=3
refused 2 'leave one of them out' fit llama --init folder --lora r=2 --adapter adapter
refused 2 'is for --lora' fit llama --init folder --lora-targets q_proj
refused 1 'is of the model type qwen2, and mistral was asked for' fit mistral --init folder
refused 1 'are what folder/config.json says' fit llama --init folder --layers 3
refused 1 'seq = 4096; folder/config.json sees 64 tokens at most' fit llama --init folder --seq 4096
refused 1 "fits the target 'c_attn'" fit llama --init folder --data text.txt --seq 12 --lora r=2 --lora-targets c_attn
check "and what would" grep -q "model's are q_proj,.*; all-linear takes all" "$tmp/out"
check "in one line" [ "$(grep -c 'c_attn' "$tmp/out")" = 1 ]
refused 1 'none of its 40 records has a token to learn within --seq 16' fit llama --init folder --data none.jsonl \
    --seq 16
refused 1 '/proc/x: nothing can be written in /proc' fit llama --init folder --data text.txt --seq 12 --output /proc/x
refused 1 'text.txt is a file; a folder' fit llama --init folder --data text.txt --seq 12 --ckpt text.txt
refused 1 'are the same folder, folder: .*--overwrite' fit llama --init folder --data text.txt --seq 12 --output folder
refused 1 'are the same folder, adapter:' fit llama --init folder --data text.txt --adapter adapter --output adapter
refused 1 'nothing can be written in missing' predict llama --data text.txt --ckpt whole --output missing/p.npy
refused 2 '.--output is for predict' fit mnist --output made
refused 1 'chats.jsonl:1: "messages" need a chat template' fit llama --init folder --data chats.jsonl --seq 16
cp -r folder thinking
echo '{"chat_template": "{{ <|im_start|> }} <think>"}' >thinking/tokenizer_config.json
refused 1 "is chatml's with \"<think>\"" fit llama --init thinking --data chats.jsonl --seq 16
refused 1 'chatml, llama3 and llama2 are known' fit llama --init folder --data chats.jsonl --chat-template jinja
refused 1 'windows cannot' fit llama --init folder --data pairs.jsonl --packing windows
echo '{"prompt": 3}' >>pairs.jsonl
refused 1 'pairs.jsonl:81: it is no object with a "text"' fit llama --init folder --data pairs.jsonl
refused 1 '--packing is for --init' fit gpt2-tiny --data text.txt --packing pad
refused 1 'adapter/config.json' fit llama --init adapter
mkdir bare
cp folder/config.json bare
refused 1 'bare has no weights' fit llama --init bare
finish
