"""Text generation beside transformers on the same cores, in turns: tokens a second, the time a prompt takes in a
process that has read the weights, and from the start of a process to its first token, for the shapes of GPT-2 (124 M)
and of a Llama of 1.1 B, random weights.

usage: generate.py XTRAIN [--folder DIR] [--shapes gpt2,llama] [--tokens N] [--prompt N] [--rounds N] [--quality]
                   [--json]

Needs a Python with transformers and torch; 0.5 GB (gpt2) and 2.2 GB (llama) in DIR, and as much memory twice. The
roofline is what reading the weights once a token takes at the memory bandwidth that is measured in the same run.
--quality: how far logits and perplexity move with --weights int8 and int4 (the rule of src/nn/quantize.c, in torch).
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time

import torch
import transformers
from tokenizers import Tokenizer, decoders, models

SHAPES = {
    "gpt2": (transformers.GPT2Config(), "float32", ["f32", "bf16", "int8", "int4"]),
    "llama": (transformers.LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,
                                       num_attention_heads=32, num_key_value_heads=4, max_position_embeddings=2048,
                                       rms_norm_eps=1e-5, eos_token_id=None, bos_token_id=1), "bfloat16",
              ["bf16", "int8", "int4"]),
}
PEER = r"""
import sys, time
began = time.time()
import torch, transformers
folder, dtype, tokens, prompt = sys.argv[1], getattr(torch, sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
def run(n, prompt):
    x = torch.tensor([[i * 37 % 9000 for i in range(prompt)]])
    at = time.time()
    with torch.no_grad():
        model.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=n, min_new_tokens=n, do_sample=False,
                       use_cache=True, pad_token_id=0, eos_token_id=None)
    return time.time() - at
run(1, 4)
first = time.time() - began
one, many, long = run(1, 4), run(tokens, 4), run(1, prompt)
print("RESULT", (tokens - 1) / (many - one), long, first)
"""


def make(name, folder):
    config, dtype, _ = SHAPES[name]
    where = os.path.join(folder, name)
    if os.path.exists(where + "/tokenizer.json"):
        return where
    torch.manual_seed(0)
    torch.set_default_dtype(getattr(torch, dtype))
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(where)
    torch.set_default_dtype(torch.float32)
    # A text says which tokens it is: a character each.
    t = Tokenizer(models.BPE({chr(0x4e00 + i) if i < 20000 else chr(0x1b8a0 + i): i for i in range(config.vocab_size)},
                             []))
    t.decoder = decoders.Fuse()
    t.save(where + "/tokenizer.json")
    return where


def text_of(n):
    return "".join(chr(0x4e00 + i * 37 % 9000) for i in range(n))


def ours(xtrain, name, where, weights, tokens, prompt):
    model = ["gpt2", "--ckpt", where] if name == "gpt2" else [where]

    def run(n, length, times=1):
        """The last of so many texts, one after the other: the first one's prompt waits for the weights to be read."""
        began = time.time()
        out = subprocess.run([xtrain, "generate", *model, "--weights", weights, "--temperature", "0", "--ignore-eos",
                              "--tokens", str(n), *["--prompt", text_of(length)] * times, "--batch", "1", "--context",
                              "1024", "--json"],
                             capture_output=True, text=True, env=dict(os.environ, XT_SUMMARY="off"))
        if out.returncode:
            sys.exit(out.stderr)
        return json.loads(out.stdout.splitlines()[-1]), time.time() - began
    run(1, prompt)  # programs are compiled once, and stay on disk
    many, _ = run(tokens, 4)
    long, _ = run(1, prompt, times=2)
    _, first = run(1, 4)
    return many["tokens_per_s"], long["prompt_seconds"], first


def peer(where, dtype, tokens, prompt):
    out = subprocess.run([sys.executable, "-c", PEER, where, dtype, str(tokens), str(prompt)], capture_output=True,
                         text=True)
    line = [s for s in out.stdout.splitlines() if s.startswith("RESULT")]
    if not line:
        sys.exit(out.stderr)
    return tuple(float(v) for v in line[0].split()[1:])


def bandwidth():
    x = torch.ones(1 << 27)
    best = math.inf
    for _ in range(5):
        began = time.time()
        x.sum()
        best = min(best, time.time() - began)
    return x.numel() * 4 / best / 1e9


def bytes_of(name, where, weights):
    """What a token reads: all matrices but an embedding that is only looked up."""
    model = transformers.AutoModelForCausalLM.from_pretrained(where, dtype=torch.bfloat16)
    linear = sum(p.numel() for n, p in model.named_parameters() if p.dim() == 2 and "wte" not in n and "wpe" not in n
                 and "embed" not in n)
    tied = model.transformer.wte.weight.numel() if name == "gpt2" else 0
    of = {"f32": 4, "bf16": 2, "f16": 2, "int8": 1 + 4 / 32, "int4": 0.5 + 4 / 32}
    return linear * of[weights] + tied * (of[weights] if weights in ("f32", "bf16", "f16") else 4)


def quantized(w, bits):
    v = w.float().reshape(-1, 32)
    most = v.gather(1, v.abs().argmax(1, keepdim=True))
    factor = most.abs() / 127 if bits == 8 else most / -8
    low, high = (-127, 127) if bits == 8 else (-8, 7)
    return (torch.where(factor == 0, 0, v / factor).round().clamp(low, high) * factor).reshape(w.shape)


def quality(where):
    torch.manual_seed(1)
    rows = {}
    for bits in (32, 8, 4):
        model = transformers.AutoModelForCausalLM.from_pretrained(where, dtype=torch.float32).eval()
        for n, p in model.named_parameters():
            conv = ".c_" in n
            if bits < 32 and p.dim() == 2 and (conv or "_proj" in n or "lm_head" in n):
                p.data = quantized(p.data.t().contiguous(), bits).t() if conv else quantized(p.data, bits)
        x = torch.tensor([[i * i * 31 % 9000 for i in range(256)]])
        with torch.no_grad():
            logits = model(x).logits[0]
        loss = torch.nn.functional.cross_entropy(logits[:-1], x[0, 1:])
        rows[bits] = logits, math.exp(loss.item())
    for bits in (8, 4):
        far = (rows[bits][0] - rows[32][0]).abs()
        print(f"  int{bits}: logits differ by {far.mean():.2g} on average, {far.max():.2g} at most, of a deviation of "
              f"{rows[32][0].std():.2g}; perplexity {rows[32][1]:.6g} -> {rows[bits][1]:.6g}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("xtrain")
    p.add_argument("--folder", default="/tmp/xtrain-generate")
    p.add_argument("--shapes", default="gpt2,llama")
    p.add_argument("--tokens", type=int, default=64)
    p.add_argument("--prompt", type=int, default=256)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--quality", action="store_true")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    figures = []
    for name in a.shapes.split(","):
        where = make(name, a.folder)
        rows = {}
        for _ in range(a.rounds):
            gb = bandwidth()
            for w in SHAPES[name][2]:
                rows.setdefault(("xtrain", w), []).append((*ours(a.xtrain, name, where, w, a.tokens, a.prompt), gb))
            for dtype in ("float32", "bfloat16"):
                if name == "gpt2" or dtype == "bfloat16":
                    rows.setdefault(("transformers", dtype), []).append((*peer(where, dtype, a.tokens, a.prompt), gb))
        print(f"{name}: tokens/s (of the roofline) | prompt of {a.prompt}, s | process to first token, s")
        for (who, w), runs in rows.items():
            speed, prompt, first = max(r[0] for r in runs), min(r[1] for r in runs), min(r[2] for r in runs)
            gb = max(r[3] for r in runs)
            size = bytes_of(name, where, {"float32": "f32", "bfloat16": "bf16"}.get(w, w))
            part = speed * size / (gb * 1e9)
            figures.append(dict(shape=name, who=who, weights=w, tokens_per_s=speed, prompt_s=prompt, first_s=first,
                                gb_per_s=gb, roofline=part))
            print(f"  {who:12} {w:8} {speed:7.2f} ({part:4.0%}) | {prompt:6.2f} | {first:6.2f}")
        if a.quality:
            quality(where)
    if a.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
