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
# What is there and wrong is told by its name; what is null is as if it were not there.
cp folder/config.json right.json
set_to() { python3 -c 'import json, sys
config = json.load(open("right.json"))
config.update(json.loads(sys.argv[1]))
json.dump(config, open("folder/config.json", "w"))' "$1"; }
set_to '{"head_dim": null, "rope_scaling": null, "eos_token_id": null, "quantization_config": null}'
say folder --ignore-eos
check "null is nothing" [ $? = 0 ]
while read -r key values; do
    set_to "$values"
    say folder --ignore-eos
    check "$values is refused" [ "$?$(grep -c "folder/config.json: .*$key" err)" = 11 ]
done <<'WRONG'
num_hidden_layers {"num_hidden_layers": -1}
num_hidden_layers {"num_hidden_layers": null}
hidden_size {"hidden_size": "32"}
hidden_size {"hidden_size": 32.5}
num_key_value_heads {"num_key_value_heads": 0}
num_key_value_heads {"num_key_value_heads": true}
head_dim {"head_dim": []}
rms_norm_eps {"rms_norm_eps": 0}
rms_norm_eps {"rms_norm_eps": "a"}
tie_word_embeddings {"tie_word_embeddings": "yes"}
hidden_act {"hidden_act": 3}
eos_token_id {"eos_token_id": -5}
eos_token_id {"eos_token_id": "x"}
eos_token_id {"eos_token_id": [1, "x"]}
sliding_window {"sliding_window": -1}
sliding_window {"sliding_window": "x"}
layer_types {"layer_types": ["foo", "bar"]}
layer_types {"layer_types": []}
rope_theta {"rope_theta": 0}
rope_theta {"rope_parameters": {"rope_theta": -1}}
rope_parameters {"rope_parameters": "x"}
factor {"rope_parameters": {"rope_type": "linear"}}
factor {"rope_parameters": {"rope_type": "linear", "factor": "2"}}
quantization_config {"quantization_config": {"quant_method": "gptq"}}
partial_rotary_factor {"partial_rotary_factor": 0.5}
WRONG
cp right.json folder/config.json
rm folder/model-00002-of-*
say folder
check "a missing shard is named" [ "$?$(grep -c 'model-00002-of-.*is not there' err)" = 11 ]
sed -i 's/"mistral"/"mamba"/' folder/config.json
say folder
check "a model that is not known" [ "$?$(grep -c 'folder/config.json: the model type "mamba" is not known' err)" = 11 ]
finish
