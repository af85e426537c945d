"""Folders that transformers writes for Llama's family, random weights, and greedy text of 200 tokens: `xtrain generate`
against its generate.

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
}


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
        text = "".join(chr(0x4e00 + i * 37 % 256) for i in range(21))
        prompt = t.encode(text).ids
        tokens = torch.tensor([prompt])
        want = m.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=200, do_sample=False,
                          pad_token_id=0)[0].tolist()
        out = subprocess.run([xtrain, "generate", where, "--prompt", text, "--tokens", "200",
                              "--temperature", "0", "--json"], capture_output=True, text=True)
        if out.returncode:
            print(name, out.stderr)
            failed += 1
            continue
        got = json.loads(out.stdout.splitlines()[-1])
        same = got["text"] == t.decode(want[len(prompt):])
        print(f"{name}: 200 tokens {'equal' if same else 'DIFFER'}, {got['tokens_per_s']:.0f} tokens/s, "
              f"{got['compiles']} programs")
        failed += not same
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], sys.argv[2])))
