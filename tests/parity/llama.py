"""Logits and gradients of transformers' models of Llama's family with random weights: llama.safetensors, and their
config.json in llama.json. Needs transformers."""
import json
import os

import torch
import transformers

from parity import File

SMALL = dict(vocab_size=19, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, attn_implementation="eager")
CASES = {
    "llama2": (transformers.LlamaConfig, transformers.LlamaForCausalLM, dict(num_key_value_heads=4)),
    "llama3": (transformers.LlamaConfig, transformers.LlamaForCausalLM, dict(
        rope_theta=500000.0,
        rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                               original_max_position_embeddings=32))),
    "biases": (transformers.LlamaConfig, transformers.LlamaForCausalLM, dict(
        attention_bias=True, mlp_bias=True, tie_word_embeddings=True, head_dim=4,
        rope_scaling=dict(rope_type="linear", factor=2.0))),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM, dict(sliding_window=5)),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, dict(
        use_sliding_window=True, sliding_window=6, max_window_layers=1, tie_word_embeddings=True)),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, dict(head_dim=4)),
}

f = File("llama")
configs = {}
for name, (config, model, more) in CASES.items():
    c = config(**{**SMALL, **more})
    m = model(c).eval()
    with torch.no_grad():
        for p in m.parameters():  # larger than their own, so that attention looks at something
            p.copy_(torch.randn_like(p) * (0.3 if p.dim() > 1 else 0.2) + (p.dim() == 1))
    tokens = torch.randint(0, c.vocab_size, (2, 13))
    keep = dict(m.named_parameters())
    state_dict = m.state_dict
    m.state_dict = lambda *a, **k: {n: t for n, t in state_dict(*a, **k).items() if n in keep}
    m.named_buffers = lambda: []  # positions, which files do not have
    f.run(name, lambda x: m(x, use_cache=False).logits, tokens, module=m)
    configs[name] = json.loads(c.to_json_string())
f.save()
with open(os.path.splitext(f.path)[0] + ".json", "w") as out:
    json.dump(configs, out, indent=1, sort_keys=True)
    out.write("\n")
