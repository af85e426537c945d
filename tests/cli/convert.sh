#!/bin/bash
# xtrain convert: shards and back, the files beside the weights, and what it refuses.
set -u
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off
cd "$tmp" || exit 1
for i in $(seq 300); do echo "line $i of a text, $((i * i))"; done >text.txt
run() { "$XTRAIN" "$@" >"$tmp/out" 2>&1; }
run fit gpt2-tiny --data text.txt --layers 1 --width 16 --heads 2 --seq 8 --context 16 --steps 2 --sample 0 --ckpt ours
check "a small model is trained" [ $? = 0 ]
run convert ours shards --max-shard-size 20KB
check "its folder in shards" [ $? = 0 ]
check "with an index, and what stood beside the weights" \
    [ -s shards/model.safetensors.index.json -a -s shards/config.json ]
check "and no whole file" [ ! -e shards/model.safetensors ]
run convert shards whole.safetensors
check "and back" [ $? = 0 ]
run convert whole.safetensors again.safetensors
check "the same tensors" cmp whole.safetensors again.safetensors
run convert shards half --dtype bf16
check "as bf16" [ $? = 0 ]
check "half as large" [ $(($(stat -c %s half/model.safetensors) * 10)) -lt $(($(stat -c %s whole.safetensors) * 7)) ]
check "which config.json says" grep -q '"dtype":.*"bfloat16"' half/config.json
sed 's/{/{"torch_dtype": "float16",/' half/config.json >shards/config.json
run convert shards wide --dtype f32
check "under the older name too" [ "$(grep -c '"\(torch_\)\?dtype":.*"float32"' wide/config.json)" = 2 ]
run convert shards shards
check "not onto itself" [ "$?$(grep -c 'are the same folder' out)" = 11 ]
run convert whole.safetensors meta.safetensors --keep '*ln_f.weight' --rename '*=__metadata__'
check "no tensor is called as the format's own entry is" \
    [ "$?$(grep -c 'no tensor can be called __metadata__' out)" = 11 -a ! -e meta.safetensors ]
run convert whole.safetensors sharded --max-shard-size 20KB --rename '*ln_f.weight=__metadata__'
check "in shards too" [ "$?$(grep -c 'no tensor can be called __metadata__' out)" = 11 ]
rm shards/model-00002-of-*
run convert shards other.safetensors
check "a missing shard is named, with a tensor of it" \
    [ "$?$(grep -c 'model-00002-of-.*is not there.*that tensor' out)" = 11 ]
check "and nothing is written" [ ! -e other.safetensors ]
run convert shards
check "usage" [ "$?$(grep -c 'two paths are needed' out)" = 21 ]
run convert a b --dtype int8
check "usage: dtype" [ "$?$(grep -c 'dtype is f32' out)" = 21 ]
run convert a b --max-shard-size 5parsecs
check "usage: size" [ "$?$(grep -c 'number of bytes' out)" = 21 ]
finish
