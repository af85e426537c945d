#!/bin/bash
# What xtrain fit is asked to write is there when it ends with 0: also of a model that lies divided over its ranks.
set -u
. "$(dirname "$0")/../examples/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
export XT_SUMMARY=off
cd "$tmp" || exit 1
run() { "$XTRAIN" "$@" >"$tmp/out" 2>&1; }
mkdir folder
run convert "$here/../parity/llama.safetensors" folder/model.safetensors --keep 'qwen2/w/*' --rename 'qwen2/w/*=*'
check "a folder" [ $? = 0 ]
python3 - "$here/../parity/llama.json" <<'FILES'
import json, random, sys
config = json.load(open(sys.argv[1]))["qwen2"]
json.dump(config, open("folder/config.json", "w"))
vocab = {chr(0x61 + i): i for i in range(config["vocab_size"])}
json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": {"type": "Fuse"}},
          open("folder/tokenizer.json", "w"))
random.seed(1)
open("text.txt", "w").write("".join(random.choice(["abcdefg", *"hijklmnopqrs"]) for i in range(300)))
FILES
fit() {
    run fit llama --init folder --data text.txt --seq 12 --batch 4 --lr 0.01 --steps 2 --limit-val 1 --no-pictures "$@"
}
values() { # FOLDER: its weights as rounded numbers
    "$XTRAIN" convert "$1/model.safetensors" flat.safetensors >out 2>&1 && python3 - <<'SUM'
import json, struct
data = open("flat.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
for name, e in sorted(json.loads(data[8 : 8 + n]).items()):
    if name == "__metadata__":
        continue
    a, b = e["data_offsets"]
    v = struct.unpack(f"<{(b - a) // 4}f", data[8 + n + a : 8 + n + b])
    print(name, e["shape"], round(sum(v), 1), round(sum(x * x for x in v), 1))
SUM
}

# Divided by a strategy of the command's, of the trainer's, by a mesh: the same weights as of whole models.
fit --devices 2 --output ddp
check "two ranks" [ $? = 0 -a -s ddp/model.safetensors ]
values ddp >want
check "have weights" [ "$(wc -l <want)" -gt 10 ]
for how in "--strategy fsdp" "--trainer.strategy zero1"; do
    rm -rf apart
    # shellcheck disable=SC2086
    fit --devices 2 $how --output apart
    check "$how" [ $? = 0 ]
    values apart >got
    check "$how: weights" cmp want got
    check "$how: the other files" [ -s apart/config.json -a -s apart/tokenizer.json ]
done
rm -rf apart
fit --devices 2 --mesh tensor=2 --output apart
check "--mesh tensor=2" [ $? = 0 -a -s apart/model.safetensors -a -s apart/config.json ]
fit --devices 2 --strategy fsdp --lora r=2 --output adapter
check "an adapter" [ $? = 0 -a -s adapter/adapter_model.safetensors -a -s adapter/adapter_config.json ]
run validate llama --init folder --adapter adapter --data text.txt --seq 12 --batch 4
check "which is read" [ $? = 0 ]
tiny() {
    run fit gpt2-tiny --data text.txt --seq 8 --batch 2 --layers 1 --width 16 --heads 2 --steps 2 --limit-val 1 "$@"
}
tiny --devices 2 --strategy fsdp --ckpt ckpts
check "a model that is not a folder's" [ $? = 0 -a -s ckpts/model.safetensors -a -s ckpts/last.ckpt ]
tiny --output whole
check "and its --output" [ $? = 0 -a -s whole/model.safetensors -a -s whole/config.json ]
finish
