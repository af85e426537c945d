#!/bin/bash
# xtrain fit --weights int8|int4: adapters over a model whose linear layers are integers learn as they do over a model
# of f32 whose weights are the numbers that those integers stand for.
set -u
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off
cd "$tmp" || exit 1
run() { "$XTRAIN" "$@" >"$tmp/out" 2>&1; }
python3 - <<'FILES'
import json, os, random, struct
random.seed(2)
W, H, V, L = 64, 96, 40, 2
config = {"model_type": "llama", "vocab_size": V, "hidden_size": W, "intermediate_size": H, "num_hidden_layers": L,
          "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "eos_token_id": 0}
f32 = lambda v: struct.unpack("f", struct.pack("f", v))[0]
tensors = {"model.embed_tokens.weight": (V, W), "model.norm.weight": (W,), "lm_head.weight": (V, W)}
for i in range(L):
    p = f"model.layers.{i}."
    tensors.update({p + "self_attn.q_proj.weight": (W, W), p + "self_attn.k_proj.weight": (W // 2, W),
                    p + "self_attn.v_proj.weight": (W // 2, W), p + "self_attn.o_proj.weight": (W, W),
                    p + "mlp.gate_proj.weight": (H, W), p + "mlp.up_proj.weight": (H, W),
                    p + "mlp.down_proj.weight": (W, H), p + "input_layernorm.weight": (W,),
                    p + "post_attention_layernorm.weight": (W,)})
values = {n: [f32(random.gauss(0, 0.2) + (len(s) == 1)) for _ in range(s[0] * (s[1] if len(s) > 1 else 1))]
          for n, s in tensors.items()}


def nearest(v):  # as rintf: halves go to the even one
    return round(v)


def dequantised(group, bits):
    most = max(group, key=abs)
    factor = f32(abs(most) / 127 if bits == 8 else most / -8)
    low, high = (-127, 127) if bits == 8 else (-8, 7)
    inverse = f32(1 / factor)
    return [f32(min(high, max(low, nearest(f32(v * inverse)))) * factor) for v in group]


def write(folder, bits):
    os.mkdir(folder)
    json.dump(config, open(folder + "/config.json", "w"))
    vocab = {chr(0x4e00 + i): i for i in range(V)}
    json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": {"type": "Fuse"}},
              open(folder + "/tokenizer.json", "w"))
    header, data = {}, b""
    for n, s in tensors.items():
        v = values[n]
        if bits and (n.endswith("_proj.weight") or n == "lm_head.weight"):
            v = sum((dequantised(v[i:i + 32], bits) for i in range(0, len(v), 32)), [])
        raw = struct.pack(f"{len(v)}f", *v)
        header[n] = {"dtype": "F32", "shape": list(s), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    open(folder + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)


write("model", 0)
write("int8", 8)
write("int4", 4)
with open("notes.txt", "w") as out:
    out.write("".join(chr(0x4e00 + 1 + i * i % 23) for i in range(700)))
FILES
loss() { grep -o 'val/loss=* *[0-9.]*' out | tail -n 1 | grep -o '[0-9.]*$'; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d < 2e-5 && d > -2e-5) }'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a < b) }'; }
train="--data notes.txt --seq 16 --batch 4 --steps 30 --lr 0.01 --lora r=4 --lora-targets all-linear"
judge="--data notes.txt --seq 16 --batch 4"
for w in int8 int4; do
    # shellcheck disable=SC2086
    run fit llama --init model --weights $w $train --output $w-adapter
    check "$w: adapters are trained" [ $? = 0 ]
    check "$w: all weights are counted" grep -q '74304 parameters, 7424 of adapters' out
    # shellcheck disable=SC2086
    run fit llama --init $w $train --output $w-reference
    check "$w: so are those of the reference" [ $? = 0 ]
    # shellcheck disable=SC2086
    run validate llama --init $w --adapter $w-reference $judge
    reference=$(loss)
    # shellcheck disable=SC2086
    run validate llama --init model --weights $w --adapter $w-adapter $judge
    check "$w: the loss is that over f32: $(loss), $reference" near "$(loss)" "$reference"
    # shellcheck disable=SC2086
    run validate llama --init $w --adapter $w-adapter $judge
    check "$w: the adapter fits the f32 model: $(loss)" near "$(loss)" "$reference"
    # shellcheck disable=SC2086
    run validate llama --ckpt $w $judge
    check "$w: which has learnt: before $(loss)" less "$reference" "$(loss)"
    # shellcheck disable=SC2086
    run validate llama --init model --weights $w --adapter none $judge
    check "$w: an adapter that is not there" [ $? = 1 ]
done
refused() { # text arguments...
    local said=$1
    shift
    run "$@"
    check "$* is refused" [ "$?$(grep -c -- "$said" out)" = 21 ]
}
refused 'weights is int8 or int4' fit llama --init model --weights bf16 --lora r=2 --data notes.txt
refused 'weights is for --lora' fit llama --init model --weights int8 --data notes.txt
finish
