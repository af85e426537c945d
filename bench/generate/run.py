"""Text generation beside llama.cpp and transformers on the same cores, in turns: tokens a second behind a prompt, the
time from a prompt to the first token in a process that has read the weights, and from the start of a process to its
first token, for the shapes of GPT-2 (124 M) and of a Llama of 1.1 B, random weights.

usage: run.py XTRAIN [--folder DIR] [--shapes gpt2,llama] [--weights f32,bf16,int8,int4] [--sides ...] [--tokens N]
              [--prompt N] [--rounds N] [--threads N] [--figures FILE] [--quality]

Needs a Python with transformers and torch; for llama.cpp another one with llama-cpp-python and gguf (LLAMA_PYTHON), and
11 GB in DIR. The roofline is what reading the weights once a token takes at the memory bandwidth that is measured in
the same run. --figures keeps all runs in FILE and shows the best of those that it had and these, so that a long
comparison may be run in parts.
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
    "gpt2": (transformers.GPT2Config(), "float32"),
    "llama": (transformers.LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,
                                       num_attention_heads=32, num_key_value_heads=4, max_position_embeddings=2048,
                                       rms_norm_eps=1e-5, eos_token_id=None, bos_token_id=1), "bfloat16"),
}
WEIGHTS = {"f32": ("float32", None), "bf16": ("bfloat16", "BF16"), "int8": (None, "Q8_0"), "int4": (None, "Q4_0")}
TRANSFORMERS = r"""
import sys, time
began = time.time()
import torch, transformers
folder, dtype, tokens, prompt, threads = sys.argv[1], getattr(torch, sys.argv[2]), *map(int, sys.argv[3:6])
torch.set_num_threads(threads)
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
run(1, prompt)
one, many = run(1, prompt), run(tokens, prompt)
print("RESULT", (tokens - 1) / (many - one), one, first)
"""
LLAMA_CPP = r"""
import sys, time
began = time.time()
import ctypes, llama_cpp as c, numpy as np
file, (tokens, prompt, threads) = sys.argv[1], map(int, sys.argv[2:5])
silent = c.llama_log_callback(lambda *a: None)
c.llama_log_set(silent, ctypes.c_void_p(0))
c.llama_backend_init()
model = c.llama_model_load_from_file(file.encode(), c.llama_model_default_params())
o = c.llama_context_default_params()
o.n_ctx, o.n_batch, o.n_ubatch, o.n_threads, o.n_threads_batch = prompt + tokens, 512, 512, threads, threads
context = c.llama_init_from_model(model, o)
vocab = c.llama_vocab_n_tokens(c.llama_model_get_vocab(model))
def feed(ids):
    array = (c.llama_token * len(ids))(*ids)
    if c.llama_decode(context, c.llama_batch_get_one(array, len(ids))):
        sys.exit("llama_decode failed")
    return int(np.ctypeslib.as_array(c.llama_get_logits_ith(context, -1), (vocab,)).argmax())
def run(n, prompt):
    c.llama_memory_clear(c.llama_get_memory(context), True)
    ids = [i * 37 % 9000 for i in range(prompt)]
    at = time.time()
    out = [feed(ids)]
    first = time.time()
    while len(out) < n:
        out.append(feed(out[-1:]))
    return out, first - at, time.time() - first
run(1, 4)
first = time.time() - began
run(1, prompt)
out, one, many = run(tokens, prompt)
print("TEXT", *out)
print("RESULT", (tokens - 1) / many, one, first)
"""


def make(name, folder):
    config, dtype = SHAPES[name]
    where = os.path.join(folder, name)
    if os.path.exists(where + "/tokenizer.json"):
        return where
    torch.manual_seed(0)
    torch.set_default_dtype(getattr(torch, dtype))
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(where)
    torch.set_default_dtype(torch.float32)
    # A text says which tokens it is: a character each.
    t = Tokenizer(models.BPE({character(i): i for i in range(config.vocab_size)}, []))
    t.decoder = decoders.Fuse()
    t.save(where + "/tokenizer.json")
    return where


def make_gguf(where, kind):
    """The file of llama.cpp's type `kind`, None: f32."""
    python = os.environ["LLAMA_PYTHON"]
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gguf_file.py")
    wide = where + ".f32.gguf"
    out = f"{where}.{kind}.gguf" if kind else wide
    for path, arguments in ((wide, [where]), (out, ["--as", kind, wide])):
        if not os.path.exists(path):
            done = subprocess.run([python, script, *arguments, path + ".part"], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr[-2000:])
            os.rename(path + ".part", path)
    return out


def character(i):
    return chr(0x4e00 + i) if i < 20000 else chr(0x1b8a0 + i)


def text_of(n):
    return "".join(character(i * 37 % 9000) for i in range(n))


def environment(a):
    return dict(os.environ, XT_SUMMARY="off", XT_THREADS=str(a.threads), OMP_NUM_THREADS=str(a.threads))


def integers_of(a, where, weights):
    """The folder with integers in it, as the peer's file has them."""
    kept = f"{where}-{weights}"
    if not os.path.exists(os.path.join(kept, "config.json")):
        subprocess.run([a.xtrain, "convert", where, kept, "--weights", weights], check=True)
    return kept


def ours(a, name, where, weights):
    if weights.startswith("int"):
        where = integers_of(a, where, weights)

    def run(n, length, times=1):
        """The last of so many texts, one after the other: the first one's prompt waits for the weights to be read."""
        began = time.time()
        out = subprocess.run([a.xtrain, "generate", where, "--weights", weights, "--temperature", "0", "--ignore-eos",
                              "--tokens", str(n), *["--prompt", text_of(length)] * times, "--batch", "1", "--json"],
                             capture_output=True, text=True, env=environment(a))
        if out.returncode:
            sys.exit(out.stderr)
        return json.loads(out.stdout.splitlines()[-1]), time.time() - began
    run(1, 4)  # programs are compiled once, and stay on disk
    _, first = run(1, 4)
    text, _ = run(a.tokens, a.prompt, times=2)
    return dict(tokens_per_s=text["tokens_per_s"], prompt_s=text["prompt_seconds"], first_s=first,
                text=[ord(c) - (0x4e00 if ord(c) < 0x4e00 + 20000 else 0x1b8a0) for c in text["text"]])


def peer(a, python, program, *arguments):
    out = subprocess.run([python, "-c", program, *arguments, str(a.tokens), str(a.prompt), str(a.threads)],
                         capture_output=True, text=True, env=environment(a))
    lines = {s.split()[0]: s.split()[1:] for s in out.stdout.splitlines() if s.startswith(("RESULT", "TEXT"))}
    if "RESULT" not in lines:
        sys.exit(f"{arguments[0]}: exit status {out.returncode}\n{out.stderr[-2000:]}")
    speed, prompt, first = map(float, lines["RESULT"])
    return dict(tokens_per_s=speed, prompt_s=prompt, first_s=first, text=[int(i) for i in lines.get("TEXT", [])])


def measure(a, side, name, where, weights):
    dtype, kind = WEIGHTS[weights]
    if side == "xtrain":
        return ours(a, name, where, weights)
    if side == "llama.cpp":
        return peer(a, os.environ["LLAMA_PYTHON"], LLAMA_CPP, make_gguf(where, kind))
    return peer(a, sys.executable, TRANSFORMERS, where, dtype) if dtype else None


def bandwidth():
    x = torch.ones(1 << 27)
    best = math.inf
    for _ in range(5):
        began = time.time()
        x.sum()
        best = min(best, time.time() - began)
    return x.numel() * 4 / best / 1e9


def bytes_of(name, weights):
    """What a token reads: all matrices but an embedding that is only looked up."""
    config, _ = SHAPES[name]
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    linear = sum(p.numel() for n, p in model.named_parameters() if p.dim() == 2 and "wpe" not in n and
                 "embed" not in n)
    return linear * {"f32": 4, "bf16": 2, "int8": 1 + 4 / 32, "int4": 0.5 + 4 / 32}[weights]


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


def show(runs, a):
    for name in dict.fromkeys(r["shape"] for r in runs):
        print(f"{name}: tokens/s (of the roofline) | prompt of {a.prompt} to first token, s | "
              "process to first token, s")
        for weights in WEIGHTS:
            texts = {}
            for side in SIDES:
                of = [r for r in runs if (r["shape"], r["weights"], r["side"]) == (name, weights, side)]
                if not of:
                    continue
                speed, gb = max(r["tokens_per_s"] for r in of), max(r["gb_per_s"] for r in of)
                part = speed * bytes_of(name, weights) / (gb * 1e9)
                texts[side] = of[-1]["text"]
                print(f"  {weights:5}{side:13} {speed:7.2f} ({part:4.0%}) | {min(r['prompt_s'] for r in of):6.2f} | "
                      f"{min(r['first_s'] for r in of):6.2f}   best of {len(of)}")
            if texts.get("xtrain") and texts.get("llama.cpp") and weights == "f32":
                same = [x == y for x, y in zip(texts["xtrain"], texts["llama.cpp"])]
                print(f"       the first {(same + [False]).index(False)} tokens are the same")


SIDES = ("xtrain", "llama.cpp", "transformers")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("xtrain")
    p.add_argument("--folder", default="/tmp/xtrain-generate")
    p.add_argument("--shapes", default="gpt2,llama")
    p.add_argument("--weights", default=",".join(WEIGHTS))
    p.add_argument("--sides", default=",".join(SIDES if os.environ.get("LLAMA_PYTHON") else SIDES[::2]))
    p.add_argument("--tokens", type=int, default=128)
    p.add_argument("--prompt", type=int, default=512)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--figures")
    p.add_argument("--make", action="store_true", help="writes the folders and files alone")
    p.add_argument("--quality", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    runs = []
    if a.figures and os.path.exists(a.figures):
        with open(a.figures) as f:
            runs = json.load(f)
    rows = [(n, w, s) for n in a.shapes.split(",") for w in a.weights.split(",") for s in a.sides.split(",")]
    for name, weights, side in rows:  # what is written once is no part of a run
        where = make(name, a.folder)
        if side == "llama.cpp":
            make_gguf(where, WEIGHTS[weights][1])
        elif side == "xtrain" and weights.startswith("int"):
            integers_of(a, where, weights)
    for _ in range(0 if a.make else a.rounds):
        gb = bandwidth()
        for name, weights, side in rows:
            run = measure(a, side, name, os.path.join(a.folder, name), weights)
            if run:
                runs.append(dict(shape=name, weights=weights, side=side, gb_per_s=gb, **run))
    show(runs, a)
    if a.figures:
        with open(a.figures, "w") as f:
            json.dump(runs, f)
    if a.quality:
        for name in a.shapes.split(","):
            quality(os.path.join(a.folder, name))


if __name__ == "__main__":
    main()
