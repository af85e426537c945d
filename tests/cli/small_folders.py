#!/usr/bin/env python3
"""Small folders of models in the working directory, and what they are trained on.

small_folders.py T5_JSON: llama, tied (a Llama whose table is its output layer too), gpt2 and t5 of random weights whose
rows are whole groups of 32, NAME-int8 and NAME-int4 with the floats that integers of these stand for, notes.txt and
pairs.jsonl. T5_JSON is tests/parity/t5.json, which has the configuration."""
import json, os, random, struct, sys
random.seed(2)
W, H, V, L = 64, 96, 40, 2
f32 = lambda v: struct.unpack("f", struct.pack("f", v))[0]


def llama(tied):
    tensors = {"model.embed_tokens.weight": (V, W), "model.norm.weight": (W,)}
    if not tied:
        tensors["lm_head.weight"] = (V, W)
    for i in range(L):
        p = f"model.layers.{i}."
        tensors.update({p + "self_attn.q_proj.weight": (W, W), p + "self_attn.k_proj.weight": (W // 2, W),
                        p + "self_attn.v_proj.weight": (W // 2, W), p + "self_attn.o_proj.weight": (W, W),
                        p + "mlp.gate_proj.weight": (H, W), p + "mlp.up_proj.weight": (H, W),
                        p + "mlp.down_proj.weight": (W, H), p + "input_layernorm.weight": (W,),
                        p + "post_attention_layernorm.weight": (W,)})
    return {"model_type": "llama", "vocab_size": V, "hidden_size": W, "intermediate_size": H, "num_hidden_layers": L,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "eos_token_id": 0,
            "tie_word_embeddings": tied}, tensors


def gpt2():
    tensors = {"wte.weight": (V, W), "wpe.weight": (64, W), "ln_f.weight": (W,), "ln_f.bias": (W,)}
    for i in range(L):
        p = f"h.{i}."
        for name, rows, columns in (("attn.c_attn", W, 3 * W), ("attn.c_proj", W, W), ("mlp.c_fc", W, 4 * W),
                                    ("mlp.c_proj", 4 * W, W)):
            tensors[p + name + ".weight"], tensors[p + name + ".bias"] = (rows, columns), (columns,)
        for name in "ln_1", "ln_2":
            tensors[p + name + ".weight"], tensors[p + name + ".bias"] = (W,), (W,)
    return {"model_type": "gpt2", "vocab_size": V, "n_embd": W, "n_layer": L, "n_head": 4, "n_positions": 64,
            "eos_token_id": 0, "bos_token_id": 0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}, tensors


def t5():
    config = json.load(open(sys.argv[1]))["tied"]
    config.update(vocab_size=V, d_model=W, d_ff=H, d_kv=16, num_heads=4, num_layers=L, num_decoder_layers=L,
                  dropout_rate=0.0)
    tensors = {"shared.weight": (V, W)}
    for stack in "encoder", "decoder":
        tensors[stack + ".final_layer_norm.weight"] = (W,)
        tensors[stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = (
            config["relative_attention_num_buckets"], 4)
        for i in range(L):
            p = f"{stack}.block.{i}.layer."
            parts = ["SelfAttention"] + ["EncDecAttention"] * (stack == "decoder")
            for k, part in enumerate(parts):
                tensors.update({f"{p}{k}.{part}.{x}.weight": (W, W) for x in "qkvo"})
            tensors.update({f"{p}{k}.layer_norm.weight": (W,) for k in range(len(parts) + 1)})
            dense = f"{p}{len(parts)}.DenseReluDense."
            tensors[dense + "wi.weight"], tensors[dense + "wo.weight"] = (H, W), (W, H)
    return config, tensors


def nearest(v):  # as rintf: halves go to the even one
    return round(v)


def dequantised(group, bits):
    most = max(group, key=abs)
    factor = f32(abs(most) / 127 if bits == 8 else most / -8)
    low, high = (-127, 127) if bits == 8 else (-8, 7)
    inverse = f32(1 / factor)
    return [f32(min(high, max(low, nearest(f32(v * inverse)))) * factor) for v in group]


def all_dequantised(values, bits):
    return sum((dequantised(values[i:i + 32], bits) for i in range(0, len(values), 32)), [])


def turned(values, rows):
    columns = len(values) // rows
    return [values[r * columns + c] for c in range(columns) for r in range(rows)]


def as_integers(name, shape, values, bits, tied):
    """The numbers that --weights leaves: of matrices, GPT-2's on their side; a table that is the output layer too has 8
    bits."""
    if name in ("model.embed_tokens.weight", "wte.weight", "shared.weight"):
        return all_dequantised(values, 8) if tied else values
    if ".c_" in name and len(shape) == 2:
        return turned(all_dequantised(turned(values, shape[0]), bits), shape[1])
    linear = len(shape) == 2 and "bias" not in name and "wpe" not in name
    return all_dequantised(values, bits) if linear else values


def write(folder, config, tensors, values, bits):
    os.mkdir(folder)
    json.dump(config, open(folder + "/config.json", "w"))
    vocab = {chr(0x4e00 + i): i for i in range(V)}
    json.dump({"model": {"type": "BPE", "vocab": vocab, "merges": []}, "decoder": {"type": "Fuse"}},
              open(folder + "/tokenizer.json", "w"))
    header, data = {}, b""
    for n, s in tensors.items():
        v = as_integers(n, s, values[n], bits, "lm_head.weight" not in tensors) if bits else values[n]
        raw = struct.pack(f"{len(v)}f", *v)
        header[n] = {"dtype": "F32", "shape": list(s), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    open(folder + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)


for kind, (config, tensors) in {"llama": llama(False), "tied": llama(True), "gpt2": gpt2(), "t5": t5()}.items():
    values = {n: [f32(random.gauss(0, 0.2) + (len(s) == 1 and "bias" not in n))
                  for _ in range(s[0] * (s[1] if len(s) > 1 else 1))] for n, s in tensors.items()}
    write(f"{kind}", config, tensors, values, 0)
    write(f"{kind}-int8", config, tensors, values, 8)
    write(f"{kind}-int4", config, tensors, values, 4)
with open("notes.txt", "w") as out:
    out.write("".join(chr(0x4e00 + 1 + i * i % 23) for i in range(700)))
with open("pairs.jsonl", "w") as out:
    for i in range(60):
        text = "".join(random.choice("\u4e01\u4e02\u4e03\u4e04") for _ in range(1 + i % 3))
        out.write(json.dumps({"input": text, "target": text[::-1]}) + "\n")
