"""A folder of GPT-2's or Llama's as a GGUF file of f32 without words, named and laid as llama.cpp's own conversion has
it; other types are made of it by llama.cpp's quantiser, as its users do.

usage: gguf_file.py FOLDER OUT.gguf            f32
       gguf_file.py --as TYPE IN.gguf OUT.gguf TYPE is BF16, Q8_0 or Q4_0

Needs a Python with gguf and llama-cpp-python.
"""
import json
import mmap
import os
import sys

import numpy as np

GPT2 = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
        "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
LLAMA = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
OUTSIDE = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "embed_tokens": "token_embd",
           "norm": "output_norm", "lm_head": "output"}


def tensors(folder):
    """(name, f32 array) of each, one at a time."""
    for file in sorted(f for f in os.listdir(folder) if f.endswith(".safetensors")):
        with open(os.path.join(folder, file), "rb") as f:
            n = int.from_bytes(f.read(8), "little")
            head = json.loads(f.read(n))
            data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        for name, of in head.items():
            if name == "__metadata__":
                continue
            begin, end = (8 + n + at for at in of["data_offsets"])
            words = np.frombuffer(data, np.uint16 if of["dtype"] == "BF16" else np.float32,
                                  (end - begin) // (2 if of["dtype"] == "BF16" else 4), begin)
            if of["dtype"] == "BF16":
                words = (words.astype(np.uint32) << 16).view(np.float32)
            yield name, words.reshape(of["shape"])


def interleaved(w, heads):
    """llama.cpp turns neighbours, Hugging Face's file the two halves of a head."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def renamed(name, array, config):
    parts = name.removeprefix("transformer.").removeprefix("model.").split(".")
    if parts[0] not in ("h", "layers"):
        return f"{OUTSIDE[parts[0]]}.{parts[-1]}", array
    inner = ".".join(parts[2:-1])
    if parts[0] == "h":
        if ".c_" in inner and array.ndim == 2:
            array = array.T
        return f"blk.{parts[1]}.{GPT2[inner]}.{parts[-1]}", array
    heads = {"self_attn.q_proj": config["num_attention_heads"], "self_attn.k_proj": config.get("num_key_value_heads")}
    if inner in heads:
        array = interleaved(array, heads[inner])
    return f"blk.{parts[1]}.{LLAMA[inner]}.{parts[-1]}", array


def write(folder, out):
    import gguf
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    gpt2 = config["model_type"] == "gpt2"
    w = gguf.GGUFWriter(out, "gpt2" if gpt2 else "llama")
    w.add_vocab_size(config["vocab_size"])
    w.add_tokenizer_model("no_vocab" if hasattr(gguf, "NO_VOCAB") else "none")
    w.add_file_type(gguf.LlamaFileType.ALL_F32)
    if gpt2:
        width = config["n_embd"]
        w.add_context_length(config["n_positions"])
        w.add_block_count(config["n_layer"])
        w.add_feed_forward_length(4 * width)
        w.add_head_count(config["n_head"])
        w.add_layer_norm_eps(config["layer_norm_epsilon"])
    else:
        width, heads = config["hidden_size"], config["num_attention_heads"]
        w.add_context_length(config["max_position_embeddings"])
        w.add_block_count(config["num_hidden_layers"])
        w.add_feed_forward_length(config["intermediate_size"])
        w.add_head_count(heads)
        w.add_head_count_kv(config["num_key_value_heads"])
        w.add_layer_norm_rms_eps(config["rms_norm_eps"])
        w.add_rope_dimension_count(width // heads)
        w.add_rope_freq_base((config.get("rope_parameters") or config).get("rope_theta", 10000.0))
    w.add_embedding_length(width)
    for name, array in tensors(folder):
        if name.endswith((".attn.bias", ".masked_bias")):
            continue
        name, array = renamed(name, array, config)
        w.add_tensor(name, np.ascontiguousarray(array))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def convert(kind, source, out):
    import llama_cpp
    o = llama_cpp.llama_model_quantize_default_params()
    o.ftype = getattr(llama_cpp, "LLAMA_FTYPE_MOSTLY_" + kind)
    o.nthread = 2
    code = llama_cpp.llama_model_quantize(source.encode(), out.encode(), o)
    if code:
        sys.exit(f"llama_model_quantize: {code}")


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--as":
        convert(*sys.argv[2:])
    elif len(sys.argv) == 3:
        write(*sys.argv[1:])
    else:
        sys.exit(__doc__)
