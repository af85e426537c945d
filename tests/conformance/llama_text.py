"""Folders that transformers writes for Llama's family, random weights of odd and usual configurations, and greedy text
behind one token, some, and as many as the model sees: `xtrain generate` against its generate.

usage: llama_text.py XTRAIN FOLDER
"""
import json
import os
import subprocess
import sys

import torch
import transformers
from tokenizers import Tokenizer, decoders, models

SIZES = dict(vocab_size=256, hidden_size=64, intermediate_size=160, num_hidden_layers=3, num_attention_heads=8,
             num_key_value_heads=4, max_position_embeddings=512, eos_token_id=None, bos_token_id=None)
KINDS = {
    "llama3": (transformers.LlamaConfig, transformers.LlamaForCausalLM, dict(
        rope_theta=500000.0,
        rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                               original_max_position_embeddings=64))),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM, dict(sliding_window=40)),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, dict(tie_word_embeddings=True)),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, dict(head_dim=16)),
    "linear": (transformers.LlamaConfig, transformers.LlamaForCausalLM, dict(
        rope_scaling=dict(rope_type="linear", factor=4.0), tie_word_embeddings=True)),
    "biases": (transformers.LlamaConfig, transformers.LlamaForCausalLM, dict(attention_bias=True, mlp_bias=True)),
    "wide heads": (transformers.LlamaConfig, transformers.LlamaForCausalLM, dict(head_dim=24, num_key_value_heads=1)),
    "all heads": (transformers.MistralConfig, transformers.MistralForCausalLM, dict(num_key_value_heads=8, head_dim=4,
                                                                                   sliding_window=None)),
    "narrow window": (transformers.MistralConfig, transformers.MistralForCausalLM, dict(sliding_window=2)),
    "window of some layers": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, dict(
        use_sliding_window=True, sliding_window=24, max_window_layers=1)),
    "qwen3, biases": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, dict(
        head_dim=12, attention_bias=True, tie_word_embeddings=True)),
}
LENGTHS = ((1, 200), (21, 200), (300, 40), (511, 1), (512, 1))  # of the prompt, and of what is said


def main(xtrain, folder):
    failed = 0
    for name, (config, model, more) in KINDS.items():
        torch.manual_seed(3)
        m = model(config(**{**SIZES, **more})).eval()
        with torch.no_grad():
            for p in m.parameters():
                p.copy_(torch.randn_like(p) * (0.15 if p.dim() > 1 else 0.1) + (p.dim() == 1))
        where = os.path.join(folder, name)
        m.save_pretrained(where, max_shard_size="200KB")
        t = Tokenizer(models.BPE({chr(0x4e00 + i): i for i in range(256)}, []))  # a text says which tokens it is
        t.decoder = decoders.Fuse()
        t.save(where + "/tokenizer.json")
        for length, tokens in LENGTHS:
            text = "".join(chr(0x4e00 + i * 37 % 256) for i in range(length))
            prompt = t.encode(text).ids
            ids = torch.tensor([prompt])
            want = m.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False,
                              pad_token_id=0)[0].tolist()
            out = subprocess.run([xtrain, "generate", where, "--prompt", text, "--tokens", str(tokens),
                                  "--temperature", "0", "--json"], capture_output=True, text=True)
            if out.returncode:
                print(name, length, out.stderr)
                failed += 1
                continue
            got = json.loads(out.stdout.splitlines()[-1])
            same = got["text"] == t.decode(want[length:])
            print(f"{name}: {tokens} tokens behind {length} {'equal' if same else 'DIFFER'}, "
                  f"{got['tokens_per_s'] or 0:.0f} tokens/s, {got['compiles']} programs")
            failed += not same
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], sys.argv[2])))
